"""Phrase-based beam search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.forest import Forest
from toledo.kernels import map_chunks
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.search.beam.arrays import Lattice, Limits
from toledo.search.beam.lattice import SearchResult, Translation, best_translation, search_result, to_forest
from toledo.search.beam.options import PreparedTable, SentenceOptions, future_scores
from toledo.search.beam.stacks import search_sentence
from toledo.search.beam.weighted import weigh
from toledo.search.distortion import WINDOW
from toledo.search.steps import Step

__all__ = ["BeamSearch", "BeamSettings", "SearchResult", "Step", "Translation"]

SENTENCES_AT_ONCE = 4  # few, so that an interruption is soon noticed

Result = TypeVar("Result")


@dataclass(frozen=True)
class BeamSettings:
    """How hard to search: steps taken for each number of translated words."""

    pop_limit: int = 400

    def __post_init__(self) -> None:
        if self.pop_limit < 1:
            raise ValueError("the pop limit must be at least 1")


class BeamSearch:
    """A beam search with one model and its weights; translates any number of sentences, in threads."""

    def __init__(self, model: Model, settings: BeamSettings = BeamSettings()) -> None:
        self.model = model
        self._weighted = weigh(model)
        self._limits = Limits(settings.pop_limit, self._weighted.longest_jump)

    def translate(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Translation]:
        """The best translation of each sentence."""
        return self._run(sentences, threads, progress, lambda found: best_translation(self.model, *found))

    def results(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[SearchResult]:
        """For each sentence its best translation, its lattice, and how much work it was."""
        return self._run(sentences, threads, progress, lambda found: search_result(self.model, *found))

    def forests(
        self, sentences: Sequence[Sequence[str]], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """For each sentence a lattice of all translations that the search kept."""
        return self._run(sentences, threads, progress, lambda found: to_forest(self.model, *found))

    def _run(
        self,
        sentences: Sequence[Sequence[str]],
        threads: int | None,
        progress: Progress,
        finish: Callable[[tuple[SentenceOptions, Lattice]], Result],
    ) -> list[Result]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        encoded = [self._weighted.encode(words) for words in sentences]
        table = self._weighted.prepare([source for source, _ in encoded])

        def work(first: int, last: int) -> list[Result]:
            return [finish(self._search(table, *encoded[i])) for i in range(first, last)]

        parts = map_chunks(
            work,
            len(encoded),
            chunk=SENTENCES_AT_ONCE,
            threads=threads,
            progress=progress,
            label="translating",
        )
        return [result for part in parts for result in part]

    def _search(
        self, table: PreparedTable, source: NDArray[np.int32], copies: NDArray[np.int32]
    ) -> tuple[SentenceOptions, Lattice]:
        options = self._weighted.options(table, source, copies)
        return options, search_sentence(options, future_scores(options, WINDOW), self._weighted.scoring, self._limits)
