"""Lines through the weights of lattices and forests (Macherey et al. 2008; Kumar et al. 2009).

The envelope of all derivations takes the place of that of a list. Only derivations on it are written out as words, to
be compared with the references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.envelope import envelope_texts
from toledo.forest.structure import Forest, sentences_at_once
from toledo.kernels import map_chunks
from toledo.metrics.metric import Metric
from toledo.tuning.examples import Examples
from toledo.tuning.line_search import Breakpoints, Steps, merged_steps
from toledo.tuning.rows import Parameters, Rows, Vector, row_scores, rows_of
from toledo.tuning.text_statistics import TextStatistics


@dataclass(frozen=True, eq=False)
class ForestLines:
    """All derivations of forests; `free` are the places of the weights that lines move in."""

    forest: Forest
    rows: Rows
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
                len(self.forest),
                chunk=sentences_at_once(self.forest.shape),
                threads=self.threads,
            )
            return _steps(parts)

        return along

    def _envelopes(self, begin: int, end: int, scores: Vector, slopes: Vector) -> Found:
        shape, yields = self.forest.shape, self.forest.yields
        sentences, starts, offsets, words = envelope_texts(shape, yields, scores, slopes, begin, end)
        segments = np.repeat(np.arange(begin, end), np.diff(sentences))
        return Found(segments, starts, self.texts.of(words, offsets, segments))


class Found(NamedTuple):
    """The pieces of envelopes in a row: whose they are, where they start, and the statistics of their texts."""

    segments: NDArray[np.int64]
    starts: Vector
    statistics: NDArray[np.float64]


def _steps(parts: Sequence[Found]) -> Steps:
    """All pieces in a row, and a breakpoint between neighbours of one segment."""
    segments, starts, statistics = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    inner = np.flatnonzero(segments[1:] == segments[:-1]).astype(np.int32)
    firsts = np.flatnonzero(np.diff(segments, prepend=-1))
    breakpoints = Breakpoints(starts[inner + 1], inner, inner + np.int32(1))
    return merged_steps(breakpoints, statistics[firsts].sum(axis=0), statistics)


def forest_lines(examples: Examples, given: Parameters, free: NDArray[np.int64], threads: int | None) -> ForestLines:
    """The forests of some examples seen from some of their dense weights; all others stay as they are at the start."""
    whole = examples.forest
    texts = TextStatistics(examples.metric, examples.references, whole.vocabulary)
    rows = rows_of(whole, given.names)
    return ForestLines(whole, rows, given, free, texts, threads)
