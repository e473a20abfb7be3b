"""What BLEU, chrF and TER share: sacreBLEU's settings, texts as numbers, segments counted in threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import Numbering, Sequences, Words, check_shape, number_words
from toledo.metrics.metric import Metric

Rows = NDArray[np.float64]
Text = str | Words
Texts = tuple[NDArray[np.int32], NDArray[np.int64]]  # symbols and offsets, for kernels


class SegmentMetric(Metric):
    """Base of metrics whose statistics a kernel counts; fields with defaults are those of sacreBLEU's class."""

    segments_at_once: ClassVar[int]

    @abstractmethod
    def _counter(
        self, hypotheses: Sequence[Text], references: Sequence[Sequence[Text]], result: Rows
    ) -> Callable[[int, int], None]:
        """Return a function that fills the rows of the segments from one number to another."""

    def corpus_statistics(
        self,
        hypotheses: Sequence[Text],
        references: Sequence[Sequence[Text]],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> Rows:
        """Return the statistics of each segment, one row each; `references[i]` are the references of hypothesis i."""
        check_shape(hypotheses, references)
        result = np.zeros((len(hypotheses), self.size))
        work = self._counter(hypotheses, references, result)
        map_chunks(work, len(hypotheses), chunk=self.segments_at_once, threads=threads)
        return result

    def encode(self, texts: Sequence[str]) -> Sequences | None:
        """Return the numbers of words."""
        return number_words(self.split_words(texts), Numbering())

    def split_words(self, texts: Sequence[Text]) -> list[Words]:
        """Return texts as the words that are counted; words stay as they are."""
        return [self._split(text) if isinstance(text, str) else text for text in texts]

    def _split(self, text: str) -> list[str]:
        """Return the words of a text, as sacreBLEU's tokenizer splits it."""
        return self._tokenizer(text.rstrip()).split()

    def _settings(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]

    @cached_property
    def _tokenizer(self) -> Callable[[str], str]:
        tokenizer: Callable[[str], str] = self.twin().tokenizer
        return tokenizer

    def _checked(self, statistics: Rows) -> Rows:
        """Return rows of statistics for a kernel; refuse those of another metric."""
        if statistics.ndim != 2 or statistics.shape[1] != self.size:
            raise ValueError(f"{self.name} has {self.size} statistics, not {statistics.shape[-1]}")
        return np.ascontiguousarray(statistics, np.float64)
