"""BLEU (Papineni et al. 2002): the one BLEU of this toolkit.

Statistics of a segment are [hypothesis length, reference length, matches of order 1 … N, n-grams of order 1 … N], as
sacreBLEU lays them out. They add up over segments and may be fractional (expected counts). Matches are clipped by the
largest count in any reference; the reference length is the closest one, the shorter one of two. Scores are 0 to 100:

    BLEU = 100 · min(1, exp(1 − r/c)) · exp(1/N Σ_n log(matches_n / totals_n))

Smoothing for single segments follows Chen and Cherry (2014), with the names of sacreBLEU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel, map_chunks
from toledo.metrics.bleu_score import METHODS, bleu_gradient, bleu_scores
from toledo.metrics.ngrams import Trie, add_reference, cleared, count_matches, new_trie
from toledo.metrics.sequences import Pairing, Words, pair_words

SEGMENTS_AT_ONCE = 2000


@dataclass(frozen=True)
class BLEU:
    """BLEU with n-grams up to an order.

    Smoothing of orders without a match: `none`; `floor`: count as `value` (0.1) matches; `add-k`: add `value` (1) to
    matches and totals above order 1; `exp`: halve the count for each such order. `effective_order` leaves out orders
    longer than the hypothesis, as one wants for single segments.
    """

    order: int = 4
    smoothing: str = "none"
    value: float | None = None
    effective_order: bool = False

    name = "BLEU"
    higher_is_better = True

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError("the order of BLEU is at least 1")
        if self.smoothing not in METHODS:
            raise ValueError(f"no smoothing {self.smoothing!r}: choose from {', '.join(METHODS)}")

    @property
    def size(self) -> int:
        """The number of statistics."""
        return 2 + 2 * self.order

    def statistics(self, hypothesis: Words, references: Sequence[Words]) -> NDArray[np.float64]:
        """The statistics of one segment."""
        statistics: NDArray[np.float64] = self.corpus_statistics([hypothesis], [references], threads=1)[0]
        return statistics

    def corpus_statistics(
        self, hypotheses: Sequence[Words], references: Sequence[Sequence[Words]], threads: int | None = None
    ) -> NDArray[np.float64]:
        """The statistics of each segment: one row for each hypothesis; `references[i]` are those of hypothesis i."""
        return self.paired_statistics(pair_words(hypotheses, references), threads)

    def paired_statistics(self, pairing: Pairing, threads: int | None = None) -> NDArray[np.float64]:
        """The statistics of encoded segments."""
        result = np.zeros((len(pairing.hypotheses), self.size))

        def work(begin: int, end: int) -> None:
            hypotheses, references = pairing.hypotheses, pairing.references
            _fill_statistics(
                hypotheses.symbols,
                hypotheses.offsets,
                references.symbols,
                references.offsets,
                pairing.groups,
                begin,
                end,
                self.order,
                result,
            )

        map_chunks(work, len(pairing.hypotheses), chunk=SEGMENTS_AT_ONCE, threads=threads)
        return result

    def score(self, statistics: NDArray[np.float64]) -> float:
        """The score, 0 to 100, of a sum of statistics."""
        return float(self.scores(statistics[None])[0])

    def scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each row."""
        return bleu_scores(self._checked(statistics), *self._smoothing())

    def gradient(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivatives of the score by the statistics; 0 where the score is 0 or has no derivative."""
        return bleu_gradient(self._checked(statistics[None])[0], *self._smoothing())

    def _smoothing(self) -> tuple[int, float, bool]:
        method, default = METHODS[self.smoothing]
        return method, default if self.value is None else float(self.value), self.effective_order

    def _checked(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        if statistics.ndim != 2 or statistics.shape[1] != self.size:
            raise ValueError(f"BLEU of order {self.order} has {self.size} statistics, not {statistics.shape[-1]}")
        return np.ascontiguousarray(statistics, np.float64)


@kernel
def closest_length(length: int, candidates: NDArray[np.int64]) -> int:
    """The closest length; of two the shorter."""
    best = int(candidates[0])
    for candidate in candidates:
        distance, best_distance = abs(candidate - length), abs(best - length)
        if distance < best_distance or (distance == best_distance and candidate < best):
            best = int(candidate)
    return best


@kernel
def _fill_statistics(
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    reference_words: NDArray[np.int32],
    reference_offsets: NDArray[np.int64],
    groups: NDArray[np.int64],
    begin: int,
    end: int,
    order: int,
    result: NDArray[np.float64],
) -> None:
    largest = 0
    for segment in range(begin, end):
        size = reference_offsets[groups[segment + 1]] - reference_offsets[groups[segment]]
        largest = max(largest, int(size) * order)
    memory = new_trie(largest)
    lengths = np.diff(reference_offsets)
    for segment in range(begin, end):
        first, last = groups[segment], groups[segment + 1]
        trie = cleared(memory, (reference_offsets[last] - reference_offsets[first]) * order)
        nodes = 0
        for reference in range(first, last):
            span = reference_words[reference_offsets[reference] : reference_offsets[reference + 1]]
            nodes = add_reference(trie, nodes, span, order)
        hypothesis = words[offsets[segment] : offsets[segment + 1]]
        segment_statistics(trie, nodes, hypothesis, lengths[first:last], result[segment])


@kernel
def segment_statistics(
    trie: Trie,
    nodes: int,
    hypothesis: NDArray[np.int32],
    reference_lengths: NDArray[np.int64],
    statistics: NDArray[np.float64],
) -> None:
    """Write the statistics of one hypothesis against the trie of its references."""
    order = (statistics.size - 2) // 2
    statistics[0] = hypothesis.size
    statistics[1] = closest_length(hypothesis.size, reference_lengths)
    count_matches(trie, nodes, hypothesis, statistics[2 : 2 + order])
    for n in range(order):
        statistics[2 + order + n] = max(hypothesis.size - n, 0)
