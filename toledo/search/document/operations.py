"""The operations of Docent (Hardmeier et al. 2012, 2013): a random change of a few phrases.

A source word of the document is drawn, all alike; the operation works on the phrase that translates it. So a phrase is
drawn in proportion to its source words, whatever the others are, at the same cost in any document. Geometric
distributions are P(n) = (1 − decay) · decay^(n − 1), n = 1, 2, …; what goes beyond the sentence is cut off at its last
phrase. (Docent's own decays are chances to stop: its 0.1 is 0.9 here.)

An operation puts options into `chain.new` and says which phrases they replace: (first, old, new, log ratio). The log
ratio is that of the probabilities to propose the way back and the way there (Hastings 1970). `new` is 0 where nothing
is possible.

A change of a state: other phrases at some places of one sentence. What it gains, whether it is allowed, making it.

Every operation proposes a change of one form: the first `new` options of `chain.new` in place of `old` phrases from the
place `first` on. So there is one way to score it, whatever the operation was.

Operations that weigh all their possibilities and draw one by the sentence model, as the Gibbs sampler does.

They find in one step what random changes find in hundreds. The way back weighs the same possibilities, so the ratio of
the proposals cancels what the sentence model says of the change: what is left to decide is what document models say. At
temperature 0 the best possibility is taken.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from toledo.compiled.kernels import inlined, inner_kernel
from toledo.compiled.random import RandomState, next_uniform
from toledo.search.chain import (
    Chain,
    Sentence,
    draw,
    junction,
    replace_phrases,
    ripple,
    step,
    to_probabilities,
    total_score,
    trial_row,
)
from toledo.search.chain_operators import (
    follows,
    jump_allowed,
    put_window,
    weigh_merge_split,
    weigh_options,
    weigh_places,
    window_at,
)
from toledo.search.document.arrays import SENTENCES, State, Text, chain_at, sentence_at
from toledo.search.options import after_span


@inner_kernel
def may_replace(sentence: Sentence, chain: Chain, first: int, old: int, new: int) -> bool:
    """Whether the distortion rule allows a change that translates the same source words."""
    gap, mask, previous = chain.gaps[first], chain.masks[first], chain.chosen[first - 1]
    for k in range(new):
        option = chain.new[k]
        if not follows(sentence, gap, previous, option):
            return False
        gap, mask = after_span(gap, mask, sentence.options.begin[option], sentence.options.end[option])
        previous = option
    return jump_allowed(sentence, previous, chain.chosen[first + old])


@inner_kernel
def replacement_gain(sentence: Sentence, chain: Chain, first: int, old: int, new: int) -> float:
    """How much a change adds to the score of the sentence model."""
    options, chosen, trial = sentence.options, chain.chosen, trial_row(chain)
    previous, row, gain, following = chosen[first - 1], first - 1, 0.0, first + old
    for k in range(new):
        option = chain.new[k]
        gain += options.static[option] + junction(sentence, previous, option)
        gain += step(options, sentence.scoring, chain.known, chain.rows, row, option, trial)
        previous, row = option, trial
    gain += junction(sentence, previous, chosen[following]) - junction(
        sentence, chosen[following - 1], chosen[following]
    )
    gain += ripple(sentence, chain, trial, following, trial + 1)
    for k in range(first, following):
        gain -= options.static[chosen[k]] + junction(sentence, chosen[k - 1], chosen[k]) + chain.model_scores[k]
    return float(gain)


@inner_kernel
def make_change(text: Text, state: State, s: int, first: int, old: int, new: int) -> None:
    """Change sentence s. Its score is summed anew, so that nothing adds up over many changes but in the total."""
    sentence, chain = sentence_at(text, s), chain_at(text, state, s)
    replace_phrases(sentence, chain, first, old, new)
    score = total_score(sentence, chain)
    state.totals[SENTENCES] += score - state.scores[s]
    state.scores[s] = score
    if not state.is_changed[s]:
        state.is_changed[s] = True
        state.changed[state.changed_count[0]] = s
        state.changed_count[0] += 1


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


@inner_kernel
def retranslate(sentence: Sentence, chain: Chain, place: int, temperature: float) -> Proposal:
    """The translation of a phrase."""
    options, old = sentence.options, chain.chosen[place]
    begin, end = options.begin[old], options.end[old]
    count = weigh_options(sentence, chain, place, place + 1, begin, end)
    chain.new[0] = options.first[begin, end - begin - 1] + pick(chain, count, temperature)
    return place, 1, 0 if chain.new[0] == old else 1, 0.0


@inner_kernel
def regroup(sentence: Sentence, chain: Chain, middle: int, temperature: float) -> Proposal:
    """One phrase or two for those that meet at a source position."""
    count = weigh_merge_split(sentence, chain, middle) if middle > 0 else 0
    if count < 2:
        return 1, 1, 0, 0.0
    place, number, begin, end = window_at(sentence, chain, middle)
    size = put_window(sentence, chain, begin, middle, end, pick(chain, count, temperature))
    same = size == number and chain.new[0] == chain.chosen[place]
    if same and (size == 1 or chain.new[1] == chain.chosen[place + 1]):
        size = 0
    return place, number, size, 0.0


@inner_kernel
def reposition(sentence: Sentence, chain: Chain, place: int, temperature: float) -> Proposal:
    """The place of a phrase among the others of its sentence."""
    size, phrase = chain.size[0], chain.chosen[place]
    if weigh_places(sentence, chain, place) < 2:
        return place, 1, 0, 0.0
    new = pick(chain, size, temperature) + 1
    first, last = min(place, new), max(place, new)
    for k in range(first, last + 1):
        chain.new[k - first] = phrase if k == new else chain.chosen[k + 1 if new > place else k - 1]
    return first, last - first + 1, 0 if new == place else last - first + 1, 0.0


@inner_kernel
def pick(chain: Chain, count: int, temperature: float) -> int:
    """Draw one of the possibilities whose scores are in `chain.weights`; at temperature 0 the best."""
    if temperature > 0.0:
        to_probabilities(chain.weights, count, 1.0 / temperature)
        return draw(chain.weights, count, chain.random)
    best = 0
    for k in range(count):
        if chain.weights[k] > chain.weights[best]:
            best = k
    return best
