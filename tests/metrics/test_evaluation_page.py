"""The pages on evaluation and significance run as printed."""

from pathlib import Path

from page_commands import run_page

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_on_evaluation_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ref.en").write_text("The cat sat on a mat .\nHello\n" * 20)
    for name, verb, article in (
        ("system", "sat", "the"),
        ("baseline", "was sitting", "a"),
        ("better", "sat", "a"),
        ("best", "sat", "a"),
    ):
        Path(f"{name}.en").write_text(f"The cat {verb} on {article} mat .\nHello\n" * 20)
    printed = run_page((DOCS / "evaluation.md").read_text("utf-8"))
    assert "paired bootstrap against 'baseline'" in printed
    assert len(Path("scores.jsonl").read_text().splitlines()) == 4
    assert "line-2" in Path("compare.html").read_text("utf-8")


def test_the_page_on_significance_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = run_page((DOCS / "significance.md").read_text("utf-8"))
    assert printed.count("p (Holm)") == 2
