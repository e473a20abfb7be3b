"""`make experiments` finds the commands of the pages, keeps what they print, and says what they did not print."""

import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from toledo.view.curves import Lines, Series

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "docs" / "run_experiments.py"))
PAGE = """# A page

Speed, by `python benchmarks/small.py`:

| size | BLEU |
|---|---|
| 10 | 99.9 |

    python experiments/small.py $DATA --work small --seeds 2

- In a list:

  | what | BLEU | p | CPU s |
  |---|---|---|---|
  | ours | **31.25 ± 0.10** | − 0.020 | 3.3 |
  | lost | 7.77 | | 3.3 |

The paper:

| what | BLEU |
|---|---|
| theirs | 30.0 |

`python experiments/small.py $DATA --work small --seeds 2` gives it.

| what | one | two |
|---|---|---|
| both | 31.25 ± 0.10, 33.00 | 12 |
| mixed | 31.25 ± 0.10 | 7.50 |
"""


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    return tmp_path


def test_commands_are_found_once(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", "../texts")
    (one,) = SCRIPT["all_experiments"](docs, ["page"])
    assert one.command == "python experiments/small.py $DATA --work small --seeds 2"
    assert one.arguments(Path("W"))[1:] == ["experiments/small.py", "../texts", "--work", "W/small", "--seeds", "2"]


def test_outputs_are_kept_and_compared(docs: Path) -> None:
    program = docs / "program.py"
    program.write_text("print('| ours | 31.25 ± 0.10 | − 0.020 |')")
    one = SCRIPT["Experiment"]("page", f"python {program} --work small")
    assert SCRIPT["run"](one, docs)
    kept = one.file(docs).read_text(encoding="utf-8")
    assert "| ours | 31.25 ± 0.10 | − 0.020 |" in kept
    program.write_text("raise SystemExit(1)")
    assert SCRIPT["run"](one, docs)  # is there already
    text = SCRIPT["summary"]([one], docs, docs)
    assert "page, 2 tables: 7.77 (lost); " in text
    assert f"| `{one.command}` | " in text


def test_a_command_that_fails_does_not_stop_the_others(
    docs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "good.py").write_text("print('| ours | 31.25 |')")
    (docs / "bad.py").write_text("print('| half |'); raise SystemExit(2)")
    bad, good = (SCRIPT["Experiment"]("page", f"python {docs / name}.py") for name in ("bad", "good"))
    main, summary = SCRIPT["main"], SCRIPT["summary"]
    monkeypatch.setitem(main.__globals__, "all_experiments", lambda: [bad, good])
    monkeypatch.setitem(main.__globals__, "summary", lambda some, work: summary(some, work, docs))
    with pytest.raises(SystemExit, match=r"failed:\n.*bad\.py"):
        main(["--work", str(docs)])
    printed = capsys.readouterr().out
    assert f"| `{bad.command}` | failed |" in printed
    assert f"| `{good.command}` | failed |" not in printed
    assert not bad.file(docs).exists()
    assert good.file(docs).exists()


def test_tables_are_those_of_the_command_before_them() -> None:
    first, second = SCRIPT["own_tables"](PAGE)
    assert first[1] == ["ours", "31.25 ± 0.10", "- 0.020", "3.3"]
    assert [row[0] for row in second] == ["what", "both", "mixed"]


def test_numbers_are_looked_for_beside_their_neighbors() -> None:
    first, second = SCRIPT["own_tables"](PAGE)
    assert SCRIPT["not_printed"](first, "| ours | 31.25 ± 0.10 | − 0.020 | 4.1 |\n| 7.77 |") == []
    assert SCRIPT["not_printed"](first, "| ours | 31.25 ± 0.10 | + 0.020 |") == [
        "31.25 ± 0.10 (ours)",
        "- 0.020 (ours)",
        "7.77 (lost)",
    ]
    printed = "| 31.25 ± 0.10 | 5 |\n| other | 12 | 33.00 |\nplain 7.50 1.00"
    assert SCRIPT["not_printed"](second, printed) == ["31.25 ± 0.10 (both)", "31.25 ± 0.10 (mixed)", "7.50 (mixed)"]
    assert SCRIPT["not_printed"](second, printed + "\n| 31.25 ± 0.10 | 33.00 | 7.50 |") == []


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


def test_the_same_picture_has_the_same_bytes(tmp_path: Path) -> None:
    save = runpy.run_path(str(ROOT / "experiments" / "runs.py"))["save_figure"]
    for name in ("one/picture.svg", "two/picture.svg"):
        plot = Lines([Series("θ", [(0, 1.0), (1, 3.0), (2, 2.0)])], "step", "score")
        save([[("first", plot), ("second", plot)], [("third", plot)]], tmp_path / name)
    assert (tmp_path / "one/picture.svg").read_bytes() == (tmp_path / "two/picture.svg").read_bytes()
    root = ElementTree.parse(tmp_path / "one/picture.svg").getroot()
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 3
