"""Scores of one or several systems as they are reported, and tests whether systems differ.

Statistics are counted once for each system and metric; intervals and tests resample them: segments, or whole documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import read_lines
from toledo.metrics.analysis.analysis import (
    SegmentAnalysis,
    analyze_segments,
    differing_most,
    segment_difference,
    word_frequency,
)
from toledo.metrics.analysis.pairs import SegmentDifference
from toledo.metrics.analysis.segment_table import SegmentTable
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric, number_of_references, require_inputs
from toledo.metrics.score import Score, ScoreInterval
from toledo.metrics.significance import SEED, approximate_randomization, confidence_interval, holm, paired_bootstrap
from toledo.results import Result, TableResult, plain, table
from toledo.settings import unknown_name

TestName = Literal["bootstrap", "randomization"]
TESTS = {"bootstrap": (paired_bootstrap, "bs"), "randomization": (approximate_randomization, "ar")}
TITLES = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}
P_HEADER = " p (Holm) "
SEGMENT_METRIC = "chrf"  # BLEU is made for whole texts, and is nearly 0 for many segments
Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Resampling:
    """How intervals and tests are computed: `level` is the share that an interval holds, None for no interval."""

    level: float | None = 0.95
    resamples: int = 1000
    seed: int = SEED
    units: NDArray[np.int64] | None = None  # the document of each segment
    test: TestName = "bootstrap"
    correction: Literal["holm", "none"] = "holm"
    alpha: float = 0.05
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.resamples < 1:
            raise InputError("resamples must be at least 1", argument="resamples")
        if self.level is not None and not 0.0 < self.level < 1.0:
            raise InputError(f"interval is {self.level:g}, expected a share such as 0.95", argument="interval")
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is {self.alpha:g}, expected a number such as 0.05", argument="alpha")

    def grouped(self, rows: Rows) -> Rows:
        """Return the statistics of the units that are resampled."""
        if self.units is None:
            return rows
        sums = np.zeros((int(self.units.max()) + 1, rows.shape[1]))
        np.add.at(sums, self.units, rows)
        return sums

    @property
    def unit(self) -> str:
        """The name of what is resampled."""
        return "segments" if self.units is None else "documents"


class SystemTexts(NamedTuple):
    """One system: its runs, each with one text for each segment."""

    name: str
    runs: Sequence[Sequence[str]]


class ScoringTask(NamedTuple):
    """What all systems share: metrics by key, references and sources of each segment, and what splits words."""

    metrics: Mapping[str, Metric]
    references: Sequence[Sequence[str]] | None
    sources: Sequence[str] | None
    words: BLEU

    def rows(self, key: str, texts: Sequence[str], threads: int | None) -> Rows:
        """Return the statistics of one text for each segment."""
        metric = self.metrics[key]
        require_inputs(metric, self.references, self.sources)
        groups = self.references if self.references is not None else [()] * len(texts)
        return metric.corpus_statistics(texts, groups, threads, self.sources)


@dataclass(frozen=True)
class Evaluation(TableResult):
    """Scores of one system by metric; `segments` has the score of each segment alone."""

    scores: dict[str, Score]
    segments: dict[str, Rows] = field(repr=False)
    length_ratio: float | None
    num_segments: int
    num_references: int | None
    footer: str = field(default="", repr=False)

    def __getitem__(self, name: str) -> Score:
        return self.scores[name]

    def __getattr__(self, name: str) -> Score:
        scores: dict[str, Score] = self.__dict__.get("scores", {})
        if name in scores:
            return scores[name]
        raise AttributeError(f"an evaluation has no {name!r}: its metrics are {', '.join(scores)}")

    @property
    def signature(self) -> str:  # type: ignore[override]
        """The signatures of all scores."""
        return "\n".join(f"{one.name}|{one.signature}" for one in self.scores.values())

    def cells(self) -> list[str]:
        """Return the cells of a row: scores and length."""
        ratio = [] if self.length_ratio is None else [f"{self.length_ratio:.3f}"]
        return [*(score.cell() for score in self.scores.values()), *ratio]

    def headers(self) -> list[str]:
        """Return the headers of these cells."""
        return [*(one.name for one in self.scores.values()), *([] if self.length_ratio is None else ["length"])]

    def __str__(self) -> str:
        width = max(len(score.name) for score in self.scores.values()) + 2
        signatures = [f"{score.name.ljust(width)}{score.signature}" for score in self.scores.values()]
        return "\n".join([*table([["", *self.headers()], ["", *self.cells()]]), self.footer, *signatures])

    def __repr__(self) -> str:
        listed = ", ".join(f"{one.name}={one.score:.2f}" for one in self.scores.values())
        return f"Evaluation({listed}, {self.num_segments} segments)"

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each metric."""
        return [
            {"metric": key, "score": one.score, "low": one.interval and one.interval.low,
             "high": one.interval and one.interval.high, "signature": one.signature}
            for key, one in self.scores.items()
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return scores, scores of segments, and lengths."""
        names = ("scores", "segments", "length_ratio", "num_segments", "num_references")
        return {**{name: plain(getattr(self, name)) for name in names}, "signature": self.signature}


@dataclass(frozen=True)
class Test(Result):
    """A test of one system against a baseline with one metric."""

    metric: str
    system: str
    baseline: str
    difference: float
    interval: ScoreInterval
    p: float
    p_corrected: float
    significant: bool

    __test__ = False  # no test class of pytest


@dataclass(frozen=True)
class Comparison(TableResult):
    """Scores of several systems and tests of their differences; `units` says what was resampled."""

    systems: dict[str, Evaluation]
    tests: tuple[Test, ...]
    units: str
    runs: dict[str, int]
    resampling: Resampling = field(repr=False)
    texts: dict[str, Sequence[str]] = field(repr=False)
    task: ScoringTask = field(repr=False)
    statistics: dict[str, dict[str, Rows]] = field(repr=False)  # of segments, by system and metric

    @property
    def signature(self) -> str:  # type: ignore[override]
        """The signatures of all scores."""
        return next(iter(self.systems.values())).signature

    def __getitem__(self, name: str) -> Evaluation:
        return self.systems[name]

    def best(self, metric: str) -> str:
        """Return the name of the system with the best score."""
        scores = {name: system[metric] for name, system in self.systems.items()}
        return max(scores, key=lambda name: scores[name].score * (1 if scores[name].higher_is_better else -1))

    @property
    def segments(self) -> SegmentTable:
        """Scores and texts of all segments, as a table that can be saved."""
        return SegmentTable({name: one.segments for name, one in self.systems.items()}, self.texts)

    def examples(
        self, system: str, n: int = 10, metric: str | None = None, baseline: str | None = None
    ) -> list[SegmentDifference]:
        """Return the segments in which a system differs most from a baseline, by default that of its first test."""
        (pair,), key = self._chosen_pairs(system, baseline), self._segment_metric(metric)
        ours, theirs = (self.systems[name].segments[key] for name in pair)
        order = np.argsort(-np.abs(ours - theirs), kind="stable").tolist()
        return [segment_difference(self, pair, key, one) for one in differing_most(self, pair, order, n)]

    def analyze(
        self,
        system: str | None = None,
        baseline: str | None = None,
        *,
        metric: str | None = None,
        examples: int = 10,
        frequency_text: Iterable[str] | Path | None = None,
    ) -> SegmentAnalysis:
        """Show where a system differs from a baseline: segments, n-grams, lengths, words; all tested pairs by default.

        Frequencies of words are those of the references, or of `frequency_text`, such as a training text. Segments are
        compared by chrF if no metric is named and systems are compared by it.
        """
        if examples < 0:
            raise InputError(f"examples is {examples}, expected at least 0", argument="examples")
        pairs, key = self._chosen_pairs(system, baseline), self._segment_metric(metric)
        lines = read_lines(frequency_text) if isinstance(frequency_text, Path) else frequency_text
        frequency = None if lines is None else word_frequency(lines, self.task.words)
        return analyze_segments(self, pairs, key, examples, frequency)

    def _chosen_pairs(self, system: str | None, baseline: str | None) -> list[tuple[str, str]]:
        """Return pairs of (system, baseline)."""
        for name in (system, baseline):
            if name is not None and name not in self.systems:
                raise unknown_name("system", name, list(self.systems))
        tested = list(dict.fromkeys((one.system, one.baseline) for one in self.tests))
        if system is not None:
            first = baseline or next((other for one, other in tested if one == system), None)
            tested = [(system, first)] if first is not None and first != system else []
        if not tested:
            what = "there is only one system" if system is None else f"system {system!r} has no baseline"
            raise InputError(what, argument="systems", remedy="name two different systems to compare")
        return tested

    def _segment_metric(self, metric: str | None) -> str:
        if metric is not None and metric not in self.task.metrics:
            raise unknown_name("metric", metric, list(self.task.metrics))
        return metric or (SEGMENT_METRIC if SEGMENT_METRIC in self.task.metrics else next(iter(self.task.metrics)))

    def __str__(self) -> str:
        first = next(iter(self.systems.values()))
        against = {one.baseline for one in self.tests}
        lines = [["System", *_flat([score.name, "Δ", P_HEADER] for score in first.scores.values())]]
        if len(against) == 1:
            for name, system in self.systems.items():
                tests = {test.metric: test for test in self.tests if test.system == name}
                cells = ([score.cell(), *_test_cells(tests.get(key))] for key, score in system.scores.items())
                lines.append([name, *_flat(cells)])
            return "\n".join([*table(lines, left=[0]), self._footer()])
        lines = [["System", *first.headers()], *([name, *system.cells()] for name, system in self.systems.items())]
        pairs = [["", "", "metric", "Δ", P_HEADER]]
        pairs += [[one.system, one.baseline, one.metric, *_test_cells(one)] for one in self.tests]
        shown = [] if not self.tests else ["", *table(pairs, left=[0, 1, 2]), self._footer()]
        return "\n".join([*table(lines, left=[0]), *shown])

    @property
    def test_note(self) -> str:
        """Which test p comes from, and its settings."""
        how, against = self.resampling, {one.baseline for one in self.tests}
        number = len(next(iter(self.texts.values()))) if how.units is None else int(how.units.max()) + 1
        draws = "resamples" if how.test == "bootstrap" else "random swaps"
        what = f"against {against.pop()!r}" if len(against) == 1 else "of all pairs"
        return f"{TITLES[how.test]} {what}, two-sided, {how.resamples} {draws} of {number} {how.unit}"

    def _footer(self) -> str:
        how, count = self.resampling, len({(one.system, one.baseline) for one in self.tests})
        tests = f"{count} test{'s' if count != 1 else ''}"
        after = f" after Holm's correction ({tests})" if how.correction == "holm" else f", not corrected ({tests})"
        runs = ", ".join(f"{name} {one}" for name, one in self.runs.items() if one > 1)
        below = f"\nmean ± σ of runs: {runs}" if runs else ""
        return f"{self.test_note}; * p < {how.alpha:g}{after}{below}"

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.systems)}; {len(self.tests)} tests)"

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each system and metric, with its test if there is one."""
        names = ("baseline", "difference", "p", "p_corrected", "significant")
        rows: list[dict[str, Any]] = []
        for name, system in self.systems.items():
            for key, score in system.scores.items():
                row = {"system": name, "metric": key, "score": score.score}
                tests = [test for test in self.tests if (test.system, test.metric) == (name, key)]
                rows += [{**row, **{one: getattr(test, one) for one in names}} for test in tests] or [row]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return scores and tests."""
        names = ("systems", "tests", "units", "runs")
        return {**{name: plain(getattr(self, name)) for name in names}, "signature": self.signature}


def evaluate_system(task: ScoringTask, system: SystemTexts, how: Resampling) -> tuple[Evaluation, dict[str, Rows]]:
    """Score one system; gives the statistics of its segments by metric too, averaged over its runs."""
    scores, segments, statistics = {}, {}, {}
    number = None if task.references is None else number_of_references(task.references)
    more = {} if how.level is None else {"bs": how.resamples, TESTS[how.test][1]: how.resamples, "seed": how.seed}
    for key, metric in task.metrics.items():
        runs = [task.rows(key, texts, how.threads) for texts in system.runs]
        values = [metric.score(rows.sum(axis=0)) for rows in runs]
        rows, mean = runs[0], values[0]
        interval: ScoreInterval | None = None
        if len(runs) > 1:
            rows = np.mean(runs, axis=0)
            mean, deviation = float(np.mean(values)), float(np.std(values, ddof=1))
            interval = ScoreInterval(mean, mean - deviation, mean + deviation)
        elif how.level is not None:
            interval = confidence_interval(metric, how.grouped(rows), how.resamples, how.seed, how.level)
        sign, details = metric.get_signature(1 if number is None else number, **more), metric.details(rows.sum(axis=0))
        scores[key] = Score(metric.name, mean, interval, details, sign, metric.higher_is_better, metric.decimals)
        segments[key], statistics[key] = metric.scores(rows), rows
    size = len(system.runs[0])
    footer = _describe(how, number, size)
    return Evaluation(scores, segments, _length_ratio(task, system), size, number, footer), statistics


def compare_systems(
    task: ScoringTask, systems: Sequence[SystemTexts], pairs: Sequence[tuple[str, str]], how: Resampling
) -> Comparison:
    """Score systems and test pairs of (system, baseline); Holm's correction covers all tests of a metric."""
    evaluations, rows = {}, {}
    for system in systems:
        evaluations[system.name], rows[system.name] = evaluate_system(task, system, how)
    test, _ = TESTS[how.test]
    level = 0.95 if how.level is None else how.level
    found: list[Test] = []
    for key, metric in task.metrics.items():
        results, intervals = [], []
        for pair in pairs:
            one, other = (how.grouped(rows[name][key]) for name in pair)
            results.append(test(metric, one, other, how.resamples, how.seed))
            intervals.append(confidence_interval(metric, one, how.resamples, how.seed, level, other))
        p_values = [one.p_value for one in results]
        corrected = holm(p_values) if how.correction == "holm" else p_values
        for (name, baseline), result, interval, p in zip(pairs, results, intervals, corrected, strict=True):
            difference = evaluations[name][key].score - evaluations[baseline][key].score
            found.append(Test(key, name, baseline, difference, interval, result.p_value, p, p < how.alpha))
    texts = {system.name: system.runs[0] for system in systems}
    counts = {system.name: len(system.runs) for system in systems}
    return Comparison(evaluations, tuple(found), how.unit, counts, how, texts, task, rows)


def _length_ratio(task: ScoringTask, system: SystemTexts) -> float | None:
    """Words of the system for each word of the references, as BLEU counts them."""
    if task.references is None:
        return None
    said, meant = task.words.corpus_statistics(system.runs[0], task.references).sum(axis=0)[:2]
    return float(said / meant) if meant else 0.0


def _describe(how: Resampling, number: int | None, segments: int) -> str:
    references = {None: "no references", 1: "1 reference", -1: "a varying number of references"}
    text = f"{segments} segments, {references.get(number, f'{number} references')}"
    if how.level is None:
        return text
    of = "" if how.units is None else f" of {int(how.units.max()) + 1} documents"
    drawn = f"bootstrap, {how.resamples} resamples{of}, seed {how.seed}"
    return f"{text}; ± is half of the {100 * how.level:g} % interval ({drawn})"


def _test_cells(test: Test | None) -> list[str]:
    if test is None:
        return ["", ""]
    return [f"{test.difference:+.2f}", f"{test.p_corrected:.3f} {'*' if test.significant else ' '}"]


def _flat(groups: Iterable[list[str]]) -> list[str]:
    return [one for group in groups for one in group]
