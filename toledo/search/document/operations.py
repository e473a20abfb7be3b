"""The operations of Docent (Hardmeier et al. 2012, 2013): random changes of a few phrases.

Geometric distributions are P(n) = (1 − decay) · decay^(n − 1), n = 1, 2, …; what goes beyond the sentence is cut off at
its last phrase. (Docent's own decays are chances to stop: its 0.1 is 0.9 here.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, inner_kernel
from toledo.compiled.random import RandomState, next_uniform
from toledo.search.chain import Chain, Sentence
from toledo.search.chain_operators import Proposal, follows, jump_allowed
from toledo.search.options import SentenceOptions, after_span


@inner_kernel
def may_replace(sentence: Sentence, chain: Chain, first: int, old: int, new: int) -> bool:
    """Return whether the distortion rule allows a change that translates the same source words."""
    gap, mask, previous = chain.gaps[first], chain.masks[first], chain.chosen[first - 1]
    for k in range(new):
        option = chain.new[k]
        if not follows(sentence, gap, previous, option):
            return False
        gap, mask = after_span(gap, mask, sentence.options.begin[option], sentence.options.end[option])
        previous = option
    return jump_allowed(sentence, previous, chain.chosen[first + old])


class Habits(NamedTuple):
    """The parameters of the operations, under Docent's names."""

    swap_distance_decay: float
    block_move_probability: float
    right_move_preference: float
    right_distance_decay: float
    left_distance_decay: float
    phrase_resegmentation_decay: float


@inlined
def draw_below(random: RandomState, count: int) -> int:
    """Draw one of the numbers from 0 up to `count` uniformly."""
    return min(int(next_uniform(random) * count), count - 1)


@inlined
def draw_geometric(random: RandomState, decay: float) -> int:
    """Draw one of 1, 2, …, each `decay` times as likely as the number before."""
    number, uniform = 1, next_uniform(random)
    if decay > 0.0:
        number = 1 + int(min(math.log(1.0 - uniform) / math.log(decay), 1e6))
    return number


@inner_kernel
def change_translation(sentence: Sentence, chain: Chain, place: int) -> Proposal:
    """Propose another translation of a phrase, drawn uniformly."""
    options, old = sentence.options, chain.chosen[place]
    begin, words = options.begin[old], options.end[old] - options.begin[old]
    first, count = options.first[begin, words - 1], options.stop[begin, words - 1] - options.first[begin, words - 1]
    if count < 2:
        return place, 1, 0, 0.0
    new = first + draw_below(chain.random, count - 1)
    chain.new[0] = new + 1 if new >= old else new
    return place, 1, 1, 0.0


@inner_kernel
def swap_phrases(sentence: Sentence, chain: Chain, place: int, decay: float) -> Proposal:
    """Swap a phrase with another at a geometric distance to the left or to the right, or with the first or last.

    The way back is the same phrase in the other direction.
    """
    right = next_uniform(chain.random) < 0.5
    ahead, behind = chain.size[0] - place, place - 1
    most = ahead if right else behind
    distance = min(draw_geometric(chain.random, decay), most)
    if distance == 0:
        return place, 1, 0, 0.0
    other = place + distance if right else place - distance
    first, last = min(place, other), max(place, other)
    ratio = _log_geometric(decay, distance, other - 1 if right else chain.size[0] - other)
    ratio -= _log_geometric(decay, distance, most)
    for k in range(first, last + 1):
        chain.new[k - first] = chain.chosen[k]
    chain.new[0], chain.new[last - first] = chain.chosen[last], chain.chosen[first]
    size = last - first + 1
    return first, size, size if may_replace(sentence, chain, first, size, size) else 0, ratio


@inner_kernel
def move_phrases(sentence: Sentence, chain: Chain, place: int, habits: Habits) -> Proposal:
    """Move a block of phrases, which begins with the one at `place`, over others to the right or to the left.

    The way back moves the same block in the other direction.
    """
    block = draw_geometric(chain.random, habits.block_move_probability)
    right = next_uniform(chain.random) < habits.right_move_preference
    after, before = chain.size[0] - (place + block - 1), place - 1
    most, decay = (after, habits.right_distance_decay) if right else (before, habits.left_distance_decay)
    distance = min(draw_geometric(chain.random, decay), most)
    if distance < 1 or after < 0:
        return place, 1, 0, 0.0
    first, size = place if right else place - distance, block + distance
    shift = block if right else distance
    for k in range(size):
        chain.new[k] = chain.chosen[first + (k + shift) % size]
    if not may_replace(sentence, chain, first, size, size):
        return place, 1, 0, 0.0
    to_right = _log_geometric(habits.right_distance_decay, distance, after if right else after + distance)
    to_right += _log(habits.right_move_preference)
    to_left = _log_geometric(habits.left_distance_decay, distance, before + distance if right else before)
    to_left += _log(1.0 - habits.right_move_preference)
    return first, size, size, to_left - to_right if right else to_right - to_left


@inlined
def _log(share: float) -> float:
    return math.log(share) if share > 0.0 else -math.inf


@inlined
def _log_geometric(decay: float, number: int, most: int) -> float:
    """Return the log probability of a geometric number that is cut off at `most`."""
    log = (number - 1) * math.log(decay) if decay > 0.0 else 0.0 if number == 1 else -math.inf
    return log + math.log(1.0 - decay) if number < most else log


@inner_kernel
def resegment(sentence: Sentence, chain: Chain, place: int, decay: float, climbing: bool) -> Proposal:
    """Propose new phrases in source order for a geometric number of phrases.

    From left to right, the end of each phrase is drawn among those that the table has, then its translation. There is
    no way back to phrases that were in another order, so only hill climbing proposes to put them into source order.
    """
    options, chosen = sentence.options, chain.chosen
    old = min(draw_geometric(chain.random, decay), chain.size[0] - place + 1)  # the way back is cut off at its last one
    position, high, in_order = options.begin[chosen[place]], options.end[chosen[place]], True
    for k in range(place + 1, place + old):
        in_order = in_order and options.begin[chosen[k]] >= options.end[chosen[k - 1]]
        position, high = min(position, options.begin[chosen[k]]), max(high, options.end[chosen[k]])
    if not (in_order or climbing):
        return place, 1, 0, 0.0
    ratio, new, same = 0.0, 0, True
    while position < high:
        end = _end_of_run(options, chain, place, old, position)
        if end == position:  # translated elsewhere
            position = options.end[chosen[chain.place[position]]]
            continue
        k = chain.place[position]
        while in_order and k < place + old and options.begin[chosen[k]] < end:
            ratio += log_draw(sentence, chosen[k], end)
            k += 1
        while position < end:
            chain.new[new] = draw_phrase(sentence, chain, position, end)
            ratio -= log_draw(sentence, chain.new[new], end)
            position = options.end[chain.new[new]]
            same = same and new < old and chain.new[new] == chosen[place + new]
            new += 1
    same = same and new == old
    if same or not (_is_run(options, chosen, place, old) or may_replace(sentence, chain, place, old, new)):
        return place, 1, 0, 0.0
    ratio += math.log(float(options.end[chain.new[0]] - options.begin[chain.new[0]]))
    ratio -= math.log(float(options.end[chosen[place]] - options.begin[chosen[place]]))
    if new != old:
        ratio += (new - old) * math.log(decay) if decay > 0.0 else -math.inf
    return place, old, new, ratio


@inlined
def _end_of_run(options: SentenceOptions, chain: Chain, place: int, old: int, position: int) -> int:
    """Return how far `old` phrases from a place on translate all source words from a position on."""
    end, length = position, chain.place.size
    while end < length and place <= chain.place[end] < place + old:
        end = options.end[chain.chosen[chain.place[end]]]
    return int(end)


@inlined
def _is_run(options: SentenceOptions, chosen: NDArray[np.int32], place: int, old: int) -> bool:
    """Return whether phrases follow each other in source and target, so that the distortion rule is kept anyway."""
    run = True
    for k in range(place + 1, place + old):
        run = run and options.begin[chosen[k]] == options.end[chosen[k - 1]]
    return run


@inlined
def spans_from(sentence: Sentence, begin: int, end: int) -> int:
    """Return how many spans with options begin at a position and do not reach beyond `end`."""
    count = 0
    for n in range(min(sentence.longest, end - begin)):
        count += sentence.options.stop[begin, n] > sentence.options.first[begin, n]
    return count


@inlined
def log_draw(sentence: Sentence, option: int, end: int) -> float:
    """Return the log probability that `draw_phrase` gives an option."""
    options, begin = sentence.options, sentence.options.begin[option]
    n = options.end[option] - begin - 1
    return -math.log(float(spans_from(sentence, begin, end) * (options.stop[begin, n] - options.first[begin, n])))


@inlined
def draw_phrase(sentence: Sentence, chain: Chain, begin: int, end: int) -> int:
    """Draw an option for a span that begins at a position: first the span, then the option."""
    options, found = sentence.options, 0
    rest = draw_below(chain.random, spans_from(sentence, begin, end))
    for n in range(min(sentence.longest, end - begin)):
        count = options.stop[begin, n] - options.first[begin, n]
        if count:
            if rest == 0:
                found = options.first[begin, n] + draw_below(chain.random, count)
                break
            rest -= 1
    return found
