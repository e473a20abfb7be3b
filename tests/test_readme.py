"""The commands and the Python of the README and of the pages on training and translating run as printed."""

import re
from pathlib import Path

import pytest
from page_commands import programs, run_lines

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "docs" / "training.md", ROOT / "docs" / "translation.md"]
SENTENCES = ["The cat {} on the mat.", "The dog {} on the mat.", "A bird {} in the tree.", "He waits for the train."]
VERBS = {"A": "sat", "B": "sits", "C": "sat"}


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


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    Path("samples.jsonl").write_text("\n".join(re.findall(r"^    (\{\".*\})$", text, re.MULTILINE)), encoding="utf-8")
    for folder in ("tune", "test"):
        Path(folder).mkdir()
        for name, verb in VERBS.items():
            Path(folder, f"{name}.en").write_text("\n".join([line.format(verb) for line in SENTENCES]) + "\n")
        Path(f"{folder}.en").write_text(Path(folder, "A.en").read_text())
    printed = run_lines(text)
    assert len(printed) == 4
    assert len(Path("out.txt").read_text().splitlines()) == 2
    assert Path("combined.en").read_text() == Path("test.en").read_text()
    assert "BLEU|nrefs:1" in printed["toledo evaluate --reference test.en test/A.en combined.en"]
    (program,) = programs(text)
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == "The cat sat on the mat.\n"


def test_the_measured_figures_are_those_of_the_results() -> None:
    text, results = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/results.md"))
    (ours, theirs) = re.search(r"decodes, sentences per CPU s \| (\d+) \| (\d+)", text).groups()
    assert re.search(rf"^\| 400 \(default\) \| {ours} \| {theirs} \|", results, re.MULTILINE)
    (ours, theirs) = re.search(r"200 × 200 texts, CPU ms \| ([\d.]+) [| ]*\| ([\d,]+) \|", text).groups()
    assert f"| BLEU | 200 × 200 | {ours} | {theirs.replace(',', '')} |" in results
