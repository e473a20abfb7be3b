"""Language models on whole phrases: state and option in, score and next state out, mostly from memory.

A chain asks the same questions again and again: what does this option score after that state? The answers lie in a
table with one place for each question, the latest one stays. All options of a state lie side by side, so those of a
source span share cache lines. The end of the sentence is one more option, after all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.hashing import EMPTY, HALF, MULTIPLIER
from toledo.kernels import inlined, inner_kernel, kernel
from toledo.language_model.automaton import Automaton, advance
from toledo.search.beam.arrays import Scoring, power_of_two
from toledo.search.beam.options import LN10, SentenceOptions
from toledo.vocabulary import END

ANSWER = np.dtype([("key", np.uint64), ("score", np.float64), ("next", np.int32)], align=True)
ANSWERS_PER_OPTION, FEWEST, MOST = 512, 1 << 12, 1 << 18


class PhraseScores(NamedTuple):
    """`answers[m]` are those of model m, natural logarithms without weights; `missed[0]` counts those not found."""

    answers: NDArray[Any]
    missed: NDArray[np.int64]


@kernel
def room_for_answers(options: SentenceOptions, models: int) -> PhraseScores:
    """A table without answers."""
    size = power_of_two(min(max(ANSWERS_PER_OPTION * options.begin.size, FEWEST), MOST))
    answers = np.empty((models, size), ANSWER)
    for m in range(models):
        for i in range(size):
            answers[m, i]["key"] = EMPTY
    return PhraseScores(answers, np.zeros(1, np.int64))


@inlined
def step(
    options: SentenceOptions,
    scoring: Scoring,
    known: PhraseScores,
    rows: NDArray[np.int32],
    before: int,
    option: int,
    after: int,
) -> float:
    """The weighted score of an option after the states in row `before`; the next states go to row `after`."""
    total = 0.0
    for m in range(len(scoring.models)):
        state = np.uint64(rows[before, m])
        key = (state << HALF) | np.uint64(option)
        slot = (((state * MULTIPLIER) >> HALF) + np.uint64(option)) & np.uint64(known.answers.shape[1] - 1)
        if known.answers[m, slot]["key"] != key:
            _ask(options, scoring.models[m], known.answers, known.missed, m, slot, key)
        rows[after, m] = known.answers[m, slot]["next"]
        total += scoring.model_weights[m] * known.answers[m, slot]["score"]
    return total


@inner_kernel
def _ask(
    options: SentenceOptions,
    model: Automaton,
    answers: NDArray[Any],
    missed: NDArray[np.int64],
    m: int,
    slot: np.uint64,
    key: np.uint64,
) -> None:
    """Ask the model, word by word."""
    state, option = int(key >> HALF), int(key & np.uint64(0xFFFF_FFFF))
    total = 0.0
    if option == options.begin.size:
        total, state = advance(model, state, END)
    else:
        begin = options.word_begin[option]
        for i in range(begin, begin + options.lengths[option]):
            score, state = advance(model, state, options.words[i])
            total += score
    answers[m, slot]["key"], answers[m, slot]["score"], answers[m, slot]["next"] = key, total * LN10, state
    missed[0] += 1


@inlined
def same_states(rows: NDArray[np.int32], i: int, j: int) -> bool:
    """Whether no model can tell two rows apart."""
    same = True
    for m in range(rows.shape[1]):
        same = same and rows[i, m] == rows[j, m]
    return same
