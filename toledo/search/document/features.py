"""The features of a whole state from scratch: what records and results report."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.language_model.automaton import advance, begin_state
from toledo.model import Model
from toledo.phrases.table import REORDERING_FEATURES
from toledo.search.beam.arrays import NONE, Scoring
from toledo.search.beam.cubes import DISCONTINUOUS, MONOTONE, SWAP
from toledo.search.beam.options import LN10, OOV, SentenceOptions
from toledo.vocabulary import END

Floats = NDArray[np.float64]


def sentence_features(
    model: Model, options: SentenceOptions, scoring: Scoring, offsets: NDArray[np.int64], chosen: NDArray[np.int32]
) -> dict[str, float]:
    """The totals of the sentence model's features, sparse ones where they occur.

    Sentence s has the options `chosen[offsets[s]:offsets[s + 1]]`.
    """
    pairs = options.pairs[chosen]
    known = pairs >= 0
    found = dict(zip(model.feature_names, lm_totals(scoring, options, offsets, chosen).tolist(), strict=False))
    scores = model.table.scores[pairs[known]].sum(axis=0, dtype=np.float64)
    found.update(zip(model.table.feature_names, scores.tolist(), strict=True))
    previous = np.concatenate([np.array([NONE], np.int32), chosen])[:-1]
    previous[offsets[:-1][offsets[:-1] < chosen.size]] = NONE
    last = np.where(previous == NONE, 0, options.end[previous])
    found["distortion"] = -float(np.abs(options.begin[chosen] - last).sum())
    found["word.penalty"] = -float(options.lengths[chosen].sum())
    found["phrase.penalty"] = float(chosen.size)
    found["oov"] = OOV * float(np.count_nonzero(~known))
    if model.table.reordering is not None:
        found.update(_reordering(model.table.reordering, options, chosen, previous, last))
    if model.sparse is not None:
        _, ids, values = model.sparse.rows(pairs[known].astype(np.int64))
        for number, value in zip(ids.tolist(), values.tolist(), strict=True):
            name = model.sparse.names[number]
            found[name] = found.get(name, 0.0) + value
    return found


def _reordering(
    table: NDArray[np.float32],
    options: SentenceOptions,
    chosen: NDArray[np.int32],
    previous: NDArray[np.int32],
    last: NDArray[np.int32],
) -> dict[str, float]:
    """The totals of the six features: the orientation towards the previous phrase, seen from both."""
    orientation = np.full(chosen.size, DISCONTINUOUS)
    first = np.where(previous == NONE, 0, options.begin[previous])
    orientation[options.end[chosen] == first] = SWAP
    orientation[options.begin[chosen] == last] = MONOTONE
    totals = np.zeros(len(REORDERING_FEATURES))
    of_previous = np.where(previous == NONE, NONE, options.pairs[previous])
    for side, pairs in enumerate((options.pairs[chosen], of_previous)):
        known = np.flatnonzero(pairs >= 0)
        columns = 3 * side + orientation[known]
        np.add.at(totals, columns, table[pairs[known], columns].astype(np.float64))
    return dict(zip(REORDERING_FEATURES, totals.tolist(), strict=True))


@kernel
def lm_totals(
    scoring: Scoring, options: SentenceOptions, offsets: NDArray[np.int64], chosen: NDArray[np.int32]
) -> Floats:
    """The natural log probability of all sentences by each language model."""
    totals = np.zeros(len(scoring.models))
    for m in range(len(scoring.models)):
        for s in range(offsets.size - 1):
            state = begin_state(scoring.models[m])
            for i in range(offsets[s], offsets[s + 1]):
                begin = options.word_begin[chosen[i]]
                for k in range(begin, begin + options.lengths[chosen[i]]):
                    score, state = advance(scoring.models[m], state, options.words[k])
                    totals[m] += score * LN10
            totals[m] += advance(scoring.models[m], state, END)[0] * LN10
    return totals
