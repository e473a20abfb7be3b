"""Operators that weigh all their possibilities by the sentence model, for the Gibbs sampler and for document search.

A proposal is (first, old, new, log ratio): the first `new` options of `chain.new` in place of `old` phrases from the
place `first` on. `new` is 0 if nothing is to change, and so is `old` if nothing was drawn. The log ratio
is that of the probabilities to propose the way back and the way there (Hastings 1970). The operators here draw from the
exact conditional, so that it cancels what the sentence model says of the change, and is left out.

RETRANS and MERGE-SPLIT draw other translations for a source span, as one phrase or as two (Arun et al. 2009). Both
leave the order of the other phrases alone, and begin and end of the span in its place: the distortion rule does not
restrict them.

REORDER and MOVE draw other target positions for phrases, within the distortion rule. REORDER swaps two phrases (Arun et
al. 2009). MOVE takes one phrase out and puts it back anywhere; that connects all orders that the distortion rule
allows: let p be the phrase at the first gap, where all that comes before is in source order. If it does not come next,
move it there. What came between comes later with a gap that lies further on, so the second rule still holds; the jump
to the first of it is shorter than the one from before the gap; and the jump over the place where p was leads from a
phrase that ends after p, not more than the limit after the gap, to one that begins after the gap: no further than the
limit. So step by step every derivation comes into source order, and the way back is open, too. (Swaps alone connected
all orders of up to six phrases that were tried; a proof is not known.)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, inner_kernel
from toledo.compiled.random import next_uniform
from toledo.search.chain import (
    MOVED,
    OPEN,
    REORDER,
    Chain,
    Sentence,
    draw,
    junction,
    orientation_score,
    refresh,
    ripple,
    same_states,
    step,
    to_probabilities,
    trial_row,
)
from toledo.search.options import MONOTONE, NONE, after_span, may_follow


@inner_kernel
def weigh_options(sentence: Sentence, chain: Chain, first: int, following: int, begin: int, end: int) -> int:
    """Score all options of a span between the places before `first` and `following`; return their number."""
    options, trial = sentence.options, trial_row(chain)
    before, after = chain.chosen[first - 1], chain.chosen[following]
    start, stop = options.first[begin, end - begin - 1], options.stop[begin, end - begin - 1]
    for option in range(start, stop):
        score = options.static[option] + junction(sentence, before, option) + junction(sentence, option, after)
        score += step(options, sentence.scoring, chain.known, chain.rows, first - 1, option, trial)
        chain.weights[option - start] = score + ripple(sentence, chain, trial, following, trial + 1)
    return int(stop - start)


@inner_kernel
def weigh_pairs(
    sentence: Sentence, chain: Chain, first: int, following: int, begin: int, middle: int, end: int, count: int
) -> int:
    """Score all pairs of options of two spans in order; `count` scores are there already. Return their number.

    The pair of the i-th and the k-th option is at `count + k · options of the first span + i`.
    """
    options, scoring, known, rows = sentence.options, sentence.scoring, chain.known, chain.rows
    trial, base = trial_row(chain), trial_row(chain) + 2
    before, after = chain.chosen[first - 1], chain.chosen[following]
    left, left_stop = options.first[begin, middle - begin - 1], options.stop[begin, middle - begin - 1]
    right, right_stop = options.first[middle, end - middle - 1], options.stop[middle, end - middle - 1]
    width = left_stop - left
    if width == 0 or right == right_stop:
        return count
    for option in range(left, left_stop):
        score = options.static[option] + junction(sentence, before, option)
        score += orientation_score(sentence, option, 3 + MONOTONE)
        score += step(options, scoring, known, rows, first - 1, option, base + option - left)
        for k in range(right_stop - right):
            chain.weights[count + k * width + option - left] = score
    for option in range(right, right_stop):
        score = options.static[option] + junction(sentence, option, after)
        score += orientation_score(sentence, option, MONOTONE)
        place, change, asked = count + (option - right) * width, 0.0, False
        for i in range(width):
            added = step(options, scoring, known, rows, base + i, option, trial)
            if not asked or not same_states(rows, trial, trial + 1):  # the states are often those of the last pair
                for m in range(rows.shape[1]):
                    rows[trial + 1, m] = rows[trial, m]
                change, asked = ripple(sentence, chain, trial + 1, following, trial), True
            chain.weights[place + i] += score + added + change
    return int(count + width * (right_stop - right))


Proposal = tuple[int, int, int, float]


@inlined
def pick(chain: Chain, count: int, sharpness: float) -> int:
    """Draw one of the possibilities whose scores are in `chain.weights`; take the best if the sharpness is infinite."""
    chosen = 0
    if sharpness < math.inf:
        to_probabilities(chain.weights, count, sharpness)
        chosen = draw(chain.weights, count, chain.random)
    else:
        for k in range(count):
            if chain.weights[k] > chain.weights[chosen]:
                chosen = k
    return chosen


@inner_kernel
def retranslate(sentence: Sentence, chain: Chain, place: int, sharpness: float) -> Proposal:
    """Draw the translation of the phrase at a place."""
    options, old = sentence.options, chain.chosen[place]
    begin, end = options.begin[old], options.end[old]
    count = weigh_options(sentence, chain, place, place + 1, begin, end)
    chain.new[0] = options.first[begin, end - begin - 1] + pick(chain, count, sharpness)
    return place, 1, 0 if chain.new[0] == old else 1, 0.0


@inlined
def window_at(sentence: Sentence, chain: Chain, middle: int) -> tuple[int, int, int, int]:
    """Return the phrases that meet at a source boundary, or the one across it: place, number, begin and end.

    The number is 0 if they are not neighbors in order, or if no option of the table spans both.
    """
    options, place, number = sentence.options, chain.place[middle - 1], 0
    begin, end = options.begin[chain.chosen[place]], options.end[chain.chosen[place]]
    if chain.place[middle] == place:
        number = 1
    elif chain.place[middle] == place + 1:
        number, end = 2, options.end[chain.chosen[place + 1]]
    if number and (
        end - begin > sentence.longest or options.stop[begin, end - begin - 1] == options.first[begin, end - begin - 1]
    ):
        number = 0
    return place, number, begin, end


@inner_kernel
def weigh_merge_split(sentence: Sentence, chain: Chain, middle: int) -> int:
    """Score all options of the window at a boundary, then all pairs that meet there; return their number."""
    place, number, begin, end = window_at(sentence, chain, middle)
    if number == 0:
        return 0
    merged = weigh_options(sentence, chain, place, place + number, begin, end)
    return weigh_pairs(sentence, chain, place, place + number, begin, middle, end, merged)


@inlined
def put_window(sentence: Sentence, chain: Chain, begin: int, middle: int, end: int, drawn: int) -> int:
    """Return the options of a possibility of MERGE-SPLIT into `chain.new`; return their number."""
    options, size = sentence.options, 1
    merged = options.stop[begin, end - begin - 1] - options.first[begin, end - begin - 1]
    chain.new[0] = options.first[begin, end - begin - 1] + drawn
    if drawn >= merged:
        left = options.first[begin, middle - begin - 1]
        width = options.stop[begin, middle - begin - 1] - left
        chain.new[0] = left + (drawn - merged) % width
        chain.new[1] = options.first[middle, end - middle - 1] + (drawn - merged) // width
        size = 2
    return size


@inner_kernel
def regroup(sentence: Sentence, chain: Chain, middle: int, sharpness: float) -> Proposal:
    """Draw one phrase or two for the window at a source boundary."""
    count = weigh_merge_split(sentence, chain, middle) if middle > 0 else 0
    if count < 2:
        return 1, 0, 0, 0.0
    place, number, begin, end = window_at(sentence, chain, middle)
    size = put_window(sentence, chain, begin, middle, end, pick(chain, count, sharpness))
    same = size == number and chain.new[0] == chain.chosen[place]
    if same and (size == 1 or chain.new[1] == chain.chosen[place + 1]):
        size = 0
    return place, number, size, 0.0


@inlined
def _end_of(sentence: Sentence, option: int) -> int:
    """Return where the jump after an option (or NONE, the start) begins."""
    return 0 if option == NONE else int(sentence.options.end[option])


@inlined
def jump_allowed(sentence: Sentence, previous: int, option: int) -> bool:
    """Return the first rule alone; nothing is asked of the end of the sentence."""
    allowed = True
    if option != sentence.options.begin.size:
        distance = abs(sentence.options.begin[option] - _end_of(sentence, previous))
        allowed = distance <= sentence.limit
    return bool(allowed)


@inlined
def follows(sentence: Sentence, gap: int, previous: int, option: int) -> bool:
    """Return whether both rules allow an option after another (or NONE); `gap` is the first word not translated."""
    options = sentence.options
    return may_follow(gap, _end_of(sentence, previous), options.begin[option], options.end[option], sentence.limit)


@inner_kernel
def may_swap(sentence: Sentence, chain: Chain, i: int, j: int) -> bool:
    """Return whether the distortion rule allows to swap the phrases at the places i < j."""
    options, chosen = sentence.options, chain.chosen
    gap, mask, previous = chain.gaps[i], chain.masks[i], chosen[i - 1]
    for k in range(i, j + 1):
        option = _swapped(chosen, i, j, k)
        if not follows(sentence, gap, previous, option):
            return False
        gap, mask = after_span(gap, mask, options.begin[option], options.end[option])
        previous = option
    return jump_allowed(sentence, previous, chosen[j + 1])  # what is translated by then is the same as before


@inner_kernel
def swap_gain(sentence: Sentence, chain: Chain, i: int, j: int) -> float:
    """Return how much the score changes if the phrases at the places i < j are swapped."""
    chosen, rows, trial, gain = chain.chosen, chain.rows, trial_row(chain), 0.0
    for k in range(i, j + 2):
        if k < i + 2 or k >= j:
            gain += junction(sentence, _swapped(chosen, i, j, k - 1), _swapped(chosen, i, j, k))
            gain -= junction(sentence, chosen[k - 1], chosen[k])
    k, before = i, i - 1
    while k < chain.size[0] + 2:
        option = _swapped(chosen, i, j, k)
        gain += step(sentence.options, sentence.scoring, chain.known, rows, before, option, trial)
        gain -= chain.model_scores[k]
        before = trial
        if same_states(rows, trial, k):
            if k >= j:
                break
            k = j - 1  # up to there nothing changes
            before = k
        k += 1
    return float(gain)


@inlined
def _swapped(chosen: NDArray[np.int32], i: int, j: int, k: int) -> int:
    """Return the option at a place once those at i and j are swapped."""
    return int(chosen[j] if k == i else chosen[i] if k == j else chosen[k])


@inner_kernel
def reorder(sentence: Sentence, chain: Chain, i: int, j: int, sharpness: float) -> None:
    """Draw whether to swap the phrases at the places i < j."""
    if not may_swap(sentence, chain, i, j):
        return
    chain.tally[REORDER, OPEN] += 1
    odds = math.exp(min(-sharpness * swap_gain(sentence, chain, i, j), 700.0))
    if next_uniform(chain.random) * (1.0 + odds) < 1.0:
        chain.tally[REORDER, MOVED] += 1
        chain.chosen[i], chain.chosen[j] = chain.chosen[j], chain.chosen[i]
        refresh(sentence, chain, i, j + 1)


@inner_kernel
def weigh_places(sentence: Sentence, chain: Chain, place: int) -> int:
    """Score all places for the phrase at a place; return how many are allowed.

    `chain.weights[k]` is the score if k other phrases come before it, −inf if that is not allowed.
    """
    size, rows, phrase = chain.size[0], chain.rows, chain.chosen[place]
    rest = trial_row(chain) + 2  # rows after each of the other phrases
    options, scoring = sentence.options, sentence.scoring
    _take_out(sentence, chain, place)
    chosen, allowed = chain.new, 0
    gap, mask = 0, chain.masks[1]
    for k in range(size):  # k of the other phrases come before
        chain.weights[k] = -math.inf
        if k == place - 1 or _may_insert(sentence, chain, place, phrase, k, gap):
            allowed += 1
            score = junction(sentence, chosen[k], phrase) + junction(sentence, phrase, chosen[k + 1])
            score -= junction(sentence, chosen[k], chosen[k + 1])
            score += step(options, scoring, chain.known, rows, rest + k, phrase, trial_row(chain))
            chain.weights[k] = score + _ripple_rest(sentence, chain, k + 1, rest)
        if k + 1 < size:
            if not follows(sentence, gap, chosen[k], chosen[k + 1]):
                for later in range(k + 1, size):
                    chain.weights[later] = -math.inf
                break
            gap, mask = after_span(gap, mask, options.begin[chosen[k + 1]], options.end[chosen[k + 1]])
    return allowed


@inlined
def _take_out(sentence: Sentence, chain: Chain, place: int) -> None:
    """Write the other phrases into `chain.new`, their scores into `chain.new_scores`, their states into rows."""
    size, rows, rest, known = chain.size[0], chain.rows, trial_row(chain) + 2, chain.known
    converged = True
    for k in range(size + 1):
        old = k if k < place else k + 1
        chain.new[k] = chain.chosen[old]
        if k == place:
            converged = same_states(rows, place - 1, place)
        if k < place or converged:
            chain.new_scores[k] = chain.model_scores[old]
            for m in range(rows.shape[1]):
                rows[rest + k, m] = rows[old, m]
        else:
            chain.new_scores[k] = step(
                sentence.options, sentence.scoring, known, rows, rest + k - 1, chain.new[k], rest + k
            )
            converged = same_states(rows, rest + k, old)


@inlined
def _ripple_rest(sentence: Sentence, chain: Chain, k: int, rest: int) -> float:
    """Return how the models' scores of the other phrases from the k-th on change by the states in the trial row."""
    change, trial = 0.0, trial_row(chain)
    while not same_states(chain.rows, trial, rest + k - 1):
        option = chain.new[k]
        change += step(sentence.options, sentence.scoring, chain.known, chain.rows, trial, option, trial)
        change -= chain.new_scores[k]
        if k == chain.size[0]:
            break
        k += 1
    return change


@inlined
def _may_insert(sentence: Sentence, chain: Chain, place: int, phrase: int, k: int, gap: int) -> bool:
    """Return whether a phrase may come after k others, which are allowed; `gap` is the first word that they leave."""
    chosen, options = chain.new, sentence.options
    allowed = follows(sentence, gap, chosen[k], phrase)
    if allowed and k >= place:
        allowed = jump_allowed(sentence, phrase, chosen[k + 1])
    elif allowed:
        now, mask = after_span(chain.gaps[k + 1], chain.masks[k + 1], options.begin[phrase], options.end[phrase])
        previous = phrase
        for later in range(k + 1, place):
            if not follows(sentence, now, previous, chosen[later]):
                allowed = False
                break
            now, mask = after_span(now, mask, options.begin[chosen[later]], options.end[chosen[later]])
            previous = chosen[later]
        allowed = allowed and jump_allowed(sentence, previous, chosen[place])
    return allowed


@inner_kernel
def reposition(sentence: Sentence, chain: Chain, place: int, sharpness: float) -> Proposal:
    """Draw the place of a phrase among the others of its sentence."""
    size, phrase = chain.size[0], chain.chosen[place]
    if weigh_places(sentence, chain, place) < 2:
        return place, 0, 0, 0.0
    new = pick(chain, size, sharpness) + 1
    first, last = min(place, new), max(place, new)
    for k in range(first, last + 1):
        chain.new[k - first] = phrase if k == new else chain.chosen[k + 1 if new > place else k - 1]
    return first, last - first + 1, 0 if new == place else last - first + 1, 0.0
