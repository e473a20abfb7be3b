"""Sentence BLEU as He and Deng (2012) train for: smoothed by priors, with a brevity factor that is not cut at 1.

    BLEU = exp(1 − r/c) · exp(¼ Σ_n log p_n),     p_n = (matches_n + η p⁰_n) / (n-grams_n + η)

with p⁰_n = p²_{n−1} / p_{n−2} for n = 3, 4. The priors p⁰_1 and p⁰_2 are the precisions of the baseline on the whole
training text. Reference lengths r are multiplied by a factor with which the baseline as a whole is exactly long enough:
training should find better n-grams, and not other lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.kernels import kernel

ORDER = 4
LENGTH, REFERENCE, MATCHES = 0, 1, 2  # columns of statistics: both lengths, then the matches of each order
COLUMNS = MATCHES + ORDER
SMOOTHING = 5.0


@dataclass(frozen=True)
class SentenceBLEU:
    """The priors of unigrams and bigrams, the factor of reference lengths, and η."""

    unigrams: float
    bigrams: float
    length_factor: float
    smoothing: float = SMOOTHING

    def scores(self, statistics: NDArray[np.int32]) -> NDArray[np.float64]:
        """The score of each row, 1 for a perfect translation of the right length; 0 for an empty one."""
        if statistics.ndim != 2 or statistics.shape[1] != COLUMNS:
            raise ValueError(f"statistics have {COLUMNS} columns, not the shape {statistics.shape}")
        return _scores(statistics, self.unigrams, self.bigrams, self.length_factor, self.smoothing)


def fit_sentence_bleu(totals: NDArray[np.int64], sentences: int, smoothing: float = SMOOTHING) -> SentenceBLEU:
    """Priors and factor from the statistics of the baseline's best translations, summed over all sentences."""
    length, reference = int(totals[LENGTH]), int(totals[REFERENCE])
    if not length or not reference:
        raise InputError("all translations or all references are empty", remedy="check the training text")
    if smoothing <= 0.0:
        raise ValueError("the smoothing of sentence BLEU must be positive")
    unigrams = max(totals[MATCHES] / length, 1.0 / (length + 1))
    bigrams = max(totals[MATCHES + 1] / max(length - sentences, 1), 1.0 / (length + 1))
    return SentenceBLEU(float(min(unigrams, 1.0)), float(min(bigrams, 1.0)), length / reference, smoothing)


@kernel
def _scores(
    statistics: NDArray[np.int32], unigrams: float, bigrams: float, length_factor: float, smoothing: float
) -> NDArray[np.float64]:
    scores, precisions = np.zeros(statistics.shape[0]), np.empty(ORDER)
    for row in range(scores.size):
        length = statistics[row, LENGTH]
        if length <= 0:
            continue
        logarithm = 1.0 - length_factor * statistics[row, REFERENCE] / length
        for n in range(ORDER):
            if n == 0:
                prior = unigrams
            elif n == 1:
                prior = bigrams
            else:
                prior = min(precisions[n - 1] ** 2 / precisions[n - 2], 1.0)
            total = max(length - n, 0)
            precisions[n] = (statistics[row, MATCHES + n] + smoothing * prior) / (total + smoothing)
            logarithm += np.log(precisions[n]) / ORDER
        scores[row] = np.exp(logarithm)
    return scores
