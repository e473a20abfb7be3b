"""Smaller forests: without edges that matter little. The best derivation always stays."""

from __future__ import annotations

import numpy as np

from toledo.forest.assemble import join, keep_edges, split
from toledo.forest.derivations import best_above, best_below, best_lengths, on_best
from toledo.forest.forest import Forest, Scores, check_scores
from toledo.forest.inside_outside import distribution


def prune_by_score(forest: Forest, scores: Scores, margin: float) -> Forest:
    """Keep edges on some derivation at most `margin` below the best of its segment (max-marginals)."""
    if not margin >= 0:
        raise ValueError("the margin must not be negative")
    check_scores(forest.shape, scores)
    best = best_below(forest.shape, scores)
    through = best_above(forest.shape, scores, best)
    top = np.repeat(
        best.scores[forest.shape.sentences[1:] - 1], np.diff(forest.shape.head_edges[forest.shape.sentences])
    )
    good = (through >= top - margin - _slack(top)) & np.isfinite(through)
    return keep_edges(forest, good | on_best(forest.shape, best))


def prune_by_posterior(forest: Forest, scores: Scores, threshold: float) -> Forest:
    """Keep edges used at least `threshold` times in expectation, and those of the best derivation."""
    likely = distribution(forest.shape, scores).posteriors >= threshold
    best = on_best(forest.shape, best_below(forest.shape, scores))
    return keep_edges(forest, (likely | best) & (scores > -np.inf))


def prune_to_density(forest: Forest, scores: Scores, density: float) -> Forest:
    """Keep at most `density` edges for each word of the best translation, the best ones by max-marginal."""
    check_scores(forest.shape, scores)
    return join([_to_density(part, scores[begin:end], density) for part, begin, end in split(forest)])


def _to_density(forest: Forest, scores: Scores, density: float) -> Forest:
    best = best_below(forest.shape, scores)
    needed = on_best(forest.shape, best)
    words = best_lengths(forest.shape, forest.yields, best)[-1]
    room = int(min(max(density * max(words, 1.0), np.count_nonzero(needed)), forest.edges))
    through = best_above(forest.shape, scores, best)
    if np.count_nonzero(through > -np.inf) <= room:
        return keep_edges(forest, through > -np.inf)
    # All edges of a derivation are at least as good as it is, so a threshold never cuts through one that it keeps.
    through[needed] = np.inf
    ranked = np.sort(through)[::-1]
    keep = through >= ranked[room - 1]
    if np.count_nonzero(keep) > room:  # among equals, none: more than asked would stay
        keep = through > ranked[room - 1]
    return keep_edges(forest, keep | needed)


def _slack(top: Scores) -> Scores:
    """Sums in another order differ in the last digits; the best derivation must not fall to that."""
    return np.asarray(1e-9 * np.maximum(1.0, np.abs(np.where(np.isfinite(top), top, 0.0))))
