"""Gibbs sampling of phrase-based derivations (Arun et al. 2009; Arun, Haddow and Koehn 2010).

    search = GibbsSearch(model, GibbsSettings(iterations=5000))
    (samples,) = search.samples(["das haus ist klein".split()])

A chain holds one derivation. Each iteration lets every operator pass over the sentence; each draw is from the exact
conditional distribution, so the derivations after many iterations are samples of p(e, a | f) ∝ exp(scale · θ·h), with
nothing pruned but the options of the phrase table. What comes out is a list with counts, on which every decision rule
and objective works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.forest import Forest
from toledo.kernels import map_chunks
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.randomness import random_state, text_seed
from toledo.search.beam.arrays import NONE, Lattice, Limits
from toledo.search.beam.lattice import SearchResult, Translation
from toledo.search.beam.options import SentenceOptions, future_scores
from toledo.search.beam.stacks import search_sentence
from toledo.search.beam.weighted import WeightedModel, weigh
from toledo.search.distortion import WINDOW
from toledo.search.gibbs.diagnostics import Diagnostics, diagnose
from toledo.search.gibbs.phrase_scores import room_for_answers
from toledo.search.gibbs.resegmenting import room_for_candidates
from toledo.search.gibbs.running import random_derivation, run
from toledo.search.gibbs.samples import Samples, collect
from toledo.search.gibbs.settings import GibbsSettings
from toledo.search.gibbs.state import OPERATORS, Sentence, room_for_chain, set_derivation

__all__ = ["OPERATORS", "Diagnostics", "GibbsSearch", "GibbsSettings", "Samples", "diagnose", "result_of"]

START_POPS = 50

Result = TypeVar("Result")


class GibbsSearch:
    """A sampler with one model and its weights. The same sentence gets the same samples, wherever it stands."""

    def __init__(self, model: Model, settings: GibbsSettings = GibbsSettings()) -> None:  # noqa: B008 (frozen)
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
    limits = Limits(pops, weighted.longest_jump)
    lattice: Lattice = search_sentence(options, future_scores(options, WINDOW), weighted.scoring, limits)
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
