"""The log10 probability of every word of many sentences, in compiled code.

A look-up in a large model is mostly waiting for memory. Several sentences are therefore scored in turns, one look-up at
a time: by the time it is a sentence's turn again, the memory it asked for has come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import EMPTY, pair_key
from toledo.instructions import prefetch
from toledo.kernels import inlined, kernel
from toledo.language_model.automaton import BUCKET, NO_CONTEXT, ONE, Automaton, home_slot, known_word
from toledo.vocabulary import BEGIN, END, UNKNOWN

LANES = 24  # sentences at once
LANE = np.dtype(
    [
        ("token", np.uint64),  # the one to score; at the end it is `</s>`
        ("end", np.uint64),  # of the sentence
        ("shift", np.uint64),  # from tokens to their scores, as ends have scores too
        ("state", np.uint64),
        ("score", np.float64),  # of the sentence so far, back-off for this token included
        ("key", np.uint64),  # of the transition asked for, 0 at first
        ("slot", np.uint64),
    ],
    align=True,
)
NOT_FOUND = EMPTY


@kernel
def known_words(automaton: Automaton, words: NDArray[np.int32]) -> NDArray[np.int32]:
    """The words as the model sees them: `<unk>` for those that it does not know."""
    known = np.empty_like(words)
    for i in range(words.size):
        known[i] = known_word(automaton.unigrams, words[i])
    return known


@kernel
def running_scores(automaton: Automaton, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log10 probability of sentences up to each word, and up to their ends, in their order; all words are known."""
    transitions, unigrams, contexts = automaton
    scores, lanes = np.empty(words.size + offsets.size - 1, np.float64), np.zeros(LANES, LANE)
    first_state = np.uint64(unigrams[BEGIN]["next"])
    for i in range(LANES):
        lanes[i]["token"] = 1  # beyond the end at 0: ready for a sentence
    turn, active, begun = 0, LANES, 0
    while active > 0:
        turn = turn if turn < active else 0
        lane = lanes[turn]
        token, end, shift, state, score = lane["token"], lane["end"], lane["shift"], lane["state"], lane["score"]
        if lane["key"] != 0:  # what was asked for has come
            slot = _find_slot(transitions, lane["key"], lane["slot"])
            if slot != NOT_FOUND:
                score += transitions[slot]["score"]
                scores[token + shift] = score
                state = np.uint64(transitions[slot]["next"])
                token += ONE
            else:
                score += contexts[state]["backoff"]
                state = np.uint64(contexts[state]["shorter"])
        while token <= end and state == NO_CONTEXT:
            unigram = unigrams[np.uint64(words[token] if token < end else END)]
            score += unigram["score"]
            scores[token + shift] = score
            state = np.uint64(unigram["next"])
            token += ONE
        if token <= end:
            lane["token"], lane["state"], lane["score"] = token, state, score
            lane["key"] = pair_key(state, words[token] if token < end else END)
            lane["slot"] = home_slot(lane["key"], transitions.size)
            prefetch(transitions, lane["slot"])
            prefetch(contexts, state)
            turn += 1
        elif begun < offsets.size - 1:
            lane["token"], lane["end"], lane["shift"] = offsets[begun], offsets[begun + 1], begun
            lane["state"], lane["score"], lane["key"] = first_state, 0.0, 0
            begun += 1
        else:
            active -= 1
            lanes[turn] = lanes[active]
    return scores


@kernel
def sentence_scores(automaton: Automaton, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log10 probability of each sentence, its end included; all words are known."""
    running, scores = running_scores(automaton, words, offsets), np.empty(offsets.size - 1, np.float64)
    for sentence in range(scores.size):
        scores[sentence] = running[offsets[sentence + 1] + sentence]
    return scores


@kernel
def token_scores(automaton: Automaton, words: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log10 probability of each word and of the end of each sentence, in their order; all words are known."""
    scores = running_scores(automaton, words, offsets)
    for sentence in range(offsets.size - 1):
        for place in range(offsets[sentence + 1] + sentence, offsets[sentence] + sentence, -1):
            scores[place] -= scores[place - 1]
    return scores


@kernel
def count_unknown(words: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of unknown words of each sentence."""
    unknown = np.empty(offsets.size - 1, np.int64)
    for sentence in range(unknown.size):
        count = 0
        for i in range(offsets[sentence], offsets[sentence + 1]):
            count += words[i] == UNKNOWN
        unknown[sentence] = count
    return unknown


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
