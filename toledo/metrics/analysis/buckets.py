"""Segments and words in buckets: by length, by difference of lengths, by score, by frequency of words.

Limits of buckets are those of compare-mt (Neubig et al. 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.analysis.ngrams import NGramsOfOrder, SystemWords, word_counts
from toledo.metrics.metric import Metric
from toledo.metrics.score import ScoreInterval
from toledo.metrics.significance.paired import measure, studentized_bootstrap
from toledo.results import Result

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

LENGTHS = (10, 20, 30, 40, 50, 60)
LENGTH_DIFFERENCES = (-20, -10, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 11, 21)
SCORES = (10, 20, 30, 40, 50, 60, 70, 80, 90)
FREQUENCIES = (1, 2, 3, 4, 5, 10, 100, 1000)


@dataclass(frozen=True)
class BucketDifference(Result):
    """By how much a system scores higher than a baseline on some segments; too few of them give no interval."""

    system: str
    baseline: str
    difference: float
    interval: ScoreInterval | None


@dataclass(frozen=True)
class LengthBucket(Result):
    """Segments of similar length, from `low` words to fewer than `high`, and the score of each system on them."""

    label: str
    low: int
    high: int | None
    segments: int
    scores: dict[str, float]
    differences: tuple[BucketDifference, ...]


@dataclass(frozen=True)
class CountBucket(Result):
    """How many segments of each system are in a bucket."""

    label: str
    segments: dict[str, int]


@dataclass(frozen=True)
class WordAccuracy(Result):
    """How many words match, how many a system has, and how many the references have."""

    matches: int
    in_system: int
    in_references: int

    @property
    def precision(self) -> float:
        """Share of the system's words that match."""
        return self.matches / self.in_system if self.in_system else 0.0

    @property
    def recall(self) -> float:
        """Share of the references' words that match."""
        return self.matches / self.in_references if self.in_references else 0.0

    @property
    def f(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.in_system + self.in_references
        return 2 * self.matches / both if both else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return counts, precision, recall and F."""
        return {**super().to_dict(), **{name: round(getattr(self, name), 6) for name in ("precision", "recall", "f")}}


@dataclass(frozen=True)
class WordBucket(Result):
    """Words of similar frequency, and how accurate each system is on them."""

    label: str
    systems: dict[str, WordAccuracy]


def bucket_labels(limits: Sequence[int]) -> list[str]:
    """Return the names of buckets of whole numbers: "<10", "10–19", "5", "−20 to −11", "60+"."""

    def between(low: int, high: int) -> str:
        return str(low) if low == high else f"{low}–{high}" if low >= 0 else f"{low} to {high}"

    inner = [between(low, high - 1) for low, high in pairwise(limits)]
    first = "0" if limits[0] == 1 else f"<{limits[0]}"  # nothing that is counted is below 0
    return [one.replace("-", "−") for one in (first, *inner, f"{limits[-1]}+")]


def mean_reference_lengths(words: SystemWords) -> Floats:
    """Return the number of words of each segment's references, on average."""
    totals = np.bincount(words.segment_of_reference, weights=words.reference_lengths, minlength=words.segments)
    return totals / np.maximum(np.bincount(words.segment_of_reference, minlength=words.segments), 1)


def length_differences(words: SystemWords, system: str) -> Int64s:
    """Return by how many words each segment is longer than its closest reference; of two the shorter, as in BLEU."""
    lengths = words.lengths(system)[words.segment_of_reference]
    order = np.lexsort((words.reference_lengths, np.abs(lengths - words.reference_lengths), words.segment_of_reference))
    closest = order[np.flatnonzero(np.diff(words.segment_of_reference[order], prepend=-1))]
    differences: Int64s = (lengths - words.reference_lengths)[closest]
    return differences


def by_length(
    lengths: Floats,
    metric: Metric,
    statistics: Mapping[str, Floats],
    pairs: Sequence[tuple[str, str]],
    resamples: int,
    seed: int,
) -> list[LengthBucket]:
    """Score systems on segments of similar length; empty buckets are left out.

    `statistics` are those of a metric by system. Differences of pairs (system, baseline) have 95 % intervals.
    """
    places, found, limits = np.digitize(lengths, LENGTHS), [], (0, *LENGTHS, None)
    for place, label in enumerate(bucket_labels(LENGTHS)):
        own = np.flatnonzero(places == place)
        if not own.size:
            continue
        systems = {name: measure(metric, rows[own]) for name, rows in statistics.items()}
        names = list(systems)
        places_of_pairs = [(names.index(system), names.index(baseline)) for system, baseline in pairs]
        estimates = studentized_bootstrap(
            metric, list(systems.values()), places_of_pairs, resamples=resamples, seed=seed
        ).differences
        scores = {name: one.score for name, one in systems.items()}
        differences = (
            BucketDifference(*pair, one.value, one.interval) for pair, one in zip(pairs, estimates, strict=True)
        )
        low, high = limits[place] or 0, limits[place + 1]
        found.append(LengthBucket(label, low, high, own.size, scores, tuple(differences)))
    return found


def count_buckets(values: Mapping[str, NDArray[Any]], limits: Sequence[int]) -> list[CountBucket]:
    """Count the segments of each system by a value; empty buckets are left out."""
    labels = bucket_labels(limits)
    counts = {name: np.bincount(np.digitize(own, limits), minlength=len(labels)) for name, own in values.items()}
    buckets = (
        CountBucket(label, {name: int(own[place]) for name, own in counts.items()})
        for place, label in enumerate(labels)
    )
    return [one for one in buckets if any(one.segments.values())]


def word_accuracy(words: SystemWords, unigrams: NGramsOfOrder, frequency: Mapping[str, int] | None) -> list[WordBucket]:
    """Return the accuracy of each system on words of similar frequency; empty buckets are left out.

    Frequencies are those of the references if none are given. A word that is in no reference and has no frequency is in
    the first bucket.
    """
    counts = {name: word_counts(words, unigrams, name) for name in words.names}
    if frequency is None:
        frequencies: Iterable[int] = next(iter(counts.values()))[2]
    else:
        frequencies = (frequency.get(words.ngram(place, 1), 0) for place in unigrams.places.tolist())
    places = np.digitize(np.fromiter(frequencies, np.int64, unigrams.places.size), FREQUENCIES)
    labels, found = bucket_labels(FREQUENCIES), []
    sums = {
        name: [np.bincount(places, weights=one, minlength=len(labels)).astype(int).tolist() for one in own]
        for name, own in counts.items()
    }
    for place, label in enumerate(labels):
        own = {name: WordAccuracy(*(column[place] for column in columns)) for name, columns in sums.items()}
        if any(one.in_system or one.in_references for one in own.values()):
            found.append(WordBucket(label, own))
    return found
