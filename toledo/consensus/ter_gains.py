"""Expected TER of hypotheses against weighted texts: edits with shifts for each pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.metrics.sequences import Sequences
from toledo.metrics.ter import TER
from toledo.metrics.ter_edits import Limits, count_edits
from toledo.vocabulary import Vocabulary


@dataclass(frozen=True)
class TERGain:
    """100 − TER: 100 for equal texts, below 0 for more edits than words."""

    metric: TER = TER()  # noqa: RUF009 (frozen)

    name = "ter"

    def prepare(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """TER compares words."""
        return texts

    def expected(self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Σ_t p(t) (100 − TER(h; t)) for the first texts as hypotheses; texts are distinct."""
        metric = self.metric
        limits = Limits(metric.beam_width, metric.shift_size, metric.shift_distance, metric.candidates)
        return _expected(texts.symbols, texts.offsets, hypotheses, probabilities, limits)


@kernel
def _expected(
    symbols: NDArray[np.int32],
    offsets: NDArray[np.int64],
    hypotheses: int,
    probabilities: NDArray[np.float64],
    limits: Limits,
) -> NDArray[np.float64]:
    expected = np.zeros(hypotheses)
    for text in range(offsets.size - 1):
        if probabilities[text] == 0.0:
            continue
        reference = symbols[offsets[text] : offsets[text + 1]]
        for h in range(hypotheses):
            rate = 0.0
            if h != text:
                edits = count_edits(symbols[offsets[h] : offsets[h + 1]], reference, limits)
                rate = edits / reference.size if reference.size else 1.0
            expected[h] += 100.0 * probabilities[text] * (1.0 - rate)
    return expected
