"""The state of a chain: phrases in target order, with everything that is needed to score a change of some of them.

The score of a derivation is the sum over its phrases of what an option scores by itself, of the junctions between
neighbors (jump and orientation), and of the language models. A change of some phrases is scored with what is near: the
models are asked again only until their states are what they were before, which is an n-gram's length away.

A chain asks the same questions again and again: what does this option score after that state? The answers lie in a
table with one place for each question, where the latest answer stays. All options of a state lie side by side, so those
of a source span share cache lines, and the place of an answer and its state identify its option: the table is larger
than the number of options. The end of the sentence is one more option, after all others.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import HALF, MULTIPLIER
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.compiled.ragged import offsets_of
from toledo.compiled.random import RandomState, next_uniform
from toledo.language_model.automaton import Automaton, advance, begin_state
from toledo.search.options import LN10, NONE, Scoring, SentenceOptions, after_span, orientation_of
from toledo.search.settings import OPERATORS
from toledo.text.vocabulary import END

ANSWER = np.dtype([("state", np.int32), ("next", np.int32), ("score", np.float64)])  # four in a cache line
NO_STATE = -1
FEWEST_ANSWERS = 1 << 12
ANSWERS_PER_OPTION, MOST_ANSWERS = 512, 1 << 18  # for a single sentence


class PhraseScores(NamedTuple):
    """`answers[m]` are those of model m, natural logarithms without weights; `missed[0]` counts those not found."""

    answers: NDArray[Any]
    missed: NDArray[np.int64]


def slots_for_answers(options: SentenceOptions, per_option: int, most: int) -> int:
    """Return the size of a table for `per_option` answers about each option, up to `most`; larger than their number."""
    size = options.begin.size
    return 1 << (max(min(max(per_option * size, FEWEST_ANSWERS), most), size + 1) - 1).bit_length()


def room_for_answers(models: int, slots: int) -> PhraseScores:
    """Return a table without answers."""
    answers = np.empty((models, slots), ANSWER)
    answers["state"] = NO_STATE
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
    """Return the weighted score of an option after the states in row `before`; the next states go to row `after`."""
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
    """Return whether no model can tell two rows apart."""
    same = True
    for m in range(rows.shape[1]):
        same = same and rows[i, m] == rows[j, m]
    return same


RETRANS, MERGE_SPLIT, REORDER, MOVE, RESEGMENT = range(5)  # OPERATORS of `toledo.search.settings`
OPEN, MOVED = 0, 1  # columns of `Chain.tally`


class Sentence(NamedTuple):
    """What does not change: options, models, the longest jump, and the longest source phrase."""

    options: SentenceOptions
    scoring: Scoring
    limit: int
    longest: int


class Chain(NamedTuple):
    """Phrases have the places 1 to `size[0]`; the start has place 0, the end of the sentence the place after them.

    `chosen[i]` is the option at a place (NONE for the start, one past the last option for the end), `model_scores[i]`
    its weighted language-model score, `rows[i]` the models' states after it; more rows are for trials. `gaps[i]`
    and `masks[i]` are the words translated before a place, `place[s]` is that of the phrase of source word s.
    `tally[operator]` counts draws from more than one possibility, and those that changed something.
    """

    size: NDArray[np.int64]
    chosen: NDArray[np.int32]
    model_scores: NDArray[np.float64]
    rows: NDArray[np.int32]
    gaps: NDArray[np.int32]
    masks: NDArray[np.uint64]
    place: NDArray[np.int64]
    known: PhraseScores
    random: RandomState
    tally: NDArray[np.int64]
    weights: NDArray[np.float64]
    new: NDArray[np.int32]
    new_scores: NDArray[np.float64]


@inlined
def trial_row(chain: Chain) -> int:
    """Return a row for trials; the rows after it are free, too."""
    return int(chain.chosen.size)


def room_for_chain(sentence: Sentence, random: RandomState) -> Chain:
    """Return the chain of a sentence, without a derivation."""
    slots = slots_for_answers(sentence.options, ANSWERS_PER_OPTION, MOST_ANSWERS)
    known = room_for_answers(len(sentence.scoring.models), slots)
    return room_for_phrases(sentence, np.array([sentence.options.first.shape[0]]), known, random, (len(OPERATORS), 2))


def room_for_phrases(
    sentences: Sentence, lengths: NDArray[np.int64], known: PhraseScores, random: RandomState, tally: tuple[int, int]
) -> Chain:
    """Return chains of sentences side by side, without derivations; `lengths` are their numbers of source words."""
    rows, places, most = (
        row_offsets(sentences.options, lengths),
        int((lengths + 2).sum()),
        int(lengths.max(initial=0)) + 2,
    )
    chain = Chain(
        size=np.zeros(lengths.size, np.int64),
        chosen=np.full(places, NONE, np.int32),
        model_scores=np.zeros(places),
        rows=np.zeros((int(rows[-1]), len(sentences.scoring.models)), np.int32),
        gaps=np.zeros(places, np.int32),
        masks=np.zeros(places, np.uint64),
        place=np.zeros(int(lengths.sum()), np.int64),
        known=known,
        random=random,
        tally=np.zeros(tally, np.int64),
        weights=np.empty(max(most, _most_possibilities(sentences.options, sentences.longest))),
        new=np.full(most, NONE, np.int32),
        new_scores=np.zeros(most),
    )
    for m, model in enumerate(sentences.scoring.models):
        chain.rows[rows[:-1], m] = begin_state(model)
    return chain


def row_offsets(options: SentenceOptions, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the rows of each sentence begin: two for each place, and some for trying all options of a span."""
    return offsets_of(2 * (lengths + 2) + 2 + int((options.stop - options.first).max(initial=1)))


def _most_possibilities(options: SentenceOptions, longest: int) -> int:
    """Return the largest number of possibilities that an operator weighs: one phrase or two for a span."""
    counts = (options.stop - options.first).astype(np.int64)
    most = int(counts.max(initial=1))
    for n in range(1, longest):
        for k in range(n):
            if counts.shape[0] > k + 1:
                pairs = counts[: -(k + 1), k] * counts[k + 1 :, n - k - 1]
                most = max(most, int((counts[: -(k + 1), n] + pairs).max(initial=0)))
    return most


@kernel
def set_derivation(sentence: Sentence, chain: Chain, derivation: NDArray[np.int32]) -> None:
    """Put the chain into the state of a derivation, options in target order."""
    chain.size[0] = 0
    chain.chosen[1] = sentence.options.begin.size
    for i in range(derivation.size):
        chain.new[i] = derivation[i]
    replace_phrases(sentence, chain, 1, 0, derivation.size)


@inner_kernel
def replace_phrases(sentence: Sentence, chain: Chain, first: int, old: int, new: int) -> None:
    """Put the first `new` options of `chain.new` in place of `old` phrases from the place `first` on."""
    exchange_phrases(chain, first, old, new)
    refresh(sentence, chain, first, first + new)


@inner_kernel
def exchange_phrases(chain: Chain, first: int, old: int, new: int) -> None:
    """Do the same, but leave it to the caller to bring up to date what depends on the phrases."""
    size = chain.size[0]
    shift = new - old
    if shift > 0:
        for i in range(size + 1, first + old - 1, -1):
            _shift(chain, i, shift)
    elif shift < 0:
        for i in range(first + old, size + 2):
            _shift(chain, i, shift)
    chain.size[0] = size + shift
    for k in range(new):
        chain.chosen[first + k] = chain.new[k]


@inlined
def _shift(chain: Chain, i: int, shift: int) -> None:
    chain.chosen[i + shift], chain.model_scores[i + shift] = chain.chosen[i], chain.model_scores[i]
    for m in range(chain.rows.shape[1]):
        chain.rows[i + shift, m] = chain.rows[i, m]


@inner_kernel
def refresh(sentence: Sentence, chain: Chain, first: int, stop: int) -> None:
    """Score phrases again that were put at the places from `first` up to `stop`, and what they change after them."""
    options, scoring, known, rows, size = sentence.options, sentence.scoring, chain.known, chain.rows, chain.size[0]
    trial = trial_row(chain)
    for i in range(first, size + 2):
        chain.model_scores[i] = step(options, scoring, known, rows, i - 1, chain.chosen[i], trial)
        if i >= stop and same_states(rows, trial, i):
            break
        for m in range(rows.shape[1]):
            rows[i, m] = rows[trial, m]
    refresh_coverage(options, chain, first)


@inner_kernel
def refresh_coverage(options: SentenceOptions, chain: Chain, first: int) -> None:
    """Find out again which source words the phrases from a place on translate."""
    size, gap, mask = chain.size[0], chain.gaps[first], chain.masks[first]
    for i in range(first, size + 1):
        option = chain.chosen[i]
        chain.gaps[i], chain.masks[i] = gap, mask
        gap, mask = after_span(gap, mask, options.begin[option], options.end[option])
        for s in range(options.begin[option], options.end[option]):
            chain.place[s] = i
    chain.gaps[size + 1], chain.masks[size + 1] = gap, mask


@inlined
def junction(sentence: Sentence, previous: int, option: int) -> float:
    """Return what two neighbors score together: the jump, and how they lie to each other."""
    options, scoring, score = sentence.options, sentence.scoring, 0.0
    if option != options.begin.size:
        begin, last_begin, last_end = options.begin[option], 0, 0
        if previous != NONE:
            last_begin, last_end = options.begin[previous], options.end[previous]
        score = -scoring.distortion_weight * abs(begin - last_end)
        if scoring.reordering.shape[0]:
            orientation = orientation_of(begin, options.end[option], last_begin, last_end)
            score += orientation_score(sentence, option, orientation)
            score += orientation_score(sentence, previous, 3 + orientation)
    return score


@inlined
def orientation_score(sentence: Sentence, option: int, column: int) -> float:
    """Return the reordering score of an option (or NONE) towards the previous phrase or, from column 3, the next."""
    score = 0.0
    if sentence.scoring.reordering.shape[0] and option != NONE and sentence.options.pairs[option] >= 0:
        score = float(sentence.scoring.reordering[sentence.options.pairs[option], column])
    return score


@inlined
def ripple(sentence: Sentence, chain: Chain, row: int, place: int, trial: int) -> float:
    """Return how the models' scores from a place on change if the states before it are those of `row`."""
    change = 0.0
    if not same_states(chain.rows, row, place - 1):
        before, end = row, chain.size[0] + 1
        while True:
            option = chain.chosen[place]
            change += step(sentence.options, sentence.scoring, chain.known, chain.rows, before, option, trial)
            change -= chain.model_scores[place]
            if place == end or same_states(chain.rows, trial, place):
                break
            before = trial
            place += 1
    return change


@inner_kernel
def total_score(sentence: Sentence, chain: Chain) -> float:
    """Return the model score of the state."""
    total = chain.model_scores[chain.size[0] + 1]
    for i in range(1, chain.size[0] + 1):
        option = chain.chosen[i]
        total += chain.model_scores[i] + sentence.options.static[option]
        total += junction(sentence, chain.chosen[i - 1], option)
    return float(total)


NEGLIGIBLE = -40.0  # e^−40 of the largest is lost in the rounding of the sum


@inlined
def to_probabilities(weights: NDArray[np.float64], count: int, sharpness: float) -> None:
    """Turn the first scores into probabilities ∝ exp(sharpness · score)."""
    highest, total = -math.inf, 0.0
    for k in range(count):
        highest = max(highest, weights[k])
    for k in range(count):
        relative = sharpness * (weights[k] - highest)
        weights[k] = math.exp(relative) if relative > NEGLIGIBLE else 0.0
        total += weights[k]
    share = 1.0 / total
    for k in range(count):
        weights[k] *= share


@inner_kernel
def draw(weights: NDArray[np.float64], count: int, random: RandomState) -> int:
    """Draw one of the first possibilities by its probability."""
    uniform, chosen = next_uniform(random), 0
    for k in range(count):
        if weights[k] > 0.0:
            chosen = k  # rounding errors go to the last possible one
            uniform -= weights[k]
            if uniform < 0.0:
                break
    return chosen


@kernel
def random_derivation(sentence: Sentence, chain: Chain) -> NDArray[np.int32]:
    """Draw options in source order, whatever they score."""
    options, length = sentence.options, chain.place.size
    found, size, begin = np.empty(length, np.int32), 0, 0
    while begin < length:
        count = 0
        for n in range(min(sentence.longest, length - begin)):
            count += options.stop[begin, n] - options.first[begin, n]
        drawn = int(next_uniform(chain.random) * count)
        for n in range(min(sentence.longest, length - begin)):
            count = options.stop[begin, n] - options.first[begin, n]
            if drawn < count:
                found[size] = options.first[begin, n] + drawn
                break
            drawn -= count
        begin = options.end[found[size]]
        size += 1
    return found[:size]
