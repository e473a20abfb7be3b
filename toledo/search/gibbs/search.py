"""Gibbs sampling of phrase-based derivations (Arun et al. 2009; Arun, Haddow and Koehn 2010).

    search = GibbsSearch(model, Gibbs(iterations=5000))
    (samples,) = search.samples(["das haus ist klein".split()])

A chain holds one derivation. Each iteration lets every operator pass over the sentence; each draw is from the exact
conditional distribution, so the derivations after many iterations are samples of p(e, a | f) ∝ exp(scale · θ·h), with
nothing pruned but the options of the phrase table. What comes out is a list with counts, on which every decision rule
and objective works.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import hash_row, same_rows
from toledo.compiled.heap import grown, power_of_two
from toledo.compiled.kernels import inner_kernel, kernel
from toledo.compiled.random import random_state, text_seed
from toledo.forest.forest import Forest
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.beam.search import beam_lattice, best_options
from toledo.search.chain import (
    MERGE_SPLIT,
    MOVE,
    REORDER,
    RESEGMENT,
    RETRANS,
    Chain,
    Sentence,
    random_derivation,
    room_for_chain,
    set_derivation,
    total_score,
)
from toledo.search.chain_operators import merge_split, move, reorder, retrans
from toledo.search.chain_resegment import SegmentCandidates, resegment, room_for_candidates, spread_candidates
from toledo.search.gibbs.samples import Samples, Visits, collect
from toledo.search.options import NONE, SentenceOptions
from toledo.search.phrase_scores import room_for_answers
from toledo.search.search import Search, SearchResult, Sentences, Translation
from toledo.search.settings import OPERATORS, Gibbs

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
        """The factor of model scores."""
        return default_scale(self.model) if self.settings.scale is None else self.settings.scale

    def samples(self, sentences: Sentences, threads: int | None = None, progress: Progress = silent) -> list[Samples]:
        """Return all samples of each sentence."""
        return self._run(sentences, threads, progress, lambda found: found)

    def _search(self, options: SentenceOptions, words: Sequence[str]) -> Samples:
        sentence, models = self._weighted.sentence(options), len(self.model.language_models)
        candidates, known = room_for_candidates(options, models), room_for_answers(options, models)
        chain = room_for_chain(sentence, known, random_state(text_seed(self.seed, words)))
        if self.settings.start == "beam":
            start = best_options(beam_lattice(self._weighted, options, START_POPS))
        else:
            start = random_derivation(sentence, chain)
        set_derivation(sentence, chain, start)
        visits = run(sentence, chain, candidates, plan_chains(self.settings, self.scale))
        return collect(self.model, sentence, self.scale, visits, chain.tally, int(known.missed[0]))

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
def run(sentence: Sentence, chain: Chain, candidates: SegmentCandidates, plan: ChainPlan) -> Visits:
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
    size = chain.size[0]
    slot = np.int64(hash_row(chain.chosen, 1, size + 1) & np.uint64(slots.size - 1))
    while slots[slot] != NONE:
        first, end = offsets[slots[slot]], offsets[slots[slot] + 1]
        if end - first == size and same_rows(options, first, chain.chosen, 1, size):
            break
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)
