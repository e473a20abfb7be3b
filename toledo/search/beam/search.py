"""Phrase-based beam search: its lattice as a forest, and its best derivation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.forest.assemble import Edges, from_edges
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.search.beam.cubes import BeamLimits, SearchLattice
from toledo.search.beam.stacks import search_sentence
from toledo.search.features import edge_yields, option_sparse, read_steps, step_features
from toledo.search.options import NONE, WINDOW, SentenceOptions, future_scores
from toledo.search.search import Search, SearchResult, Translation, best_translation
from toledo.search.settings import Beam
from toledo.search.steps import NO_PHRASE, pack
from toledo.search.weighted_model import WeightedModel

BeamFound = tuple[SentenceOptions, SearchLattice]


class BeamSearch(Search[BeamFound]):
    """Beam search with one model and its weights; translates any number of sentences, in threads."""

    sentences_at_once = 4  # few, so that an interruption is soon noticed

    def __init__(self, model: PhraseModel, settings: Beam = Beam()) -> None:
        super().__init__(model)
        self.settings = settings

    def _search(self, options: SentenceOptions, words: Sequence[str]) -> BeamFound:
        return options, beam_lattice(self._weighted, options, self.settings.pop_limit)

    def _translation(self, found: BeamFound) -> Translation:
        options, lattice = found
        return Translation(read_steps(self.model, options, best_options(lattice).tolist()), float(lattice.score))

    def _forest(self, found: BeamFound) -> Forest:
        return to_forest(self.model, *found)

    def _result(self, found: BeamFound) -> SearchResult:
        """Return everything about one sentence.

        The translation is the best derivation of the forest. The search adds up scores in another order: where two
        derivations score the same but for rounding, its own best one may not be the first of a k-best list.
        """
        options, lattice = found
        forest = to_forest(self.model, options, lattice)
        steps = int(np.count_nonzero(lattice.edges.options != NONE))
        best = best_translation(forest, self.model.weights)
        return SearchResult(best, forest, options.begin.size, steps, lattice.nodes)


def beam_lattice(weighted: WeightedModel, options: SentenceOptions, pop_limit: int) -> SearchLattice:
    """Search a sentence."""
    limits = BeamLimits(pop_limit, weighted.longest_jump)
    return search_sentence(options, future_scores(options, WINDOW), weighted.scoring, limits)


def best_options(lattice: SearchLattice) -> NDArray[np.int32]:
    """Return the options of the best derivation: follow the best edges back from the goal."""
    found, edge = [], int(lattice.best_edge[lattice.nodes - 1])
    while edge != NONE:
        if lattice.edges.options[edge] != NONE:
            found.append(int(lattice.edges.options[edge]))
        edge = int(lattice.best_edge[lattice.edges.tails[edge]])
    return np.array(found[::-1], np.int32)


def to_forest(model: PhraseModel, options: SentenceOptions, lattice: SearchLattice) -> Forest:
    """Return all translations that the search kept; `toledo.search.steps` reads the provenance of the edges."""
    edges = lattice.edges
    chosen = np.concatenate([np.array([NONE], np.int32), edges.options])  # the first edge makes the empty translation
    taken = chosen != NONE
    arity = np.ones(chosen.size, np.int64)
    arity[0] = 0
    previous = np.concatenate([np.array([NONE], np.int32), lattice.node_option[edges.tails]])
    features = step_features(model, options, chosen, previous)
    features[1:, : len(model.language_models)] = edges.model_scores
    provenance = np.full(chosen.size, NO_PHRASE, np.int64)
    provenance[taken] = pack(options.begin, options.end, options.pairs)[chosen[taken]]
    names, sparse = option_sparse(model, options, chosen)
    given = Edges(
        heads=np.concatenate([[0], edges.heads]).astype(np.int32),
        tail_offsets=np.concatenate([[0], np.cumsum(arity)]).astype(np.int32),
        tails=edges.tails,
        yields=edge_yields(options, arity, np.concatenate([[0], np.cumsum(taken)]), chosen[taken]),
        features=features,
        sparse=sparse,
        provenance=provenance,
    )
    return from_edges(given, lattice.nodes - 1, model.feature_names, model.target_vocabulary, names)
