"""`toledo train` from the outside, and what they say about bad input."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli.app import app

runner = CliRunner()
SOURCE = "das haus ist klein\nein haus\ndas buch\nein buch ist klein\n" * 3
TARGET = "the house is small\na house\nthe book\na book is small\n" * 3


def write(folder: Path, source: str | bytes = SOURCE, target: str | bytes = TARGET) -> list[str]:
    for name, text in (("src", source), ("trg", target)):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return ["--source", str(folder / "src"), "--target", str(folder / "trg"), "--output", str(folder / "model")]


def test_train_and_translate(tmp_path: Path) -> None:
    result = runner.invoke(app, ["train", *write(tmp_path), "--reordering", "--lm-order", "2"])
    assert result.exit_code == 0, result.output
    assert "signature: pairs:" in result.stderr
    result = runner.invoke(app, ["translate", str(tmp_path / "model"), "-q"], input="das buch ist klein\n")
    assert result.stdout == "the book is small\n"


def test_options_reach_training(tmp_path: Path) -> None:
    arguments = write(tmp_path)
    (tmp_path / "align").write_text("0-0 1-1 2-2 3-3\n0-0 1-1\n0-0 1-1\n0-0 1-1 2-2 3-3\n" * 3)
    more = ["--alignments", str(tmp_path / "align"), "--smoothing", "kneser-ney", "--prune", "alpha-epsilon"]
    result = runner.invoke(app, ["train", *arguments, *more, "--max-phrase-length", "2", "--quiet"])
    assert result.exit_code == 0, result.output
    text = (tmp_path / "model" / "model.toml").read_text()
    assert 'smoothing = "kneser-ney"' in text
    assert "max_length = 2" in text


def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "toledo", *arguments], capture_output=True, text=True, check=False)


BAD = {
    "unequal": (SOURCE + "more\n", TARGET, r"src has 13, .*trg has 12"),
    "not utf-8": (SOURCE.encode() + "schön\n".encode("latin1"), TARGET + "nice\n", r"src:13: not valid UTF-8"),
    "empty": ("", TARGET, "src: the file is empty"),
    "reserved": (SOURCE + "a <s> b\n", TARGET + "x\n", r"src:13: the reserved word <s>"),
    "truncated": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03+", TARGET, "src: damaged gzip"),
    "only blank": ("\n\n", "\n\n", "none of the 2 sentence pairs"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named_with_its_place_and_leaves_nothing(tmp_path: Path, case: str) -> None:
    source, target, message = BAD[case]
    result = run(["train", *write(tmp_path, source, target)])
    assert result.returncode == 2
    assert re.search(message, result.stderr.replace(str(tmp_path) + "/", "")), result.stderr
    assert "remedy:" in result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["src", "trg"]


@pytest.mark.parametrize("option", ["--alignments", "--lm-text", "--language-model"])
def test_a_missing_file_is_told_before_the_texts_are_read(tmp_path: Path, option: str) -> None:
    result = run(["train", *write(tmp_path, SOURCE, TARGET), option, "absent"])
    assert result.returncode == 2
    assert result.stderr == "toledo: error: absent: no such file\n  remedy: check the path\n"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("0-0\n" * 11, "11"),
        ("0-0\n" * 4 + "0-x\n" + "0-0\n" * 7, ":5:"),
        ("0-0\n0-9\n" + "0-0\n" * 10, ":2:"),
    ],
)
def test_bad_alignments_are_named_with_their_line(tmp_path: Path, lines: str, message: str) -> None:
    arguments = write(tmp_path)
    (tmp_path / "align").write_text(lines)
    result = run(["train", *arguments, "--alignments", str(tmp_path / "align")])
    assert result.returncode == 2
    assert message in result.stderr
    assert not (tmp_path / "model").exists()


def test_a_line_of_a_hundred_thousand_words_is_no_trouble(tmp_path: Path) -> None:
    arguments = write(tmp_path, SOURCE + "a " * 100_000 + "\n", TARGET + "x\n")
    result = run(["train", *arguments])
    assert result.returncode == 0, result.stderr
    assert "left out 1 pairs" in result.stderr


@pytest.mark.parametrize("output", ["thesis", "notes/chapter", "nowhere/model"])
def test_a_bad_output_is_refused_before_any_work(tmp_path: Path, output: str) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("precious")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "chapter").write_text("precious")
    result = run(["train", "--source", "absent", "--target", "absent", "--output", str(tmp_path / output)])
    assert result.returncode == 2
    assert "remedy: name a new directory" in result.stderr or "no such directory" in result.stderr
    assert (tmp_path / "thesis" / "text").read_text() == "precious"
    assert (tmp_path / "notes" / "chapter").read_text() == "precious"


def test_what_the_system_refuses_is_an_error_without_traceback(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run(["sample", "--train", "1", "--output", str(tmp_path / "file")])
    assert result.returncode == 2
    assert "file: File exists" in result.stderr
    assert "Traceback" not in result.stderr


def test_output_is_utf8_whatever_the_locale() -> None:
    command = [sys.executable, "-m", "toledo", "text", "lowercase"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin1"}
    result = subprocess.run(command, input="Łódź\n".encode(), capture_output=True, check=True, env=environment)
    assert result.stdout.decode() == "łódź\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "toledo", "text", "lowercase", "--output", str(tmp_path / "out")]
    listening = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler)}  # also below nohup
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, **listening) as process:
        while process.poll() is None and not list(tmp_path.iterdir()):  # it waits for input with its file open
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(timeout=60) != 0
    assert not list(tmp_path.iterdir())
