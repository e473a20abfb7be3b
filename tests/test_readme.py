"""The README and the pages on training and translating run as printed."""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import succeed
from page_commands import run_page
from readme_files import write_systems

ROOT = Path(__file__).parents[1]
TRAINING, TRANSLATION = ROOT / "docs" / "training.md", ROOT / "docs" / "translation.md"


def test_the_page_on_training_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(TRAINING.read_text(encoding="utf-8"))
    assert len(Path("test.out").read_text(encoding="utf-8").splitlines()) == 100
    assert len(Path("clean.src").read_text(encoding="utf-8").splitlines()) > 1900
    models = ("model", "imported", "another-model", "model-of-words")
    assert all(Path(name, "model.toml").is_file() for name in models)


def test_the_page_on_translating_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    run_page(TRANSLATION.read_text(encoding="utf-8"), names)
    assert names["texts"] == succeed("translate", "model", "data/test.src").splitlines()
    for name in ("mbr", "lmbr", "itg", "gibbs", "scores"):
        assert len(Path(f"test.{name}").read_text(encoding="utf-8").splitlines()) == 50
    assert all(Path(name).exists() for name in ("forests", "test.slf", "test.hg.gz", "test.trace", "forced.jsonl"))


@pytest.fixture
def readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write_systems()
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_choosing_and_comparing_in_the_readme(readme: str) -> None:
    """Blocks without a combination."""
    text = re.sub(r"^```(?:sh|python)\n[^`]*ombin[^`]*^```$", "", readme, flags=re.MULTILINE)
    printed = run_page(text)
    assert len(Path("out.txt").read_text().splitlines()) == 2
    assert printed.count("BLEU   nrefs:1|") == 2
    assert printed.count("paired bootstrap against 'A'") == 2


def test_the_readme_runs(readme: str) -> None:
    names: dict[str, object] = {}
    printed = run_page(readme, names)
    assert Path("combined.en").read_text() == Path("test.en").read_text()
    assert names["combined"] == Path("test.en").read_text().splitlines()
    assert re.search(
        r"^system +BLEU +TER +length +share\nA +\d+\.\d\d +\d+\.\d\d +\d\.\d{3} +0\.\d{3}\n(.*\n){2}MBR choice .*\n"
        r"combination +\d+\.\d\d ",
        printed,
        re.MULTILINE,
    )


def test_the_readme_is_short(readme: str) -> None:
    assert len(readme.split()) <= 800
