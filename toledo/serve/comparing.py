"""Comparisons that are kept: scores, segments and plots of whatever a filter leaves of them."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from toledo.api.evaluate import compare
from toledo.metrics.analysis.buckets import mean_reference_lengths
from toledo.metrics.analysis.ngrams import NGramsOfOrder, SystemWords, ngram_differences, number_ngrams
from toledo.metrics.analysis.pairs import EQUAL, difference_histogram, segment_gains
from toledo.metrics.evaluation import Comparison
from toledo.metrics.score import ScoreInterval
from toledo.metrics.significance.paired import measure
from toledo.metrics.significance.testing import Test, test_systems
from toledo.serve.call import Call
from toledo.serve.combining import check_systems
from toledo.serve.jobs import Job
from toledo.serve.names import check_metric
from toledo.serve.problems import ServeError
from toledo.serve.types import six
from toledo.serve.work_types import (
    ComparedSegment,
    ComparedSystem,
    CompareRequest,
    CountedBar,
    GramDifference,
    JobStarted,
    KeptComparison,
    MetricScore,
    PlotRequest,
    PlotResult,
    ScoresRequest,
    ScoresResult,
    SegmentsRequest,
    SegmentsResult,
)

if TYPE_CHECKING:
    from toledo.serve.engine import Engine

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
GRAMS = 20  # won and lost, each
LENGTHS = (10, 20, 30, 40, 50, 60)  # words of the reference; ends of bars
FEWEST = 2  # segments for a test
KINDS = ("differences", "lengths", "grams")


@dataclass(frozen=True, eq=False)
class KeptTexts:
    """A comparison with what is needed to filter it."""

    comparison: Comparison
    segment_metric: str

    @property
    def names(self) -> list[str]:
        """Return the names of the systems."""
        return list(self.comparison.systems)

    @property
    def size(self) -> int:
        """Return the number of segments."""
        return len(next(iter(self.comparison.texts.values())))

    @cached_property
    def words(self) -> SystemWords:
        """Return the words of all texts."""
        split = self.comparison.task.words.split_words
        texts = {name: split(self.comparison.texts[name]) for name in self.names}
        return SystemWords(texts, [split(group) for group in self.comparison.task.references or ()])

    @cached_property
    def orders(self) -> list[NGramsOfOrder]:
        """Return the n-grams of all texts."""
        return number_ngrams(self.words.texts)

    @cached_property
    def lengths(self) -> Floats:
        """Return the mean number of words of the references of each segment."""
        return mean_reference_lengths(self.words)

    @cached_property
    def searchable(self) -> list[str]:
        """Return all texts of each segment, in lower case."""
        task = self.comparison.task
        columns = [self.comparison.texts[name] for name in self.names]
        groups = task.references or [()] * self.size
        sources = task.sources or [""] * self.size
        rows = zip(sources, groups, zip(*columns, strict=True), strict=True)
        return ["\n".join((source, *group, *texts)).lower() for source, group, texts in rows]

    def pair(self, asked: ScoresRequest) -> tuple[str, str]:
        """Return the names of the two systems, the one that is looked at first."""
        for place, where in ((asked.a, "/a"), (asked.b, "/b")):
            if place >= len(self.names):
                raise ServeError(
                    422, "wrong-value", f"There is no system {place}", f"There are {len(self.names)}.", where
                )
        return self.names[asked.b], self.names[asked.a]

    def gains(self, asked: ScoresRequest) -> Floats:
        """Return by how much b is better than a in each segment."""
        ours, theirs = (self.comparison.systems[one].segments[self.segment_metric] for one in self.pair(asked))
        return segment_gains(ours, theirs, self.comparison.task.metrics[self.segment_metric].higher_is_better)

    def places(self, asked: ScoresRequest) -> Places:
        """Return the segments that a filter leaves."""
        kept = np.ones(self.size, np.bool_)
        if asked.query:
            words = asked.query.lower()
            kept &= np.array([words in text for text in self.searchable])
        if asked.low is not None or asked.high is not None:
            kept &= between(self.gains(asked), asked.low, asked.high)
        if asked.shortest is not None:
            kept &= self.lengths >= asked.shortest
        if asked.longest is not None:
            kept &= self.lengths <= asked.longest
        if asked.gram:
            kept &= self._with_gram(asked)
        return np.flatnonzero(kept).astype(np.int64)

    def _with_gram(self, asked: ScoresRequest) -> NDArray[np.bool_]:
        """Return in which segments one of the two systems has an n-gram of the reference more often."""
        split = self.comparison.task.words.split_words
        wanted, (system, baseline) = split([asked.gram])[0], self.pair(asked)
        groups = self.comparison.task.references or ()
        found = np.zeros(self.size, np.bool_)
        for place in range(self.size):
            texts = split(
                [*groups[place], self.comparison.texts[system][place], self.comparison.texts[baseline][place]]
            )
            counts = [_count(list(wanted), list(words)) for words in texts]
            allowed = max(counts[:-2], default=0)
            found[place] = min(counts[-2], allowed) != min(counts[-1], allowed)
        return found

    @property
    def nbytes(self) -> int:
        """Return about how much memory it takes."""
        task = self.comparison.task
        texts = [*self.comparison.texts.values(), *(group for group in task.references or ()), task.sources or ()]
        rows = (rows for by_metric in self.comparison.statistics.values() for rows in by_metric.values())
        return 3 * sum(sys.getsizeof(text) for some in texts for text in some) + sum(one.nbytes for one in rows)


def between(gains: Floats, low: float | None, high: float | None) -> NDArray[np.bool_]:
    """Return which gains are in a bar, whose limits are its own on the side towards 0; from 0 to 0 are equal scores."""
    if low == high == 0:
        return np.asarray(np.abs(gains) <= EQUAL)
    kept = np.ones(gains.size, np.bool_)
    if low is not None:
        kept &= gains >= low if low > 0 else gains > (low or EQUAL)
    if high is not None:
        kept &= gains <= high if high < 0 else gains < (high or -EQUAL)
    return kept


def _count(wanted: list[Any], words: list[Any]) -> int:
    size = len(wanted)
    return (
        sum(list(words[place : place + size]) == list(wanted) for place in range(len(words) - size + 1)) if size else 0
    )


async def start_comparison(engine: Engine, request: CompareRequest) -> JobStarted:
    """Start a comparison as a job."""
    check_systems(engine, request.systems, words=False)
    size = len(next(iter(request.systems.values())))
    for place, texts in enumerate(request.references):
        if len(texts) != size:
            title = f"The systems have {size} segments, the references {len(texts)}"
            raise ServeError(422, "wrong-value", title, where=f"/references/{place}")
    if not request.references:
        raise ServeError(422, "wrong-value", "There are no references", where="/references")
    if request.sources is not None and len(request.sources) != size:
        title = f"The systems have {size} segments, the sources {len(request.sources)}"
        raise ServeError(422, "wrong-value", title, where="/sources")
    if request.baseline is not None and request.baseline not in request.systems:
        raise ServeError(422, "unknown-name", f"There is no system {request.baseline[:80]!r}", where="/baseline")
    for place, name in enumerate((*request.metrics, request.segment_metric)):
        check_metric(name, f"/metrics/{place}" if place < len(request.metrics) else "/segment_metric")
    engine.memory.require(100 * size * len(request.systems) * 20)

    async def work(job: Job) -> KeptComparison:
        kept = await asyncio.to_thread(_compare, request, job.call)
        key = engine.comparisons.put(kept, kept.nbytes)
        job.advance()
        return KeptComparison(
            id=key, systems=kept.names, segments=kept.size, references=len(request.references),
            metrics=list(kept.comparison.task.metrics), segment_metric=kept.segment_metric,
            expires=engine.limits.keep_seconds,
        )  # fmt: skip

    return JobStarted(job=engine.jobs.start("compare", 1, work).id)


def _compare(request: CompareRequest, call: Call) -> KeptTexts:
    call.check()
    metrics = list(dict.fromkeys((*request.metrics, request.segment_metric)))
    found = compare(
        request.systems, [list(group) for group in zip(*request.references, strict=True)], baseline=request.baseline,
        sources=request.sources, metrics=metrics, tokenize=request.tokenize, lowercase=request.lowercase,
        resamples=request.resamples, seed=request.seed, threads=1,
    )  # fmt: skip
    key = list(found.task.metrics)[metrics.index(request.segment_metric)]
    return KeptTexts(found, key)


def scores_of(kept: KeptTexts, key: str, asked: ScoresRequest) -> ScoresResult:
    """Return the scores of what a filter leaves, with intervals, and tests against the baseline."""
    places = kept.places(asked)
    comparison = kept.comparison
    baseline = comparison.tests[0].baseline if comparison.tests else kept.names[0]
    by_system: dict[str, list[MetricScore]] = {name: [] for name in kept.names}
    for metric in comparison.task.metrics:
        for name, score in _metric_scores(kept, metric, places, baseline).items():
            by_system[name].append(score)
    systems = [ComparedSystem(name=name, baseline=name == baseline, scores=by_system[name]) for name in kept.names]
    metrics = comparison.task.metrics
    first = comparison.systems[baseline].scores
    return ScoresResult(
        id=key, segments=int(places.size), total=kept.size, systems=systems, test=_test_note(kept, int(places.size)),
        signatures={name: first[name].signature for name in metrics},
        higher_is_better={name: metrics[name].higher_is_better for name in metrics},
    )  # fmt: skip


def _test_note(kept: KeptTexts, segments: int) -> str:
    """Return which test it is, and its settings."""
    how, tests = kept.comparison.resampling, len(kept.names) - 1
    corrected = f", Holm over {tests} tests" if tests > 1 else ""
    return (
        f"studentized paired bootstrap, two-sided, {how.resamples:,} resamples of {segments:,} segments{corrected}, "
        f"seed {how.seed}"
    )


def _metric_scores(kept: KeptTexts, metric: str, places: Places, baseline: str) -> dict[str, MetricScore]:
    """Return the score of each system by one metric; too few segments have neither intervals nor tests."""
    made, how = kept.comparison.task.metrics[metric], kept.comparison.resampling
    rows = {name: kept.comparison.statistics[name][metric][places] for name in kept.names}
    if places.size < FEWEST:
        totals = {name: made.score(one.sum(axis=0)) if places.size else 0.0 for name, one in rows.items()}
        return {name: MetricScore(metric=metric, score=six(total)) for name, total in totals.items()}
    measured = {name: [measure(made, one)] for name, one in rows.items()}
    pairs = [(name, baseline) for name in kept.names if name != baseline]
    tested = test_systems(metric, made, measured, pairs, replace(how, threads=1))
    tests = {one.system: one for one in tested.tests}
    found = {}
    for name in kept.names:
        low, high = _ends(tested.intervals.get(name))
        score = MetricScore(metric=metric, score=six(measured[name][0].score), low=low, high=high)
        found[name] = _with_test(score, tests.get(name), made.higher_is_better)
    return found


def _ends(box: ScoreInterval | None) -> tuple[float | None, float | None]:
    return (None, None) if box is None else (six(box.low), six(box.high))


def _with_test(score: MetricScore, test: Test | None, higher_is_better: bool) -> MetricScore:
    """Return a score with its difference from the baseline."""
    if test is None:
        return score
    low, high = _ends(test.interval)
    better = (test.difference > 0) == higher_is_better if test.significant else None
    return msgspec.structs.replace(
        score, difference=six(test.difference), difference_low=low, difference_high=high, p=six(test.p_corrected),
        better=better,
    )  # fmt: skip


def segments_of(kept: KeptTexts, key: str, asked: SegmentsRequest) -> SegmentsResult:
    """Return a window of the segments that a filter leaves."""
    places, gains = kept.places(asked), kept.gains(asked)
    system, _ = kept.pair(asked)
    scores = kept.comparison.systems[system].segments[kept.segment_metric]
    by = {"number": np.arange(kept.size), "difference": gains, "length": kept.lengths, "score": scores}
    values = np.asarray(by[asked.sort.removeprefix("-")], np.float64)[places]
    order = places[np.argsort(-values if asked.sort.startswith("-") else values, kind="stable")]
    window = order[asked.first : asked.first + asked.count].tolist()
    return SegmentsResult(
        id=key, systems=kept.names, metric=kept.comparison.task.metrics[kept.segment_metric].name,
        found=int(places.size), total=kept.size, first=asked.first,
        segments=[_segment(kept, place, float(gains[place])) for place in window],
    )  # fmt: skip


def _segment(kept: KeptTexts, place: int, gain: float) -> ComparedSegment:
    comparison = kept.comparison
    task = comparison.task
    return ComparedSegment(
        number=place, references=[text for text in (task.references or [()] * kept.size)[place] if text is not None],
        outputs=[comparison.texts[name][place] for name in kept.names],
        scores=[six(comparison.systems[name].segments[kept.segment_metric][place]) for name in kept.names],
        difference=six(gain), source=None if task.sources is None else task.sources[place],
    )  # fmt: skip


def plot_of(kept: KeptTexts, key: str, kind: str, asked: PlotRequest) -> PlotResult:
    """Return the bars of a plot, or the n-grams that one of two systems gets right more often."""
    if kind not in KINDS:
        raise ServeError(404, "not-found", "There is no such plot", f"Plots are {', '.join(KINDS)}.")
    places, gains = kept.places(asked), kept.gains(asked)
    system, baseline = kept.pair(asked)
    own = gains[places]
    bars, won, lost = list[CountedBar](), list[GramDifference](), list[GramDifference]()
    if kind == "differences":
        found = difference_histogram(own)[0]
        bars = [CountedBar(low=one.low, high=one.high, segments=one.segments) for one in found]
    elif kind == "lengths":
        bars = _length_bars(kept, places, system, baseline)
    elif system != baseline:
        won, lost = _grams(kept, places, system, baseline)
    return PlotResult(
        id=key, kind=cast(Literal["differences", "lengths", "grams"], kind), a=baseline, b=system,
        metric=kept.comparison.task.metrics[kept.segment_metric].name, width=asked.width, bars=bars, won=won, lost=lost,
        wins=int((own > 0).sum()), ties=int((own == 0).sum()), losses=int((own < 0).sum()),
    )  # fmt: skip


def _length_bars(kept: KeptTexts, places: Places, system: str, baseline: str) -> list[CountedBar]:
    """Return the difference of the scores of segments by the length of their references."""
    lengths, low, bars = kept.lengths[places], 0, list[CountedBar]()
    for high in (*LENGTHS, None):
        chosen = places[(lengths >= low) & (lengths < (np.inf if high is None else high))]
        score = MetricScore(metric="", score=0.0)
        if chosen.size >= FEWEST and system != baseline:
            score = _pair_score(kept, chosen, system, baseline)
        bars.append(
            CountedBar(
                low=low, high=high, segments=int(chosen.size), difference=score.difference,
                difference_low=score.difference_low, difference_high=score.difference_high,
            )
        )  # fmt: skip
        low = high or 0
    return bars


def _pair_score(kept: KeptTexts, places: Places, system: str, baseline: str) -> MetricScore:
    metric = kept.segment_metric
    made, how = kept.comparison.task.metrics[metric], kept.comparison.resampling
    rows = {name: [measure(made, kept.comparison.statistics[name][metric][places])] for name in (system, baseline)}
    (test,) = test_systems(metric, made, rows, [(system, baseline)], replace(how, threads=1)).tests
    return _with_test(MetricScore(metric=metric, score=six(rows[system][0].score)), test, made.higher_is_better)


def _grams(
    kept: KeptTexts, places: Places, system: str, baseline: str
) -> tuple[list[GramDifference], list[GramDifference]]:
    """Return n-grams won and lost in some segments."""
    words, orders, numbers = kept.words, kept.orders, np.arange(kept.size)
    if places.size < kept.size:
        split = kept.comparison.task.words.split_words
        some, groups = places.tolist(), kept.comparison.task.references or ()
        texts = {name: split([kept.comparison.texts[name][one] for one in some]) for name in (system, baseline)}
        words = SystemWords(texts, [split(groups[one]) for one in some])
        orders, numbers = number_ngrams(words.texts), places
    found = ngram_differences(words, orders, system, baseline, GRAMS)
    won, lost = (
        [
            GramDifference(
                text=one.text, a=one.baseline, b=one.system, segments=[int(numbers[place]) for place in one.segments]
            )
            for one in some
        ]
        for some in found
    )  # fmt: skip
    return won, lost
