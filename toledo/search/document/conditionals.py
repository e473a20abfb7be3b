"""Operations that weigh all their possibilities and draw one by the sentence model, as the Gibbs sampler does.

They find in one step what random changes find in hundreds. The way back weighs the same possibilities, so the ratio of
the proposals cancels what the sentence model says of the change: what is left to decide is what document models say. At
temperature 0 the best possibility is taken.
"""

from __future__ import annotations

from toledo.kernels import inner_kernel
from toledo.search.document.proposing import Proposal
from toledo.search.gibbs.drawing import draw, to_probabilities
from toledo.search.gibbs.ordering import weigh_places
from toledo.search.gibbs.state import Chain, Sentence
from toledo.search.gibbs.translating import put_window, weigh_merge_split, weigh_options, window_at


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
