"""Search with a phrasal inversion transduction grammar (Wu 1997; the model of Pauls, DeNero and Klein 2009).

Two spans side by side are joined in the same order (monotone) or the other way round (inverted); the smallest spans are
phrase pairs of the table. The space without a language model is small, and is made in full. Splitting its nodes by
boundary words with a beam then brings in the language model: `toledo.forest.rescore`, the same code that localises
n-grams. So every n-gram up to `order` is complete at one edge of the forest that comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest import Forest, NGramForest, rescore, viterbi
from toledo.kernels import map_chunks
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.search.beam.lattice import SearchResult, Translation
from toledo.search.beam.options import PreparedTable
from toledo.search.beam.weighted import weigh
from toledo.search.itg.grammar import ITG_FEATURES, grammar_forest, itg_features, itg_weights
from toledo.search.steps import NO_PHRASE, steps_of

__all__ = ["ITG_FEATURES", "ITGSearch", "ITGSettings", "itg_weights"]

Result = TypeVar("Result")


@dataclass(frozen=True)
class ITGSettings:
    """How hard to search: edges kept for each span and way to make it; the longest span that may be turned round.

    `order` is that of the n-grams which must be local, 4 for BLEU. Longer spans are joined from the left in order, so
    that time does not explode with long sentences. It grows faster than they do: 3.7 to 4.9 ms were measured for each
    word of 40 at a beam of 100, and 6.3 to 7.1 for each of 100.
    """

    beam: int = 100
    order: int = 4
    longest_span: int = 20

    def __post_init__(self) -> None:
        if min(self.beam, self.order, self.longest_span) < 1:
            raise ValueError("beam, order and longest span must be at least 1")


class ITGSearch:
    """An ITG search with one model and its weights; `itg_weights` gives those of joins if the model has none."""

    def __init__(self, model: Model, settings: ITGSettings = ITGSettings()) -> None:
        if len(model.language_models) != 1:
            raise InputError(
                f"ITG search needs one language model, and the model has {len(model.language_models)}",
                remedy="interpolate them: toledo lm interpolate",
            )
        self.model = model.with_weights(itg_weights(model))
        self.weights = self.model.weights
        self.settings = settings
        self.feature_names = itg_features(model)
        self._weighted = weigh(model)

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """For each sentence a forest of all translations that the search kept."""
        return self._run(sentences, threads, progress, lambda found: found.forest)

    def local_forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[NGramForest]:
        """The same forests, whose edges know the n-grams that they complete."""
        return self._run(sentences, threads, progress, lambda found: found)

    def results(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """For each sentence its best translation, its forest, and how much work it was."""
        return self._run(sentences, threads, progress, lambda found: self._result(found.forest))

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """The best translation of each sentence."""
        return self._run(sentences, threads, progress, lambda found: self._best(found.forest))

    def _result(self, forest: Forest) -> SearchResult:
        phrases = np.empty(0) if forest.provenance is None else forest.provenance[forest.provenance != NO_PHRASE]
        options = np.unique(phrases).size
        return SearchResult(self._best(forest), forest, options, forest.edges, forest.nodes)

    def _best(self, forest: Forest) -> Translation:
        (best,) = viterbi(forest, forest.scores(self.weights, threads=1))
        return Translation((), -np.inf) if best is None else Translation(steps_of(best), best.score)

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        threads: int | None,
        progress: Progress,
        finish: Callable[[NGramForest], Result],
    ) -> list[Result]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        encoded = [self._weighted.encode(words) for words in sentences]
        table = self._weighted.prepare([source for source, _ in encoded])

        def work(first: int, last: int) -> list[Result]:
            return [finish(self._search(self._grammar(table, *encoded[i]))) for i in range(first, last)]

        parts = map_chunks(work, len(encoded), chunk=1, threads=threads, progress=progress, label="translating")
        return [result for part in parts for result in part]

    def _grammar(self, table: PreparedTable, source: NDArray[np.int32], copies: NDArray[np.int32]) -> Forest:
        options = self._weighted.options(table, source, copies)
        return grammar_forest(self.model, options, self.settings.longest_span)

    def _search(self, grammar: Forest) -> NGramForest:
        name = self.model.feature_names[0]
        return rescore(
            grammar,
            grammar.scores(self.weights, threads=1),
            self.settings.order,
            self.model.language_models[0],
            name,
            self.weights[name],
            beam=self.settings.beam,
            threads=1,
        )
