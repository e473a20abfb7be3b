"""The loop of document search: draw an operation, propose a change, score it, accept or reject it, keep the best state.

The operations are those of Docent (Hardmeier et al. 2012, 2013), random changes of a few phrases, and those of
`toledo.search.chain_operators`. A source word of the document is drawn uniformly; the operation changes the phrase that
translates it. So a phrase is drawn in proportion to its source words, whatever the others are, at the same cost in any
document. Geometric distributions are P(n) = (1 − decay) · decay^(n − 1), n = 1, 2, …; what goes beyond the sentence is
cut off at its last phrase. (Docent's own decays are chances to stop: its 0.1 is 0.9 here.)

All operations propose a change of the same form, a `Proposal`, so that there is one way to check, score and make it.
Those that weigh all their possibilities and draw one by the sentence model find in one step what random changes find in
hundreds, and only document models decide whether the change is made. At temperature 0 they take the best possibility.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import HALF, MULTIPLIER
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.compiled.random import RandomState, next_uniform
from toledo.search.chain import (
    Chain,
    Sentence,
    exchange_phrases,
    junction,
    refresh_coverage,
    replace_phrases,
    ripple,
    set_derivation,
    step,
    total_score,
    trial_row,
)
from toledo.search.chain_operators import Proposal, follows, jump_allowed, regroup, reposition, retranslate
from toledo.search.document.arrays import (
    ACCEPTED,
    BEST,
    DOCUMENT,
    POSSIBLE,
    PROPOSED,
    REJECTED,
    SENTENCES,
    STEPS,
    TAKEN,
    USERS,
    State,
    Text,
    chain_at,
    sentence_at,
)
from toledo.search.document.models.counts import (
    Measures,
    any_active,
    consider,
    count_document,
    most_gain,
    reconsider,
    update_reach,
)
from toledo.search.document.settings import OPERATIONS, DocumentSettings
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


@inner_kernel
def replacement_gain(sentence: Sentence, chain: Chain, first: int, old: int, new: int) -> float:
    """Return how much a change adds to the score of the sentence model."""
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
    """Change sentence s. Its score is summed again, so that rounding errors add up only in the total."""
    sentence, chain = sentence_at(text, s), chain_at(text, state, s)
    if text.unscored:
        exchange_phrases(chain, first, old, new)
        refresh_coverage(sentence.options, chain, first)
    else:
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
    if (same and new == old) or not (_is_run(options, chosen, place, old) or may_replace(sentence, chain, place, old, new)):
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


@inner_kernel
def score_of(state: State) -> float:
    """Return the score of the document."""
    return float(state.totals[SENTENCES] + state.totals[DOCUMENT] + state.totals[USERS])


@inner_kernel
def keep_if_best(text: Text, state: State, rise: float) -> None:
    """Copy the sentences that have changed since the best state, if the present state is better by `rise`.

    Each was changed by a step that was accepted, so there is never more to copy than was done in all.
    """
    score = score_of(state)
    if score <= state.totals[BEST] + rise:
        return
    for i in range(state.changed_count[0]):
        s = state.changed[i]
        begin, size = text.places[s], state.phrases.size[s]
        for k in range(begin + 1, begin + 1 + size):
            state.best_chosen[k] = state.phrases.chosen[k]
        state.best_size[s] = size
        state.is_changed[s] = False
    state.changed_count[0] = 0
    state.totals[BEST] = score


@kernel
def set_phrases(
    text: Text, state: State, measures: Measures, offsets: NDArray[np.int64], chosen: NDArray[np.int32]
) -> None:
    """Give sentence s the options `chosen[offsets[s]:offsets[s + 1]]`, in target order, and count everything."""
    state.changed_count[0] = 0
    for s in range(text.words.size - 1):
        sentence, chain = sentence_at(text, s), chain_at(text, state, s)
        set_derivation(sentence, chain, chosen[offsets[s] : offsets[s + 1]])
        state.scores[s] = total_score(sentence, chain)
        state.is_changed[s], state.changed[s] = True, s
        state.changed_count[0] += 1
    sum_scores(state)
    state.totals[DOCUMENT] = count_document(measures, text, state)


@inner_kernel
def sum_scores(state: State) -> None:
    """Sum up the scores of sentences again: over many changes rounding errors would add up."""
    total = 0.0
    for s in range(state.scores.size):
        total += state.scores[s]
    state.totals[SENTENCES] = total


CHANGE, SWAP, MOVE, RESEGMENT, RETRANSLATE, REGROUP, REPOSITION = range(7)
START, PROPOSE, ACCEPT, REJECT = range(4)  # events for users' models
RISE = 1e-9  # less is rounding


class Plan(NamedTuple):
    """How to search: `until[o]` is the probability of the operations up to o; temperature 0 is hill climbing.

    `visit` steps in a row are for one sentence; if it is 0, each is for any.
    """

    until: NDArray[np.float64]
    habits: Habits
    temperature: float
    max_rejected: int
    visit: int


def plan_of(settings: DocumentSettings, step: int = 0, visit: int = 0) -> Plan:
    """Return what compiled code needs to know of settings at a step."""
    operations = settings.weighted_operations
    weights = np.array([getattr(operations, name) for name in OPERATIONS], np.float64)
    most = np.iinfo(np.int64).max if settings.max_rejected is None else settings.max_rejected
    habits = Habits(*(float(getattr(operations, name)) for name in Habits._fields))
    temperature = settings.acceptance.at(step, settings.steps)
    return Plan(np.cumsum(weights / weights.sum()), habits, temperature, int(most), visit)


class Trial(NamedTuple):
    """A proposal: the first `new` of `State.phrases.new` for `old` phrases of a sentence from the place `first` on.

    `gain` is that of the sentence model as far as it counts, `document` the weighted sum of document models if the
    change is made; it is made if gain and the change of those reach what is `needed`.
    """

    sentence: int
    first: int
    old: int
    new: int
    operation: int
    needed: float
    gain: float
    document: float


@inner_kernel
def propose(sentence: Sentence, chain: Chain, plan: Plan, operation: int, word: int) -> Proposal:
    """Propose a change of the phrase that translates a source word."""
    place, habits, sharpness = chain.place[word], plan.habits, 1.0 / plan.temperature
    if operation == CHANGE:
        return change_translation(sentence, chain, place)
    if operation == SWAP:
        return swap_phrases(sentence, chain, place, habits.swap_distance_decay)
    if operation == MOVE:
        return move_phrases(sentence, chain, place, habits)
    if operation == RESEGMENT:
        return resegment(sentence, chain, place, habits.phrase_resegmentation_decay, plan.temperature == 0.0)
    if operation == RETRANSLATE:
        return retranslate(sentence, chain, place, sharpness)
    if operation == REGROUP:
        return regroup(sentence, chain, word, sharpness)
    return reposition(sentence, chain, place, sharpness)


@inner_kernel
def draw_operation(random: RandomState, until: NDArray[np.float64]) -> int:
    """Draw one of the operations by their probabilities."""
    uniform, operation = next_uniform(random), 0
    while operation < until.size - 1 and uniform >= until[operation]:
        operation += 1
    return operation


@inlined
def draw_word(text: Text, state: State, visit: int) -> int:
    """Draw a source word of the document uniformly, or of the sentence that is visited.

    Words that are as far apart as multiples of the golden ratio, modulo 1, are spread evenly, however many there are;
    each sentence is visited in proportion to its words. This depends on the step alone, so sampling remains sampling.
    """
    first, last = 0, text.words[-1]
    if visit:
        turn = np.uint64(state.counters[STEPS] // visit)
        place = float((turn * MULTIPLIER) >> HALF) * 2.0**-32
        s = text.sentence[int(place * last)]
        first, last = text.words[s], text.words[s + 1]
    return first + draw_below(state.phrases.random, last - first)


@inlined
def try_change(text: Text, state: State, measures: Measures, plan: Plan, bounded: bool) -> Trial:
    """Propose a change and score it; document models have counted it, so `settle` must follow.

    Where document models cannot gain enough, and nothing else can (`bounded`), nothing is proposed. The rule is that
    of Metropolis and Hastings; where an operation has drawn by the sentence model, its gain cancels. Hill climbing
    requires a rise.
    """
    operation = draw_operation(state.phrases.random, plan.until)
    word = draw_word(text, state, plan.visit)
    s = int(np.int64(text.sentence[word]))  # as it comes from Python: one kind of number, compiled once
    sentence, chain = sentence_at(text, s), chain_at(text, state, s)
    first, old, new, ratio = propose(sentence, chain, plan, operation, word - text.words[s])
    gain, needed, document = 0.0, -RISE, state.totals[DOCUMENT]
    state.phrases.tally[operation, PROPOSED] += 1
    if new:
        state.phrases.tally[operation, POSSIBLE] += 1
        if (operation < RETRANSLATE or plan.temperature == 0.0) and not text.unscored:
            gain = replacement_gain(sentence, chain, first, old, new)
        if plan.temperature > 0.0:
            needed = plan.temperature * (math.log(1.0 - next_uniform(state.phrases.random)) - ratio)
        if any_active(measures):
            enough = needed - gain - RISE
            if bounded and most_gain(measures, text.options, chain, s, first, old, new, enough) < enough:
                new = 0
            else:
                document = consider(measures, text, state, chain, s, first, old, new)
    return Trial(s, first, old, new, operation, needed, gain, document)


@inlined
def settle(text: Text, state: State, measures: Measures, trial: Trial, users: float) -> bool:
    """Accept or reject a proposal, and return which; `users` is the weighted sum of users' models if it is made."""
    counters, s = state.counters, trial.sentence
    counters[STEPS] += 1
    change = trial.document - state.totals[DOCUMENT] + users - state.totals[USERS]
    accepted = trial.new > 0 and trial.gain + change >= trial.needed
    if accepted:
        state.phrases.tally[trial.operation, TAKEN] += 1
        counters[ACCEPTED] += 1
        counters[REJECTED] = 0 if abs(trial.gain + change) > RISE else counters[REJECTED] + 1
        state.totals[DOCUMENT], state.totals[USERS] = trial.document, users
        make_change(text, state, s, trial.first, trial.old, trial.new)
        keep_if_best(text, state, RISE)
        if any_active(measures):
            update_reach(measures)
    else:
        counters[REJECTED] += 1
        if trial.new and any_active(measures):
            reconsider(measures, text.options, chain_at(text, state, s), s, trial.first, trial.old, trial.new)
    return accepted


@inner_kernel
def run_steps(text: Text, state: State, measures: Measures, plan: Plan, steps: int) -> int:
    """Take steps, fewer if too many are rejected in a row; return their number."""
    for done in range(steps):
        if state.counters[REJECTED] >= plan.max_rejected:
            return done
        trial = try_change(text, state, measures, plan, True)
        settle(text, state, measures, trial, state.totals[USERS])
    return steps


@inner_kernel
def first_half(text: Text, state: State, measures: Measures, plan: Plan) -> Trial:
    """Return the first half of a step, for loops that ask users' models in between."""
    return try_change(text, state, measures, plan, False)


@inner_kernel
def second_half(text: Text, state: State, measures: Measures, trial: Trial, users: float) -> bool:
    """Return the second half of a step; whether the proposal was accepted."""
    return settle(text, state, measures, trial, users)
