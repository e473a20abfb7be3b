"""TER, translation edit rate (Snover et al. 2006), with the shifts of tercom as sacreBLEU computes them.

Statistics of a segment are [edits, reference length]: the fewest edits over the references and their mean length. The
score is 100 · edits / length; lower is better, and it may exceed 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel, map_chunks
from toledo.metrics.sequences import Words, pair_words
from toledo.metrics.ter_edits import Limits, count_edits

SEGMENTS_AT_ONCE = 50


@dataclass(frozen=True)
class TER:
    """TER on words; lower-case them first to ignore case, as tercom does.

    Only blocks of up to `shift_size` words are shifted by up to `shift_distance` words, and after `candidates` shifts
    tried the search stops, as in sacreBLEU.
    """

    beam_width: int = 25
    shift_size: int = 10
    shift_distance: int = 50
    candidates: int = 1000

    name = "TER"
    higher_is_better = False
    size = 2

    def __post_init__(self) -> None:
        if min(self.beam_width, self.candidates) < 1 or min(self.shift_size, self.shift_distance) < 0:
            raise ValueError("the limits of TER must be positive")

    def statistics(self, hypothesis: Words, references: Sequence[Words]) -> NDArray[np.float64]:
        """The statistics of one segment."""
        statistics: NDArray[np.float64] = self.corpus_statistics([hypothesis], [references], threads=1)[0]
        return statistics

    def corpus_statistics(
        self, hypotheses: Sequence[Words], references: Sequence[Sequence[Words]], threads: int | None = None
    ) -> NDArray[np.float64]:
        """The statistics of each segment: one row for each hypothesis; `references[i]` are those of hypothesis i."""
        pairing = pair_words(hypotheses, references)
        limits = Limits(self.beam_width, self.shift_size, self.shift_distance, self.candidates)
        result = np.zeros((len(hypotheses), 2))

        def work(begin: int, end: int) -> None:
            _fill_statistics(
                (pairing.hypotheses.symbols, pairing.hypotheses.offsets),
                (pairing.references.symbols, pairing.references.offsets),
                pairing.groups,
                begin,
                end,
                limits,
                result,
            )

        map_chunks(work, len(hypotheses), chunk=SEGMENTS_AT_ONCE, threads=threads)
        return result

    def score(self, statistics: NDArray[np.float64]) -> float:
        """The score, in per cent, of a sum of statistics; words where nothing should be count as 100."""
        return float(self.scores(statistics[None])[0])

    def scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each row."""
        edits, length = statistics[:, 0], statistics[:, 1]
        return np.where(length > 0, 100 * edits / np.where(length > 0, length, 1), np.where(edits > 0, 100.0, 0.0))

    def gradient(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivatives of the score by the statistics; 0 without a reference."""
        edits, length = statistics
        return np.array([100 / length, -100 * edits / length**2]) if length > 0 else np.zeros(2)


Texts = tuple[NDArray[np.int32], NDArray[np.int64]]


@kernel
def _fill_statistics(
    hypotheses: Texts,
    references: Texts,
    groups: NDArray[np.int64],
    begin: int,
    end: int,
    limits: Limits,
    result: NDArray[np.float64],
) -> None:
    words, offsets = hypotheses
    reference_words, reference_offsets = references
    for segment in range(begin, end):
        first, last = groups[segment], groups[segment + 1]
        hypothesis = words[offsets[segment] : offsets[segment + 1]]
        fewest = np.iinfo(np.int64).max
        for number in range(first, last):
            reference = reference_words[reference_offsets[number] : reference_offsets[number + 1]]
            fewest = min(fewest, count_edits(hypothesis, reference, limits))
        result[segment, 0] = fewest
        result[segment, 1] = (reference_offsets[last] - reference_offsets[first]) / (last - first)
