"""Gradients of expected gain from samples, as an advantage for each sampled derivation.

Derivations d of a segment have p(d) ∝ exp(θ·h(d)). For a gain G(d) the derivative of E[G] by the score of d is
p(d) · (G(d) − E[G]); with the features of d and summed this is the covariance of gain and features. Of n samples the
empirical distribution has a covariance that is too small by (n − 1) / n on average, which is corrected here.

*Entropy.* The derivative of E[G] + T · H by θ is Σ_d (G(d) − T (1 + log p(d))) ∂p(d)/∂θ. As Σ_d ∂p(d)/∂θ = 0, whatever
is the same for all derivations drops out: the 1, and log Z in log p(d) = θ·h(d) − log Z. So −T · score(d) is added to
the gain, and neither Z nor the frequencies of derivations are needed.

*Corpora.* A line of one derivation for each segment has the gain BLEU(Σ_i s(d_i)) with statistics s, and the features
Σ_i h(d_i). The covariance over lines is the gradient of expected corpus BLEU. Lines are resampled from the samples of
each segment. What is linear in the statistics needs no lines: with slopes b (the derivatives of BLEU at the mean) the
covariance of b·Σ_i s(d_i) and Σ_i h(d_i) is a sum over segments. So lines only estimate what BLEU has beyond that
(a control variate), which leaves the mean as it is and takes most of the noise away. The factor n / (n − 1) is right
for lines as well: the expectation over the samples of the other segments is the true one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import row_products, sum_of_products
from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.objectives.lists import sign, smoothed

Vector = NDArray[np.float64]

CORPUS_SMOOTHING = 0.01  # added to counts of n-grams with n > 1: a small batch without a match has a gradient, too


@dataclass(frozen=True, eq=False)
class SampledBatch:
    """Segment i has the derivations `offsets[i]:offsets[i + 1]`, each drawn `counts` times.

    `statistics` are those of the metric, `scores` those of the model: the logarithm of p up to a constant.
    """

    offsets: NDArray[np.int64]
    counts: Vector
    statistics: Vector
    scores: Vector

    def __post_init__(self) -> None:
        if not np.isfinite(self.scores).all():
            raise InputError("a sampled derivation is impossible", remedy="check the weights: they may be too large")

    def __len__(self) -> int:
        """Return the number of segments."""
        return self.offsets.size - 1

    @property
    def segments(self) -> NDArray[np.int64]:
        """Return the segment of each derivation."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def samples(self) -> Vector:
        """Return the number of samples of each segment."""
        return self.sums(self.counts)

    @property
    def shares(self) -> Vector:
        """Return the empirical probability of each derivation."""
        return self.counts / self.samples[self.segments]

    @property
    def entropy(self) -> float:
        """Return the mean entropy of a segment by counts, in nats: too small where most samples differ."""
        shares = self.shares
        return -float(sum_of_products(shares, np.log(shares))) / len(self)

    def sums(self, values: Vector) -> Vector:
        """Return totals for each segment."""
        return np.bincount(self.segments, values, len(self)).astype(np.float64)

    def advantages(self, rewards: Vector) -> Vector:
        """Return the derivative of the sum over segments of E[reward] by the score of each derivation, without bias."""
        shares, samples = self.shares, self.samples
        factors = samples / np.maximum(samples - 1.0, 1.0)
        means = self.sums(shares * rewards)
        return factors[self.segments] * shares * (rewards - means[self.segments])


def sentence_advantages(batch: SampledBatch, gains: Vector, temperature: float = 0.0) -> tuple[float, Vector]:
    """Return the mean of E[gain], and the derivative of 1/B Σ_i (E[gain] + T · H) for B segments by each score."""
    value = float(sum_of_products(batch.shares, gains)) / len(batch)
    return value, batch.advantages((gains - temperature * batch.scores) / len(batch))


def corpus_advantages(
    batch: SampledBatch, metric: Metric, lines: int, random: np.random.Generator, temperature: float = 0.0
) -> tuple[float, Vector]:
    """Return the mean score of lines, and the derivative of E[corpus score] + T/B Σ_i H by each score, for B segments.

    Scores are 0 to 1 as a rule, and more is better: error rates have a minus sign.
    """
    metric, factor = smoothed(metric, CORPUS_SMOOTHING), sign(metric) / 100.0
    drawn = draw_lines(batch, lines, random)
    totals = np.zeros((lines, batch.statistics.shape[1]))
    for some in drawn:
        totals += batch.statistics[some]
    slopes = factor * metric.gradient(sum_of_products(batch.shares, batch.statistics))
    gains = factor * metric.scores(totals)
    beyond = gains - row_products(totals, slopes)
    linear = batch.advantages(row_products(batch.statistics, slopes) - temperature / len(batch) * batch.scores)
    return float(gains.mean()), linear + _of_lines(batch, drawn, beyond)


def draw_lines(batch: SampledBatch, lines: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return for each segment (row) the derivations of all lines, drawn with replacement from its samples."""
    drawn = np.empty((len(batch), lines), np.int64)
    for segment, samples in enumerate(batch.samples):
        begin, end = batch.offsets[segment], batch.offsets[segment + 1]
        found = np.searchsorted(np.cumsum(batch.counts[begin:end]), samples * random.random(lines), side="right")
        drawn[segment] = np.minimum(begin + found, end - 1)
    return drawn


def _of_lines(batch: SampledBatch, drawn: NDArray[np.int64], gains: Vector) -> Vector:
    """Return the covariance over lines of gains and scores, as a factor for each derivation."""
    lines = gains.size
    if lines < 2:
        return np.zeros(batch.counts.size)
    deviations = (gains - gains.mean()) / (lines - 1)
    found = np.bincount(drawn.ravel(), np.tile(deviations, len(batch)), batch.counts.size)
    samples = batch.samples
    return found * (samples / np.maximum(samples - 1.0, 1.0))[batch.segments]
