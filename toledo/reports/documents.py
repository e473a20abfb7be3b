"""Plots of a document search: scores over steps, and the language model's score against BLEU.

The second is that of Smith, *BLEU decoding and feature weight tuning in Docent* (2015), figures 3.1 to 3.3: three lines
show, at each recorded step and across the documents, the smallest, the mean and the largest of both values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.files import atomic_writer
from toledo.search.document.translation import DocumentTranslation
from toledo.view.curves import Lines, Series
from toledo.view.markup import Markup
from toledo.view.page import Page, card, columns
from toledo.view.plots import HALF, WIDE, figure
from toledo.view.svg import grid, svg_file
from toledo.view.tables import Cell, facts, fixed, table

LANGUAGE_MODEL = "lm"
MOST_LINES, MOST_ROWS = 60, 200
LITTLE = 10.0  # BLEU: below it, there is no movement to see
DOCUMENT = "document."
SPARSE = ":"  # in the names of sparse features
MOST_FEATURES, MOST_STEPS = 24, 40
MEANS = "means over documents"


@dataclass(frozen=True)
class CoursePoint:
    """A recorded state: its step, the model score, all features, and BLEU where there are references."""

    step: int
    score: float
    features: Mapping[str, float]
    bleu: float | None = None


@dataclass(frozen=True)
class Course:
    """The recorded states of a document; `segments` is 0 where their number is unknown."""

    document: str
    segments: int
    points: tuple[CoursePoint, ...]


def courses_of(translation: DocumentTranslation) -> list[Course]:
    """Return the courses of translated documents from their recorded states."""
    points: dict[str, list[CoursePoint]] = {document.id: [] for document in translation}
    for row in translation.trace:
        points[row["document"]].append(CoursePoint(row["step"], row["score"], row["features"], row.get("bleu")))
    sizes = {document.id: len(document.texts) for document in translation}
    return [Course(name, sizes[name], tuple(own)) for name, own in points.items()]


def write_plots(path: str | Path, courses: Sequence[Course], title: str = "Document search") -> None:
    """Write a page with plots and a table (.html), or the plots alone (.svg)."""
    if str(path).endswith(".svg"):
        both = [*_plots(courses), *_feature_plots(courses)]
        plots = [[(heading, plot.draw(WIDE))] for heading, plot in both]
        with atomic_writer(path) as stream:
            stream.write(svg_file(grid(plots, title)))
        return
    page = Page(title)
    page.add(*course_cards(courses, level=2))
    page.save(path)


def course_cards(courses: Sequence[Course], most_rows: int = MOST_ROWS, level: int = 3) -> list[Markup]:
    """Return the result of a search, its plots, and a table of its documents."""
    plots, features = (
        [card(heading, figure(plot, HALF), level=level) for heading, plot in some]
        for some in (_plots(courses), _feature_plots(courses))
    )
    some = f"the first {most_rows} of {len(courses)}, " if len(courses) > most_rows else ""
    documents = table(*_table(courses, most_rows), description="documents")
    return [
        card("Result", facts(_result(courses)), level=level),
        columns(*plots),
        *([columns(*features)] if features else []),
        card(
            "Features by step", table(*_feature_table(courses), description="features by step"), note=MEANS, level=level
        ),
        card("Documents", documents, note=f"{some}at the first and at the last step", level=level),
    ]


def _result(courses: Sequence[Course]) -> list[tuple[str, str]]:
    segments = sum(one.segments for one in courses)
    gains = [one.points[-1].score - one.points[0].score for one in courses]
    ends = [(one.points[0].bleu, one.points[-1].bleu) for one in courses]
    moved = [last - first for first, last in ends if first is not None and last is not None]
    return [
        ("documents", f"{len(courses):,}"),
        *([("segments", f"{segments:,}")] if segments else []),
        ("mean gain in model score", fixed(float(np.mean(gains)), sign=True)),
        *([("mean change of a document's BLEU", fixed(float(np.mean(moved)), sign=True))] if moved else []),
    ]


def _plots(courses: Sequence[Course]) -> list[tuple[str, Lines]]:
    points = [point for course in courses for point in course.points]
    unit = " per segment" if courses[0].segments else ""

    def gain(course: Course, point: CoursePoint) -> float:
        return (point.score - course.points[0].score) / (course.segments or 1)

    plots = [("What the search gains step by step", _by_step(courses, gain, f"gain in model score{unit}"))]
    if all(point.bleu is not None for point in points):
        plots.append(("BLEU step by step", _by_step(courses, lambda _, point: _bleu(point), "BLEU of the document")))
        moved = max(abs(_bleu(course.points[-1]) - _bleu(course.points[0])) for course in courses)
        if moved > LITTLE and all(LANGUAGE_MODEL in point.features for point in points):
            plots.append(("The language model's score against BLEU", _language_model(courses)))
    return plots


def _feature_names(courses: Sequence[Course]) -> list[str]:
    """Return the features that are not sparse."""
    found = dict.fromkeys(name for course in courses for name in course.points[-1].features)
    return [name for name in found if SPARSE not in name][:MOST_FEATURES]


def _feature_plots(courses: Sequence[Course]) -> list[tuple[str, Lines]]:
    """Return the smallest, the mean and the largest value of each feature, step by step (Smith 2015, chapter 3)."""
    plots = []
    for name in _feature_names(courses):
        steps, values = _at_all_steps(courses, lambda _, point, name=name: _feature(name, point))  # type: ignore[misc]
        curves = [
            Series(title, list(zip(steps, of(values, axis=0).tolist(), strict=True)))
            for title, of in (("max", np.max), ("mean", np.mean), ("min", np.min))
        ]
        plots.append((name, Lines(curves, "step", name, logarithmic=True, height=200)))
    return plots


def _feature_table(courses: Sequence[Course]) -> tuple[list[str], list[list[Cell]]]:
    """Return the mean of each feature over documents, and of BLEU, by step: evenly chosen ones if there are many."""
    columns_of: dict[str, Callable[[Course, CoursePoint], float]] = {"score": lambda _, point: point.score}
    if all(course.points[-1].bleu is not None for course in courses):
        columns_of["BLEU"] = lambda _, point: _bleu(point)
    for name in _feature_names(courses):
        columns_of[name] = lambda _, point, name=name: _feature(name, point)  # type: ignore[misc]
    means = [_at_all_steps(courses, value)[1].mean(axis=0) for value in columns_of.values()]
    steps, _ = _at_all_steps(courses, lambda _, point: point.score)
    shown = sorted({round(k) for k in np.linspace(0, len(steps) - 1, min(len(steps), MOST_STEPS))})
    rows: list[list[Cell]] = [[steps[k], *(fixed(float(mean[k])) for mean in means)] for k in shown]
    return ["step", *columns_of], rows


def _by_step(courses: Sequence[Course], value: Callable[[Course, CoursePoint], float], name: str) -> Lines:
    """Return a thin line for each of the first documents, and one for the mean of all."""
    thin = [
        Series("", [(point.step, value(course, point)) for point in course.points]) for course in courses[:MOST_LINES]
    ]
    steps, values = _at_all_steps(courses, value)
    mean = Series("mean", list(zip(steps, values.mean(axis=0).tolist(), strict=True)))
    return Lines([*thin, mean], "step", name, logarithmic=True)


def _language_model(courses: Sequence[Course]) -> Lines:
    """Return smallest against smallest, mean against mean, largest against largest, step by step."""
    _, bleu = _at_all_steps(courses, lambda _, point: _bleu(point))
    _, scores = _at_all_steps(courses, lambda _, point: point.features[LANGUAGE_MODEL])
    curves = [
        Series(name, list(zip(of(bleu, axis=0).tolist(), of(scores, axis=0).tolist(), strict=True)))
        for name, of in (("max", np.max), ("mean", np.mean), ("min", np.min))
    ]
    return Lines(curves, "BLEU", "language model score of the document")


def _at_all_steps(
    courses: Sequence[Course], value: Callable[[Course, CoursePoint], float]
) -> tuple[list[int], NDArray[np.float64]]:
    """Return values by document and step; a document that stopped or skipped a step keeps its last value."""
    steps = sorted({point.step for course in courses for point in course.points})
    rows = np.empty((len(courses), len(steps)))
    for row, course in zip(rows, courses, strict=True):
        known = {point.step: value(course, point) for point in course.points}
        last = value(course, course.points[0])
        for place, step in enumerate(steps):
            last = known.get(step, last)
            row[place] = last
    return steps, rows


def _bleu(point: CoursePoint) -> float:
    return 0.0 if point.bleu is None else point.bleu


def _table(courses: Sequence[Course], most: int) -> tuple[list[str], list[list[Cell]]]:
    """Return the table of scores, features of document models and BLEU, at the first and the last step."""
    first, segments = courses[0].points[0], any(course.segments for course in courses)
    features = [name for name in first.features if name.startswith(DOCUMENT)]
    values: list[tuple[str, Callable[[CoursePoint], float], int]] = [("score", lambda point: point.score, 2)]
    values += [(name.removeprefix(DOCUMENT), partial(_feature, name), 3) for name in features]
    values += [("BLEU", _bleu, 2)] if first.bleu is not None else []
    head = ["document", *(["segments"] if segments else []), "steps"]
    rows: list[list[Cell]] = []
    for course in courses[:most]:
        ends = course.points[0], course.points[-1]
        row: list[Cell] = [course.document, *([course.segments] if segments else []), ends[1].step]
        rows.append([*row, *(fixed(value(point), digits) for _, value, digits in values for point in ends)])
    return [*head, *(title for name, _, _ in values for title in (f"{name} first", "last"))], rows


def _feature(name: str, point: CoursePoint) -> float:
    return point.features.get(name, 0.0)
