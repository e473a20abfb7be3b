"""Lattices whose edges know the words before them: for a language model, and for features of n-grams.

Nodes are split by their last words; NULL leaves these as they are, so n-grams go across it. First all lattices are
expanded to bigrams. Once weights are tuned there, edges that are hardly ever used are pruned, and what is left is
expanded to the full order of the language model (Rosti et al. 2011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from toledo.combination.features import Feature, add_features
from toledo.combination.lattice import Lattice
from toledo.forest.joining import split
from toledo.forest.ngrams import NGramForest, join_ngrams, localise, rescore
from toledo.forest.pruning import prune_by_posterior
from toledo.forest.structure import Forest, Scores
from toledo.kernels import map_chunks
from toledo.language_model.query import LanguageModel
from toledo.progress import Progress, silent

LANGUAGE_MODEL = "lm"
SEGMENTS_AT_ONCE = 4


def expand(
    forests: Sequence[Forest],
    lattices: Sequence[Lattice],
    order: int,
    model: LanguageModel | None,
    features: Sequence[Feature] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> NGramForest:
    """All segments in a row, split so that n-grams up to an order are completed at edges, with their features.

    `forests` are the lattices, or what was made of them.
    """

    def work(first: int, last: int) -> list[NGramForest]:
        return [
            add_features(_split(forest, order, model), lattice, features)
            for forest, lattice in zip(forests[first:last], lattices[first:last], strict=True)
        ]

    parts = map_chunks(
        work,
        len(forests),
        chunk=SEGMENTS_AT_ONCE,
        threads=threads,
        progress=progress,
        label=f"expanding to {order}-grams",
    )
    return join_ngrams([one for some in parts for one in some])


def _split(forest: Forest, order: int, model: LanguageModel | None) -> NGramForest:
    scores = np.zeros(forest.edges)  # without a beam they have no say
    if model is None:
        return localise(forest, scores, order, threads=1)
    return rescore(forest, scores, order, model, LANGUAGE_MODEL, 0.0, threads=1)


def pruned(forest: Forest, scores: Scores, threshold: float, names: Sequence[str]) -> list[Forest]:
    """For each segment the edges that are used so often in expectation, with the dense features of these names only.

    The best path always stays.
    """
    kept = prune_by_posterior(forest, scores, threshold)
    columns = [kept.feature_names.index(name) for name in names]
    smaller = replace(kept, features=np.ascontiguousarray(kept.features[:, columns]), feature_names=tuple(names))
    return [part for part, _, _ in split(smaller)]
