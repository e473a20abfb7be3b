"""What the demo reports, on a model small enough to count by hand."""

from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from toledo.corpus import ParallelCorpus, Segment, sentences_from
from toledo.phrases.alignments import Alignments
from toledo.reports.demo import AlignmentQuality, Findings, alignment_quality, coverage, summarise, write_report
from toledo.reports.page import Page
from toledo.search.beam import BeamSearch

TEST = [Segment(0, ("das", "haus", "ist", "<b>"), (("the", "house", "is", "<b>"), ("it", "is", "it")))]


def alignments(*lines: list[tuple[int, int]]) -> Alignments:
    offsets = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    return Alignments(offsets, np.array([link for line in lines for link in line], np.int32).reshape(-1, 2))


def test_links_are_compared_sentence_by_sentence() -> None:
    gold = alignments([(0, 0), (1, 1)], [(0, 1), (1, 0)])
    found = alignments([(0, 0)], [(0, 0), (0, 1), (1, 0)])
    assert alignment_quality(found, gold) == AlignmentQuality(precision=3 / 4, recall=3 / 4)
    assert alignment_quality(found, gold).error_rate == pytest.approx(1 / 4)
    assert alignment_quality(gold, gold).error_rate == 0
    assert alignment_quality(alignments([], []), gold).error_rate == 1


def test_coverage_is_the_share_of_known_phrases_of_each_length() -> None:
    # das, haus, ist of four words; "das haus" of three pairs of words
    assert coverage(small_model().table, TEST) == pytest.approx([3 / 4, 1 / 3])


def test_the_report_shows_everything_and_escapes_it(tmp_path: Path) -> None:
    model = small_model()
    corpus = ParallelCorpus(
        sentences_from(np.array([3, 4], np.int32), np.array([2])),
        sentences_from(np.array([3, 4, 5], np.int32), np.array([3])),
        model.source_vocabulary,
        model.target_vocabulary,
        np.array([1]),
    )
    found = BeamSearch(model).translate([segment.words for segment in TEST])
    findings = Findings(corpus, model, AlignmentQuality(0.5, 0.25), TEST, found)
    summary = dict(summarise(findings))
    assert summary["sentence pairs"] == "1"
    assert summary["alignment precision, recall"] == "0.500, 0.250"
    assert summary["phrase pairs"] == "6"
    assert summary["test words that the table knows"] == "75.0%"
    assert summary["BLEU"] == "100.00"
    write_report(tmp_path / "report.html", findings, list(summary.items()))
    text = (tmp_path / "report.html").read_text()
    assert "the house is &lt;b&gt;" in text
    assert "<b>" not in text
    assert "<svg" in text
    assert "is (0.90)" in text  # exp(-0.1)
    assert model.signature in text


def test_cells_are_escaped_and_numbers_set_apart(tmp_path: Path) -> None:
    page = Page("a < b")
    page.table(["x & y"], [[12345], [0.5], ["<script>"]])
    page.write(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert '<td class="number">12,345</td>' in text
    assert '<td class="number">0.5</td>' in text
    assert "<td>&lt;script&gt;</td>" in text
    assert "<title>a &lt; b</title>" in text
