"""What the demo reports, on a model small enough to count by hand."""

import re
from pathlib import Path

import pytest
from pages import check_page
from small_histories import refinement, tuning
from small_models import small_model

from toledo.combination.explanation import ExplainedSegment
from toledo.combination.pictures import segment_cards, weight_cards
from toledo.forest.derivations import viterbi
from toledo.forest.drawing import to_drawing
from toledo.reports.demo import (
    AlignmentQuality,
    DrawnForest,
    Findings,
    Tour,
    alignment_quality,
    coverage,
    demo_page,
    summarize,
)
from toledo.reports.documents import Course, CoursePoint
from toledo.reports.posteriors import Example, shaded
from toledo.reports.scores import Difference, ScoreTable, SystemScores
from toledo.sample.corpus import ExampleData, ExampleText
from toledo.search.beam.search import BeamSearch
from toledo.view.network import ShownArc

SOURCE = "das haus ist <b>"
TEST = ExampleText([SOURCE], (["the house is <b>"], ["it is it"]), [""], ["1"])


class Data(ExampleData):
    train = ExampleText(["das haus"], (["the house it"],), [""], ["1"])
    test = TEST


def test_links_are_compared_sentence_by_sentence() -> None:
    gold, found = ["0-0 1-1", "0-1 1-0"], ["0-0", "0-0 0-1 1-0"]
    assert alignment_quality(found, gold) == AlignmentQuality(precision=3 / 4, recall=3 / 4)
    assert alignment_quality(found, gold).error_rate == pytest.approx(1 / 4)
    assert alignment_quality(gold, gold).error_rate == 0
    assert alignment_quality(["", ""], gold).error_rate == 1


def test_coverage_is_the_share_of_known_phrases_of_each_length() -> None:
    # das, haus, ist of four words; "das haus" of three pairs of words
    assert coverage(small_model().table, TEST) == pytest.approx([3 / 4, 1 / 3])


def tour() -> Tour:
    model = small_model()
    (forest,) = BeamSearch(model).forests([SOURCE.split()], threads=1)
    (best,) = viterbi(forest, forest.scores(model.weights))
    assert best is not None
    shown = shaded(forest, forest.scores(model.weights), {"viterbi": best.word_ids.tolist()})
    systems = [
        SystemScores("decide, 0", {"BLEU": 50.0, "TER": 30.0}, {"BLEU": (49.0, 51.0)}, 1.0, 1.25),
        SystemScores("decide, 1", {"BLEU": 51.0, "TER": 30.0}, {"BLEU": (50.0, 52.5)}, 1.0, 12.5),
    ]
    tests = [("BLEU", 1.0, 0.01), ("TER", 0.0, 0.5)]
    differences = [Difference("decide, 1", "decide, 0", *one) for one in tests]
    signatures = {"BLEU": "nrefs:2|case:mixed"}
    scores = ScoreTable(systems, signatures, differences, "paired bootstrap", frozenset(["TER"]))
    segment = ExplainedSegment(1, "a <b>", [[ShownArc("<b>", 0.5, (0, 1), True)]], {"A": "a", "B": "<b>"})
    return Tour(
        findings=Findings(model, AlignmentQuality(0.5, 0.25), Data()),
        results=scores,
        tunings={"MERT": tuning("mert", [40.0, 44.0]), "CoBLEU": tuning("cobleu", [40.0, 45.0, 44.5])},
        rules=scores,
        forest=DrawnForest(to_drawing(forest, forest.scores(model.weights)), 0.75),
        examples=[Example("Sentence 1", shown, SOURCE, ["the house is <b>"])],
        network=[*segment_cards(segment, ["A", "B"]), weight_cards({"A": 0.5, "B": 0.5}, {"lm": 0.25})],
        courses=[Course("first <1>", 0, (CoursePoint(0, -10.0, {}), CoursePoint(256, -9.0, {})))],
        refinement=refinement(),
    )


def test_training_in_a_few_lines() -> None:
    summary = dict(summarize(tour().findings))
    assert summary["sentence pairs"] == "1"
    assert summary["alignment precision, recall"] == "0.500, 0.250"
    assert summary["phrase pairs"] == "6"
    assert summary["test words that the table knows"] == "75.0%"


def test_the_report_shows_everything_and_escapes_it(tmp_path: Path) -> None:
    found = tour()
    demo_page(found).save(tmp_path / "report.html")
    text = check_page(tmp_path / "report.html")
    for heading in ("Results", "Decision rules", "Translations", "Three systems", "Whole doc", "Tuning"):
        assert f">{heading}" in text
    assert text.index(">Results") < text.index(">Translations") < text.index(">Tuning")
    assert "<b>house" not in text
    for part in ("forest with", "confusion network of 1 columns", "gain in model score by step", "BLEU by round"):
        assert f'aria-label="{part}' in text
    assert "is (0.90)" in text  # exp(-0.1)
    assert "75% of the probability" in text
    assert "CPU\xa0s: processor seconds of all threads, without compilation." in text
    cells = [re.sub("<[^>]*>", " ", row).split() for row in re.findall("<tr>.*</tr>", text)]
    first = ["decide,", "0", "50.00", "±", "1.0", "baseline", "30.00", "baseline", "1.000", "1.2"]
    second = "51.00 ± 1.2 +1.00 · p = 0.010 30.00 0.00 · p = 0.500 1.000 12.5"
    assert first in cells
    assert ["decide,", "1", *second.split()] in cells
    assert "p: paired bootstrap against “decide, 0”" in text
    assert "BLEU|nrefs:2|case:mixed" in text
    assert found.findings.model.signature in text


def test_the_same_tour_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        demo_page(tour()).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
