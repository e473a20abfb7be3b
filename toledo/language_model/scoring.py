"""The log10 probability of every word of many sentences, in compiled code.

A look-up in a large model is mostly waiting for memory. Several parts of a text are therefore scored in turns, one
look-up at a time: by the time it is a part's turn again, the memory it asked for has come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import EMPTY, pair_key
from toledo.kernels import inlined, kernel
from toledo.language_model.automaton import BUCKET, NO_CONTEXT, ONE, Automaton, home_slot, known_word
from toledo.prefetch import prefetch
from toledo.vocabulary import BEGIN

PARTS = 24
PART = np.dtype(
    [
        ("token", np.uint64),  # the one to score
        ("end", np.uint64),
        ("state", np.uint64),
        ("backoff", np.float64),  # the sum for this token so far
        ("key", np.uint64),  # of the transition asked for, 0 at first
        ("slot", np.uint64),
    ],
    align=True,
)
NOT_FOUND = EMPTY


@kernel
def replace_unknown(automaton: Automaton, tokens: NDArray[np.int32]) -> None:
    """Make words that the model does not know `<unk>`."""
    unigrams = automaton.unigrams
    for i in range(tokens.size):
        tokens[i] = known_word(unigrams, tokens[i])


def token_scores(
    automaton: Automaton, tokens: NDArray[np.int32], sentence_starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The log10 probability of each token, 0 for `<s>`; each sentence begins with `<s>`, all words are known."""
    parts = np.linspace(0, sentence_starts.size - 1, PARTS + 1).astype(np.int64)
    return _score_parts(automaton, tokens, sentence_starts[np.unique(parts)])


@kernel
def _score_parts(automaton: Automaton, tokens: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Score parts that begin with `<s>` in turns."""
    transitions, unigrams, contexts = automaton
    scores, parts = np.zeros(tokens.size, np.float64), np.zeros(starts.size - 1, PART)
    for i in range(parts.size):
        parts[i]["token"], parts[i]["end"] = starts[i], starts[i + 1]
    turn, active = 0, parts.size
    while active > 0:
        turn = turn if turn < active else 0
        part = parts[turn]
        token, end, state, backoff = part["token"], part["end"], part["state"], part["backoff"]
        if part["key"] != 0:  # what was asked for has come
            slot = _find_slot(transitions, part["key"], part["slot"])
            if slot != NOT_FOUND:
                scores[token] = backoff + transitions[slot]["score"]
                state, backoff = np.uint64(transitions[slot]["next"]), 0.0
                token += ONE
            else:
                backoff += contexts[state]["backoff"]
                state = np.uint64(contexts[state]["shorter"])
        while token < end and (state == NO_CONTEXT or tokens[token] == BEGIN):
            unigram = unigrams[np.uint64(tokens[token])]
            scores[token] = backoff + unigram["score"] if tokens[token] != BEGIN else 0.0
            state, backoff = np.uint64(unigram["next"]), 0.0
            token += ONE
        if token == end:
            active -= 1
            parts[turn] = parts[active]
            continue
        part["token"], part["state"], part["backoff"] = token, state, backoff
        part["key"] = pair_key(state, tokens[token])
        part["slot"] = home_slot(part["key"], transitions.size)
        prefetch(transitions, part["slot"])
        prefetch(contexts, state)
        turn += 1
    return scores


@inlined
def _find_slot(transitions: NDArray[Any], key: np.uint64, slot: np.uint64) -> np.uint64:
    """The slot of a key or NOT_FOUND. Looks at all slots of a cache line, for no branch there can be foreseen."""
    found = NOT_FOUND
    while True:
        for i in range(BUCKET):
            found = slot + i if transitions[slot + i]["key"] == key else found
        if found != NOT_FOUND or transitions[slot + BUCKET - ONE]["key"] == EMPTY:
            return found
        slot += BUCKET
        if slot == np.uint64(transitions.size):
            slot = np.uint64(0)
