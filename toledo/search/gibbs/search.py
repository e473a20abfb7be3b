"""Gibbs sampling of phrase-based derivations (Arun et al. 2009; Arun, Haddow and Koehn 2010).

    search = GibbsSearch(model, Gibbs(iterations=5000))
    (samples,) = search.samples(["das haus ist klein".split()])

A chain holds one derivation. Each iteration lets every operator pass over the sentence; each draw is from the exact
conditional distribution, so the derivations after many iterations are samples of p(e, a | f) ∝ exp(scale · θ·h), with
nothing pruned but the options of the phrase table. The result is a list with counts, on which every decision rule and
objective works. Most operators are in `toledo.search.chain_operators`; RESEGMENT is here.

RESEGMENT draws other phrases for a whole run of phrases that follow each other in source and target. MERGE-SPLIT never
gets from three phrases to one if no two of them can be merged, nor from [ab][cd] to [a][bc][d]; here any segmentation
of a run can follow any other. To weigh all segmentations with all options would take too long, so each source span gets
one *candidate* option at random: that in use if the span is in use, otherwise one drawn with probability ρ. The
segmentation is then drawn among those made of candidates, in proportion to

    p(derivation) / Π ρ(options used)

by summing forward and drawing backward, exactly. This leaves p invariant (with one candidate per span, the embedded
hidden Markov model of Neal 2003): candidates C and derivation x have the joint probability p(x) Π_{spans not in x}
ρ(C) = Π_{all spans} ρ(C) · p(x) / Π_{spans in x} ρ(x), and the move draws x given C. Both ends of a run stay where they
are, so the distortion rule does not restrict it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import hash_row, same_rows
from toledo.compiled.heap import grown, power_of_two
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.compiled.random import RandomState, next_uniform, random_state, text_seed
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.beam.search import beam_lattice, best_options
from toledo.search.chain import (
    MERGE_SPLIT,
    MOVE,
    MOVED,
    OPEN,
    REORDER,
    RESEGMENT,
    RETRANS,
    Chain,
    Sentence,
    junction,
    orientation_score,
    random_derivation,
    replace_phrases,
    ripple,
    room_for_chain,
    set_derivation,
    step,
    total_score,
    trial_row,
)
from toledo.search.chain_operators import Proposal, regroup, reorder, reposition, retranslate
from toledo.search.gibbs.samples import Samples, Visits
from toledo.search.options import MONOTONE, NONE, SentenceOptions
from toledo.search.search import Search, SearchResult, Sentences, Translation
from toledo.search.settings import OPERATORS, Gibbs

NODES_PER_WORD, EDGES_PER_WORD = 64, 512
TINY = 1e-290  # sums below it have lost digits, or are 0


class SegmentCandidates(NamedTuple):
    """`log_share` and `running` have log ρ of each option, and ρ summed up to it within its span; `option` is drawn.

    A node is a source position with the states of the models before it, in `rows`; those of position p are
    `first[p]:first[p + 1]`. An edge leads from node `tail` to node `head` by an option; those that lead to position p
    are `first_edge[p]:first_edge[p + 1]`. `inside` and `weight` are logarithms of sums over all ways from the start.
    """

    log_share: NDArray[np.float64]
    running: NDArray[np.float64]
    option: NDArray[np.int32]
    first: NDArray[np.int32]
    rows: NDArray[np.int32]
    inside: NDArray[np.float64]
    first_edge: NDArray[np.int32]
    head: NDArray[np.int32]
    tail: NDArray[np.int32]
    used: NDArray[np.int32]
    weight: NDArray[np.float64]


@kernel
def room_for_candidates(options: SentenceOptions, models: int) -> SegmentCandidates:
    """Return candidates of no span; `spread_candidates` sets how likely each option is."""
    length, longest = options.first.shape
    size, nodes, edges = options.begin.size, NODES_PER_WORD * (length + 1), EDGES_PER_WORD * (length + 1)
    return SegmentCandidates(
        np.zeros(size), np.zeros(size), np.full((length, longest), NONE, np.int32), np.zeros(length + 2, np.int32),
        np.zeros((nodes, models), np.int32), np.zeros(nodes), np.zeros(length + 2, np.int32),
        np.zeros(edges, np.int32), np.zeros(edges, np.int32), np.zeros(edges, np.int32), np.zeros(edges + nodes),
    )  # fmt: skip


@inner_kernel
def spread_candidates(options: SentenceOptions, candidates: SegmentCandidates, sharpness: float) -> None:
    """Set ρ ∝ exp(sharpness · the estimate of beam search): what an option scores without its neighbors."""
    for b in range(options.first.shape[0]):
        for n in range(options.first.shape[1]):
            first, stop, total = options.first[b, n], options.stop[b, n], 0.0
            for option in range(first, stop):
                total += math.exp(sharpness * (options.estimate[option] - options.estimate[first]))  # best first
                candidates.running[option] = total
            for option in range(first, stop):
                share = sharpness * (options.estimate[option] - options.estimate[first])
                candidates.log_share[option] = share - math.log(total)
                candidates.running[option] /= total


@inner_kernel
def draw_candidates(
    sentence: Sentence, candidates: SegmentCandidates, begin: int, end: int, random: RandomState
) -> None:
    """Draw a candidate for each span of a run."""
    options = sentence.options
    for b in range(begin, end):
        for n in range(min(sentence.longest, end - b)):
            first, stop = options.first[b, n], options.stop[b, n]
            chosen = NONE
            if stop > first:
                chosen = first
                if stop > first + 1:
                    uniform = next_uniform(random)
                    while chosen + 1 < stop and uniform >= candidates.running[chosen]:
                        chosen += 1
            candidates.option[b, n] = chosen


@inner_kernel
def sum_forward(
    sentence: Sentence, chain: Chain, candidates: SegmentCandidates, place: int, stop: int, sharpness: float
) -> bool:
    """Sum over all segmentations of the run at the places from `place` up to `stop`; return False if too many."""
    options, scoring, found, trial = sentence.options, sentence.scoring, candidates, trial_row(chain)
    before, after = chain.chosen[place - 1], chain.chosen[stop]
    begin, end = options.begin[chain.chosen[place]], options.end[chain.chosen[stop - 1]]
    for m in range(found.rows.shape[1]):
        found.rows[0, m] = chain.rows[place - 1, m]
    found.first[begin], found.first[begin + 1], found.inside[0], found.first_edge[begin + 1] = 0, 1, 0.0, 0
    nodes, edges = int(np.int64(1)), 0
    for p in range(begin + 1, end + 1):
        for b in range(max(begin, p - sentence.longest), p):
            option = found.option[b, p - b - 1]
            if option == NONE:
                continue
            own = options.static[option]
            own += junction(sentence, before, option) if b == begin else orientation_score(sentence, option, MONOTONE)
            own += junction(sentence, option, after) if p == end else orientation_score(sentence, option, 3 + MONOTONE)
            for tail in range(found.first[b], found.first[b + 1]):
                if nodes == found.inside.size or edges == found.head.size:
                    return False
                for m in range(found.rows.shape[1]):
                    chain.rows[trial, m] = found.rows[tail, m]
                score = own + step(options, scoring, chain.known, chain.rows, trial, option, trial)
                node = _node_with_states(found, chain.rows, trial, found.first[p], nodes)
                nodes = max(nodes, node + 1)
                found.head[edges], found.tail[edges], found.used[edges] = node, tail, option
                found.weight[edges] = found.inside[tail] + sharpness * score - found.log_share[option]
                edges += 1
        found.first[p + 1], found.first_edge[p + 1] = nodes, edges
        _sum_edges(found, p)
    return True


@inner_kernel
def _node_with_states(found: SegmentCandidates, rows: NDArray[np.int32], row: int, first: int, stop: int) -> int:
    """Return the node of a position with the states of a row, a new one if there is none."""
    for node in range(first, stop):
        same = True
        for m in range(rows.shape[1]):
            same = same and found.rows[node, m] == rows[row, m]
        if same:
            return node
    for m in range(rows.shape[1]):
        found.rows[stop, m] = rows[row, m]
    return stop


@inner_kernel
def _sum_edges(found: SegmentCandidates, p: int) -> None:
    """Compute the logarithm of the sum over all edges that lead to each node of a position."""
    highest = -math.inf
    for edge in range(found.first_edge[p], found.first_edge[p + 1]):
        highest = max(highest, found.weight[edge])
    for node in range(found.first[p], found.first[p + 1]):
        found.inside[node] = 0.0
    for edge in range(found.first_edge[p], found.first_edge[p + 1]):
        found.inside[found.head[edge]] += math.exp(found.weight[edge] - highest)
    for node in range(found.first[p], found.first[p + 1]):
        if found.inside[node] > TINY:
            found.inside[node] = highest + math.log(found.inside[node])
        else:
            found.inside[node] = _sum_far_below(found, p, node)


@inner_kernel
def _sum_far_below(found: SegmentCandidates, p: int, node: int) -> float:
    """Return the same for a node of a sharp model, too far below the best of its position for the common sum."""
    highest, total = -math.inf, 0.0
    for edge in range(found.first_edge[p], found.first_edge[p + 1]):
        if found.head[edge] == node:
            highest = max(highest, found.weight[edge])
    if highest == -math.inf:
        return highest
    for edge in range(found.first_edge[p], found.first_edge[p + 1]):
        if found.head[edge] == node:
            total += math.exp(found.weight[edge] - highest)
    return highest + math.log(total)


@inner_kernel
def draw_backward(sentence: Sentence, chain: Chain, candidates: SegmentCandidates, stop: int, sharpness: float) -> int:
    """Draw a segmentation of the run that ends before the place `stop` into `chain.new`; return its number of phrases.

    The phrases stand there in reverse order.
    """
    found, options, trial = candidates, sentence.options, trial_row(chain)
    p = options.end[chain.chosen[stop - 1]]
    first, count = found.first[p], found.first[p + 1] - found.first[p]
    for k in range(count):
        for m in range(found.rows.shape[1]):
            chain.rows[trial, m] = found.rows[first + k, m]
        found.weight[found.first_edge[p + 1] + k] = found.inside[first + k] + sharpness * ripple(
            sentence, chain, trial, stop, trial + 1
        )
    node = first + _draw_from(found.weight, found.first_edge[p + 1], count, chain)
    size = 0
    while node != 0:
        count = 0
        for edge in range(found.first_edge[p], found.first_edge[p + 1]):
            if found.head[edge] == node:
                found.weight[found.first_edge[p] + count] = found.weight[edge]
                found.head[found.first_edge[p] + count] = edge  # those before were read already
                count += 1
        edge = found.head[found.first_edge[p] + _draw_from(found.weight, found.first_edge[p], count, chain)]
        chain.new[size] = found.used[edge]
        size += 1
        node, p = found.tail[edge], options.begin[found.used[edge]]
    return size


@inner_kernel
def _draw_from(logarithms: NDArray[np.float64], first: int, count: int, chain: Chain) -> int:
    """Draw one of several possibilities by the logarithms of their weights."""
    highest, total = -math.inf, 0.0
    for k in range(first, first + count):
        highest = max(highest, logarithms[k])
    for k in range(first, first + count):
        logarithms[k] = math.exp(logarithms[k] - highest)
        total += logarithms[k]
    rest, chosen = next_uniform(chain.random) * total, 0
    for k in range(count):
        if logarithms[first + k] > 0.0:
            chosen = k
            rest -= logarithms[first + k]
            if rest < 0.0:
                break
    return chosen


@inner_kernel
def resegment(sentence: Sentence, chain: Chain, candidates: SegmentCandidates, place: int, sharpness: float) -> int:
    """Draw the phrases of the run that begins at a place; return the place after it."""
    options, chosen, stop = sentence.options, chain.chosen, place + 1
    while stop <= chain.size[0] and options.begin[chosen[stop]] == options.end[chosen[stop - 1]]:
        stop += 1
    begin, end = options.begin[chosen[place]], options.end[chosen[stop - 1]]
    draw_candidates(sentence, candidates, begin, end, chain.random)
    for i in range(place, stop):
        b = options.begin[chosen[i]]
        candidates.option[b, options.end[chosen[i]] - b - 1] = chosen[i]
    if not sum_forward(sentence, chain, candidates, place, stop, sharpness):
        return stop
    size = draw_backward(sentence, chain, candidates, stop, sharpness)
    changed = size != stop - place
    for k in range(size // 2):
        chain.new[k], chain.new[size - 1 - k] = chain.new[size - 1 - k], chain.new[k]
    for k in range(size):
        changed = changed or chain.new[k] != chosen[place + k]
    chain.tally[RESEGMENT, OPEN] += 1
    if changed:
        chain.tally[RESEGMENT, MOVED] += 1
        replace_phrases(sentence, chain, place, stop - place, size)
    return place + size


RANDOM_SWEEPS = 10  # without any sharpness, after a random start
SHARPNESS = 4.0  # scale × norm of the weights: docs/sampling.md
START_POPS = 50
NOTHING_KEPT = -1


class ChainPlan(NamedTuple):
    """The sharpness (scale / temperature) of each iteration, and for which chain its derivation is kept, if any."""

    sharpness: NDArray[np.float64]
    chain: NDArray[np.int32]
    chains: int
    samples: int
    operators: NDArray[np.bool_]


class GibbsSearch(Search[Samples]):
    """A sampler with one model and its weights. The same sentence gets the same samples, wherever it stands."""

    label = "sampling"

    def __init__(self, model: PhraseModel, settings: Gibbs = Gibbs(), seed: int = 1) -> None:
        super().__init__(model, seed)
        self.settings = settings

    @property
    def scale(self) -> float:
        """Return the factor of model scores."""
        return default_scale(self.model) if self.settings.scale is None else self.settings.scale

    def samples(self, sentences: Sentences, threads: int | None = None, progress: Progress = silent) -> list[Samples]:
        """Return all samples of each sentence."""
        return self._run(sentences, threads, progress, lambda found: found)

    def _search(self, options: SentenceOptions, words: Sequence[str]) -> Samples:
        sentence = self._weighted.sentence(options)
        candidates = room_for_candidates(options, len(self.model.language_models))
        chain = room_for_chain(sentence, random_state(text_seed(self.seed, words)))
        if self.settings.start == "beam":
            start = best_options(beam_lattice(self._weighted, options, START_POPS))
        else:
            start = random_derivation(sentence, chain)
        set_derivation(sentence, chain, start)
        visits = run(sentence, chain, candidates, plan_chains(self.settings, self.scale))
        return Samples.from_visits(self.model, sentence, self.scale, visits, chain)

    def _translation(self, found: Samples) -> Translation:
        return found.translation(found.best)

    def _forest(self, found: Samples) -> Forest:
        return found.forest

    def _result(self, found: Samples) -> SearchResult:
        """Return the best derivation and the forest; the work is the number of draws and of distinct derivations."""
        draws = int(found.tally[:, 0].sum())
        return SearchResult(self._translation(found), found.forest, found.options.begin.size, draws, len(found))


def default_scale(model: PhraseModel) -> float:
    """Return the scale for weights of any norm: twice the weights at half the scale are the same distribution."""
    norm = model.weights.norm(model.feature_names)
    return float(f"{SHARPNESS / norm:.3g}") if norm else SHARPNESS


def plan_chains(settings: Gibbs, scale: float) -> ChainPlan:
    """Return what to do in each iteration, for compiled code."""
    samples = settings.iterations // settings.thinning
    heat, reheat = ([scale / one for one in some] for some in (settings.annealing, settings.reheating))
    sharpness = [0.0] * (RANDOM_SWEEPS if settings.start == "random" else 0)
    chain: list[int] = []
    for number in range(settings.chains):
        sharpness += [*(reheat if number else heat), *[scale] * (settings.burn_in + settings.thinning * samples)]
        chain += [NOTHING_KEPT] * (len(sharpness) - len(chain) - settings.thinning * samples)
        chain += ([NOTHING_KEPT] * (settings.thinning - 1) + [number]) * samples
    operators = np.array([name in settings.operators for name in OPERATORS])
    return ChainPlan(np.array(sharpness), np.array(chain, np.int32), settings.chains, samples, operators)


@inner_kernel
def sweep(
    sentence: Sentence, chain: Chain, candidates: SegmentCandidates, operators: NDArray[np.bool_], sharpness: float
) -> None:
    """Run one iteration: each operator once over the sentence.

    Where an operator goes does not depend on what it draws on the way, so each leaves the distribution invariant.
    """
    options, length = sentence.options, chain.place.size
    if operators[RETRANS]:
        for place in range(1, chain.size[0] + 1):
            begin, end = options.begin[chain.chosen[place]], options.end[chain.chosen[place]]
            if options.stop[begin, end - begin - 1] > options.first[begin, end - begin - 1] + 1:
                _make(sentence, chain, RETRANS, retranslate(sentence, chain, place, sharpness))
    if operators[MERGE_SPLIT]:
        for middle in range(1, length):
            _make(sentence, chain, MERGE_SPLIT, regroup(sentence, chain, middle, sharpness))
    if operators[REORDER]:
        for i in range(1, chain.size[0]):
            for j in range(i + 1, chain.size[0] + 1):
                reorder(sentence, chain, i, j, sharpness)
    if operators[MOVE]:
        for s in range(length):
            if options.begin[chain.chosen[chain.place[s]]] == s:
                _make(sentence, chain, MOVE, reposition(sentence, chain, chain.place[s], sharpness))
    if operators[RESEGMENT]:
        place = int(np.int64(1))  # not a literal, for which all would be compiled once more
        while place <= chain.size[0]:
            place = resegment(sentence, chain, candidates, place, sharpness)


@inlined
def _make(sentence: Sentence, chain: Chain, operator: int, proposal: Proposal) -> None:
    """Make the change that an operator has drawn."""
    first, old, new, _ = proposal
    if old:
        chain.tally[operator, OPEN] += 1
    if new:
        chain.tally[operator, MOVED] += 1
        replace_phrases(sentence, chain, first, old, new)


@kernel
def run(sentence: Sentence, chain: Chain, candidates: SegmentCandidates, plan: ChainPlan) -> Visits:
    """Run all chains one after the other, each from where the last ended."""
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
    """Return the slot of the derivation that is equal to the state, or the empty slot for it."""
    size = chain.size[0]
    slot = np.int64(hash_row(chain.chosen, 1, size + 1) & np.uint64(slots.size - 1))
    while slots[slot] != NONE:
        first, end = offsets[slots[slot]], offsets[slots[slot] + 1]
        if end - first == size and same_rows(options, first, chain.chosen, 1, size):
            break
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)
