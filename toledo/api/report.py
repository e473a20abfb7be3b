"""Show runs and results on one HTML page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from toledo.api.refine import Refinement
from toledo.api.tune import Tuning
from toledo.errors import InputError
from toledo.metrics.evaluation import Comparison, Evaluation
from toledo.reports.documents import courses_of
from toledo.reports.page import Page
from toledo.reports.runs import ShownRun, courses_run, read_runs, refinement_run, runs_page, scores_run, tuning_run
from toledo.results import Result
from toledo.search.document.translation import DocumentTranslation


def report(*results: str | Path | Result, title: str = "Toledo", examples: int = 5, scale: float = 1.0) -> Page:
    """Show runs and results on one HTML page.

    `results` are files and directories that runs have left, or results of functions such as `compare`. In directories
    all runs are shown. Of n-best lists, the first `examples` segments are shown; `scale` is a factor of their scores,
    below 1 for more even probabilities. `page.save("report.html")` writes the page, notebooks show it.
    """
    if not results:
        raise InputError("nothing to show", argument="results", remedy="give a run or a result")
    if examples < 1:
        raise InputError(f"examples is {examples}, expected at least 1", argument="examples")
    if not (0.0 < scale < math.inf):
        raise InputError(f"scale is {scale:g}, expected a positive number", argument="scale")
    return runs_page(title, [run for one in results for run in _runs(one, examples, scale)])


def _runs(result: str | Path | Result, examples: int, scale: float) -> Iterator[ShownRun]:
    if isinstance(result, str | Path):
        yield from read_runs(Path(result), examples, scale)
    elif isinstance(result, Evaluation | Comparison):
        yield scores_run(type(result).__name__.lower(), result.to_dict())
    elif isinstance(result, Tuning):
        yield tuning_run(result.best.tuner, result.runs)
    elif isinstance(result, Refinement):
        yield refinement_run("refinement", result.history)
    elif isinstance(result, DocumentTranslation) and result.trace:
        yield courses_run("trace", courses_of(result))
    else:
        name = result.signature or "result"
        yield ShownRun(type(result).__name__, name, lambda page: page.markup(result._repr_html_()))
