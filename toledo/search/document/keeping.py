"""The best state so far, kept by copying what has changed; and putting a document into a state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inner_kernel, kernel
from toledo.search.document.arrays import BEST, DOCUMENT, SENTENCES, USERS, State, Text, chain_at, sentence_at
from toledo.search.document.models.changing import count_document
from toledo.search.document.models.measures import Measures
from toledo.search.gibbs.state import set_derivation, total_score


@inner_kernel
def score_of(state: State) -> float:
    """The score of the document."""
    return float(state.totals[SENTENCES] + state.totals[DOCUMENT] + state.totals[USERS])


@inner_kernel
def keep_if_best(text: Text, state: State, rise: float) -> None:
    """If the present state is better than the best by so much, copy the sentences that have changed since then.

    Each was changed by a step that was accepted, so there is never more to copy than was done in all.
    """
    score = score_of(state)
    if score <= state.totals[BEST] + rise:
        return
    for i in range(state.changed_count[0]):
        s = state.changed[i]
        begin, size = text.places[s], state.phrases.size[s]
        for k in range(begin + 1, begin + 1 + size):
            state.best_chosen[k] = state.phrases.chosen[k]
        state.best_size[s] = size
        state.is_changed[s] = False
    state.changed_count[0] = 0
    state.totals[BEST] = score


@kernel
def set_phrases(
    text: Text, state: State, measures: Measures, offsets: NDArray[np.int64], chosen: NDArray[np.int32]
) -> None:
    """Give sentence s the options `chosen[offsets[s]:offsets[s + 1]]`, in target order, and count everything anew."""
    state.changed_count[0] = 0
    for s in range(text.words.size - 1):
        sentence, chain = sentence_at(text, s), chain_at(text, state, s)
        set_derivation(sentence, chain, chosen[offsets[s] : offsets[s + 1]])
        state.scores[s] = total_score(sentence, chain)
        state.is_changed[s], state.changed[s] = True, s
        state.changed_count[0] += 1
    sum_scores(state)
    state.totals[DOCUMENT] = count_document(measures, text, state)


@inner_kernel
def sum_scores(state: State) -> None:
    """Sum up the scores of sentences anew: over many changes rounding errors would add up."""
    total = 0.0
    for s in range(state.scores.size):
        total += state.scores[s]
    state.totals[SENTENCES] = total
