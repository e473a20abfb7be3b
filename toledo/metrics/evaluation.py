"""Scores of one or several systems as they are reported, and tests whether systems differ.

Statistics are counted once for each system and metric; intervals and tests resample them: segments, or whole documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

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
from toledo.metrics.significance.paired import measure
from toledo.metrics.significance.testing import LIBERAL, QUESTIONS, RUNS, TITLES, Resampling, Test, test_systems
from toledo.results import TableResult, plain, table
from toledo.settings import unknown_name

SEGMENT_METRIC = "chrf"  # BLEU is made for whole texts, and is nearly 0 for many segments
FEW_DIFFER, FEW_DOCUMENTS = 40, 20
LEAST_P = 0.0005  # that three digits can show
MOST_ADVICE = 3  # lines on differences that were not found
Rows = NDArray[np.float64]


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

    @property
    def number(self) -> int | None:
        """Number of references of each segment, −1 if it varies; None without references."""
        return None if self.references is None else number_of_references(self.references)

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
        listed = ", ".join(f"{one.name}={one.score:.{one.decimals}f}" for one in self.scores.values())
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
class Comparison(TableResult):
    """Scores of several systems and tests of their differences; `notes` say what may mislead."""

    systems: dict[str, Evaluation]
    tests: tuple[Test, ...]
    units: str
    runs: dict[str, int]
    resampling: Resampling = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)
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
        p_header = " p (Holm) " if self.resampling.correction == "holm" else " p "
        lines = [["System", *_flat([score.name, "Δ", p_header] for score in first.scores.values())]]
        if len(against) == 1:
            for name, system in self.systems.items():
                tests = {test.metric: test for test in self.tests if test.system == name}
                cells = (
                    [score.cell(), *_test_cells(tests.get(key), score.decimals)] for key, score in system.scores.items()
                )
                lines.append([name, *_flat(cells)])
            return "\n".join([*table(lines, left=[0]), *self._footer()])
        lines = [["System", *first.headers()], *([name, *system.cells()] for name, system in self.systems.items())]
        pairs = [["", "", "metric", "Δ", p_header]]
        pairs += [
            [one.system, one.baseline, one.metric, *_test_cells(one, self.systems[one.system][one.metric].decimals)]
            for one in self.tests
        ]
        shown = [] if not self.tests else ["", *table(pairs, left=[0, 1, 2]), *self._footer()]
        return "\n".join([*table(lines, left=[0]), *shown])

    @property
    def test_note(self) -> str:
        """Which tests p comes from, and their settings."""
        how, segments = self.resampling, len(next(iter(self.texts.values())))
        against = {one.baseline for one in self.tests}
        what = f"against {against.pop()!r}" if len(against) == 1 else "of all pairs"
        units, made = how.counted_units(segments), {one.test for one in self.tests}
        drawn = "random swaps" if how.test == "randomization" else "resamples"
        size = units if how.test == "jackknife" else f"{how.resamples:,} {drawn} of {units}"
        parts = [f"{TITLES[how.test]} {what}, two-sided, {size}"] if how.test in made else []
        if RUNS in made:
            parts.append(f"t test {what}, two-sided, with the variance over {units} and runs")
        return "; ".join(parts)

    def _footer(self) -> list[str]:
        """Return the lines below the table: the tests, what they answer, and what may mislead."""
        how, count = self.resampling, len({(one.system, one.baseline) for one in self.tests})
        made = {one.test for one in self.tests}
        tests = f"{count} test{'s' if count != 1 else ''}"
        after = f", Holm over {tests}" if how.correction == "holm" else f", not corrected ({tests})"
        stars = "" if how.test == "sacrebleu" else f"; * p < {how.alpha:g}"
        lines = [f"p: {self.test_note}{after}{stars}"]
        if made == {"sacrebleu"}:
            lines.append(LIBERAL)
        elif how.test in made:
            lines.append(f"{QUESTIONS[how.test].format(self.units)} One run per system: other seeds are not covered.")
        if RUNS in made:
            lines.append(f"The t test covers other {self.units} and other runs. ± after the mean of runs is their σ.")
            lines += [self._run_note(one) for one in self._first_tests() if one.test == RUNS]
        lines.append(f"± {'after Δ ' if RUNS in made else ''}is half of the {100 * how.shown_level:g} % interval.")
        return [*lines, *self.notes, *self._advice()]

    def _first_tests(self) -> list[Test]:
        """Return the tests of the first metric."""
        return [one for one in self.tests if one.metric == self.tests[0].metric]

    def _run_note(self, test: Test) -> str:
        """Return how many runs a test had, and how much they differ."""
        names, score = (test.system, test.baseline), self.systems[test.system][test.metric]
        counts = " + ".join(str(self.runs[name]) for name in names)
        boxes = [self.systems[name][test.metric].interval for name in names if self.runs[name] > 1]
        spread = ", ".join(f"{box.half_width:.{score.decimals}f}" for box in boxes if box)
        missed = (
            ""
            if test.detectable is None
            else f"; a true difference of {test.detectable:.{score.decimals}f} would be found in 4 of 5 cases."
        )
        freedom = "" if test.degrees is None else f", {test.degrees:.1f} degrees of freedom"
        return f"{test.system!r}: {counts} runs ({score.name}: σ {spread}{freedom}){missed}"

    def _advice(self) -> Iterator[str]:
        """Yield what it would take to find differences that were not found."""
        unsure = [one for one in self._first_tests() if not one.significant and one.difference and one.detectable]
        for one in unsure[:MOST_ADVICE] if self.resampling.test != "sacrebleu" else ():
            score = self.systems[one.system][one.metric]
            name, digits = score.name, score.decimals
            needed = [] if one.units_needed is None else [f"about {one.units_needed:,} {self.units}"]
            needed += [] if one.runs_needed is None else [f"{one.runs_needed} runs of each"]
            size = f"{abs(one.difference):.{digits}f} {name} between {one.system!r} and {one.baseline!r}"
            if needed:
                yield f"Undecided: to find {size} in 4 of 5 cases takes {' or '.join(needed)}."
            else:
                found = f"{one.detectable:.{digits}f} is found in 4 of 5 cases"
                yield f"Undecided: {size} is too little to be found; {found}."

    def __repr__(self) -> str:
        return f"Comparison({', '.join(self.systems)}; {len(self.tests)} tests)"

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each system and metric, with its test if there is one."""
        names = ("baseline", "difference", "standard_error", "p", "p_corrected", "significant")
        rows: list[dict[str, Any]] = []
        for name, system in self.systems.items():
            for key, score in system.scores.items():
                row = {"system": name, "metric": key, "score": score.score}
                tests = [test for test in self.tests if (test.system, test.metric) == (name, key)]
                rows += [{**row, **{one: getattr(test, one) for one in names}} for test in tests] or [row]
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return scores and tests."""
        names = ("systems", "tests", "units", "runs", "notes")
        return {**{name: plain(getattr(self, name)) for name in names}, "signature": self.signature}


def evaluate_system(task: ScoringTask, system: SystemTexts, how: Resampling) -> Evaluation:
    """Score one system."""
    return compare_systems(task, [system], [], how).systems[system.name]


def compare_systems(
    task: ScoringTask, systems: Sequence[SystemTexts], pairs: Sequence[tuple[str, str]], how: Resampling
) -> Comparison:
    """Score systems and test pairs of (system, baseline); Holm's correction covers all tests of a metric."""
    scores: dict[str, dict[str, Score]] = {system.name: {} for system in systems}
    rows: dict[str, dict[str, Rows]] = {system.name: {} for system in systems}  # means of runs
    tests: list[Test] = []
    notes: dict[str, None] = {}  # without repetition, in order
    for key, metric in task.metrics.items():
        runs = {system.name: [task.rows(key, texts, how.threads) for texts in system.runs] for system in systems}
        intervals: Mapping[str, ScoreInterval | None] = {}
        if how.level is not None or pairs:
            units = {name: [measure(metric, how.grouped(one)) for one in some] for name, some in runs.items()}
            found = test_systems(key, metric, units, pairs, how)
            tests += found.tests
            notes |= dict.fromkeys(found.notes)
            intervals = {} if how.level is None else found.intervals
        for name, some in runs.items():
            scores[name][key] = _score(task, metric, some, intervals.get(name), how)
            rows[name][key] = some[0] if len(some) == 1 else np.mean(some, axis=0)
    evaluations = {system.name: _evaluation(task, system, scores, rows, how) for system in systems}
    texts = {system.name: system.runs[0] for system in systems}
    counts = {system.name: len(system.runs) for system in systems}
    unit = "segments" if how.units is None else "documents"
    listed = (*(_size_notes(texts, tests, how) if tests else ()), *notes)
    return Comparison(evaluations, tuple(tests), unit, counts, how, listed, texts, task, rows)


def _score(
    task: ScoringTask, metric: Metric, runs: Sequence[Rows], interval: ScoreInterval | None, how: Resampling
) -> Score:
    """Return the score of a system: of several runs, their mean, with σ in place of the interval."""
    values = [metric.score(rows.sum(axis=0)) for rows in runs]
    mean = float(np.mean(values))
    if len(runs) > 1:
        deviation = float(np.std(values, ddof=1))
        interval = ScoreInterval(mean, mean - deviation, mean + deviation)
    sign = metric.get_signature(1 if task.number is None else task.number, **how.signature)
    details = metric.details(np.mean(runs, axis=0).sum(axis=0))
    return Score(metric.name, mean, interval, details, sign, metric.higher_is_better, metric.decimals)


def _evaluation(
    task: ScoringTask,
    system: SystemTexts,
    scores: Mapping[str, dict[str, Score]],
    rows: Mapping[str, dict[str, Rows]],
    how: Resampling,
) -> Evaluation:
    own, size = scores[system.name], len(system.runs[0])
    segments = {key: metric.scores(rows[system.name][key]) for key, metric in task.metrics.items()}
    without = [one.name for one in own.values() if one.interval is None]
    footer = _describe(how, task.number, size, len(system.runs), without if len(without) < len(own) else ["any score"])
    return Evaluation(own, segments, _length_ratio(task, system), size, task.number, footer)


def _size_notes(texts: Mapping[str, Sequence[str]], tests: Sequence[Test], how: Resampling) -> Iterator[str]:
    """Yield where the data are too few to find much."""
    segments = len(next(iter(texts.values())))
    number, counted = how.number_of_units(segments), how.counted_units(segments)
    if number == 1:
        yield f"{counted}: there is nothing to estimate the variance from, and p is 1."
        return
    if how.units is not None:
        if number < FEW_DOCUMENTS:
            yield f"{counted}: only large differences can be found."
        return
    unsure = (one for one in tests if not one.significant and one.test != RUNS)
    for name, other in dict.fromkeys((one.system, one.baseline) for one in unsure):
        differing = sum(said != meant for said, meant in zip(texts[name], texts[other], strict=True))
        if 0 < differing < FEW_DIFFER:
            share = f"{'Only ' if differing < segments else ''}{differing} of {segments:,} segments differ"
            yield f"{share} between {name!r} and {other!r}: only large differences can be found."


def _length_ratio(task: ScoringTask, system: SystemTexts) -> float | None:
    """Words of the system for each word of the references, as BLEU counts them."""
    if task.references is None:
        return None
    said, meant = task.words.corpus_statistics(system.runs[0], task.references).sum(axis=0)[:2]
    if not said and not getattr(system.runs[0], "has_texts", True):  # scores alone
        return None
    return float(said / meant) if meant else 0.0


def _describe(how: Resampling, number: int | None, segments: int, runs: int, without: Sequence[str]) -> str:
    """Return what stands below scores; `without` are those that have no interval."""
    references = {None: "no references", 1: "1 reference", -1: "a varying number of references"}
    text = f"{segments} segment{'' if segments == 1 else 's'}, {references.get(number, f'{number} references')}"
    if runs > 1:
        return f"{text}; means of {runs} runs, ± is their σ"
    if how.level is None:
        return text
    unit = "segments" if how.units is None else "documents"
    reason = f"{how.resamples} resamples are too few" if how.too_few_resamples else f"too few {unit} that differ"
    missing = f"no interval of {', '.join(without)}: {reason}"
    if "any score" in without:
        return f"{text}; {missing}"
    of = "" if how.units is None else f" of {how.counted_units(segments)}"
    name = {"jackknife": "jackknife", "sacrebleu": "sacreBLEU's bootstrap"}.get(how.test, "studentized bootstrap")
    drawn = name if how.test == "jackknife" else f"{name}, {how.resamples} resamples{of}, seed {how.seed}"
    shown = f"{text}; ± is half of the {100 * how.level:g} % interval ({drawn})"
    return f"{shown}; {missing}" if without else shown


def _test_cells(test: Test | None, digits: int) -> list[str]:
    if test is None:
        return ["", ""]
    margin = f" ± {test.interval.half_width:.{digits}f}" if test.interval else ""
    p = "<0.001" if test.p_corrected < LEAST_P else f"{test.p_corrected:.3f}"
    return [f"{test.difference:+.{digits}f}{margin}", f"{p} {'*' if test.significant else ' '}"]


def _flat(groups: Iterable[list[str]]) -> list[str]:
    return [one for group in groups for one in group]
