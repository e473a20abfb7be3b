"""`toledo demo` from end to end, and the processes that compile ahead of it."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import fail, run, succeed
from pages import check_page

from toledo.cli.demo import CompilingAhead
from toledo.model import PhraseModel

STEPS = (
    "train, default weights", "tune, MERT", "tune, CoBLEU", "decide, viterbi", "decide, max-translation", "decide, mbr",
    "decide, consensus", "decide, forest-consensus", "decide, lattice-mbr", "decide, sampled MBR",
    "combine, third 1 alone", "combine, third 2 alone", "combine, third 3 alone", "combine, all three",
    "documents, consistency", "refine, phrase table",
)  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run a small demo; return its directory, and what it printed."""
    output = tmp_path_factory.mktemp("demo")
    finished = run("demo", "--output", output, "--size", 200, "--threads", 1)
    assert finished.exit_code == 0, finished.output
    return output, finished.output


def test_each_step_says_what_and_where_and_ends_in_the_table(demo: tuple[Path, str]) -> None:
    output, printed = demo
    assert [int(number) for number in re.findall(r"^(\d+)\. .+: \S+$", printed, re.MULTILINE)] == list(range(1, 10))
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in printed.splitlines() if line.startswith("│")]
    assert [row[0] for row in rows] == list(STEPS)
    assert re.search(r"BLEU ┃ chrF2 ┃ +TER ┃ CPU s ┃", printed)
    assert "processor seconds of all threads, without" in printed
    assert re.search(r"^In all: \d+ min \d+ s, \d+ CPU s.*\.$", printed, re.MULTILINE)
    assert all(len(row) == 5 and all(float(cell) >= 0.0 for cell in row[1:]) for row in rows)
    for name in ("default", "mert", "rules/mbr", "combination/test", "documents/test", "refined"):
        assert len((output / f"{name}.out").read_text().splitlines()) == 40


def test_the_report_has_every_part(demo: tuple[Path, str]) -> None:
    page = check_page(demo[0] / "report.html")
    for step in STEPS:
        assert f"<td>{step}</td>" in page
    assert page.count("<h2") == 8
    assert re.search('<span class="w p[0-8]', page)  # posteriors as shades
    assert "forest with" in page
    assert "confusion network of" in page
    assert "alignment error rate" in page
    assert re.search("p: studentized paired bootstrap.* against “train, default weights”", page)
    assert re.search(r"Those that are drawn have \d+% of the probability", page)


def test_its_files_are_runs_to_report_on(demo: tuple[Path, str], tmp_path: Path) -> None:
    succeed("report", demo[0], "--output", tmp_path / "page.html")
    page = check_page(tmp_path / "page.html")
    for part in (
        "Scores: scores.json", "Scores: rules/scores.json", "Combination: combination/tuned", "Tunings side by side",
        "Tuning: mert", "Tuning: cobleu", "Documents: ", "Refinement: refined",
    ):  # fmt: skip
        assert part in page
    assert page.index("Scores: scores.json") < page.index("Tuning: mert")
    rows = _rows(tmp_path / "page.html")[: len(STEPS)]
    assert [row[0] for row in rows] == list(STEPS)
    assert rows == _rows(demo[0] / "report.html")[: len(STEPS)]  # with p values and seconds


def _rows(page: Path) -> list[list[str]]:
    """Return the cells of all tables, without headers."""
    return [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr><td.*</tr>", page.read_text())]


def test_what_the_demo_trained_was_given_nothing(demo: tuple[Path, str]) -> None:
    assert "given" not in PhraseModel.load(demo[0] / "model").signature


def test_a_small_size_is_refused(tmp_path: Path) -> None:
    assert "--size is 20" in fail("demo", "--output", tmp_path / "demo", "--size", 20, "--threads", 1)


@pytest.mark.parametrize(("code", "message"), [("1 / 0", "ZeroDivisionError: division by zero"), ("pass", "")])
def test_a_failure_to_compile_ahead_is_reported_after_the_demo(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: str, message: str
) -> None:
    start = subprocess.Popen

    def start_another(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        assert command[1:] == ["-m", "toledo", "warm-up", "combine", "--quiet"]
        return start([sys.executable, "-c", code], **options)

    monkeypatch.setattr(subprocess, "Popen", start_another)
    with CompilingAhead(True) as ahead:
        ahead.start("combine")
        ahead.processes[0].wait()
        assert not caplog.records
    assert [record.getMessage().splitlines()[-1] for record in caplog.records] == ([message] if message else [])


def test_one_thread_compiles_nothing_ahead() -> None:
    with CompilingAhead(False) as ahead:
        ahead.start("combine")
        assert not ahead.processes


def test_an_interruption_leaves_no_traceback_and_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toledo", "demo", "--output", str(tmp_path / "demo"), "--threads", "2"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}

    def listen() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also below nohup

    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, preexec_fn=listen) as process:
        assert process.stderr is not None
        while b"1. " not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        messages = process.stderr.read().decode()
        assert process.wait(timeout=60) not in (0, 1)
    assert "Traceback" not in messages
    assert not list(tmp_path.glob("toledo-*"))
