"""Smaller forests: without edges that matter little. The best derivation always stays."""

from __future__ import annotations

import numpy as np

from toledo.forest.assemble import keep_edges
from toledo.forest.derivation import derivation_words
from toledo.forest.inside_outside import distribution
from toledo.forest.joining import join, split
from toledo.forest.structure import Forest, Scores
from toledo.forest.viterbi import best_above, best_below, best_derivation


def prune_by_score(forest: Forest, scores: Scores, margin: float) -> Forest:
    """Only edges on some derivation that scores at most `margin` below the best of its segment (max-marginals)."""
    if margin < 0:
        raise ValueError("the margin must not be negative")
    best = best_below(forest.shape, scores)
    through = best_above(forest.shape, scores, best)
    top = np.repeat(
        best.scores[forest.shape.sentences[1:] - 1], np.diff(forest.shape.head_edges[forest.shape.sentences])
    )
    return keep_edges(forest, (through >= top - margin - _slack(top)) & np.isfinite(through))


def prune_by_posterior(forest: Forest, scores: Scores, threshold: float) -> Forest:
    """Only edges used at least `threshold` times in expectation, and those of the best derivation."""
    keep = distribution(forest.shape, scores).posteriors >= threshold
    best = best_below(forest.shape, scores)
    for goal in (forest.shape.sentences[1:] - 1).tolist():
        keep[best_derivation(forest.shape, best, goal)] = True
    return keep_edges(forest, keep & (scores > -np.inf))


def prune_to_density(forest: Forest, scores: Scores, density: float) -> Forest:
    """At most `density` edges for each word of the best translation, the best ones by max-marginal."""
    return join([_to_density(part, scores[begin:end], density) for part, begin, end in split(forest)])


def _to_density(forest: Forest, scores: Scores, density: float) -> Forest:
    best = best_below(forest.shape, scores)
    edges = best_derivation(forest.shape, best, forest.nodes - 1)
    words = derivation_words(forest.shape, forest.yields, edges).size
    room = max(int(density * max(words, 1)), edges.size)
    through = best_above(forest.shape, scores, best)
    if np.count_nonzero(through > -np.inf) <= room:
        return keep_edges(forest, through > -np.inf)
    # All edges of a derivation are at least as good as it is, so a threshold never cuts through one that it keeps.
    ranked = np.sort(through)[::-1]
    threshold = ranked[room - 1]
    keep = through >= threshold
    if np.count_nonzero(keep) > room:  # among equals, none: more than asked would stay
        keep = through > threshold
    keep[edges] = True
    return keep_edges(forest, keep)


def _slack(top: Scores) -> Scores:
    """Sums in another order differ in the last digits; the best derivation must not fall to that."""
    return np.asarray(1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(top), top, 0.0))))
