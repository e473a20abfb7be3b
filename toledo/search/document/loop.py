"""The loop of document search: draw an operation, propose a change, score it, accept or reject it, keep the best state.

The operations are those of `operations.py` and of `toledo.search.chain_operators`. A source word of the document is
drawn uniformly; the operation changes the phrase that translates it. So a phrase is drawn in proportion to its source
words, whatever the others are, at the same cost in any document.

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
from toledo.search.chain_operators import Proposal, regroup, reposition, retranslate
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
from toledo.search.document.operations import (
    Habits,
    change_translation,
    draw_below,
    move_phrases,
    resegment,
    swap_phrases,
)
from toledo.search.document.settings import OPERATIONS, DocumentSettings


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
RISE = 1e-9  # less is rounding: hill climbing accepts a score that stays, as BLEU does for most changes


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
    requires that the score does not fall.
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
