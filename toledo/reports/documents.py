"""Plots of a document search: scores over steps, and the language model's score against BLEU.

The second is that of Smith, *BLEU decoding and feature weight tuning in Docent* (2015), figures 3.1 to 3.3: three lines
show, at each recorded step and across the documents, the smallest, the mean and the largest of both values.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from toledo.files import atomic_writer
from toledo.reports.page import BLUE, GRAY, RED, Page
from toledo.search.document.translation import DocumentTranslation

LANGUAGE_MODEL = "lm"
MOST_LINES, MOST_ROWS = 60, 200
LITTLE = 10.0  # BLEU: below it, there is no movement to see
DOCUMENT = "document."


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


Draw = Callable[[Axes, Sequence[Course]], None]


def write_plots(path: str | Path, courses: Sequence[Course], title: str = "Document search") -> None:
    """Write a page with plots and a table (.html), or the plots alone (.svg)."""
    if str(path).endswith(".svg"):
        panels = _panels(courses)
        figure = Figure(figsize=(7, 3.5 * len(panels)), layout="constrained")
        for axes, (_, draw) in zip(np.ravel(figure.subplots(len(panels), 1)), panels, strict=True):
            draw(axes, courses)
        drawing = io.StringIO()
        figure.savefig(drawing, format="svg", metadata={"Date": None})
        with atomic_writer(path) as stream:
            stream.write(drawing.getvalue())
        return
    page = Page(title)
    add_courses(page, courses)
    page.save(path)


def add_courses(page: Page, courses: Sequence[Course], most_rows: int = MOST_ROWS) -> None:
    """Add the plots of a search, and a table of its documents."""
    segments = sum(one.segments for one in courses)
    page.paragraph(f"{len(courses)} documents{f', {segments} segments' if segments else ''}.")
    for heading, draw in _panels(courses):
        page.subheading(heading)
        with page.plot() as axes:
            draw(axes, courses)
    some = f": the first {most_rows} of {len(courses)}" if len(courses) > most_rows else ""
    page.subheading(f"Documents{some}, at the first and at the last step")
    page.table(*_table(courses, most_rows))


def _panels(courses: Sequence[Course]) -> list[tuple[str, Draw]]:
    points = [point for course in courses for point in course.points]
    panels: list[tuple[str, Draw]] = [("What the search gains step by step", _draw_scores)]
    if all(point.bleu is not None for point in points):
        panels.append(("BLEU step by step", _draw_bleu))
        moved = max(abs(_bleu(course.points[-1]) - _bleu(course.points[0])) for course in courses)
        if moved > LITTLE and all(LANGUAGE_MODEL in point.features for point in points):
            panels.append(("The language model's score against BLEU", _draw_language_model))
    return panels


def _draw_scores(axes: Axes, courses: Sequence[Course]) -> None:
    def gain(course: Course, point: CoursePoint) -> float:
        return (point.score - course.points[0].score) / (course.segments or 1)

    _draw_courses(axes, courses, gain)
    axes.set(xlabel="step", ylabel=f"gain in model score{' per segment' if courses[0].segments else ''}")


def _draw_bleu(axes: Axes, courses: Sequence[Course]) -> None:
    _draw_courses(axes, courses, lambda _, point: _bleu(point))
    axes.set(xlabel="step", ylabel="BLEU of the document")


def _draw_courses(axes: Axes, courses: Sequence[Course], value: Callable[[Course, CoursePoint], float]) -> None:
    """Draw a thin line for each of the first documents, a thick one for the mean of all."""
    for course in courses[:MOST_LINES]:
        steps = [point.step for point in course.points]
        axes.plot(steps, [value(course, point) for point in course.points], color=GRAY, linewidth=0.6)
    steps, values = _at_all_steps(courses, value)
    axes.plot(steps, values.mean(axis=0), color=RED, marker=".", label="mean")
    axes.set_xscale("symlog", linthresh=max(next((step for step in steps if step), 1), 1))
    axes.legend()


def _draw_language_model(axes: Axes, courses: Sequence[Course]) -> None:
    """Draw smallest against smallest, mean against mean, largest against largest, step by step."""
    _, bleu = _at_all_steps(courses, lambda _, point: _bleu(point))
    _, scores = _at_all_steps(courses, lambda _, point: point.features[LANGUAGE_MODEL])
    for name, of, color in (("max", np.max, BLUE), ("mean", np.mean, RED), ("min", np.min, GRAY)):
        axes.plot(of(bleu, axis=0), of(scores, axis=0), color=color, marker=".", label=name)
    axes.set(xlabel="BLEU", ylabel="language model score of the document")
    axes.legend()


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


def _table(courses: Sequence[Course], most: int) -> tuple[list[str], list[list[object]]]:
    """Return the table of scores, features of document models and BLEU, at the first and the last step."""
    first, segments = courses[0].points[0], any(course.segments for course in courses)
    features = [name for name in first.features if name.startswith(DOCUMENT)]
    values: list[tuple[str, Callable[[CoursePoint], float], int]] = [("score", lambda point: point.score, 2)]
    values += [(name.removeprefix(DOCUMENT), partial(_feature, name), 3) for name in features]
    values += [("BLEU", _bleu, 2)] if first.bleu is not None else []
    head = ["document", *(["segments"] if segments else []), "steps"]
    rows: list[list[object]] = []
    for course in courses[:most]:
        ends = course.points[0], course.points[-1]
        row: list[object] = [course.document, *([course.segments] if segments else []), ends[1].step]
        rows.append([*row, *(f"{value(point):.{digits}f}" for _, value, digits in values for point in ends)])
    return [*head, *(title for name, _, _ in values for title in (f"{name} first", "last"))], rows


def _feature(name: str, point: CoursePoint) -> float:
    return point.features.get(name, 0.0)
