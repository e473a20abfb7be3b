"""Lines through the weights of lattices and forests (Macherey et al. 2008; Kumar et al. 2009).

The envelope of all derivations takes the place of that of a list. Only derivations on it are written out as words, to
be compared with the references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.forest.derivation import derivation_words
from toledo.forest.envelope import Envelope, envelope
from toledo.forest.structure import Forest, edges_of_sentences
from toledo.kernels import map_chunks
from toledo.metrics.metric import Metric
from toledo.tuning.examples import Examples
from toledo.tuning.line_search import Breakpoints, Steps, merged_steps
from toledo.tuning.rows import Parameters, Rows, Vector, row_scores, rows_of
from toledo.tuning.text_statistics import TextStatistics

SEGMENTS_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class ForestLines:
    """All derivations of forests; `free` are the places of the weights that lines move in."""

    forests: Sequence[Forest]
    rows: Rows
    edges: NDArray[np.int64]
    parameters: Parameters
    free: NDArray[np.int64]
    texts: TextStatistics
    threads: int | None

    @property
    def metric(self) -> Metric:
        """What the statistics are those of."""
        return self.texts.metric

    def from_point(self, values: Vector) -> Callable[[Vector], Steps]:
        """For directions from a point: the sums of statistics along these lines."""
        weights = self.parameters.start.copy()
        weights[self.free] = values
        scores = row_scores(self.rows, weights, self.threads)

        def along(direction: Vector) -> Steps:
            moves = np.zeros(weights.size)
            moves[self.free] = direction
            slopes = row_scores(self.rows._replace(base=np.empty(0)), moves, self.threads)
            parts = map_chunks(
                lambda begin, end: self._envelopes(begin, end, scores, slopes),
                len(self.forests),
                chunk=SEGMENTS_AT_ONCE,
                threads=self.threads,
            )
            return self._merged([found for part in parts for found in part])

        return along

    def _envelopes(self, begin: int, end: int, scores: Vector, slopes: Vector) -> list[tuple[Envelope, Texts]]:
        found = []
        for segment in range(begin, end):
            forest, edges = self.forests[segment], slice(self.edges[segment], self.edges[segment + 1])
            pieces = envelope(forest, scores[edges], slopes[edges])
            words = [derivation_words(forest.shape, forest.yields, pieces.derivation(i)) for i in range(len(pieces))]
            found.append((pieces, words))
        return found

    def _merged(self, found: Sequence[tuple[Envelope, Texts]]) -> Steps:
        """All pieces in a row, and a breakpoint between neighbours of one segment."""
        sizes = np.array([len(pieces) for pieces, _ in found])
        segments = np.repeat(np.arange(sizes.size), sizes)
        statistics = self.texts.of([words for _, texts in found for words in texts], segments)
        inner = np.flatnonzero(segments[1:] == segments[:-1]).astype(np.int32)
        firsts = (np.cumsum(sizes) - sizes)[sizes > 0]
        starts = np.concatenate([np.empty(0), *(pieces.starts for pieces, _ in found)])
        breakpoints = Breakpoints(starts[inner + 1], inner, inner + np.int32(1))
        return merged_steps(breakpoints, statistics[firsts].sum(axis=0), statistics)


Texts = list[NDArray[np.int32]]


def forest_lines(examples: Examples, given: Parameters, free: NDArray[np.int64], threads: int | None) -> ForestLines:
    """The forests of some examples seen from some of their dense weights; all others stay as they are at the start."""
    whole = examples.forest
    texts = TextStatistics(examples.metric, examples.references, whole.vocabulary)
    rows = rows_of(whole, given.names)
    return ForestLines(examples.forests, rows, edges_of_sentences(whole.shape), given, free, texts, threads)
