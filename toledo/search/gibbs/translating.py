"""RETRANS and MERGE-SPLIT: other translations for a source span, as one phrase or as two (Arun et al. 2009).

Both leave the order of what they do not touch alone, and begin and end of the span in its place: the distortion rule
has no say in them. All possibilities are weighed together, so the draw is from the exact conditional.
"""

from __future__ import annotations

from toledo.kernels import inlined, inner_kernel
from toledo.search.beam.cubes import MONOTONE
from toledo.search.gibbs.drawing import draw, to_probabilities
from toledo.search.gibbs.phrase_scores import same_states, step
from toledo.search.gibbs.state import (
    MERGE_SPLIT,
    MOVED,
    OPEN,
    RETRANS,
    Chain,
    Sentence,
    junction,
    orientation_score,
    replace_phrases,
    ripple,
    trial_row,
)


@inner_kernel
def weigh_options(sentence: Sentence, chain: Chain, first: int, following: int, begin: int, end: int) -> int:
    """Score all options of a span between the places before `first` and `following`; gives their number."""
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
    """Score all pairs of options of two spans in order; `count` scores are there already. Gives their number.

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


@inner_kernel
def retrans(sentence: Sentence, chain: Chain, place: int, sharpness: float) -> None:
    """Draw the translation of the phrase at a place."""
    options, old = sentence.options, chain.chosen[place]
    begin, end = options.begin[old], options.end[old]
    count = weigh_options(sentence, chain, place, place + 1, begin, end)
    if count < 2:
        return
    to_probabilities(chain.weights, count, sharpness)
    new = options.first[begin, end - begin - 1] + draw(chain.weights, count, chain.random)
    chain.tally[RETRANS, OPEN] += 1
    if new != old:
        chain.tally[RETRANS, MOVED] += 1
        chain.new[0] = new
        replace_phrases(sentence, chain, place, 1, 1)


@inlined
def window_at(sentence: Sentence, chain: Chain, middle: int) -> tuple[int, int, int, int]:
    """The phrases that meet at a source boundary, or the one across it: place, number, begin and end.

    The number is 0 if they are not neighbours in order, or if no option of the table spans both.
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
    """Score all options of the window at a boundary, then all pairs that meet there; gives their number."""
    place, number, begin, end = window_at(sentence, chain, middle)
    if number == 0:
        return 0
    merged = weigh_options(sentence, chain, place, place + number, begin, end)
    return weigh_pairs(sentence, chain, place, place + number, begin, middle, end, merged)


@inner_kernel
def merge_split(sentence: Sentence, chain: Chain, middle: int, sharpness: float) -> None:
    """Draw one phrase or two for the window at a source boundary."""
    count = weigh_merge_split(sentence, chain, middle)
    if count < 2:
        return
    to_probabilities(chain.weights, count, sharpness)
    drawn = draw(chain.weights, count, chain.random)
    place, number, begin, end = window_at(sentence, chain, middle)
    size = put_window(sentence, chain, begin, middle, end, drawn)
    chain.tally[MERGE_SPLIT, OPEN] += 1
    if size != number or chain.new[0] != chain.chosen[place] or (size == 2 and chain.new[1] != chain.chosen[place + 1]):
        chain.tally[MERGE_SPLIT, MOVED] += 1
        replace_phrases(sentence, chain, place, number, size)


@inlined
def put_window(sentence: Sentence, chain: Chain, begin: int, middle: int, end: int, drawn: int) -> int:
    """The options of a possibility of MERGE-SPLIT into `chain.new`; gives their number."""
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
