"""Expected TER of hypotheses against weighted texts: edits with shifts for each pair.

Edits take time, so the best hypothesis is found without those of most pairs. Shifts do not change which words a text
has, so that edits ≥ max(|h|, |t|) − common words of h and t, and ≥ 1 if the texts differ. Hypotheses are tried in the
order of the gains that this allows, and each only as long as it can still be the best.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.matches import Index, NGrams, count_all, cut_ngrams, index_ngrams, room_for_matches
from toledo.kernels import kernel
from toledo.metrics.sequences import Sequences
from toledo.metrics.ter import TER
from toledo.metrics.ter_edits import Limits, count_edits
from toledo.vocabulary import Vocabulary

ROUNDING = 1e-6


@dataclass(frozen=True)
class TERGain:
    """100 − TER: 100 for equal texts, below 0 for more edits than words."""

    metric: TER = TER()  # noqa: RUF009 (frozen)

    name = "ter"

    def prepare(self, texts: Sequences, vocabulary: Vocabulary) -> Sequences:
        """TER compares words."""
        return texts

    def expected(
        self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64], *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """Σ_t p(t) (100 − TER(h; t)) for the first texts as hypotheses; texts are distinct."""
        metric = self.metric
        limits = Limits(metric.beam_width, metric.shift_size, metric.shift_distance, metric.candidates)
        ngrams = cut_ngrams(texts.symbols, texts.offsets, 1)
        comparison = Comparison(index_ngrams(ngrams, len(texts)), ngrams, texts.lengths, 100.0 * probabilities)
        common = room_for_matches(1, len(texts), texts.lengths)
        bounds = _bounds(comparison, hypotheses, common)
        order = np.argsort(-bounds, kind="stable")
        return _expected(comparison, texts.symbols, texts.offsets, bounds, order, limits, only_best, common)


class Comparison(NamedTuple):
    """Common words of any two texts, and how much each text weighs as evidence."""

    words: Index
    ngrams: NGrams
    lengths: NDArray[np.int64]
    weights: NDArray[np.float64]


@kernel
def _bounds(comparison: Comparison, hypotheses: int, common: NDArray[np.uint8]) -> NDArray[np.float64]:
    """What the expected gain of each hypothesis cannot exceed."""
    index, ngrams, lengths, weights = comparison
    bounds = np.zeros(hypotheses)
    for h in range(hypotheses):
        count_all(index, ngrams, h, lengths[h], common)
        for text in range(lengths.size):
            if weights[text] > 0.0:
                edits = _fewest_edits(lengths[h], lengths[text], common[0, text], h == text)
                bounds[h] += weights[text] * (1.0 - _rate(edits, lengths[text]))
    return bounds


@kernel
def _expected(
    comparison: Comparison,
    symbols: NDArray[np.int32],
    offsets: NDArray[np.int64],
    bounds: NDArray[np.float64],
    order: NDArray[np.int64],
    limits: Limits,
    only_best: bool,
    common: NDArray[np.uint8],
) -> NDArray[np.float64]:
    """Hypotheses in `order`, by falling bounds; with `only_best`, −inf where the bound falls below what is reached."""
    index, ngrams, lengths, weights = comparison
    expected, best = np.full(bounds.size, -np.inf), -np.inf
    for h in order:
        words, gain = symbols[offsets[h] : offsets[h + 1]], bounds[h]
        count_all(index, ngrams, h, lengths[h], common)
        for text in range(lengths.size):
            if only_best and gain < best - ROUNDING:
                break
            if weights[text] == 0.0 or h == text:
                continue
            reference = symbols[offsets[text] : offsets[text + 1]]
            fewest = _fewest_edits(lengths[h], lengths[text], common[0, text], False)
            edits = count_edits(words, reference, limits)
            gain -= weights[text] * (_rate(edits, lengths[text]) - _rate(fewest, lengths[text]))
        if not only_best or gain >= best - ROUNDING:
            expected[h] = gain
            best = max(best, gain)
    return expected


@kernel
def _fewest_edits(one: int, other: int, common: int, same: bool) -> int:
    return 0 if same else max(max(one, other) - int(common), 1)


@kernel
def _rate(edits: int, length: int) -> float:
    """TER as `toledo.metrics` has it: any words where none should be are as bad as none right."""
    if length == 0:
        return 1.0 if edits > 0 else 0.0
    return edits / length
