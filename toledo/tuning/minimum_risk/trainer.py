"""One step of minimum-risk training: from samples of a batch to other weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from toledo.compiled.ragged import sum_of_products
from toledo.forest.forest import Forest
from toledo.forest.linear import Rows, Vector, weighted_sum
from toledo.metrics.metric import Metric
from toledo.metrics.references import References
from toledo.tuning.examples import Examples, sign
from toledo.tuning.maximise import Cooling, DeterministicAnnealing, dot
from toledo.tuning.minimum_risk.adaptation import GainAdaptation
from toledo.tuning.minimum_risk.advantages import SampledBatch, corpus_advantages, sentence_advantages, smoothed
from toledo.tuning.minimum_risk.state import TrainingState
from toledo.tuning.weight_space import finite_rows, weight_space
from toledo.weights import Weights

Name = Literal["expected-bleu", "corpus-expected-bleu"]

COOLING = DeterministicAnnealing(start=0.005, cooling=0.9, end=0.0005, steps=10)


@dataclass(frozen=True)
class Step:
    """What a step led to, and what it saw: expected gain (minus the penalty), and the entropy by counts."""

    weights: Weights
    state: TrainingState
    value: float
    entropy: float
    derivations: int


@dataclass(frozen=True)
class SamplingTrainer(Cooling):
    """Expected BLEU of sentences (`expected-bleu`) or of batches as small corpora (`corpus-expected-bleu`).

    A step takes a `batch` of segments, a round has `steps` of them. The gain of a sentence is BLEU with `smoothing`
    added to the counts of n-grams with n > 1; the paper adds 0.01. Of each batch so many `lines` are drawn for corpus
    BLEU. With `annealing`, temperature times the mean entropy of a segment (in nats) is added to a gain between 0 and
    1, whether of sentences or of the corpus; training ends when it is cold. L2 is compared with the same gain.
    """

    objective: Name = "expected-bleu"
    batch: int = 100
    steps: int = 20
    annealing: DeterministicAnnealing | None = None
    l2: float = 0.0
    smoothing: float = 1.0
    lines: int = 2000
    adaptation: GainAdaptation = field(default_factory=GainAdaptation)

    def __post_init__(self) -> None:
        if self.objective not in get_args(Name):
            raise ValueError(f"no objective {self.objective!r}: choose from {', '.join(get_args(Name))}")
        if min(self.batch, self.steps) < 1 or self.lines < 2 or self.l2 < 0.0 or self.smoothing < 0.0:
            raise ValueError("batches and rounds have at least a segment and a step, corpora 2 lines; no penalty < 0")

    @property
    def name(self) -> str:
        """The objective is what the command line calls it."""
        return self.objective

    def step(
        self,
        forests: Sequence[Forest],
        references: Sequence[References],
        metric: Metric,
        weights: Weights,
        state: TrainingState,
        random: np.random.Generator,
        threads: int | None = None,
    ) -> Step:
        """Go along the gradient of samples that were drawn with these weights."""
        lists = Examples(forests, references, metric).lists
        given = weight_space(lists.forest, weights)
        rows = finite_rows(lists.forest)
        totals = lists.forest.scores(weights, threads)  # logarithms of counts
        scores = totals - rows.base if rows.base.size else totals
        batch = SampledBatch(lists.offsets, np.exp(totals), lists.statistics, scores)
        value, advantages = self.advantages(batch, metric, self.temperature(state.step), random)
        point = given.start
        slopes = weighted_sum(rows, advantages, point.size, threads) - self.l2 * point
        value -= 0.5 * self.l2 * dot(point[given.free], point[given.free])
        spread = feature_variances(rows, batch, point.size)
        move, gains = self.adaptation.move(state.gains_of(given.names), np.where(given.free, slopes, 0.0), spread)
        after = weights.updated(given.names, point + move)
        return Step(after, state.after(after, given.names, gains), value, batch.entropy, batch.counts.size)

    def advantages(
        self, batch: SampledBatch, metric: Metric, temperature: float, random: np.random.Generator
    ) -> tuple[float, Vector]:
        """The expected gain, and the derivative of the objective by the score of each derivation."""
        if self.objective == "corpus-expected-bleu":
            return corpus_advantages(batch, metric, self.lines, random, temperature)
        gains = sign(metric) / 100.0 * smoothed(metric, self.smoothing).scores(batch.statistics)
        return sentence_advantages(batch, gains, temperature)


def feature_variances(rows: Rows, batch: SampledBatch, columns: int) -> Vector:
    """The variance of each feature within a segment, as a mean over segments (sparse ones: around 0)."""
    shares, segments = batch.shares, batch.segments
    variances = np.zeros(columns)
    for k in range(rows.dense.shape[1]):
        values = rows.dense[:, k].astype(np.float64)
        variances[k] = sum_of_products(shares, (values - batch.sums(shares * values)[segments]) ** 2)
    if rows.offsets.size:
        squares = np.repeat(shares, np.diff(rows.offsets)) * rows.values.astype(np.float64) ** 2
        variances += np.bincount(rows.columns, squares, columns)
    return variances / len(batch)
