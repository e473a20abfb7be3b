"""Everything that a comparison shows about segments, gathered: pairs, buckets, accuracy of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.analysis.buckets import (
    LENGTH_DIFFERENCES,
    SCORES,
    CountBucket,
    LengthBucket,
    WordBucket,
    by_length,
    count_buckets,
    length_differences,
    mean_reference_lengths,
    word_accuracy,
)
from toledo.metrics.analysis.ngrams import NGramDifference, SystemWords, ngram_differences, number_ngrams
from toledo.metrics.analysis.pairs import PairAnalysis, SegmentDifference, largest_gains, segment_gains
from toledo.metrics.analysis.printing import analysis_text
from toledo.metrics.segments import SegmentMetric
from toledo.results import Result

if TYPE_CHECKING:
    from toledo.metrics.evaluation import Comparison

Floats = NDArray[np.float64]
NGRAMS = 10


@dataclass(frozen=True)
class SegmentAnalysis(Result):
    """Where systems differ, by a metric; without references there are no lengths, words or n-grams."""

    metric: str
    metric_name: str
    pairs: tuple[PairAnalysis, ...]
    reference_lengths: Floats  # of each segment, on average
    by_length: tuple[LengthBucket, ...]
    by_length_difference: tuple[CountBucket, ...]
    by_score: tuple[CountBucket, ...]
    by_frequency: tuple[WordBucket, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all but the lengths of single segments."""
        found = super().to_dict()
        del found["reference_lengths"]
        return found

    def text(self, color: bool = False) -> str:
        """Return pairs of systems first, then buckets; words that differ are colored, or else marked."""
        return analysis_text(self, color)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"SegmentAnalysis({', '.join(f'{one.system} − {one.baseline}' for one in self.pairs)}; {self.metric})"


def analyze_segments(
    comparison: Comparison,
    pairs: Sequence[tuple[str, str]],
    metric: str,
    examples: int,
    frequency: Mapping[str, int] | None,
) -> SegmentAnalysis:
    """Analyze pairs of (system, baseline); `frequency` is how often each word occurs in another text."""
    task, how = comparison.task, comparison.resampling
    scorer = task.metrics[metric]
    names = list(dict.fromkeys(name for system, baseline in pairs for name in (baseline, system)))
    by_score = count_buckets({name: comparison.systems[name].segments[metric] for name in names}, SCORES)
    if task.references is None:
        found = [_pair(comparison, pair, metric, examples) for pair in pairs]
        return SegmentAnalysis(metric, scorer.name, tuple(found), np.zeros(0), (), (), tuple(by_score), ())
    split = task.words.split_words
    words = SystemWords(
        {name: split(comparison.texts[name]) for name in names}, [split(group) for group in task.references]
    )
    orders = number_ngrams(words.texts)
    found = [
        _pair(comparison, pair, metric, examples, ngram_differences(words, orders, *pair, NGRAMS)) for pair in pairs
    ]
    statistics = {name: comparison.statistics[name][metric] for name in names}
    tested = pairs if how.level is not None else ()
    lengths = mean_reference_lengths(words)
    differences = {name: length_differences(words, name) for name in names}
    return SegmentAnalysis(
        metric,
        scorer.name,
        tuple(found),
        lengths,
        tuple(by_length(lengths, scorer, statistics, tested, how.resamples, how.seed)),
        tuple(count_buckets(differences, LENGTH_DIFFERENCES)),
        tuple(by_score),
        tuple(word_accuracy(words, orders[0], frequency)),
    )


def word_frequency(lines: Iterable[str], metric: SegmentMetric) -> Counter[str]:
    """Count the words of a text, as a metric splits it."""
    return Counter(word for line in lines for word in metric.split_words([line])[0])


def segment_difference(comparison: Comparison, pair: tuple[str, str], metric: str, segment: int) -> SegmentDifference:
    """Return a segment of a pair (system, baseline), with its scores and texts."""
    task, (system, baseline) = comparison.task, pair
    scores = {name: float(comparison.systems[name].segments[metric][segment]) for name in (baseline, system)}
    difference = scores[system] - scores[baseline]
    return SegmentDifference(
        segment,
        difference if task.metrics[metric].higher_is_better else -difference,
        scores,
        {name: comparison.texts[name][segment] for name in (baseline, system)},
        tuple(task.references[segment]) if task.references is not None else (),
        None if task.sources is None else task.sources[segment],
    )


def differing_most(comparison: Comparison, pair: tuple[str, str], order: Iterable[int], number: int) -> list[int]:
    """Return the first segments of an order, each text once."""
    seen: set[tuple[object, ...]] = set()
    found: list[int] = []
    for segment in order:
        references = comparison.task.references[segment] if comparison.task.references is not None else ()
        texts = (*(comparison.texts[name][segment] for name in pair), *references)
        if len(found) < number and texts not in seen:
            seen.add(texts)
            found.append(segment)
    return found


def _pair(
    comparison: Comparison,
    pair: tuple[str, str],
    metric: str,
    examples: int,
    ngrams: tuple[list[NGramDifference], list[NGramDifference]] = ([], []),
) -> PairAnalysis:
    ours, theirs = (comparison.systems[name].segments[metric] for name in pair)
    gains = segment_gains(ours, theirs, comparison.task.metrics[metric].higher_is_better)
    best, worst = (
        tuple(
            segment_difference(comparison, pair, metric, segment)
            for segment in differing_most(comparison, pair, largest_gains(some), examples)
        )
        for some in (gains, -gains)
    )
    name = comparison.task.metrics[metric].name
    return PairAnalysis(*pair, name, gains, tuple(ngrams[0]), tuple(ngrams[1]), best, worst)
