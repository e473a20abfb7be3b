"""A segment's forest split by n-grams, once for all scales: what rules that count n-grams work on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from toledo.forest.inside_outside import Distribution, distribution
from toledo.forest.ngrams import NGramForest, localise
from toledo.forest.pruning import prune_to_density
from toledo.forest.structure import Forest, Scores, check_scores


@dataclass(frozen=True, eq=False)
class NGramSpace:
    """A forest whose edges know their n-grams, and the scores of these edges, not scaled."""

    ngrams: NGramForest
    scores: Scores

    def distribution(self, scale: float) -> Distribution:
        """The distribution at a scale."""
        return distribution(self.ngrams.forest.shape, scale * self.scores, threads=1)


def ngram_space(
    forest: Forest, scores: Scores, order: int, density: float | None = None, beam: int | None = None
) -> NGramSpace:
    """Prune a one-segment forest to a density (edges per word) if there is one, and split it by n-grams.

    Lists are never pruned: their entries are few, and all were meant to count. With a `beam` at most that many edges
    are kept for each node: for forests that would grow too large.
    """
    if len(forest) != 1:
        raise ValueError("rules decide about one segment at a time")
    check_scores(forest.shape, scores)
    # Only the texts matter from here on; edges remember their number for the scores.
    bare = replace(
        forest,
        features=np.empty((forest.edges, 0), np.float32),
        feature_names=(),
        base=None,
        sparse=None,
        provenance=np.arange(forest.edges),
    )
    if density is not None and forest.shape.tails.size:
        bare = prune_to_density(bare, scores, density)
    ngrams = localise(bare, scores[_numbers(bare)], order, beam=beam, threads=1)
    return NGramSpace(ngrams, scores[_numbers(ngrams.forest)])


def _numbers(forest: Forest) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.empty(0, np.int64) if forest.provenance is None else forest.provenance
