"""Scores of several systems side by side: each with its interval, and with its difference from the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from toledo.metrics.significance.testing import TITLES
from toledo.view.markup import Markup, tag
from toledo.view.page import paragraph
from toledo.view.plots import Dot
from toledo.view.scores import badge, common_ends, interval_cell, score
from toledo.view.tables import Cell, fixed, table

CPU_SECONDS = "CPU\xa0s"  # header of a column
SECONDS = f"{CPU_SECONDS}: processor seconds of all threads, without compilation."


@dataclass(frozen=True)
class Difference:
    """The difference of a system from another one by a metric, with its p."""

    system: str
    baseline: str
    metric: str
    value: float
    p: float


@dataclass(frozen=True)
class SystemScores:
    """A system with its scores by metric, and the ends of their intervals if there are any.

    `seconds` is CPU time without compilation, if it is known.
    """

    name: str
    scores: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    length_ratio: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ScoreTable:
    """Systems with the signatures of metrics, their tested differences, and the name of the test."""

    systems: Sequence[SystemScores]
    signatures: Mapping[str, str]
    differences: Sequence[Difference] = ()
    test: str = ""
    lower_is_better: frozenset[str] = frozenset()

    @property
    def metrics(self) -> list[str]:
        """Return all metrics that some system has a score of."""
        return list(dict.fromkeys(metric for one in self.systems for metric in one.scores))


def score_table(content: Mapping[str, Any], name: str, seconds: Mapping[str, float] | None = None) -> ScoreTable:
    """Return the scores of an evaluation or a comparison, from what its `to_dict` returned."""
    systems = content.get("systems", {name: content})
    keys = {key: one for system in systems.values() for key, one in system["scores"].items()}
    tests: Sequence[Mapping[str, Any]] = content.get("tests", ())
    return ScoreTable(
        [
            SystemScores(
                title,
                {one["name"]: float(one["score"]) for one in system["scores"].values()},
                {
                    one["name"]: (one["interval"]["low"], one["interval"]["high"])
                    for one in system["scores"].values()
                    if one["interval"]
                },
                system["length_ratio"],
                (seconds or {}).get(title),
            )
            for title, system in systems.items()
        ],
        {one["name"]: one["signature"] for one in keys.values()},
        [
            Difference(
                one["system"], one["baseline"], keys[one["metric"]]["name"], one["difference"], one["p_corrected"]
            )
            for one in tests
        ],
        _test(tests, keys),
        frozenset(one["name"] for one in keys.values() if _lower_is_better(one)),
    )


def _lower_is_better(score: Mapping[str, Any]) -> bool:
    """Return whether lower is better; files of older versions do not say so, and TER was their only such metric."""
    return not score.get("higher_is_better", score["name"] != "TER")


def scores(found: ScoreTable) -> Markup:
    """Return a table of systems and metrics, notes on its columns, and signatures.

    Where all systems were tested against one, a badge beside the score shows the difference; all pairs are a table of
    their own.
    """
    columns = list(_columns(found))
    rows = list(zip(*(one.cells for one in columns), strict=True))
    optional = [place for place, one in enumerate(columns) if one.optional]
    pairs = _pairs(found) if found.differences and not _baseline(found) else None
    signatures = [tag("div", f"{metric}|{signature}") for metric, signature in found.signatures.items() if signature]
    return tag(
        "div",
        table([one.name for one in columns], rows, description="scores", optional=optional),
        pairs,
        paragraph(" ".join(_notes(found)), class_="note"),
        tag("div", signatures, class_="signature") if signatures else None,
        class_="stack",
    )


class _Column(NamedTuple):
    name: str
    cells: list[Cell]
    optional: bool = False  # on a phone


def _columns(found: ScoreTable) -> Iterator[_Column]:
    """Yield columns; empty ones are left out."""
    systems, baseline = found.systems, _baseline(found)
    yield _Column("system", [one.name for one in systems])
    for metric in found.metrics:
        lower = "lower is better" if metric in found.lower_is_better else ""
        drawn = len(systems) > 1 and any(metric in one.intervals for one in systems)
        yield _Column(metric if drawn or not lower else f"{metric}, {lower}", [_score(one, metric) for one in systems])
        if drawn:
            yield _Column(lower, _drawings(systems, metric, baseline), optional=True)
        if baseline:
            own = [_against(found, one.name, baseline, metric) for one in systems]
            yield _Column(f"against {_short(baseline)}", own)
    if any(one.length_ratio is not None for one in systems):
        ratios = (one.length_ratio for one in systems)
        yield _Column("length", ["" if ratio is None else fixed(ratio, 3) for ratio in ratios])
    if any(one.seconds is not None for one in systems):
        seconds = (one.seconds for one in systems)
        yield _Column(CPU_SECONDS, ["" if one is None else fixed(one, 1) for one in seconds])


def _score(one: SystemScores, metric: str) -> Cell:
    if metric not in one.scores:
        return ""
    low, high = one.intervals.get(metric, (0.0, 0.0))
    return score(one.scores[metric], (high - low) / 2 if metric in one.intervals else None)


def _drawings(systems: Sequence[SystemScores], metric: str, baseline: str) -> list[Cell]:
    """Return a small drawing for each system, all on one axis, with a hairline at the score of the baseline."""
    dots = {}
    for one in systems:
        if metric in one.scores:
            low, high = one.intervals.get(metric, (None, None))
            dots[one.name] = Dot(one.name, one.scores[metric], low, high, kind="base" if one.name == baseline else "")
    ends = common_ends(list(dots.values()))
    base = dots[baseline].value if baseline in dots else None
    return [interval_cell(dots[one.name], ends, base) if one.name in dots else "" for one in systems]


def _against(found: ScoreTable, system: str, baseline: str, metric: str) -> Cell:
    if system == baseline:
        return tag("span", "baseline", class_="quiet")
    own = (one for one in found.differences if (one.system, one.metric) == (system, metric))
    return next((badge(one.value, one.p, metric not in found.lower_is_better) for one in own), "")


def _pairs(found: ScoreTable) -> Markup:
    rows = [
        [one.system, one.baseline, one.metric, badge(one.value, one.p, one.metric not in found.lower_is_better)]
        for one in found.differences
    ]
    return table(["system", "against", "metric", "difference"], rows, description="differences of pairs")


def _baseline(found: ScoreTable) -> str:
    """Return the one system that others were tested against, or nothing."""
    names = {one.baseline for one in found.differences}
    return names.pop() if len(names) == 1 else ""


def _short(name: str) -> str:
    return name if len(name) <= 16 else "the first"


def _test(tests: Sequence[Mapping[str, Any]], scored: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the names of the tests that p values come from, with their correction.

    Files of older versions do not name them: it was sacreBLEU's bootstrap, or randomization.
    """
    signatures = "|".join(one["signature"] for one in scored.values())
    unnamed = "randomization" if "|ar:" in signatures else "sacrebleu"
    title = ", ".join(dict.fromkeys(TITLES[one.get("test", unnamed)] for one in tests))
    return f"{title}, Holm's correction" if any(one["p"] != one["p_corrected"] for one in tests) else title


def _notes(found: ScoreTable) -> Iterator[str]:
    """Yield what a reader has to know about the columns."""
    if baseline := _baseline(found):
        yield f"p: {found.test} against “{baseline}”; green is significantly better, red worse, gray neither."
    elif found.differences:
        yield f"p: {found.test}; green is significantly better, red worse, gray neither."
    if any(one.intervals for one in found.systems):
        yield "±: half the width of the confidence interval, which the lines show."
    if any(one.seconds is not None for one in found.systems):
        yield SECONDS
