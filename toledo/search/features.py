"""The features of sentences from scratch: their sums over a state are what records and results report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.language_model.automaton import advance, begin_state
from toledo.model import Model
from toledo.phrases.table import REORDERING_FEATURES
from toledo.search.options import DISCONTINUOUS, LN10, MONOTONE, NONE, OOV, SWAP, Scoring, SentenceOptions
from toledo.text.vocabulary import END

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sentence_features(
    model: Model, options: SentenceOptions, scoring: Scoring, offsets: Ints, chosen: NDArray[np.int32]
) -> dict[str, float]:
    """The totals of the sentence model's features, sparse ones where they occur."""
    columns = sentence_columns(model, options, scoring, offsets, chosen)
    found = {name: float(column.sum()) for name, column in columns.items()}
    if model.sparse is not None:
        _, ids, values = model.sparse.rows(options.pairs[chosen].astype(np.int64))
        for number, value in zip(ids.tolist(), values.tolist(), strict=True):
            name = model.sparse.names[number]
            found[name] = found.get(name, 0.0) + value
    return found


def sentence_columns(
    model: Model, options: SentenceOptions, scoring: Scoring, offsets: Ints, chosen: NDArray[np.int32]
) -> dict[str, Floats]:
    """The features of the sentence model, but for sparse ones: a column for each, with a row for each sentence.

    Sentence s has the options `chosen[offsets[s]:offsets[s + 1]]`. There may be any number of sentences, such as those
    of many states one after the other.
    """
    pairs, size = options.pairs[chosen], offsets.size - 1
    owner = np.repeat(np.arange(size), np.diff(offsets))
    columns = dict(zip(model.feature_names, lm_scores(scoring, options, offsets, chosen).T, strict=False))
    known = pairs >= 0
    for name, scores in zip(model.table.feature_names, model.table.scores[pairs[known]].T, strict=True):
        columns[name] = _sums(owner[known], scores, size)
    previous = previous_options(offsets, chosen)
    last = np.where(previous == NONE, 0, options.end[previous])
    columns["distortion"] = -_sums(owner, np.abs(options.begin[chosen] - last), size)
    columns["word.penalty"] = -_sums(owner, options.lengths[chosen], size)
    columns["phrase.penalty"] = np.diff(offsets).astype(np.float64)
    columns["oov"] = OOV * _sums(owner, ~known, size)
    if model.table.reordering is not None:
        columns |= _reordering(model.table.reordering, options, chosen, previous, owner, size)
    return columns


def previous_options(offsets: Ints, chosen: NDArray[np.int32]) -> NDArray[np.int32]:
    """The option before each one in its sentence, or NONE."""
    previous = np.concatenate([np.array([NONE], np.int32), chosen])[:-1]
    previous[offsets[:-1][np.diff(offsets) > 0]] = NONE
    return previous


def _sums(owner: Ints, values: NDArray[np.generic], size: int) -> Floats:
    return np.bincount(owner, values.astype(np.float64), size).astype(np.float64)


def _reordering(
    table: NDArray[np.float32],
    options: SentenceOptions,
    chosen: NDArray[np.int32],
    previous: NDArray[np.int32],
    owner: Ints,
    size: int,
) -> dict[str, Floats]:
    """The orientation of each phrase towards the one before it, seen from both."""
    before = np.maximum(previous, 0)
    first, last = (np.where(previous == NONE, 0, array[before]) for array in (options.begin, options.end))
    orientation = np.full(chosen.size, DISCONTINUOUS)
    orientation[options.end[chosen] == first] = SWAP
    orientation[options.begin[chosen] == last] = MONOTONE
    totals = np.zeros((size, len(REORDERING_FEATURES)))
    of_previous = np.where(previous == NONE, NONE, options.pairs[before])
    for side, pairs in enumerate((options.pairs[chosen], of_previous)):
        known = np.flatnonzero(pairs >= 0)
        columns = 3 * side + orientation[known]
        np.add.at(totals, (owner[known], columns), table[pairs[known], columns].astype(np.float64))
    return dict(zip(REORDERING_FEATURES, totals.T, strict=True))


@kernel
def lm_scores(scoring: Scoring, options: SentenceOptions, offsets: Ints, chosen: NDArray[np.int32]) -> Floats:
    """The natural log probability of each sentence (row) by each language model."""
    found = np.zeros((offsets.size - 1, len(scoring.models)))
    for s in range(offsets.size - 1):
        for m in range(len(scoring.models)):
            state = begin_state(scoring.models[m])
            for i in range(offsets[s], offsets[s + 1]):
                begin = options.word_begin[chosen[i]]
                for k in range(begin, begin + options.lengths[chosen[i]]):
                    score, state = advance(scoring.models[m], state, options.words[k])
                    found[s, m] += score * LN10
            found[s, m] += advance(scoring.models[m], state, END)[0] * LN10
    return found
