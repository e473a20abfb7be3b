"""The operations of Docent (Hardmeier et al. 2012, 2013): a random change of a few phrases.

A source word of the document is drawn, all alike; the operation works on the phrase that translates it. So a phrase is
drawn in proportion to its source words, whatever the others are, at the same cost in any document. Geometric
distributions are P(n) = (1 − decay) · decay^(n − 1), n = 1, 2, …; what goes beyond the sentence is cut off at its last
phrase. (Docent's own decays are chances to stop: its 0.1 is 0.9 here.)

An operation puts options into `chain.new` and says which phrases they replace: (first, old, new, log ratio). The log
ratio is that of the probabilities to propose the way back and the way there (Hastings 1970). `new` is 0 where nothing
is possible.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from toledo.kernels import inlined, inner_kernel
from toledo.randomness import RandomState, next_uniform
from toledo.search.document.replacing import may_replace
from toledo.search.gibbs.state import Chain, Sentence


class Habits(NamedTuple):
    """The parameters of the operations, under Docent's names."""

    swap_distance_decay: float
    block_move_probability: float
    right_move_preference: float
    right_distance_decay: float
    left_distance_decay: float
    phrase_resegmentation_decay: float


Proposal = tuple[int, int, int, float]


@inlined
def draw_below(random: RandomState, count: int) -> int:
    """One of the numbers from 0 up to `count`, all alike."""
    return min(int(next_uniform(random) * count), count - 1)


@inlined
def draw_geometric(random: RandomState, decay: float) -> int:
    """1, 2, …, each `decay` times as likely as the one before."""
    number, uniform = 1, next_uniform(random)
    if decay > 0.0:
        number = 1 + int(min(math.log(1.0 - uniform) / math.log(decay), 1e6))
    return number


@inner_kernel
def change_translation(sentence: Sentence, chain: Chain, place: int) -> Proposal:
    """Another translation of a phrase, all alike."""
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
    """Swap a phrase with another one at a geometric distance to the left or to the right, or with the first or last.

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
    """The log probability of a geometric number that is cut off at `most`."""
    log = (number - 1) * math.log(decay) if decay > 0.0 else 0.0 if number == 1 else -math.inf
    return log + math.log(1.0 - decay) if number < most else log


@inner_kernel
def resegment(sentence: Sentence, chain: Chain, place: int, decay: float) -> Proposal:
    """New phrases for a geometric number of phrases that follow each other in source and target.

    From left to right, the end of each phrase is drawn among those that the table has, then its translation.
    """
    options, chosen = sentence.options, chain.chosen
    old = min(draw_geometric(chain.random, decay), chain.size[0] - place + 1)  # the way back is cut off at its last one
    for k in range(place + 1, place + old):
        if options.begin[chosen[k]] != options.end[chosen[k - 1]]:
            return place, 1, 0, 0.0
    begin, end = options.begin[chosen[place]], options.end[chosen[place + old - 1]]
    ratio, new, position = 0.0, 0, begin
    for k in range(place, place + old):
        ratio += log_draw(sentence, chosen[k], end)
    while position < end:
        chain.new[new] = draw_phrase(sentence, chain, position, end)
        ratio -= log_draw(sentence, chain.new[new], end)
        position = options.end[chain.new[new]]
        new += 1
    same = new == old
    for k in range(new):
        same = same and chain.new[k] == chosen[place + k]
    if same:
        return place, 1, 0, 0.0
    ratio += math.log((options.end[chain.new[0]] - begin) / (options.end[chosen[place]] - begin))
    if new != old:
        ratio += (new - old) * math.log(decay) if decay > 0.0 else -math.inf
    return place, old, new, ratio


@inlined
def spans_from(sentence: Sentence, begin: int, end: int) -> int:
    """How many spans with options begin at a position and do not reach beyond `end`."""
    count = 0
    for n in range(min(sentence.longest, end - begin)):
        count += sentence.options.stop[begin, n] > sentence.options.first[begin, n]
    return count


@inlined
def log_draw(sentence: Sentence, option: int, end: int) -> float:
    """The log probability that `draw_phrase` gives an option."""
    options, begin = sentence.options, sentence.options.begin[option]
    n = options.end[option] - begin - 1
    return -math.log(float(spans_from(sentence, begin, end) * (options.stop[begin, n] - options.first[begin, n])))


@inlined
def draw_phrase(sentence: Sentence, chain: Chain, begin: int, end: int) -> int:
    """An option for a span that begins at a position: first the span is drawn, then the option."""
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
