"""Running chains: sweeps of all operators over a sentence, and keeping what they visit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import MULTIPLIER
from toledo.compiled.heap import grown, power_of_two
from toledo.compiled.kernels import inner_kernel, kernel
from toledo.compiled.random import next_uniform
from toledo.search.chain import MERGE_SPLIT, MOVE, REORDER, RESEGMENT, RETRANS, Chain, Sentence, total_score
from toledo.search.chain_operators import merge_split, move, reorder, retrans
from toledo.search.chain_resegment import SegmentCandidates, resegment, spread_candidates
from toledo.search.options import NONE

NOTHING_KEPT = -1


class Plan(NamedTuple):
    """The sharpness (scale / temperature) of each iteration, and for which chain its derivation is kept, if any."""

    sharpness: NDArray[np.float64]
    chain: NDArray[np.int32]
    chains: int
    samples: int
    operators: NDArray[np.bool_]


class Visits(NamedTuple):
    """Distinct derivations `options[offsets[d]:offsets[d + 1]]`; `visited[c, t]` is what chain c saw in sample t."""

    offsets: NDArray[np.int64]
    options: NDArray[np.int32]
    visited: NDArray[np.int32]
    scores: NDArray[np.float64]


@inner_kernel
def sweep(
    sentence: Sentence, chain: Chain, candidates: SegmentCandidates, operators: NDArray[np.bool_], sharpness: float
) -> None:
    """One iteration: each operator once over the sentence.

    Where an operator goes does not depend on what it draws on the way, so each leaves the distribution invariant.
    """
    length = chain.place.size
    if operators[RETRANS]:
        for place in range(1, chain.size[0] + 1):
            retrans(sentence, chain, place, sharpness)
    if operators[MERGE_SPLIT]:
        for middle in range(1, length):
            merge_split(sentence, chain, middle, sharpness)
    if operators[REORDER]:
        for i in range(1, chain.size[0]):
            for j in range(i + 1, chain.size[0] + 1):
                reorder(sentence, chain, i, j, sharpness)
    if operators[MOVE]:
        for s in range(length):
            if sentence.options.begin[chain.chosen[chain.place[s]]] == s:
                move(sentence, chain, chain.place[s], sharpness)
    if operators[RESEGMENT]:
        place = int(np.int64(1))  # not a literal, for which all would be compiled once more
        while place <= chain.size[0]:
            place = resegment(sentence, chain, candidates, place, sharpness)


@kernel
def random_derivation(sentence: Sentence, chain: Chain) -> NDArray[np.int32]:
    """Options in source order that have nothing to do with the scores."""
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


@kernel
def run(sentence: Sentence, chain: Chain, candidates: SegmentCandidates, plan: Plan) -> Visits:
    """Run all chains one after the other, each from where the last one ended."""
    visited, kept = np.empty((plan.chains, plan.samples), np.int32), np.zeros(plan.chains, np.int64)
    offsets, scores, count = np.zeros(visited.size + 1, np.int64), np.empty(visited.size), 0
    options, slots = np.empty(1024, np.int32), np.full(power_of_two(2 * visited.size + 2), NONE, np.int32)
    for t in range(plan.sharpness.size):
        if t == 0 or plan.sharpness[t] != plan.sharpness[t - 1]:
            spread_candidates(sentence.options, candidates, plan.sharpness[t])
        sweep(sentence, chain, candidates, plan.operators, plan.sharpness[t])
        c = plan.chain[t]
        if c == NOTHING_KEPT:
            continue
        slot = _slot_of(chain, offsets, options, slots)
        if slots[slot] == NONE:
            slots[slot] = count
            scores[count] = total_score(sentence, chain)
            size = chain.size[0]
            offsets[count + 1] = offsets[count] + size
            options = grown(options, offsets[count + 1])
            for i in range(size):
                options[offsets[count] + i] = chain.chosen[1 + i]
            count += 1
        visited[c, kept[c]] = slots[slot]
        kept[c] += 1
    return Visits(offsets[: count + 1], options[: offsets[count]], visited, scores[:count])


@inner_kernel
def _slot_of(chain: Chain, offsets: NDArray[np.int64], options: NDArray[np.int32], slots: NDArray[np.int32]) -> int:
    """The slot of the derivation that is equal to the state, or the empty one where it goes."""
    size, mixed = chain.size[0], np.uint64(0)
    for i in range(1, size + 1):
        mixed = (mixed ^ np.uint64(chain.chosen[i] + 1)) * MULTIPLIER
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64(mixed & np.uint64(slots.size - 1))
    while slots[slot] != NONE:
        first = offsets[slots[slot]]
        same = offsets[slots[slot] + 1] - first == size
        if same:
            for i in range(size):
                if options[first + i] != chain.chosen[1 + i]:
                    same = False
                    break
        if same:
            break
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)
