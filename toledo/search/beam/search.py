"""Phrase-based beam search.

The result of beam search as a forest, and its best derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.forest.assemble import Edges, from_edges
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Yields
from toledo.forest.linear import SparseArrays, sparse_rows
from toledo.model import Model
from toledo.phrases.table import REORDERING_FEATURES
from toledo.progress import Progress, silent
from toledo.search.beam.cubes import DISCONTINUOUS, MONOTONE, NONE, SWAP, Lattice, Limits
from toledo.search.beam.stacks import search_sentence
from toledo.search.options import OOV, UNKNOWN_WORD, WINDOW, PreparedTable, SentenceOptions, future_scores
from toledo.search.steps import NO_PHRASE, Step, pack, steps_of
from toledo.search.weighted_model import weigh


@dataclass(frozen=True)
class Translation:
    """The best translation of a sentence: its phrases in target order, and its score."""

    steps: tuple[Step, ...]
    score: float

    @property
    def words(self) -> tuple[str, ...]:
        """The words of all phrases."""
        return tuple(word for step in self.steps for word in step.words)

    def __str__(self) -> str:
        return " ".join(self.words)


@dataclass(frozen=True)
class SearchResult:
    """What the search found: the best translation, the lattice, options considered, and steps and nodes made."""

    translation: Translation
    forest: Forest
    options: int
    pops: int
    nodes: int


def search_result(model: Model, options: SentenceOptions, lattice: Lattice) -> SearchResult:
    """Everything about one sentence.

    The translation is the best derivation of the forest. The search adds up scores in another order: where two
    derivations score the same but for rounding, its own best one may not be the first of a k-best list.
    """
    forest = to_forest(model, options, lattice)
    (best,) = viterbi(forest, forest.scores(model.weights, threads=1))
    return SearchResult(
        Translation((), -np.inf) if best is None else Translation(steps_of(best), best.score),
        forest,
        options.begin.size,
        int(np.count_nonzero(lattice.edges.options != NONE)),
        lattice.nodes,
    )


def best_translation(model: Model, options: SentenceOptions, lattice: Lattice) -> Translation:
    """Follow the best edges back from the goal."""
    steps = []
    edge = int(lattice.best_edge[lattice.nodes - 1])
    while edge != NONE:
        option = int(lattice.edges.options[edge])
        if option != NONE:
            begin = int(options.word_begin[option])
            words = options.words[begin : begin + int(options.lengths[option])]
            steps.append(
                Step(
                    int(options.begin[option]),
                    int(options.end[option]),
                    int(options.pairs[option]),
                    tuple(model.target_vocabulary.words(words.tolist())),
                )
            )
        edge = int(lattice.best_edge[lattice.edges.tails[edge]])
    return Translation(tuple(reversed(steps)), float(lattice.score))


def to_forest(model: Model, options: SentenceOptions, lattice: Lattice) -> Forest:
    """A lattice of all translations that the search kept; `toledo.search.steps` reads the provenance of its edges."""
    edges = lattice.edges
    heads = np.concatenate([[0], edges.heads]).astype(np.int32)
    tail_offsets = np.concatenate([[0, 0], np.arange(1, edges.tails.size + 1)]).astype(np.int32)
    yields = _yields(edges.options, options.words, options.word_begin, options.lengths)
    features = np.zeros((heads.size, len(model.feature_names)), np.float32)
    features[1:] = edge_features(model, options, lattice)
    provenance = np.full(heads.size, NO_PHRASE, np.int64)
    taken = edges.options[edges.options != NONE]
    provenance[1:][edges.options != NONE] = pack(options.begin, options.end, options.pairs)[taken]
    names, sparse = option_sparse(model, options, np.concatenate([[NONE], edges.options]))
    given = Edges(heads, tail_offsets, edges.tails, yields, features, sparse=sparse, provenance=provenance)
    return from_edges(given, lattice.nodes - 1, model.feature_names, model.target_vocabulary, names)


def option_sparse(
    model: Model, options: SentenceOptions, chosen: NDArray[np.int32]
) -> tuple[tuple[str, ...], SparseArrays | None]:
    """The sparse features of edges with these options (or NONE), numbered for this sentence: a model may have many."""
    if model.sparse is None:
        return (), None
    nothing = options.pairs.size  # one more row, for the start and the end
    offsets, ids, values = model.sparse.rows(np.append(options.pairs, NONE).astype(np.int64))
    used, numbers = np.unique(ids, return_inverse=True)
    names = tuple(model.sparse.names[number] for number in used.tolist())
    of_options = SparseArrays(offsets.astype(np.int32), numbers.astype(np.int32), values)
    return names, sparse_rows(of_options, np.where(chosen == NONE, nothing, chosen).astype(np.int32))


def edge_features(model: Model, options: SentenceOptions, lattice: Lattice) -> NDArray[np.float32]:
    """The features of each edge, in the order of `model.feature_names`; the end of a sentence has only the models."""
    edges = lattice.edges
    step = edges.options != NONE
    chosen = edges.options[step]
    columns: dict[str, NDArray[np.float32]] = {}

    def add(name: str, values: NDArray[np.float32] | NDArray[np.float64]) -> None:
        columns[name] = np.zeros(edges.options.size, np.float32)
        columns[name][step] = values

    for m in range(len(model.language_models)):
        columns[model.feature_names[m]] = edges.model_scores[:, m]
    own = option_features(model, options)[chosen]
    for k, name in enumerate((*model.table.feature_names, "word.penalty", "phrase.penalty", "oov")):
        add(name, own[:, k])
    tails = edges.tails[step]
    add("distortion", (-np.abs(options.begin[chosen] - lattice.node_end[tails])).astype(np.float32))
    if model.table.reordering is not None:
        for k, values in enumerate(_reordering(model.table.reordering, options, lattice, chosen, tails)):
            add(REORDERING_FEATURES[k], values)
    return np.column_stack([columns[name] for name in model.feature_names])


def option_features(model: Model, options: SentenceOptions) -> NDArray[np.float32]:
    """What options have by themselves: the scores of the table, then word.penalty, phrase.penalty and oov."""
    known = options.pairs != UNKNOWN_WORD
    scores = np.zeros((options.pairs.size, len(model.table.feature_names)), np.float32)
    scores[known] = model.table.scores[options.pairs[known]]
    return np.column_stack([scores, -options.lengths, np.ones(known.size), np.where(known, 0.0, OOV)]).astype(
        np.float32
    )


def _reordering(
    table: NDArray[np.float32],
    options: SentenceOptions,
    lattice: Lattice,
    chosen: NDArray[np.int32],
    tails: NDArray[np.int32],
) -> NDArray[np.float32]:
    """The six features of each step: the orientation towards the previous phrase, seen from both."""
    orientation = np.full(chosen.size, DISCONTINUOUS)
    orientation[options.end[chosen] == lattice.node_begin[tails]] = SWAP
    orientation[options.begin[chosen] == lattice.node_end[tails]] = MONOTONE
    values = np.zeros((6, chosen.size), np.float32)
    previous = lattice.node_option[tails]
    previous_pairs = np.where(previous == NONE, UNKNOWN_WORD, options.pairs[np.maximum(previous, 0)])
    for side, pairs in enumerate((options.pairs[chosen], previous_pairs)):
        known = np.flatnonzero(pairs != UNKNOWN_WORD)
        column = 3 * side + orientation[known]
        values[column, known] = table[pairs[known], column]
    return values


@kernel
def _yields(
    chosen: NDArray[np.int32], words: NDArray[np.int32], word_begin: NDArray[np.int32], lengths: NDArray[np.int32]
) -> Yields:
    """The text of the first edge is empty; that of a step is the text before it and the words of its option."""
    offsets = np.zeros(chosen.size + 2, np.int32)
    for i in range(chosen.size):
        offsets[i + 2] = offsets[i + 1] + 1 + (lengths[chosen[i]] if chosen[i] != NONE else 0)
    content = np.empty(offsets[-1], np.int32)
    for i in range(chosen.size):
        content[offsets[i + 1]] = -1
        for k in range(offsets[i + 2] - offsets[i + 1] - 1):
            content[offsets[i + 1] + 1 + k] = words[word_begin[chosen[i]] + k]
    return Yields(offsets, content)


__all__ = ["BeamSearch", "BeamSettings", "SearchResult", "Step", "Translation"]

SENTENCES_AT_ONCE = 4  # few, so that an interruption is soon noticed

Result = TypeVar("Result")


@dataclass(frozen=True)
class BeamSettings:
    """How hard to search: steps taken for each number of translated words."""

    pop_limit: int = 400

    def __post_init__(self) -> None:
        if self.pop_limit < 1:
            raise ValueError("the pop limit must be at least 1")


class BeamSearch:
    """A beam search with one model and its weights; translates any number of sentences, in threads."""

    def __init__(self, model: Model, settings: BeamSettings = BeamSettings()) -> None:
        self.model = model
        self._weighted = weigh(model)
        self._limits = Limits(settings.pop_limit, self._weighted.longest_jump)

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """The best translation of each sentence."""
        return self._run(sentences, threads, progress, lambda found: best_translation(self.model, *found))

    def results(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """For each sentence its best translation, its lattice, and how much work it was."""
        return self._run(sentences, threads, progress, lambda found: search_result(self.model, *found))

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """For each sentence a lattice of all translations that the search kept."""
        return self._run(sentences, threads, progress, lambda found: to_forest(self.model, *found))

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        threads: int | None,
        progress: Progress,
        finish: Callable[[tuple[SentenceOptions, Lattice]], Result],
    ) -> list[Result]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        encoded = [self._weighted.encode(words) for words in sentences]
        table = self._weighted.prepare([source for source, _ in encoded])

        def work(first: int, last: int) -> list[Result]:
            return [finish(self._search(table, *encoded[i])) for i in range(first, last)]

        parts = map_chunks(
            work,
            len(encoded),
            chunk=SENTENCES_AT_ONCE,
            threads=threads,
            progress=progress,
            label="translating",
        )
        return [result for part in parts for result in part]

    def _search(
        self, table: PreparedTable, source: NDArray[np.int32], copies: NDArray[np.int32]
    ) -> tuple[SentenceOptions, Lattice]:
        options = self._weighted.options(table, source, copies)
        return options, search_sentence(options, future_scores(options, WINDOW), self._weighted.scoring, self._limits)
