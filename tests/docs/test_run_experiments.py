"""`make experiments` finds the commands of the pages, keeps what they print, and says what they did not print."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "docs" / "run_experiments.py"))
PAGE = """# A page

    python experiments/small.py ../data --work small --seeds 2

| what | BLEU |
|---|---|
| ours | 31.25 ± 0.10 |
| lost | 7.77 |

The paper:

| what | BLEU |
|---|---|
| theirs | 30.0 |

`python experiments/small.py ../data --work small --seeds 2` gives it.
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def test_commands_are_found_once(docs: Path) -> None:
    (one,) = SCRIPT["all_experiments"](docs, ["page"])
    assert one.command == "python experiments/small.py ../data --work small --seeds 2"
    assert one.arguments(Path("W"))[1:] == ["experiments/small.py", "../data", "--work", "W/small", "--seeds", "2"]


def test_outputs_are_kept_and_compared(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = docs / "program.py"
    program.write_text("print('| ours | 31.25 ± 0.10 | 2 |')")
    one = SCRIPT["Experiment"]("page", f"python {program} --work small")
    SCRIPT["run"](one, docs)
    kept = one.file(docs).read_text(encoding="utf-8")
    assert "| ours | 31.25 ± 0.10 | 2 |" in kept
    program.write_text("raise SystemExit(1)")
    SCRIPT["run"](one, docs)  # is there already
    text = SCRIPT["summary"]([one], docs, docs)
    assert "page: 7.77" in text
    assert f"| `{one.command}` | " in text


def test_every_experiment_stands_in_a_page() -> None:
    commands = " ".join(one.command for one in SCRIPT["all_experiments"]())
    helpers = {"runs", "document_sets", "document_weights"}
    for script in (ROOT / "experiments").glob("*.py"):
        assert script.stem in helpers or f"experiments/{script.name}" in commands


def test_runs_on_some_documents_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    of = runpy.run_path(str(ROOT / "experiments" / "document_sets.py"))["DocumentSet"].of
    places = [of("de-en", Path("data"), Path("work"), 1, most).work for most in (None, 5, 30)]
    assert places == [Path("work/de-en"), Path("work/de-en-5"), Path("work/de-en-30")]
