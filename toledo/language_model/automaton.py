"""A back-off model as an automaton: state and word in, log10 probability and next state out, in compiled code.

A state is the longest context that can still matter, as one number; 0 is the empty context. A context that no n-gram
extends and whose back-off weight is 1 is no state (Li and Khudanpur 2008; Heafield 2011): the longest suffix that is
one takes its place. Transitions lie in one open-addressing table, four to a cache line.

The log10 probability of every word of many sentences, in compiled code.

A look-up in a large model is mostly waiting for memory. Several sentences are therefore scored in turns, one look-up at
a time: by the time it is a sentence's turn again, the memory it asked for has come.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY, HALF, MULTIPLIER, pair_key
from toledo.compiled.instructions import prefetch
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.language_model.backoff import BackoffModel
from toledo.text.vocabulary import BEGIN, END, UNKNOWN

NO_CONTEXT = 0
NOT_A_WORD = -1  # the next state of ids that are no words of the model

TRANSITION = np.dtype([("key", np.uint64), ("score", np.float32), ("next", np.int32)], align=True)
UNIGRAM = np.dtype([("score", np.float32), ("next", np.int32)], align=True)
CONTEXT = np.dtype([("backoff", np.float32), ("shorter", np.int32)], align=True)

CACHE_LINE = 64
BUCKET = np.uint64(CACHE_LINE // TRANSITION.itemsize)  # slots are unsigned: no test for negative indices
ONE = np.uint64(1)
LOAD = 0.4  # a search that fails then seldom goes on to a second cache line


class Automaton(NamedTuple):
    """Look-up tables: transitions by (state, word), unigrams by word, and what to do where there is no transition."""

    transitions: NDArray[Any]
    unigrams: NDArray[Any]
    contexts: NDArray[Any]


@inner_kernel
def advance(automaton: Automaton, state: int, word: int) -> tuple[float, int]:
    """Return the log10 probability of a word after a state, and the state after the word; any number may be a word."""
    transitions, unigrams, contexts = automaton
    if word < 0 or word >= unigrams.size:
        word = UNKNOWN
    while True:
        context, score = np.uint64(state), 0.0
        while context != NO_CONTEXT:
            key = pair_key(int(context), word)
            slot = find_slot(transitions, key)
            if transitions[slot]["key"] == key:
                return score + transitions[slot]["score"], int(transitions[slot]["next"])
            score += contexts[context]["backoff"]
            context = np.uint64(contexts[context]["shorter"])
        if unigrams[word]["next"] != NOT_A_WORD:
            return score + unigrams[word]["score"], int(unigrams[word]["next"])
        word = UNKNOWN  # the id is no word of the model, so nothing was found: once more


@inlined
def find_slot(transitions: NDArray[Any], key: np.uint64) -> np.uint64:
    """Return the slot of a key, or the empty slot where it would go."""
    slot = home_slot(key, transitions.size)
    while transitions[slot]["key"] != key and transitions[slot]["key"] != EMPTY:
        slot += ONE
        if slot == np.uint64(transitions.size):
            slot = np.uint64(0)
    return slot


@inner_kernel
def begin_state(automaton: Automaton) -> int:
    """Return the state at the beginning of a sentence."""
    return int(automaton.unigrams[BEGIN]["next"])


@inner_kernel
def known_word(unigrams: NDArray[Any], word: int) -> int:
    """Return the word itself if the model has it, otherwise `<unk>`."""
    known = 0 <= word < unigrams.size and unigrams[word]["next"] != NOT_A_WORD
    return int(word) if known else UNKNOWN


@kernel
def home_slot(key: np.uint64, slots: int) -> np.uint64:
    """Where the search for a key starts: the first slot of its cache line, nearly always the only line to look at."""
    mixed = (key ^ (key >> HALF)) * MULTIPLIER
    return (((mixed >> HALF) * (np.uint64(slots) // BUCKET)) >> HALF) * BUCKET


def build_automaton(model: BackoffModel) -> Automaton:
    """Return the automaton of a checked model."""
    states = _number_states(model)
    automaton = empty_automaton(
        words=int(model.orders[0].words.max()) + 1,
        transitions=sum(map(len, model.orders[1:])),
        states=1 + max(int(numbers.max(initial=0)) for numbers in states),
    )
    for order, (ngrams, own) in enumerate(zip(model.orders, states, strict=True)):
        if order < model.order - 1:
            automaton.contexts["backoff"][own] = ngrams.backoffs  # 0 for all that are no states
        if order == 0:
            automaton.unigrams["score"][ngrams.words] = ngrams.scores
            automaton.unigrams["next"][ngrams.words] = own
        else:
            _add_transitions(automaton, ngrams.contexts, ngrams.words, ngrams.scores, states[order - 1], own)
    return automaton


def _number_states(model: BackoffModel) -> list[NDArray[np.int32]]:
    """The state of each n-gram; NO_CONTEXT for those that nothing extends and that cost nothing to back off from."""
    states, used = [], 0
    for order, ngrams in enumerate(model.orders, start=1):
        matters = np.zeros(len(ngrams), np.bool_)
        if order < model.order:
            matters = ngrams.backoffs != 0
            matters[model.orders[order].contexts] = True
        numbers = np.cumsum(matters, dtype=np.int32) + np.int32(used)
        numbers[~matters] = NO_CONTEXT
        states.append(numbers)
        used += int(np.count_nonzero(matters))
    return states


def empty_automaton(words: int, transitions: int, states: int) -> Automaton:
    """Return an automaton with room for so many of each."""
    bucket = int(BUCKET)
    table = _cache_line_aligned(bucket * (int(transitions / LOAD) // bucket + 1), TRANSITION)
    table["key"] = EMPTY
    unigrams = np.zeros(words, UNIGRAM)
    unigrams["next"] = NOT_A_WORD
    return Automaton(table, unigrams, np.zeros(states, CONTEXT))


def _cache_line_aligned(size: int, kind: np.dtype[Any]) -> NDArray[Any]:
    room = np.zeros(size * kind.itemsize + CACHE_LINE, np.uint8)
    begin = -room.ctypes.data % CACHE_LINE
    return room[begin : begin + size * kind.itemsize].view(kind)


@kernel
def _add_transitions(
    automaton: Automaton,
    contexts: NDArray[np.int32],
    words: NDArray[np.int32],
    scores: NDArray[np.float32],
    below: NDArray[np.int32],
    own: NDArray[np.int32],
) -> None:
    """Add the n-grams of an order to those of the orders below; `below` and `own` are the states of both orders."""
    transitions = automaton.transitions
    for i in range(words.size):
        context = int(below[contexts[i]])
        shorter = advance(automaton, int(automaton.contexts[context]["shorter"]), int(words[i]))[1]
        key = pair_key(context, int(words[i]))
        transition = transitions[find_slot(transitions, key)]
        transition["key"], transition["score"] = key, scores[i]
        transition["next"] = shorter if own[i] == NO_CONTEXT else own[i]
        if own[i] != NO_CONTEXT:
            automaton.contexts[own[i]]["shorter"] = shorter


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
    """Return the log10 probability of each sentence; `</s>` ends each, and all words are known."""
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
