"""One step of training by samples of document chains: from states of some documents to other weights.

The gradient of expected BLEU is the covariance of BLEU and features over states.
Over whole documents that is very noisy: each sentence adds its noise to both. But BLEU is nearly linear in the
statistics of sentences, and where no document model ties them together, sentences are independent. Then

    cov(Σ_s r_s, Σ_s h_s) = Σ_s cov(r_s, h_s)

with rewards r and features h: all terms between different sentences are nothing but noise, and are left out. Features
of document models belong to the document, so theirs is the covariance with the rewards of the whole document. With
document models, sentences are not quite independent; `coupled` then takes the covariance over whole documents for all
features: exact, and noisy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of, row_products, sum_of_products
from toledo.forest.linear import Rows, row_scores, weighted_sum
from toledo.metrics.metric import Metric
from toledo.tuning.documents.chains import DocumentSamples, Floats
from toledo.tuning.maximise import Cooling, DeterministicAnnealing, dot
from toledo.tuning.minimum_risk.adaptation import GainAdaptation
from toledo.tuning.minimum_risk.advantages import (
    CORPUS_SMOOTHING,
    SampledBatch,
    corpus_advantages,
    sentence_advantages,
    smoothed,
)
from toledo.tuning.minimum_risk.state import TrainingState
from toledo.tuning.minimum_risk.trainer import Step, feature_variances
from toledo.weights import Weights

Name = Literal["expected-bleu", "corpus-expected-bleu"]


@dataclass(frozen=True)
class DocumentTrainer(Cooling):
    """Expected BLEU of documents (`expected-bleu`), or of batches of them as small corpora (`corpus-expected-bleu`).

    A step takes a `batch` of documents, a round has `steps` of them; all else is as in `SamplingTrainer`: `lines` are
    drawn for what BLEU has beyond its linear part, entropy is the mean of a sentence in nats.
    """

    objective: Name = "corpus-expected-bleu"
    batch: int = 15
    steps: int = 20
    annealing: DeterministicAnnealing | None = None
    l2: float = 0.0
    lines: int = 1000
    coupled: bool = False
    adaptation: GainAdaptation = field(default_factory=GainAdaptation)

    def __post_init__(self) -> None:
        if self.objective not in get_args(Name):
            raise ValueError(f"no objective {self.objective!r}: choose from {', '.join(get_args(Name))}")
        if min(self.batch, self.steps, self.lines) < 1 or not self.l2 >= 0.0:
            raise ValueError("a batch has documents, a round steps, there are lines, and l2 is not negative")

    @property
    def name(self) -> str:
        """What the history calls it."""
        return f"document {self.objective}"

    def step(
        self,
        samples: Sequence[DocumentSamples],
        names: tuple[str, ...],
        metric: Metric,
        weights: Weights,
        state: TrainingState,
        random: np.random.Generator,
    ) -> Step:
        """Go along the gradient of samples that were drawn with these weights."""
        point = np.array([weights.get(name, 0.0) for name in names])
        free = np.array([name not in weights.frozen for name in names])
        batch = Batch(samples, point)
        value, slopes = self.gradient(batch, metric, self.temperature(state.step), random)
        slopes = np.where(free, slopes - self.l2 * point, 0.0)
        value -= 0.5 * self.l2 * dot(point[free], point[free])
        move, gains = self.adaptation.move(state.gains_of(names), slopes, batch.variances)
        after = weights.updated(names, point + move)
        return Step(
            after, state.after(after, names, gains), value, batch.sentences.entropy, batch.documents.counts.size
        )

    def gradient(
        self, batch: Batch, metric: Metric, temperature: float, random: np.random.Generator
    ) -> tuple[float, Floats]:
        """The expected gain, and the derivative of gain and entropy by each weight."""
        if self.objective == "corpus-expected-bleu":
            groups = [np.arange(len(batch.samples))]
        else:
            groups = [np.array([number]) for number in range(len(batch.samples))]
        found = [self._of_group(batch.only(group), metric, temperature, random) for group in groups]
        return float(np.mean([value for value, _ in found])), np.mean([slopes for _, slopes in found], axis=0)

    def _of_group(
        self, batch: Batch, metric: Metric, temperature: float, random: np.random.Generator
    ) -> tuple[float, Floats]:
        """Of some documents as one corpus."""
        size, documents = batch.point.size, batch.documents
        if not self.coupled:
            value, advantages = corpus_advantages(batch.sentences, metric, self.lines, random, temperature)
            slopes = weighted_sum(batch.rows, advantages, size, threads=1)
            if not batch.totals.shape[1]:
                return value, slopes
        per_document = temperature * len(documents) / len(batch.sentences)
        if len(documents) == 1:  # no need to draw lines
            gains = smoothed(metric, CORPUS_SMOOTHING).scores(documents.statistics) / 100.0
            value, of_states = sentence_advantages(documents, gains, per_document)
        else:
            value, of_states = corpus_advantages(documents, metric, self.lines, random, per_document)
        if self.coupled:
            slopes = weighted_sum(batch.rows, of_states[batch.state_of_row], size, threads=1)
        slopes[batch.places] += sum_of_products(of_states, batch.totals)
        return value, slopes


class Batch:
    """Samples of some documents with scores at a point: as a batch of sentences, and as one of documents."""

    def __init__(self, samples: Sequence[DocumentSamples], point: Floats) -> None:
        self.samples, self.point = samples, point
        self.rows = joined_rows([one.rows for one in samples])
        self.totals = np.concatenate([one.totals for one in samples])
        dense = self.rows.dense.shape[1]
        self.places = np.arange(dense, dense + self.totals.shape[1])
        states = samples[0].states
        statistics = np.concatenate([one.statistics for one in samples])
        scores = row_scores(self.rows, point, threads=1)
        self.sentences = _batch(states, statistics, scores)
        sizes = np.cumsum([one.sentences for one in samples])[:-1]
        parts = np.split(statistics.reshape(-1, states, statistics.shape[1]), sizes)
        scored = np.split(scores.reshape(-1, states), sizes)
        own = np.concatenate([part.sum(axis=0) for part in scored]) + row_products(self.totals, point[self.places])
        self.documents = _batch(states, np.concatenate([part.sum(axis=0) for part in parts]), own)

    def only(self, numbers: NDArray[np.int64]) -> Batch:
        """Some of the documents."""
        return self if numbers.size == len(self.samples) else Batch([self.samples[i] for i in numbers], self.point)

    @property
    def state_of_row(self) -> NDArray[np.int64]:
        """For each row the number of its document's state among all."""
        states, first, found = self.samples[0].states, 0, []
        for one in self.samples:
            found.append(np.tile(np.arange(first, first + states), one.sentences))
            first += states
        return np.concatenate(found)

    @property
    def variances(self) -> Floats:
        """The variance of each feature within a sentence, of document models within a document, on average."""
        found = feature_variances(self.rows, self.sentences, self.point.size)
        for column, place in enumerate(self.places):
            values = self.totals[:, column].reshape(len(self.documents), -1)
            found[place] = values.var(axis=1).mean()
        return found


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Rows of several documents one after the other."""
    dense = np.concatenate([part.dense for part in parts])
    if not parts[0].offsets.size:
        return parts[0]._replace(dense=dense)
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = offsets_of(sizes)
    columns, values = (np.concatenate(arrays) for arrays in zip(*((p.columns, p.values) for p in parts), strict=True))
    return Rows(parts[0].base, dense, offsets, columns, values)


def _batch(states: int, statistics: Floats, scores: Floats) -> SampledBatch:
    offsets = np.arange(0, scores.size + 1, states, dtype=np.int64)
    return SampledBatch(offsets, np.ones(scores.size), statistics, scores)
