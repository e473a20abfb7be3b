"""Show runs and results on one HTML page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from toledo.errors import InputError
from toledo.metrics.evaluation import Comparison, Evaluation
from toledo.reports.page import Page
from toledo.reports.runs import ShownRun, read_runs, runs_page, scores_run
from toledo.results import Result


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
    else:
        name = result.signature or "result"
        yield ShownRun(type(result).__name__, name, lambda page: page.markup(result._repr_html_()))
