"""Scores and badges: a loss never looks like a gain."""

import xml.etree.ElementTree as ElementTree

import pytest

from toledo.reports.scores import score_table, scores
from toledo.view.plots import Dot
from toledo.view.scores import badge, common_ends, interval_cell, score


@pytest.mark.parametrize(
    ("difference", "p", "higher", "kind", "text"),
    [
        (0.81, 0.007, True, "badge better", "+0.81 · p = 0.007"),
        (-0.81, 0.007, True, "badge worse", "−0.81 · p = 0.007"),
        (-0.81, 0.007, False, "badge better", "−0.81 · p = 0.007"),
        (0.81, 0.0004, False, "badge worse", "+0.81 · p ≤ 0.001"),
        (0.13, 0.175, True, "badge", "+0.13 · p = 0.175"),
        (0.0, 0.01, True, "badge", "0.00 · p = 0.010"),
        (0.5, None, True, "badge", "+0.50"),
    ],
)
def test_badges(difference: float, p: float | None, higher: bool, kind: str, text: str) -> None:
    assert badge(difference, p, higher) == f'<span class="{kind}">{text}</span>'


def test_scores_show_half_the_width_of_their_interval() -> None:
    assert score(39.314, 1.62) == '<span class="score"><b>39.31</b><small> ± 1.6</small></span>'
    assert score(39.314) == '<span class="score"><b>39.31</b></span>'


def test_intervals_of_a_column_share_an_axis() -> None:
    dots = [Dot("a", 40.0, 38.0, 42.0), Dot("b", 45.0, 43.0, 47.0)]
    ends = common_ends(dots)
    assert ends == (38.0, 47.0)
    first, second = (ElementTree.fromstring(interval_cell(one, ends, 40.0)) for one in dots)
    lines = [
        [float(line.get(name, "")) for name in ("x1", "x2")] for svg in (first, second) for line in svg.iter("line")
    ]
    assert lines[0] == lines[2]  # the hairline of the baseline
    assert lines[1][1] < lines[3][0]  # 38 to 42 ends before 43 to 47 begins


def _system(bleu: float, ter: float) -> dict[str, object]:
    def one(name: str, value: float, higher: bool) -> dict[str, object]:
        interval = {"mean": value, "low": value - 1.0, "high": value + 1.0}
        return {"name": name, "score": value, "interval": interval, "higher_is_better": higher, "signature": "bs:10"}

    return {"scores": {"bleu": one("BLEU", bleu, True), "ter": one("TER", ter, False)}, "length_ratio": 1.0}


def _test(system: str, baseline: str, metric: str, difference: float) -> dict[str, object]:
    found = {"system": system, "baseline": baseline, "metric": metric, "difference": difference}
    return {**found, "p": 0.001, "p_corrected": 0.002}


SYSTEMS = {"a": _system(40.0, 50.0), "b": _system(38.0, 48.0), "c": _system(41.0, 47.0)}


def test_losses_are_red_and_gains_green_whatever_the_metric() -> None:
    tests = [_test("b", "a", "bleu", -2.0), _test("b", "a", "ter", -2.0)]
    found = scores(score_table({"systems": SYSTEMS, "tests": tests}, "x"))
    row = next(line for line in found.splitlines() if line.startswith("<tr><td>b"))
    assert '<span class="badge worse">−2.00 · p = 0.002</span>' in row
    assert '<span class="badge better">−2.00 · p = 0.002</span>' in row
    assert "p: sacreBLEU&#x27;s paired bootstrap, Holm&#x27;s correction against “a”" in found
    assert found.count("<svg") == 6


def test_all_pairs_are_a_table_of_their_own() -> None:
    tests = [_test("b", "a", "bleu", -2.0), _test("c", "a", "bleu", 1.0), _test("c", "b", "bleu", 3.0)]
    found = scores(score_table({"systems": SYSTEMS, "tests": tests}, "x"))
    assert found.count("<table>") == 2
    assert '<td>c</td><td>b</td><td>BLEU</td><td><span class="badge better">+3.00' in found
