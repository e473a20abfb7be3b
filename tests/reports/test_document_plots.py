"""Plots of document searches: what is in them."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from toledo.reports.documents import Course, CoursePoint, _at_all_steps, _feature_table, write_plots


def course(name: str, steps: list[int], bleu: bool = True) -> Course:
    points = (CoursePoint(k, -10.0 + k, {"lm": -5.0 - k}, 10.0 + k if bleu else None) for k in steps)
    return Course(name, 2, tuple(points))


def test_a_document_that_stops_keeps_its_last_value() -> None:
    steps, values = _at_all_steps([course("a", [0, 1, 3]), course("b", [0, 2])], lambda _, point: point.score)
    assert steps == [0, 1, 2, 3]
    np.testing.assert_array_equal(values, [[-10, -9, -9, -7], [-10, -10, -8, -8]])


def test_features_by_step_are_means_over_documents() -> None:
    header, rows = _feature_table([course("a", [0, 1, 3]), course("b", [0, 2])])
    assert header == ["step", "score", "BLEU", "lm"]
    assert rows[0] == [0, "−10.00", "10.00", "−5.00"]
    assert rows[-1] == [3, "−7.50", "12.50", "−7.50"]


@pytest.mark.parametrize(("bleu", "plots"), [(True, 4), (False, 2)])  # one is for the only feature
def test_pages_and_drawings(tmp_path: Path, bleu: bool, plots: int) -> None:
    courses = [course("first <1>", [0, 256, 512], bleu), course("second", [0, 256], bleu)]
    write_plots(tmp_path / "search.html", courses)
    page = (tmp_path / "search.html").read_text()
    assert page.count("<svg") == 2 * plots  # each for a screen and for a phone
    assert "first &lt;1&gt;" in page
    assert ("language model" in page) == bleu
    write_plots(tmp_path / "search.svg", courses)
    drawing = (tmp_path / "search.svg").read_text()
    root = ElementTree.fromstring(drawing)
    assert drawing.count("polyline") >= plots
    assert len(list(root.iter("{http://www.w3.org/2000/svg}svg"))) == plots + 2  # the file, the grid, the plots
    assert "var(" not in drawing  # colors that every viewer understands
