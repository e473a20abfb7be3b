"""`make experiments` finds the commands of the pages, and runs or lists what is missing."""

import runpy
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from toledo.view.curves import Lines, Series

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "docs" / "run_experiments.py"))
PAGE = """# A page

    python experiments/small.py $DATA --work small --seeds 2

`python experiments/small.py $DATA --work small --seeds 2` gives it.
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


def test_a_command_that_fails_does_not_stop_the_others(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (docs / "good.py").write_text(f"open({str(docs / 'there')!r}, 'w')")
    (docs / "bad.py").write_text("raise SystemExit(2)")
    bad, good = (SCRIPT["Experiment"]("page", f"python {docs / name}.py") for name in ("bad", "good"))
    main = SCRIPT["main"]
    monkeypatch.setitem(main.__globals__, "all_experiments", lambda: [bad, good])
    with pytest.raises(SystemExit, match=r"failed:\n.*bad\.py$"):
        main(["--work", str(docs)])
    assert (docs / "there").exists()


def test_stale_runs_are_listed(docs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    (docs / "stores.py").write_text("import sys; print(sys.argv[1:])  # add_options(parser)")
    (docs / "draws.py").write_text("print('drawn')")
    some = [SCRIPT["Experiment"]("page", f"python {docs / name}.py") for name in ("stores", "draws")]
    main = SCRIPT["main"]
    monkeypatch.setitem(main.__globals__, "all_experiments", lambda: some)
    main(["--stale"])
    assert capfd.readouterr().out == "['--stale']\n"


def test_every_experiment_stands_in_a_page() -> None:
    commands = " ".join(one.command for one in SCRIPT["all_experiments"]())
    helpers = {"runs", "document_sets", "document_weights", "differences", "moses_set", "origin", "printed", "stored"}
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
