"""Which test suits which systems, and in what words its result is told."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.metrics.score import ScoreInterval
from toledo.metrics.significance.paired import (
    Estimate,
    Measured,
    holm,
    jackknife_t,
    randomization_test,
    standard_error,
    studentized_bootstrap,
)
from toledo.metrics.significance.runs import Variances, detectable, difference_of_runs, runs_needed, units_needed
from toledo.metrics.significance.sacrebleu import SEED, bootstrap_p, percentile_interval, resampled_scores
from toledo.results import Result

Rows = NDArray[np.float64]
TestName = Literal["bootstrap", "randomization", "jackknife", "sacrebleu"]
RUNS = "runs"  # the test of systems with several runs, whichever test was asked for
TITLES = {
    "bootstrap": "studentized paired bootstrap",
    "randomization": "approximate randomization",
    "jackknife": "jackknife t test",
    "sacrebleu": "sacreBLEU's paired bootstrap",
    RUNS: "t test over runs",
}
TESTS = [name for name in TITLES if name != RUNS]
LIBERAL = "Liberal: at 0.05 it rejects in 10 to 12 % of the cases without a difference, so nothing is marked."
SIGN = "It answers: would other {} of this kind show the same sign?"
QUESTIONS = {
    "bootstrap": SIGN,
    "jackknife": SIGN,
    "randomization": "It answers: could the outputs of both systems be exchanged?",
}


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

    def number_of_units(self, segments: int) -> int:
        """Return how many segments or documents there are."""
        return segments if self.units is None else int(self.units.max()) + 1

    def counted_units(self, segments: int) -> str:
        """Return how many units there are, with their name."""
        number = self.number_of_units(segments)
        return f"{number:,} {'segment' if self.units is None else 'document'}{'' if number == 1 else 's'}"

    @property
    def shown_level(self) -> float:
        """The level of intervals of differences, which are always computed."""
        return 0.95 if self.level is None else self.level

    def decisive_level(self, tests: int) -> float:
        """Return the level of an interval that is sure to decide: for Holm's correction, that of the smallest p."""
        return 1.0 - self.alpha / (tests if self.correction == "holm" else 1)

    @property
    def too_few_resamples(self) -> bool:
        """Whether there are too few resamples for the level of the intervals."""
        return self.test != "jackknife" and round((self.resamples + 1) * (1.0 - self.shown_level), 9) <= 1.0

    @property
    def signature(self) -> dict[str, int]:
        """What signatures say of intervals; `bs` and `ar` mean sacreBLEU's draws."""
        if self.level is None or self.test == "jackknife":
            return {}
        drawn = {"sacrebleu": "bs", "randomization": "ar"}.get(self.test)
        own = {} if self.test == "sacrebleu" else {"bt": self.resamples}
        return {**({} if drawn is None else {drawn: self.resamples}), "seed": self.seed, **own}


@dataclass(frozen=True)
class Test(Result):
    """A test of one system against a baseline with one metric; `test` is the one that was made.

    `units_needed` and `runs_needed` say how many segments (or documents), or runs of each system, would find a true
    difference of this size in four of five cases, all tests of the metric being corrected for: None if no usual number
    would.
    """

    metric: str
    system: str
    baseline: str
    difference: float
    interval: ScoreInterval | None
    p: float
    p_corrected: float
    significant: bool
    test: str
    standard_error: float
    degrees: float | None = None
    detectable: float | None = None
    units_needed: int | None = None
    runs_needed: int | None = None

    __test__ = False  # no test class of pytest


class Tested(NamedTuple):
    """The intervals of systems with one run, the tests of pairs, and what users should know of these tests."""

    intervals: dict[str, ScoreInterval | None]
    tests: list[Test]
    notes: list[str]


def test_systems(
    key: str,
    metric: Metric,
    systems: Mapping[str, Sequence[Measured]],
    pairs: Sequence[tuple[str, str]],
    how: Resampling,
) -> Tested:
    """Find intervals of scores and test pairs of (system, baseline); Holm's correction covers these tests."""
    single = {name: runs[0] for name, runs in systems.items() if len(runs) == 1}
    if how.test in ("sacrebleu", "randomization") and len(single) < len(systems):
        raise InputError(
            f"the {how.test} test cannot compare several runs of a system",
            argument="test",
            remedy="use the default test, which then covers runs, too",
        )
    paired = [pair for pair in pairs if set(pair) <= set(single)]
    scores, differences = _one_run(metric, single, paired, how)
    units = next(iter(systems.values()))[0].effects.size
    found: list[tuple[Estimate, Variances]] = []
    for pair in pairs:
        if pair in differences:
            found.append((differences[pair], Variances(differences[pair].standard_error ** 2, 0.0, 0.0)))
        else:
            found.append(difference_of_runs(systems[pair[0]], systems[pair[1]], how.shown_level))
    p_values = [estimate.p for estimate, _ in found]
    corrected = holm(p_values) if how.correction == "holm" else p_values
    tests = [
        _record((key, *pair), estimate, variances, p, how, units, [len(systems[name]) for name in pair], len(pairs))
        for pair, (estimate, variances), p in zip(pairs, found, corrected, strict=True)
    ]
    notes = [note for pair in pairs for note in _notes(metric, pair, systems, how)]
    return Tested({name: one.interval for name, one in scores.items()}, tests, notes)


test_systems.__test__ = False  # type: ignore[attr-defined]


def _record(
    names: tuple[str, str, str],
    estimate: Estimate,
    variances: Variances,
    corrected: float,
    how: Resampling,
    units: int,
    runs: Sequence[int],
    tests: int,
) -> Test:
    """Return the record of one of several tests, with the sizes that its difference would need to be found."""
    value, error, level = estimate.value, estimate.standard_error, how.decisive_level(tests)
    several, known = max(runs) > 1, error > 0.0
    number = len(runs) / sum(1 / one for one in runs)  # of runs of each system that would vary as much
    return Test(
        *names,
        value,
        estimate.interval,
        estimate.p,
        corrected,
        corrected < how.alpha and how.test != "sacrebleu",
        RUNS if several else how.test,
        error,
        estimate.degrees,
        detectable(error, estimate.degrees or math.inf, level) if known else None,
        units_needed(value, variances, units, level) if known and value else None,
        runs_needed(value, variances, number, level) if known and value and several else None,
    )


def _one_run(
    metric: Metric, systems: Mapping[str, Measured], pairs: Sequence[tuple[str, str]], how: Resampling
) -> tuple[dict[str, Estimate], dict[tuple[str, str], Estimate]]:
    """Estimate scores and differences of systems with one run."""
    if not systems:
        return {}, {}
    level, names = how.shown_level, list(systems)
    if how.test == "jackknife":
        scores = [jackknife_t(one.score, one.effects, level) for one in systems.values()]
        differences = [
            jackknife_t(systems[a].score - systems[b].score, systems[a].effects - systems[b].effects, level)
            for a, b in pairs
        ]
    elif how.test == "sacrebleu":
        scores, differences = _as_sacrebleu(metric, systems, pairs, how)
    else:
        places = [] if how.test == "randomization" else [(names.index(a), names.index(b)) for a, b in pairs]
        scores, differences = studentized_bootstrap(
            metric,
            list(systems.values()),
            places,
            resamples=how.resamples,
            seed=how.seed,
            level=level,
            threads=how.threads,
        )
        if how.test == "randomization":
            differences = [
                randomization_test(metric, systems[a], systems[b], shuffles=how.resamples, seed=how.seed, level=level)
                for a, b in pairs
            ]
    return dict(zip(names, scores, strict=True)), dict(zip(pairs, differences, strict=True))


def _as_sacrebleu(
    metric: Metric, systems: Mapping[str, Measured], pairs: Sequence[tuple[str, str]], how: Resampling
) -> tuple[list[Estimate], list[Estimate]]:
    """Return estimates with the draws, the p and the percentile intervals of sacreBLEU."""
    drawn = dict(
        zip(
            systems,
            resampled_scores(metric, [one.rows for one in systems.values()], how.resamples, how.seed),
            strict=True,
        )
    )

    def estimate(value: float, values: Rows, effects: Rows) -> Estimate:
        box = percentile_interval(values, how.shown_level)
        return Estimate(value, standard_error(effects), box.half_width, bootstrap_p(value, values), box.mean, None, box)

    scores = [estimate(one.score, drawn[name], one.effects) for name, one in systems.items()]
    differences = [
        estimate(systems[a].score - systems[b].score, drawn[a] - drawn[b], systems[a].effects - systems[b].effects)
        for a, b in pairs
    ]
    return scores, differences


def _notes(
    metric: Metric, pair: tuple[str, str], systems: Mapping[str, Sequence[Measured]], how: Resampling
) -> Iterator[str]:
    """Yield what may mislead in a test of two systems."""
    first, second = (systems[name] for name in pair)
    names = f"{pair[0]!r} and {pair[1]!r}"
    if len(first) != len(second) and min(len(first), len(second)) == 1:
        alone, several = (pair[0], pair[1]) if len(first) == 1 else (pair[1], pair[0])
        yield f"One run of {alone!r}: its runs are taken to vary as those of {several!r} do."
    if len(first) > 1 or len(second) > 1:
        return
    if how.test == "randomization":
        penalties = [metric.details(one.rows.sum(axis=0)).get("bp", 1.0) for one in (first[0], second[0])]
        if (penalties[0] < 1.0) != (penalties[1] < 1.0):
            yield f"Only one of {names} has a brevity penalty: randomization then rejects too often."
