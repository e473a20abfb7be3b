"""A change of a state: other phrases at some places of one sentence. What it gains, whether it is allowed, making it.

Every operation proposes a change of one form: the first `new` options of `chain.new` in place of `old` phrases from the
place `first` on. So there is one way to score it, whatever the operation was.
"""

from __future__ import annotations

from toledo.kernels import inner_kernel
from toledo.search.distortion import after_span
from toledo.search.document.arrays import SENTENCES, State, Text, chain_at, sentence_at
from toledo.search.gibbs.ordering import follows, jump_allowed
from toledo.search.gibbs.phrase_scores import step
from toledo.search.gibbs.state import Chain, Sentence, junction, replace_phrases, ripple, total_score, trial_row


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
