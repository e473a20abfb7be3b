"""Gibbs sampling of phrase-based derivations (Arun et al. 2009; Arun, Haddow and Koehn 2010).

    search = GibbsSearch(model, GibbsSettings(iterations=5000))
    (samples,) = search.samples(["das haus ist klein".split()])

A chain holds one derivation. Each iteration lets every operator pass over the sentence; each draw is from the exact
conditional distribution, so the derivations after many iterations are samples of p(e, a | f) ∝ exp(scale · θ·h), with
nothing pruned but the options of the phrase table. What comes out is a list with counts, on which every decision rule
and objective works.

How to sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.random import random_state, text_seed
from toledo.forest.forest import Forest
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.search.beam.cubes import BeamLimits, SearchLattice
from toledo.search.beam.search import SearchResult, Translation
from toledo.search.beam.stacks import search_sentence
from toledo.search.chain import OPERATORS, Sentence, room_for_chain, set_derivation
from toledo.search.chain_resegment import room_for_candidates
from toledo.search.gibbs.diagnostics import Diagnostics, diagnose
from toledo.search.gibbs.running import NOTHING_KEPT, Plan, random_derivation, run
from toledo.search.gibbs.samples import Samples, collect
from toledo.search.options import NONE, WINDOW, SentenceOptions, future_scores
from toledo.search.phrase_scores import room_for_answers
from toledo.search.weighted_model import WeightedModel, weigh

STARTS = ("beam", "random")
RANDOM_SWEEPS = 10  # without any sharpness, after a random start
REHEATING = (2.0, 4.0, 6.0, 8.0, 10.0, 8.0, 6.0, 4.0, 2.0)


@dataclass(frozen=True)
class GibbsSettings:
    """Samples are kept from `chains` runs of so many `iterations`, every `thinning`-th, after a `burn_in` each.

    p(derivation) ∝ exp(scale · score). Temperatures divide the scale: `annealing` has those of iterations before the
    first chain, `reheating` those between chains, which start where the last one ended; nothing is kept of them. The
    first chain starts with what a beam search finds, or at random. Without all `operators` a chain may not reach all
    derivations.
    """

    iterations: int = 1000
    chains: int = 2
    burn_in: int = 100
    thinning: int = 1
    scale: float = 1.0
    annealing: tuple[float, ...] = ()
    reheating: tuple[float, ...] = REHEATING
    start: str = "beam"
    seed: int = 1
    operators: tuple[str, ...] = OPERATORS

    def __post_init__(self) -> None:
        if min(self.iterations, self.chains, self.thinning) < 1 or self.burn_in < 0:
            raise ValueError("a sampler needs at least one chain, iteration and step, and no negative burn-in")
        if self.thinning > self.iterations:
            raise ValueError(f"of {self.iterations} iterations none is kept with a thinning of {self.thinning}")
        if not 0.0 < self.scale < np.inf:
            raise ValueError(f"a scale is a positive number, not {self.scale}")
        if not all(0.0 < temperature < np.inf for temperature in (*self.annealing, *self.reheating)):
            raise ValueError("temperatures are positive numbers")
        if self.start not in STARTS:
            raise ValueError(f"no start {self.start!r}: choose from {', '.join(STARTS)}")
        if unknown := set(self.operators) - set(OPERATORS):
            raise ValueError(f"no operator {min(unknown)!r}: choose from {', '.join(OPERATORS)}")

    def plan(self) -> Plan:
        """What to do in each iteration, for compiled code."""
        samples = self.iterations // self.thinning
        heat = [self.scale / temperature for temperature in self.annealing]
        reheat = [self.scale / temperature for temperature in self.reheating]
        sharpness = [0.0] * (RANDOM_SWEEPS if self.start == "random" else 0)
        chain: list[int] = []
        for number in range(self.chains):
            sharpness += [*(reheat if number else heat), *[self.scale] * (self.burn_in + self.thinning * samples)]
            chain += [NOTHING_KEPT] * (len(sharpness) - len(chain) - self.thinning * samples)
            chain += ([NOTHING_KEPT] * (self.thinning - 1) + [number]) * samples
        operators = np.array([name in self.operators for name in OPERATORS])
        return Plan(np.array(sharpness), np.array(chain, np.int32), self.chains, samples, operators)


__all__ = ["OPERATORS", "Diagnostics", "GibbsSearch", "GibbsSettings", "Samples", "diagnose", "result_of"]

START_POPS = 50

Result = TypeVar("Result")


class GibbsSearch:
    """A sampler with one model and its weights. The same sentence gets the same samples, wherever it stands."""

    def __init__(self, model: Model, settings: GibbsSettings = GibbsSettings()) -> None:
        self.model, self.settings = model, settings
        self._weighted = weigh(model)

    def samples(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Samples]:
        """All that was found for each sentence."""
        return self._run(sentences, threads, progress, lambda found: found)

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """For each sentence its distinct derivations with their counts: see `Samples.forest`."""
        return self._run(sentences, threads, progress, lambda found: found.forest)

    def results(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """For each sentence the sampled derivation with the best model score, and the forest of all."""
        return self._run(sentences, threads, progress, result_of)

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """For each sentence the sampled derivation with the best model score."""
        return self._run(sentences, threads, progress, lambda found: found.translation(found.best))

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        threads: int | None,
        progress: Progress,
        finish: Callable[[Samples], Result],
    ) -> list[Result]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        encoded = [self._weighted.encode(words) for words in sentences]
        table = self._weighted.prepare([source for source, _ in encoded])

        def work(first: int, last: int) -> list[Result]:
            found = []
            for i in range(first, last):
                options = self._weighted.options(table, *encoded[i])
                found.append(finish(self._sample(options, text_seed(self.settings.seed, sentences[i]))))
            return found

        parts = map_chunks(work, len(encoded), chunk=1, threads=threads, progress=progress, label="sampling")
        return [result for part in parts for result in part]

    def _sample(self, options: SentenceOptions, seed: int) -> Samples:
        weighted, plan, models = self._weighted, self.settings.plan(), len(self.model.language_models)
        sentence = sentence_of(weighted, options)
        candidates, known = room_for_candidates(options, models), room_for_answers(options, models)
        chain = room_for_chain(sentence, known, random_state(seed))
        beam = self.settings.start == "beam"
        start = beam_derivation(weighted, options, START_POPS) if beam else random_derivation(sentence, chain)
        set_derivation(sentence, chain, start)
        visits = run(sentence, chain, candidates, plan)
        return collect(self.model, sentence, self.settings.scale, visits, chain.tally, int(known.missed[0]))


def sentence_of(weighted: WeightedModel, options: SentenceOptions) -> Sentence:
    """A sentence as chains see it."""
    return Sentence(options, weighted.scoring, weighted.longest_jump, min(options.first.shape[1], WINDOW))


def beam_derivation(weighted: WeightedModel, options: SentenceOptions, pops: int) -> NDArray[np.int32]:
    """The options of the best derivation that a beam search finds."""
    limits = BeamLimits(pops, weighted.longest_jump)
    lattice: SearchLattice = search_sentence(options, future_scores(options, WINDOW), weighted.scoring, limits)
    found, edge = [], int(lattice.best_edge[lattice.nodes - 1])
    while edge != NONE:
        if lattice.edges.options[edge] != NONE:
            found.append(int(lattice.edges.options[edge]))
        edge = int(lattice.best_edge[lattice.edges.tails[edge]])
    return np.array(found[::-1], np.int32)


def result_of(found: Samples) -> SearchResult:
    """The best derivation and the forest; the work done is the number of draws and of distinct derivations."""
    draws = int(found.tally[:, 0].sum())
    return SearchResult(found.translation(found.best), found.forest, found.options.begin.size, draws, len(found))
