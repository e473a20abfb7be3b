"""The commands and the Python of the page on documents run as printed, and what it says of them is so."""

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.formats.documents import read_documents
from toledo.metrics.bleu import BLEU
from toledo.search.document.settings import OPERATIONS

PAGE = Path(__file__).parents[2] / "docs" / "documents.md"


def block(text: str, begin: str, end: str) -> str:
    """An indented block without its indentation."""
    return re.sub(r"^    ", "", text[text.index(begin) : text.index(end) + len(end)], flags=re.MULTILINE)


def bleu(file: str, *references: str) -> float:
    documents = read_documents(file, references).documents
    segments = [part for one in documents for part in one.segments]
    statistics = BLEU(smooth_method="none").corpus_statistics(
        [part.words for part in segments], [part.references for part in segments]
    )
    return BLEU(smooth_method="none").score(statistics.sum(axis=0))


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    Path("docent.xml").write_text(block(text, "    <docent>", "</docent>"))
    commands = re.findall(r"^    toledo (.*)", text, re.MULTILINE)
    assert len(commands) == 14
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        if "docent-config" in command:
            assert re.search(r"^    (docent\.xml: model long.*)", text, re.MULTILINE)[1] in result.stderr
    both = ("sample/test.trg.0", "sample/test.trg.1")
    before, after = map(float, re.search(r"BLEU goes from ([\d.]+) to ([\d.]+)", text).groups())
    assert bleu("test.beam", *both) == pytest.approx(before, abs=0.06)
    assert bleu("test.document", *both) == pytest.approx(after, abs=0.06)
    assert Path("test.again").read_text() == Path("test.document").read_text()
    assert bleu("test.bleu", *both) == pytest.approx(float(re.search(r"to a BLEU of ([\d.]+\d)", text)[1]), abs=1.0)
    assert bleu("test.guided", *both) == pytest.approx(float(re.search(r"That gets to ([\d.]+\d)", text)[1]), abs=1.0)
    assert bleu("test.reached", "test.pseudo") == pytest.approx(float(re.search(r"gives ([\d.]+\d)", text)[1]), abs=1.0)
    for page in ("search.html", "bleu.html"):
        assert Path(page).read_text().count("<svg") == 3
    lines = [json.loads(line) for line in Path("search.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines[:3]] == [0, 256, 512]
    assert lines[0].keys() == {"document", "step", "score", "bleu", "features"}
    program = block(text, "    from toledo.formats.documents", "result.translations[0])")
    exec(compile(program, str(PAGE), "exec"), {})
    assert capsys.readouterr().out.startswith("test-00001")


def test_all_operations_are_explained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in OPERATIONS)
