"""The commands and the Python of the page on documents run as printed, and what it says of them is so."""

import json
from pathlib import Path

import pytest
from command_line import run
from page_commands import run_page

from toledo.formats.documents import read_documents
from toledo.metrics.bleu import BLEU
from toledo.search.document.settings import OPERATIONS

PAGE = Path(__file__).parents[2] / "docs" / "documents.md"
TEXT = PAGE.read_text(encoding="utf-8")
BOTH = ("data/test.trg.0", "data/test.trg.1")
DOCENT = """\
<docent>
<random>1</random>
<state-generator>
  <initial-state type="monotonic"/>
  <operation type="change-phrase-translation" weight=".8"/>
  <operation type="resegment" weight=".2"><p name="phrase-resegmentation-decay">.1</p></operation>
</state-generator>
<search algorithm="simulated-annealing">
  <p name="max-steps">20000</p>
  <p name="schedule">hill-climbing</p>
  <p name="hill-climbing:max-rejected">10000</p>
</search>
<models>
  <model type="geometric-distortion-model" id="d"><p name="distortion-limit">6</p></model>
  <model type="word-penalty" id="w"/>
  <model type="oov-penalty" id="oov"/>
  <model type="ngram-model" id="lm"><p name="lm-file">moses/lm.0.arpa.gz</p></model>
  <model type="phrase-table" id="tm"><p name="file">moses/phrase-table.gz</p></model>
  <model type="long-word-penalty" id="long"><p name="long-word-length-limit">7</p></model>
</models>
<weights>
  <weight model="d" score="0">0.3</weight> <weight model="d" score="1">1e30</weight>
  <weight model="w">-1</weight> <weight model="oov">100</weight> <weight model="lm">0.5</weight>
  <weight model="tm" score="0">0.2</weight> <weight model="tm" score="1">0.2</weight>
  <weight model="tm" score="2">0.2</weight> <weight model="tm" score="3">0.2</weight>
  <weight model="long">0.1</weight>
</weights>
</docent>
"""


def bleu(file: str, *references: str) -> float:
    documents = read_documents(file, references).documents
    segments = [part for one in documents for part in one.segments]
    statistics = BLEU(smooth_method="none").corpus_statistics(
        [part.words for part in segments], [part.references for part in segments]
    )
    return BLEU(smooth_method="none").score(statistics.sum(axis=0))


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before_docent, docent = TEXT.split("## From Docent")
    printed = run_page(before_docent)
    beam, document = (bleu(name, *BOTH) for name in ("test.beam", "test.document"))
    assert 0.0 < abs(document - beam) < 5.0  # "a few phrases change"
    assert Path("test.again").read_text() == Path("test.document").read_text()
    plain, guided, pseudo = bleu("test.bleu", *BOTH), bleu("test.guided", *BOTH), bleu("test.reached", "test.pseudo")
    assert beam + 10 < plain < guided < 90
    assert pseudo > 95  # "nearly finds it"
    lines = [json.loads(line) for line in Path("search.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines[:3]] == [0, 256, 512]
    assert lines[0].keys() == {"document", "step", "score", "bleu", "features"}
    for page in ("search.html", "bleu.html"):
        figures = Path(page).read_text().count("<figure>")
        assert figures == 3 + len(lines[0]["features"]), (page, figures)  # score, BLEU and the language model first
    assert "test-00001" in printed
    Path("docent.xml").write_text(DOCENT)
    assert run("export", "model", "--output", "moses").exit_code == 0
    lost = run("import", "--docent-config", "docent.xml", "--output", "docent-model").stderr
    assert "docent.xml: model long (long-word-penalty): Toledo has none like it; its weight of 0.1 is lost" in lost
    run_page(docent)
    assert len(Path("test.docent").read_text().splitlines()) == 60


def test_all_operations_are_explained() -> None:
    assert all(f"`{name}`" in TEXT for name in OPERATIONS)
