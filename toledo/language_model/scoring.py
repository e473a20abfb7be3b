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
from toledo.vocabulary import BEGIN, END

LANES = 24  # sentences at once
LANE = np.dtype(
    [
        ("sentence", np.uint64),
        ("token", np.uint64),  # the one to score
        ("state", np.uint64),
        ("score", np.float64),  # of the sentence so far, back-off for this token included
        ("key", np.uint64),  # of the transition asked for
        ("slot", np.uint64),
    ],
    align=True,
)
NOT_FOUND = EMPTY


@kernel
def known_tokens(
    automaton: Automaton, words: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Sentences as the model sees them: `<unk>` for words that it does not know, `</s>` after each sentence."""
    tokens, starts = np.empty(words.size + offsets.size - 1, np.int32), np.empty(offsets.size, np.int64)
    for sentence in range(offsets.size - 1):
        starts[sentence] = offsets[sentence] + sentence
        for i in range(offsets[sentence], offsets[sentence + 1]):
            tokens[i + sentence] = known_word(automaton.unigrams, words[i])
        tokens[offsets[sentence + 1] + sentence] = END
    starts[-1] = tokens.size
    return tokens, starts


@kernel
def sentence_scores(automaton: Automaton, tokens: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log10 probability of each sentence; `</s>` ends each, and all words are known."""
    scores = np.empty(starts.size - 1)
    _score_in_turns(automaton, tokens, starts, scores, False)
    return scores


@kernel
def token_scores(automaton: Automaton, tokens: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The log10 probability of each word and of the end of each sentence; `</s>` ends each, and all words are known."""
    scores = np.empty(tokens.size)
    _score_in_turns(automaton, tokens, starts, scores, True)
    for sentence in range(starts.size - 1):
        for token in range(starts[sentence + 1] - 1, starts[sentence], -1):
            scores[token] -= scores[token - 1]
    return scores


@inlined
def _score_in_turns(
    automaton: Automaton,
    tokens: NDArray[np.int32],
    starts: NDArray[np.int64],
    scores: NDArray[np.float64],
    each_token: bool,
) -> None:
    """Scores of sentences up to each token, or of whole sentences alone."""
    transitions, unigrams, contexts = automaton
    first_state, lanes = np.uint64(unigrams[BEGIN]["next"]), np.zeros(LANES, LANE)
    active, begun = 0, 0
    while active < min(LANES, starts.size - 1):
        _begin_sentence(lanes[active], starts, begun, first_state)
        _ask(lanes[active], tokens, transitions, contexts)
        active, begun = active + 1, begun + 1
    turn = 0
    while active > 0:
        turn = turn if turn < active else 0
        lane = lanes[turn]
        token, state, score, over = lane["token"], lane["state"], lane["score"], False
        slot = NOT_FOUND if state == NO_CONTEXT else _find_slot(transitions, lane["key"], lane["slot"])
        if slot != NOT_FOUND:
            score += transitions[slot]["score"]
            state = np.uint64(transitions[slot]["next"])
            if each_token:
                scores[token] = score
            over = tokens[token] == END
            token += ONE
        elif state != NO_CONTEXT:
            score += contexts[state]["backoff"]
            state = np.uint64(contexts[state]["shorter"])
        while state == NO_CONTEXT and not over:
            unigram = unigrams[np.uint64(tokens[token])]
            score += unigram["score"]
            state = np.uint64(unigram["next"])
            if each_token:
                scores[token] = score
            over = tokens[token] == END
            token += ONE
        lane["token"], lane["state"], lane["score"] = token, state, score
        if over:
            if not each_token:
                scores[lane["sentence"]] = score
            if begun == starts.size - 1:
                active -= 1
                lanes[turn] = lanes[active]
                continue
            _begin_sentence(lane, starts, begun, first_state)
            begun += 1
        _ask(lane, tokens, transitions, contexts)
        turn += 1


@inlined
def _begin_sentence(lane: Any, starts: NDArray[np.int64], sentence: int, state: np.uint64) -> None:
    lane["sentence"], lane["token"], lane["state"], lane["score"] = sentence, starts[sentence], state, 0.0


@inlined
def _ask(lane: Any, tokens: NDArray[np.int32], transitions: NDArray[Any], contexts: NDArray[Any]) -> None:
    """Start to fetch what the next turn of a sentence needs."""
    lane["key"] = pair_key(lane["state"], tokens[lane["token"]])
    lane["slot"] = home_slot(lane["key"], transitions.size)
    prefetch(transitions, lane["slot"])
    prefetch(contexts, lane["state"])


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
