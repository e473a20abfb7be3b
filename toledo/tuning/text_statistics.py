"""Statistics of texts beside their references, for any metric."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.prepared import PreparedReferences, prepare_references
from toledo.vocabulary import Vocabulary

References = Sequence[Sequence[str]]  # of one segment, as words
Words = NDArray[np.int32]


def text_statistics(
    metric: Metric, texts: Sequence[Sequence[str]], references: Sequence[References], threads: int | None = None
) -> NDArray[np.float64]:
    """One row for each text and its references; chrF reads characters, the others words."""
    if metric.name.startswith("chrF"):
        lines = [" ".join(words) for words in texts]
        return metric.corpus_statistics(lines, [[" ".join(one) for one in some] for some in references], threads)
    return metric.corpus_statistics(texts, references, threads)


def encoded_references(metric: BLEU, references: Sequence[References], vocabulary: Vocabulary) -> PreparedReferences:
    """References in the numbers of a vocabulary.

    A word that no hypothesis has must match nothing: the number after the last word stands for all of them.
    """
    unknown = len(vocabulary)
    return prepare_references(
        metric,
        [
            [np.array([vocabulary.id(w) if w in vocabulary else unknown for w in one], np.int32) for one in some]
            for some in references
        ],
    )


class TextStatistics:
    """The metric's statistics of any texts of some segments, which turn up again and again while weights are sought.

    BLEU is counted at once, others are remembered.
    """

    def __init__(self, metric: Metric, references: Sequence[References], vocabulary: Vocabulary) -> None:
        self.metric = metric
        self.references = references
        self.vocabulary = vocabulary
        self._known: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def of(self, words: Words, offsets: NDArray[np.int64], segments: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row for each text: text i, `words[offsets[i]:offsets[i + 1]]`, translates segment `segments[i]`."""
        if not segments.size:
            return np.zeros((0, self.metric.size))
        if isinstance(self.metric, BLEU):
            return self._prepared.statistics(words, offsets, segments, threads=1)
        texts = (words[begin:end].tobytes() for begin, end in pairwise(offsets.tolist()))
        keys = list(zip(segments.tolist(), texts, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._compute(new), strict=True))
        return np.array([self._known[key] for key in keys])

    @cached_property
    def _prepared(self) -> PreparedReferences:
        assert isinstance(self.metric, BLEU)  # noqa: S101
        return encoded_references(self.metric, self.references, self.vocabulary)

    def _compute(self, keys: Sequence[tuple[int, bytes]]) -> NDArray[np.float64]:
        texts = [self.vocabulary.words(np.frombuffer(words, np.int32).tolist()) for _, words in keys]
        return text_statistics(self.metric, texts, [self.references[segment] for segment, _ in keys])
