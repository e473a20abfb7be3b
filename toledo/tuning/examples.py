"""What a tuner sees: the search spaces of a tuning set beside their references."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.joining import join
from toledo.forest.structure import Forest, edges_of_sentences
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.tuning.text_statistics import References, encoded_references, text_statistics


@dataclass(frozen=True, eq=False)
class Lists:
    """N-best lists as arrays: segment i has the hypotheses `offsets[i]:offsets[i + 1]`.

    A hypothesis is an edge of `forest` (with dense and sparse features); `statistics` has a row of the metric for each.
    """

    forest: Forest
    statistics: NDArray[np.float64]
    offsets: NDArray[np.int64]
    metric: Metric

    def __len__(self) -> int:
        """The number of segments."""
        return self.offsets.size - 1


@dataclass(frozen=True, eq=False)
class Examples:
    """All that searches have found for each segment so far (one-segment forests), its references, and the metric."""

    forests: Sequence[Forest]
    references: Sequence[References]
    metric: Metric

    def __post_init__(self) -> None:
        if len(self.forests) != len(self.references) or not self.forests:
            raise InputError(
                f"{len(self.forests)} segments but references for {len(self.references)}", remedy="give one set each"
            )

    def only(self, segments: Sequence[int] | NDArray[np.int64]) -> Examples:
        """Some of the segments."""
        return Examples(
            [self.forests[number] for number in segments], [self.references[number] for number in segments], self.metric
        )

    @cached_property
    def forest(self) -> Forest:
        """All segments in a row."""
        return join(list(self.forests))

    @cached_property
    def lists(self) -> Lists:
        """The same as lists with statistics; refuses lattices and forests."""
        return make_lists(self.forest, self.references, self.metric)


def make_lists(forest: Forest, references: Sequence[References], metric: Metric) -> Lists:
    """Put the statistics of a metric beside the hypotheses of some lists in a row."""
    if forest.shape.tails.size:
        raise InputError("a lattice where an n-best list is needed", remedy="take its k-best list first")
    offsets = edges_of_sentences(forest.shape)
    segments = np.repeat(np.arange(len(forest)), np.diff(offsets))
    return Lists(forest, _statistics(forest, references, metric, segments), offsets, metric)


def _statistics(
    forest: Forest, references: Sequence[References], metric: Metric, segments: NDArray[np.int64]
) -> NDArray[np.float64]:
    words, offsets, vocabulary = forest.yields.words, forest.yields.offsets.astype(np.int64), forest.vocabulary
    if isinstance(metric, BLEU):
        return encoded_references(metric, references, vocabulary).statistics(words, offsets, segments)
    texts = [vocabulary.words(words[begin:end].tolist()) for begin, end in itertools.pairwise(offsets)]
    return text_statistics(metric, texts, [references[segment] for segment in segments.tolist()])
