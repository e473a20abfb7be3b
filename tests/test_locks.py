"""What is being written: refused to a second process, and taken over when the first one was killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toledo.errors import RunError
from toledo.files import atomic_directory, write_lines
from toledo.runs.checkpoint import RUN, Checkpoint

WRITERS = {
    "a file": "with atomic_writer(sys.argv[1]) as stream: stream.write('half'); stream.flush(); wait()",
    "a directory": "with atomic_directory(sys.argv[1], 'marker') as new: (new / 'half').touch(); wait()",
    "a run": "run = Checkpoint(Path(sys.argv[1])); run.begin(); run.save({'stopped': 'for now'}); wait()",
}
PROGRAM = """
import sys, time
from pathlib import Path
from toledo.files import atomic_directory, atomic_writer
from toledo.runs.checkpoint import Checkpoint
def wait():
    print("here", flush=True)
    time.sleep(60)
"""


def _write_directory(path: Path) -> None:
    with atomic_directory(path, "marker") as new:
        (new / "marker").touch()


OURS: dict[str, Callable[[Path], None]] = {
    "a file": lambda path: write_lines(path, ["whole"]),
    "a directory": _write_directory,
    "a run": lambda path: Checkpoint(path).begin(),
}


@pytest.fixture(params=WRITERS)
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process that is writing `out`."""
    command = [sys.executable, "-c", PROGRAM + WRITERS[request.param], str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield request.param, process
        process.kill()


def test_a_second_process_is_refused_until_the_first_one_is_gone(
    tmp_path: Path, other: tuple[str, subprocess.Popen[str]]
) -> None:
    kind, process = other
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(RunError, match="another process is writing it"):
        OURS[kind](tmp_path / "out")
    assert sorted(tmp_path.rglob("*")) == before
    process.send_signal(signal.SIGKILL)
    process.wait()
    OURS[kind](tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert "half" not in [path.name for path in tmp_path.rglob("*")]
    assert kind != "a file" or (tmp_path / "out").read_text() == "whole\n"


def test_a_process_may_hold_a_run_several_times_and_lets_it_go(tmp_path: Path) -> None:
    first, second = Checkpoint(tmp_path / "out"), Checkpoint(tmp_path / "out")
    first.begin()
    second.begin()
    second.save({"stopped": "done"})
    program = PROGRAM + "Checkpoint(Path(sys.argv[1])).begin()"
    command = [sys.executable, "-c", program, str(tmp_path / "out")]
    del second
    assert "another process is writing it" in subprocess.run(command, capture_output=True, text=True).stderr
    del first
    subprocess.run(command, check=True)
    assert not (tmp_path / "out" / RUN).exists()


@pytest.mark.parametrize("moved", [False, True])
def test_a_directory_whose_replacement_was_interrupted(tmp_path: Path, moved: bool) -> None:
    """The old one was renamed; the new one was, too, or was not."""
    (tmp_path / ".out.old" / "rounds").mkdir(parents=True)
    (tmp_path / ".out.old" / "marker").touch()
    if moved:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "marker").touch()
    with atomic_directory(tmp_path / "out", "marker", keep="rounds") as new:
        (new / "marker").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "rounds").is_dir()
    assert (tmp_path / "out" / "marker").read_text() == "new"


def test_a_link_in_the_place_of_what_is_written_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / ".out.part").symlink_to(tmp_path / "precious")
    with pytest.raises(ValueError, match="cannot be written"):
        write_lines(tmp_path / "out", ["x"])
    assert (tmp_path / "precious").read_text() == "mine"
    assert os.listdir(tmp_path)
