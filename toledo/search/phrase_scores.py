"""Language models on whole phrases: state and option in, score and next state out, mostly from memory.

A chain asks the same questions again and again: what does this option score after that state? The answers lie in a
table with one place for each question, the latest one stays. All options of a state lie side by side, so those of a
source span share cache lines, and the place of an answer and its state tell its option: the table is larger than the
number of options. The end of the sentence is one more option, after all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import HALF, MULTIPLIER
from toledo.compiled.heap import power_of_two
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.language_model.automaton import Automaton, advance
from toledo.search.options import LN10, Scoring, SentenceOptions
from toledo.text.vocabulary import END

ANSWER = np.dtype([("state", np.int32), ("next", np.int32), ("score", np.float64)])  # four in a cache line
NO_STATE = -1
ANSWERS_PER_OPTION, FEWEST, MOST = 512, 1 << 12, 1 << 18


class PhraseScores(NamedTuple):
    """`answers[m]` are those of model m, natural logarithms without weights; `missed[0]` counts those not found."""

    answers: NDArray[Any]
    missed: NDArray[np.int64]


@kernel
def room_for_answers(options: SentenceOptions, models: int) -> PhraseScores:
    """A table without answers."""
    wanted = min(max(ANSWERS_PER_OPTION * options.begin.size, FEWEST), MOST)
    size = power_of_two(max(wanted, options.begin.size + 1))
    answers = np.empty((models, size), ANSWER)
    for m in range(models):
        for i in range(size):
            answers[m, i]["state"] = NO_STATE
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
        state = rows[before, m]
        first = (np.uint64(state) * MULTIPLIER) >> HALF
        slot = (first + np.uint64(option)) & np.uint64(known.answers.shape[1] - 1)
        if known.answers[m, slot]["state"] != state:
            _ask(options, scoring.models[m], known.answers[m], slot, state, option)
            known.missed[0] += 1
        rows[after, m] = known.answers[m, slot]["next"]
        total += scoring.model_weights[m] * known.answers[m, slot]["score"]
    return total


@inner_kernel
def _ask(
    options: SentenceOptions, model: Automaton, answers: NDArray[Any], slot: np.uint64, before: int, option: int
) -> None:
    """Ask the model, word by word."""
    state, total = int(before), 0.0
    if option == options.begin.size:
        total, state = advance(model, state, END)
    else:
        begin = options.word_begin[option]
        for i in range(begin, begin + options.lengths[option]):
            score, state = advance(model, state, options.words[i])
            total += score
    answers[slot]["state"], answers[slot]["next"], answers[slot]["score"] = before, state, total * LN10


@inlined
def same_states(rows: NDArray[np.int32], i: int, j: int) -> bool:
    """Whether no model can tell two rows apart."""
    same = True
    for m in range(rows.shape[1]):
        same = same and rows[i, m] == rows[j, m]
    return same
