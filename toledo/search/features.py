"""Derivations as the options chosen for them: their features, texts and steps, the same for all searches.

A step takes an option after another one. What it adds to the features depends on the two options alone, but for the
language models, which see more of what stands before; so steps of a lattice and of a list are described alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import offsets_of
from toledo.forest.forest import Yields
from toledo.forest.linear import SparseArrays, sparse_rows
from toledo.language_model.automaton import Automaton, advance, begin_state
from toledo.model import PhraseModel
from toledo.phrases.table import REORDERING_FEATURES
from toledo.search.options import LN10, NONE, OOV, UNKNOWN_WORD, SentenceOptions, orientation_of
from toledo.search.steps import Step
from toledo.text.vocabulary import END

OPTION_FEATURES = ("word.penalty", "phrase.penalty", "oov")  # after those of the table
NO_REORDERING = np.empty((0, len(REORDERING_FEATURES)), np.float32)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Options = NDArray[np.int32]  # numbers of options


@dataclass(frozen=True, eq=False)
class Derivations:
    """Derivations of one sentence or of many: number i takes the options `chosen[offsets[i]:offsets[i + 1]]`."""

    model: PhraseModel
    options: SentenceOptions
    offsets: Ints
    chosen: Options

    @classmethod
    def joined(cls, model: PhraseModel, options: SentenceOptions, parts: Sequence[Options]) -> Derivations:
        """Return derivations from the options of each."""
        chosen = np.concatenate([np.empty(0, np.int32), *parts]).astype(np.int32)
        return cls(model, options, offsets_of([part.size for part in parts]), chosen)

    def __len__(self) -> int:
        return self.offsets.size - 1

    def features(self, single: bool = False) -> Floats:
        """Return a row for each derivation with the features of `model.feature_names`.

        With `single`, language models are rounded to single precision at each step, as on the edges of a lattice.
        """
        previous = np.concatenate([np.array([NONE], np.int32), self.chosen])[:-1]
        previous[self.offsets[:-1][np.diff(self.offsets) > 0]] = NONE
        steps = step_features(self.model, self.options, self.chosen, previous)
        owner = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        found = np.empty((len(self), steps.shape[1]))
        models = tuple(one.automaton for one in self.model.language_models)
        found[:, : len(models)] = _lm_scores(models, self.options, self.offsets, self.chosen, single)
        for k in range(len(models), steps.shape[1]):
            found[:, k] = np.bincount(owner, steps[:, k], len(self))
        return found

    def sparse(self) -> tuple[tuple[str, ...], SparseArrays | None]:
        """Return the names of sparse features that options of the sentence have, and a row for each derivation."""
        names, rows = option_sparse(self.model, self.options, self.chosen)
        return names, None if rows is None else rows._replace(offsets=rows.offsets[self.offsets])

    def totals(self) -> dict[str, float]:
        """Return the sum of each feature over all derivations, sparse ones where they occur."""
        found = dict(zip(self.model.feature_names, (float(column.sum()) for column in self.features().T), strict=True))
        names, rows = self.sparse()
        if rows is not None:
            for number, value in zip(rows.ids.tolist(), rows.values.tolist(), strict=True):
                found[names[number]] = found.get(names[number], 0.0) + value
        return found

    def yields(self) -> Yields:
        """Return the word ids of each derivation."""
        return edge_yields(self.options, np.zeros(len(self), np.int64), self.offsets, self.chosen)

    def texts(self) -> list[str]:
        """Return the text of each derivation."""
        return [" ".join(word for step in self.steps(i) for word in step.words) for i in range(len(self))]

    def steps(self, i: int) -> tuple[Step, ...]:
        """Return the phrases of a derivation in target order."""
        return read_steps(self.model, self.options, self.chosen[self.offsets[i] : self.offsets[i + 1]].tolist())


def read_steps(model: PhraseModel, options: SentenceOptions, chosen: Sequence[int]) -> tuple[Step, ...]:
    """Return options as phrases with their words."""
    found = []
    for option in chosen:
        begin = int(options.word_begin[option])
        words = options.words[begin : begin + int(options.lengths[option])].tolist()
        place = int(options.begin[option]), int(options.end[option]), int(options.pairs[option])
        found.append(Step(*place, tuple(model.target_vocabulary.words(words))))
    return tuple(found)


def step_features(
    model: PhraseModel, options: SentenceOptions, chosen: Options, previous: Options
) -> NDArray[np.float32]:
    """Return the features of steps from one option to another, but for language models, whose columns are 0.

    NONE is the start of a sentence among the `previous`, and its end, which has no features, among the `chosen`.
    """
    names = (*model.table.feature_names, *OPTION_FEATURES)
    own = np.zeros((options.pairs.size + 1, len(model.feature_names)), np.float32)  # the last row is that of NONE
    own[:-1, [model.feature_names.index(name) for name in names]] = option_features(model, options)
    features = own[chosen]
    jump = model.feature_names.index("distortion")
    if model.table.reordering is None:
        _fill_junctions(options, chosen, previous, NO_REORDERING, jump, jump, features)
    else:
        first = model.feature_names.index(REORDERING_FEATURES[0])  # the others follow
        _fill_junctions(options, chosen, previous, model.table.reordering, jump, first, features)
    return features


@kernel
def _fill_junctions(
    options: SentenceOptions,
    chosen: Options,
    previous: Options,
    reordering: NDArray[np.float32],
    jump: int,
    first_orientation: int,
    out_features: NDArray[np.float32],
) -> None:
    """Fill in the jump of each step, and the orientation towards the phrase before it, seen from both."""
    for i in range(chosen.size):
        option, before = chosen[i], previous[i]
        if option == NONE:
            continue
        first = last = 0
        if before != NONE:
            first, last = options.begin[before], options.end[before]
        out_features[i, jump] = -abs(options.begin[option] - last)
        if reordering.shape[0] == 0:
            continue
        orientation = orientation_of(options.begin[option], options.end[option], first, last)
        if options.pairs[option] != UNKNOWN_WORD:
            out_features[i, first_orientation + orientation] = reordering[options.pairs[option], orientation]
        orientation += 3
        if before != NONE and options.pairs[before] != UNKNOWN_WORD:
            out_features[i, first_orientation + orientation] = reordering[options.pairs[before], orientation]


def option_features(model: PhraseModel, options: SentenceOptions) -> NDArray[np.float32]:
    """Return what options have by themselves: the scores of the table, then OPTION_FEATURES."""
    known = options.pairs != UNKNOWN_WORD
    scores = np.zeros((options.pairs.size, len(model.table.feature_names)), np.float32)
    scores[known] = model.table.scores[options.pairs[known]]
    return np.column_stack([scores, -options.lengths, np.ones(known.size), np.where(known, 0.0, OOV)]).astype(
        np.float32
    )


def option_sparse(
    model: PhraseModel, options: SentenceOptions, chosen: Options
) -> tuple[tuple[str, ...], SparseArrays | None]:
    """Return the sparse features of options (or NONE), numbered for this sentence: a model may have many."""
    if model.sparse is None:
        return (), None
    nothing = options.pairs.size  # one more row, for the start and the end
    offsets, ids, values = model.sparse.rows(np.append(options.pairs, NONE).astype(np.int64))
    used, numbers = np.unique(ids, return_inverse=True)
    names = tuple(model.sparse.names[number] for number in used.tolist())
    of_options = SparseArrays(offsets.astype(np.int32), numbers.astype(np.int32), values)
    return names, sparse_rows(of_options, np.where(chosen == NONE, nothing, chosen).astype(np.int32))


@kernel
def edge_yields(options: SentenceOptions, arity: Ints, offsets: Ints, chosen: Options) -> Yields:
    """Return the texts of edges: those of the tails in order, then the words of `chosen[offsets[e]:offsets[e + 1]]`."""
    ends = np.zeros(offsets.size, np.int32)
    for e in range(arity.size):
        ends[e + 1] = ends[e] + arity[e]
        for i in range(offsets[e], offsets[e + 1]):
            ends[e + 1] += options.lengths[chosen[i]]
    content, place = np.empty(ends[-1], np.int32), 0
    for e in range(arity.size):
        for tail in range(arity[e]):
            content[place] = -1 - tail
            place += 1
        for i in range(offsets[e], offsets[e + 1]):
            begin = options.word_begin[chosen[i]]
            for k in range(begin, begin + options.lengths[chosen[i]]):
                content[place] = options.words[k]
                place += 1
    return Yields(ends, content)


@kernel
def _lm_scores(
    models: tuple[Automaton, ...], options: SentenceOptions, offsets: Ints, chosen: Options, single: bool
) -> Floats:
    """Return the natural log probability of each derivation (row) by each language model."""
    found = np.zeros((offsets.size - 1, len(models)))
    for d in range(offsets.size - 1):
        for m in range(len(models)):
            state = begin_state(models[m])
            for i in range(offsets[d], offsets[d + 1]):
                begin, total = options.word_begin[chosen[i]], 0.0
                for k in range(begin, begin + options.lengths[chosen[i]]):
                    score, state = advance(models[m], state, options.words[k])
                    total += score
                    if not single:
                        found[d, m] += score * LN10
                if single:
                    found[d, m] += np.float32(total * LN10)
            last = advance(models[m], state, END)[0] * LN10
            found[d, m] += np.float32(last) if single else last
    return found
