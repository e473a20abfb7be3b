"""One step of minimum-risk training: from samples of a batch of segments or documents to other weights.

The gradient of expected BLEU is the covariance of BLEU and features over samples. Over whole documents that is very
noisy: each sentence adds its noise to both. But BLEU is nearly linear in the statistics of sentences, and where no
document model ties them together, sentences are independent. Then

    cov(Σ_s r_s, Σ_s h_s) = Σ_s cov(r_s, h_s)

with rewards r and features h: all terms between different sentences are nothing but noise, and are left out. Features
of document models belong to the document, so theirs is the covariance with the rewards of the whole document. With
document models, sentences are not quite independent; `coupled` then takes the covariance over whole documents for all
features: exact, and noisy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of, row_products, sum_of_products
from toledo.errors import InputError
from toledo.forest.linear import Rows, Vector, row_scores, weighted_sum
from toledo.metrics.metric import Metric
from toledo.objectives.lists import sign, smoothed
from toledo.settings import converted, parse_named, unknown_name
from toledo.tuning.documents.chains import DocumentSamples
from toledo.tuning.examples import Examples
from toledo.tuning.maximize import DeterministicAnnealing, dot
from toledo.tuning.minimum_risk.advantages import CORPUS_SMOOTHING, SampledBatch, corpus_advantages, sentence_advantages
from toledo.tuning.weight_space import finite_rows, weight_space
from toledo.weights import Weights

RiskObjective = Literal["expected-bleu", "corpus-expected-bleu"]
RISK_SETTINGS = ("batch", "steps", "l2", "smoothing", "lines", "sgd", "two_step", "scale_temperature")  # for segments

COOLING = DeterministicAnnealing(start=0.005, cooling=0.9, end=0.0005, steps=10)
COOLING_SETTINGS = {  # of users, and what they are in a schedule
    "start_temperature": "start",
    "cooling": "cooling",
    "end_temperature": "end",
    "steps_per_temperature": "steps",
}
SCALE = "<scale>"  # the name of the factor of all weights among those that have gains

FARTHEST = 100.0  # from the first gain, as a factor
LONGEST = 0.5  # standard deviations of w · h
LEAST_VARIANCE = 0.1  # of features that hardly vary, such as rare sparse ones


class Gains(NamedTuple):
    """r for all weights; for each its first gain (0: not seen yet), the gain, and the running means of g and g²."""

    steepness: float
    first: Vector
    values: Vector
    means: Vector
    squares: Vector

    @classmethod
    def none(cls, size: int) -> Gains:
        """Return the gains before the first step."""
        return cls(0.0, *np.zeros((4, size)))


@dataclass(frozen=True)
class GainAdaptation:
    """Stochastic gradient ascent with a gain for each weight (Schraudolph 1999, Arun et al. 2010).

    With the derivative g of a weight w in this step and the running means m of g and v of g² over earlier ones,

        v ← λ v + (1 − λ) g²
        η ← η · max(ρ, 1 + μ · g · m / v)         the gain grows while derivatives agree, and shrinks when they turn
        w ← w + η · g                             then into its bounds
        m ← λ m + (1 − λ) g

    max(ρ, 1 + x) stands for eˣ: it costs less and bounds the fall of one step. Dividing by v makes μ a number without a
    unit. The first step has v = g² and m = 0. μ is `rate`, ρ is `least`, λ is `memory`.

    Features have very different spreads, and objectives very different slopes. So gains begin at step / (σ² · r), with
    the variance σ² of a feature within a segment and the root mean square r of all g / σ in the first batch. Then w · h
    of a feature moves by `step` standard deviations at first, on average over features, whatever the unit of either. A
    gain stays within a factor of 100 of its first value, and no step moves w · h by more than half a standard
    deviation: BLEU near 0 has small derivatives, which become large once there are matches.

    Without `normalized` there is none of this, as published: all gains begin at `step`, v is 1, and nothing is clipped.
    """

    step: float = 0.1
    rate: float = 0.1
    least: float = 0.5
    memory: float = 0.9
    normalized: bool = True

    def __post_init__(self) -> None:
        if not (self.step > 0.0 and self.rate >= 0.0 and 0.0 < self.least <= 1.0 and 0.0 <= self.memory < 1.0):
            raise ValueError("gain adaptation needs step > 0, rate ≥ 0, 0 < least ≤ 1 and 0 ≤ memory < 1")

    def move(self, gains: Gains, gradient: Vector, variances: Vector) -> tuple[Vector, Gains]:
        """Return how far each weight goes, and the gains after that; weights without a derivative keep theirs."""
        if not self.normalized:
            return self._published_move(gains, gradient)
        seen, variances = gradient != 0.0, np.maximum(variances, LEAST_VARIANCE)
        steepness, first, values, means, squares = self._begun(gains, gradient, variances)
        new_squares = self.memory * squares + (1.0 - self.memory) * gradient**2
        agreement = np.divide(gradient * means, new_squares, out=np.zeros(gradient.size), where=seen)
        factors = np.maximum(self.least, 1.0 + self.rate * agreement)
        new_values = np.clip(values * factors, first / FARTHEST, first * FARTHEST)
        new_means = self.memory * means + (1.0 - self.memory) * gradient
        pairs = (new_values, values), (new_means, means), (new_squares, squares)
        moved = Gains(steepness, first, *(np.where(seen, new, old) for new, old in pairs))
        longest = LONGEST / np.sqrt(variances)
        return np.clip(moved.values * gradient, -longest, longest), moved

    def _published_move(self, gains: Gains, gradient: Vector) -> tuple[Vector, Gains]:
        seen = gradient != 0.0
        first = np.where(seen & (gains.first == 0.0), self.step, gains.first)
        values = np.where(gains.first == 0.0, first, gains.values)
        values = np.where(seen, values * np.maximum(self.least, 1.0 + self.rate * gradient * gains.means), values)
        means = np.where(seen, self.memory * gains.means + (1.0 - self.memory) * gradient, gains.means)
        return values * gradient, Gains(gains.steepness, first, values, means, gains.squares)

    def _begun(self, gains: Gains, gradient: Vector, variances: Vector) -> Gains:
        """Return first gains for features that have not been seen before."""
        seen = gradient != 0.0
        new = (gains.first == 0.0) & seen
        if not new.any():
            return gains
        steepness = gains.steepness or float(np.sqrt((gradient[seen] ** 2 / variances[seen]).mean()))
        first = np.where(new, self.step / (variances * steepness), gains.first)
        values, squares = np.where(new, first, gains.values), np.where(new, gradient**2, gains.squares)
        return Gains(steepness, first, values, gains.means, squares)


SGD = {"adapted": GainAdaptation(), "published": GainAdaptation(step=1.0, rate=1.0, normalized=False)}


@dataclass(frozen=True, eq=False)
class TrainingState:
    """The number of steps done, the `weights` they led to (None: the start), and the gains of the weights `names`."""

    step: int = 0
    weights: Mapping[str, float] | None = None
    names: tuple[str, ...] = ()
    gains: Gains = Gains.none(0)  # noqa: RUF009 (frozen)

    def gains_of(self, names: tuple[str, ...]) -> Gains:
        """Return the gains of some weights; those never seen have none yet."""
        if names == self.names:
            return self.gains
        place = {name: number for number, name in enumerate(self.names)}
        places = np.array([place.get(name, len(self.names)) for name in names], np.int64)
        return Gains(self.gains.steepness, *(np.append(array, 0.0)[places] for array in self.gains[1:]))

    def after(self, weights: Mapping[str, float], names: tuple[str, ...], gains: Gains) -> TrainingState:
        """Return the state after one more step, with new gains of some weights."""
        everything = tuple(dict.fromkeys((*self.names, *names)))
        place = {name: number for number, name in enumerate(everything)}
        places = np.array([place[name] for name in names], np.int64)
        arrays = [array.copy() for array in self.gains_of(everything)[1:]]
        for array, new in zip(arrays, gains[1:], strict=True):
            array[places] = new
        return TrainingState(self.step + 1, weights, everything, Gains(gains.steepness, *arrays))


@dataclass(frozen=True)
class TrainingStep:
    """What a step led to, and what it saw: expected gain (minus the penalty), and the entropy by counts."""

    weights: Weights
    state: TrainingState
    value: float
    entropy: float
    derivations: int


@dataclass(frozen=True)
class MinimumRisk:
    """Expected BLEU of units (`expected-bleu`), or of batches of them as small corpora (`corpus-expected-bleu`).

    Units are segments or documents. A step takes a `batch` of them, a round has `steps` steps. The gain of a segment is
    BLEU with `smoothing` added to the counts of n-grams with n > 1; the paper adds 0.01. `lines` is the number of lines
    drawn for what corpus BLEU has beyond its linear part. With `annealing`, temperature times the mean entropy of a
    segment (in nats) is added to a gain between 0 and 1; training ends when annealing does. L2 is compared with the
    same gain. `coupled` is for documents alone.

    With `two_step`, weights are a direction times a scale (Smith and Eisner 2006): of the steps at a temperature, or of
    a round without annealing, the first half turns the direction and leaves the scale, the others do the reverse. For
    the scale, the temperature is multiplied by `scale_temperature`. `sgd` is `adapted`, or `published` for gains as
    Arun et al. (2010) have them; then a round has the weights of its last step, not their means.
    """

    objective: RiskObjective = "expected-bleu"
    batch: int = 100
    steps: int = 20
    annealing: DeterministicAnnealing | None = None
    l2: float = 0.0
    smoothing: float = 1.0
    lines: int = 2000
    coupled: bool = False
    two_step: bool = False
    scale_temperature: float = 1.0
    sgd: Literal["adapted", "published"] = "adapted"
    adaptation: GainAdaptation | None = None

    def __post_init__(self) -> None:
        if self.objective not in get_args(RiskObjective):
            raise ValueError(f"no objective {self.objective!r}: choose from {', '.join(get_args(RiskObjective))}")
        if min(self.batch, self.steps) < 1 or self.lines < 2 or not self.l2 >= 0.0 or not self.smoothing >= 0.0:
            raise ValueError("batch and steps are at least 1, lines at least 2, l2 and smoothing not negative")
        if not self.scale_temperature >= 0.0:
            raise ValueError("scale_temperature is not negative")
        if self.two_step and self.period < 2:
            raise ValueError("two_step needs at least two steps at each temperature, or in each round")

    @property
    def name(self) -> str:
        """Return the name of the objective."""
        return self.objective

    @property
    def for_corpus(self) -> bool:
        """Return whether a batch is one corpus."""
        return self.objective == "corpus-expected-bleu"

    @property
    def last_step(self) -> int | None:
        """Return the number of steps until annealing is finished; None without annealing, which never ends."""
        return self.annealing.warm_steps if self.annealing else None

    @property
    def period(self) -> int:
        """Return the number of steps at a temperature, or in a round."""
        return self.annealing.steps if self.annealing else self.steps

    def changes_scale(self, step: int) -> bool:
        """Return whether a step, counted from 0, changes the scale of all weights and not their direction."""
        return self.two_step and step % self.period >= self.period // 2

    def temperature(self, step: int) -> float:
        """Return the temperature of a step, counted from 0."""
        factor = self.scale_temperature if self.changes_scale(step) else 1.0
        return factor * self.annealing.at(step) if self.annealing else 0.0

    def step(
        self, batch: SampleBatch, weights: Weights, state: TrainingState, random: np.random.Generator
    ) -> TrainingStep:
        """Follow the gradient of samples that were drawn with these weights."""
        names, point, free = batch.names, batch.point, batch.free
        value, slopes = batch.gradient(self, self.temperature(state.step), random)
        slopes = np.where(free, slopes - self.l2 * point, 0.0)
        value -= 0.5 * self.l2 * dot(point[free], point[free])
        moved, adapted, gains = self._moved(batch, slopes, state)
        after = weights.updated(names, moved)
        state = state.after(after, adapted, gains)
        return TrainingStep(after, state, value, batch.sentences.entropy, batch.derivations)

    def _moved(self, batch: SampleBatch, slopes: Vector, state: TrainingState) -> tuple[Vector, tuple[str, ...], Gains]:
        """Return the weights after a step along the slopes of the free ones, whose gains changed, and these."""
        names, point, variances = batch.names, batch.point, batch.variances
        adaptation = self.adaptation or SGD[self.sgd]
        own = np.where(batch.free, point, 0.0)
        scale = math.sqrt(dot(own, own))
        if not self.two_step or scale == 0.0:  # a point without direction
            move, gains = adaptation.move(state.gains_of(names), slopes, variances)
            return point + move, names, gains
        direction = own / scale
        along = dot(slopes, direction)
        if self.changes_scale(state.step):
            spread = np.array([dot(direction**2, variances)])  # as if features were independent
            move, gains = adaptation.move(state.gains_of((SCALE,)), np.array([along]), spread)
            return point + max(move[0], -0.5 * scale) * direction, (SCALE,), gains
        move, gains = adaptation.move(state.gains_of(names), slopes - along * direction, variances)
        turned = np.where(batch.free, own + move, 0.0)
        return np.where(batch.free, turned * (scale / math.sqrt(dot(turned, turned))), point), names, gains


def make_trainer(objective: object) -> MinimumRisk:
    """Return the trainer for one of the two expected BLEUs, with settings in its name or not; others are refused."""
    if isinstance(objective, MinimumRisk):
        return objective
    name, given = parse_named(objective) if isinstance(objective, str) else (str(getattr(objective, "name", "")), {})
    name = name.lower().replace("_", "-")
    if name not in get_args(RiskObjective) or not isinstance(objective, str):
        listed = " or ".join(f"`objective={one}`" for one in get_args(RiskObjective))
        remedy = f"with `search=gibbs` choose {listed}"
        raise InputError(f"objective {name!r} does not work by samples", argument="objective", remedy=remedy)
    for setting in given:
        if setting not in (known := [*RISK_SETTINGS, "annealing", *COOLING_SETTINGS]):
            raise unknown_name(f"setting of objective {name!r} by samples", setting, known)
    schedule = {own: given.pop(users) for users, own in COOLING_SETTINGS.items() if users in given}
    annealing = given.pop("annealing", bool(schedule))
    if not isinstance(annealing, bool) or (schedule and not annealing):
        remedy = "write true or false" if not schedule else f"{', '.join(COOLING_SETTINGS)} need annealing=true"
        raise InputError(f"annealing of objective {name!r} is {annealing!r}", remedy=remedy)
    values = converted(MinimumRisk, given, f"objective {name!r}")
    try:
        cooling = replace(COOLING, **converted(DeterministicAnnealing, schedule, "annealing")) if annealing else None
        return MinimumRisk(name, annealing=cooling, **values)  # type: ignore[arg-type]
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"objective {name!r}: {error}", argument="objective") from None


DOCUMENT_RISK = MinimumRisk("corpus-expected-bleu", batch=15, lines=1000)


class SampleBatch:
    """Samples of sentences at the weights they were drawn with: values of the weights, and which of them are free."""

    names: tuple[str, ...]
    point: Vector
    free: NDArray[np.bool_]
    rows: Rows
    sentences: SampledBatch
    derivations: int
    metric: Metric
    threads: int | None

    @property
    def variances(self) -> Vector:
        """Return the mean variance of each feature within a sentence."""
        return feature_variances(self.rows, self.sentences, self.point.size)

    def gradient(self, trainer: MinimumRisk, temperature: float, random: np.random.Generator) -> tuple[float, Vector]:
        """Return the expected gain, and the derivative of gain and entropy by each weight."""
        if trainer.for_corpus:
            return self._of_corpus(trainer, temperature, random)
        batch, metric = self.sentences, self.metric
        gains = sign(metric) / 100.0 * smoothed(metric, trainer.smoothing).scores(batch.statistics)
        value, advantages = sentence_advantages(batch, gains, temperature)
        return value, weighted_sum(self.rows, advantages, self.point.size, self.threads)

    def _of_corpus(self, trainer: MinimumRisk, temperature: float, random: np.random.Generator) -> tuple[float, Vector]:
        """Return gain and derivatives of all sentences as one corpus."""
        value, advantages = corpus_advantages(self.sentences, self.metric, trainer.lines, random, temperature)
        return value, weighted_sum(self.rows, advantages, self.point.size, self.threads)


class SegmentBatch(SampleBatch):
    """Samples of segments, as lists whose scores are logarithms of counts."""

    def __init__(self, examples: Examples, weights: Weights, threads: int | None = None) -> None:
        self.examples, self.metric, self.threads = examples, examples.metric, threads
        lists = examples.lists
        given = weight_space(lists.forest, weights)
        self.names, self.point, self.free = given.names, given.start, given.free
        self.rows = finite_rows(lists.forest)
        totals = lists.forest.scores(weights, threads)  # logarithms of counts
        scores = totals - self.rows.base if self.rows.base.size else totals
        self.sentences = SampledBatch(lists.offsets, np.exp(totals), lists.statistics, scores)
        self.derivations = self.sentences.counts.size


class DocumentBatch(SampleBatch):
    """Samples of some documents with scores at a point: as a batch of sentences, and as one of documents."""

    def __init__(
        self, samples: Sequence[DocumentSamples], names: tuple[str, ...], metric: Metric, weights: Weights
    ) -> None:
        self.samples, self.names, self.metric, self.weights, self.threads = samples, names, metric, weights, 1
        self.point = point = np.array([weights.get(name, 0.0) for name in names])
        self.free = np.array([name not in weights.frozen for name in names])
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
        self.derivations = self.documents.counts.size

    def gradient(self, trainer: MinimumRisk, temperature: float, random: np.random.Generator) -> tuple[float, Vector]:
        """Return the expected gain, and the derivative of gain and entropy by each weight."""
        groups: Sequence[DocumentBatch] = [self]
        if not trainer.for_corpus and len(self.samples) > 1:
            groups = [DocumentBatch([one], self.names, self.metric, self.weights) for one in self.samples]
        found = [group._of_corpus(trainer, temperature, random) for group in groups]
        return float(np.mean([value for value, _ in found])), np.mean([slopes for _, slopes in found], axis=0)

    def _of_corpus(self, trainer: MinimumRisk, temperature: float, random: np.random.Generator) -> tuple[float, Vector]:
        """Return gain and derivatives of all documents as one corpus."""
        documents, metric, lines = self.documents, self.metric, trainer.lines
        if not trainer.coupled:
            value, slopes = super()._of_corpus(trainer, temperature, random)
            if not self.totals.shape[1]:
                return value, slopes
        per_document = temperature * len(documents) / len(self.sentences)
        if len(documents) == 1:  # no need to draw lines
            gains = smoothed(metric, CORPUS_SMOOTHING).scores(documents.statistics) / 100.0
            value, of_states = sentence_advantages(documents, gains, per_document)
        else:
            value, of_states = corpus_advantages(documents, metric, lines, random, per_document)
        if trainer.coupled:
            slopes = weighted_sum(self.rows, of_states[self.state_of_row], self.point.size, threads=1)
        slopes[self.places] += sum_of_products(of_states, self.totals)
        return value, slopes

    @property
    def state_of_row(self) -> NDArray[np.int64]:
        """Return for each row the number of its document's state among all."""
        states, first, found = self.samples[0].states, 0, []
        for one in self.samples:
            found.append(np.tile(np.arange(first, first + states), one.sentences))
            first += states
        return np.concatenate(found)

    @property
    def variances(self) -> Vector:
        """Return the mean variance of each feature within a sentence, of document models within a document."""
        found = super().variances
        for column, place in enumerate(self.places):
            values = self.totals[:, column].reshape(len(self.documents), -1)
            found[place] = values.var(axis=1).mean()
        return found


def feature_variances(rows: Rows, batch: SampledBatch, columns: int) -> Vector:
    """Return the variance of each feature within a segment, as a mean over segments (sparse ones: around 0)."""
    shares, segments = batch.shares, batch.segments
    variances = np.zeros(columns)
    for k in range(rows.dense.shape[1]):
        values = rows.dense[:, k].astype(np.float64)
        variances[k] = sum_of_products(shares, (values - batch.sums(shares * values)[segments]) ** 2)
    if rows.offsets.size:
        squares = np.repeat(shares, np.diff(rows.offsets)) * rows.values.astype(np.float64) ** 2
        variances += np.bincount(rows.columns, squares, columns)
    return variances / len(batch)


def joined_rows(parts: Sequence[Rows]) -> Rows:
    """Join the rows of several documents."""
    dense = np.concatenate([part.dense for part in parts])
    if not parts[0].offsets.size:
        return parts[0]._replace(dense=dense)
    offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
    columns, values = (np.concatenate(arrays) for arrays in zip(*((p.columns, p.values) for p in parts), strict=True))
    return Rows(parts[0].base, dense, offsets, columns, values)


def _batch(states: int, statistics: Vector, scores: Vector) -> SampledBatch:
    offsets = np.arange(0, scores.size + 1, states, dtype=np.int64)
    return SampledBatch(offsets, np.ones(scores.size), statistics, scores)
