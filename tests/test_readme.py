"""The README and the pages on training and translating run as printed."""

import re
from pathlib import Path

import pytest
from page_commands import programs, run_lines, run_page, write_systems

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "training.md", ROOT / "docs" / "translation.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language in ("de", "en"):
        Path(f"raw.{language}").write_text("Hello, world!\nAnd more.\n")
    text = page.read_text(encoding="utf-8")
    assert len(run_lines(text)) >= 6
    (program,) = programs(text)
    exec(compile(program, str(page), "exec"), {})
    assert Path("another-model", "model.toml").is_file()


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
        r"^system +BLEU  share\nA +\d+\.\d\d  0\.\d{3}\n(.*\n){2}combination +\d+\.\d\d$", printed, re.MULTILINE
    )


def test_the_readme_is_short(readme: str) -> None:
    assert len(readme.split()) <= 800


def test_the_measured_figures_are_those_of_the_results() -> None:
    text, results = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/results.md"))
    (ours, theirs) = re.search(r"decodes, sentences per CPU s \| (\d+) \| (\d+)", text).groups()
    assert re.search(rf"^\| 400 \(default\) \| {ours} \| {theirs} \|", results, re.MULTILINE)
    (ours, theirs) = re.search(r"200 × 200 texts, CPU ms \| ([\d.]+) [| ]*\| ([\d,]+) \|", text).groups()
    assert f"| BLEU | 200 × 200 | {ours} | {theirs.replace(',', '')} |" in results
