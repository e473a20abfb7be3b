"""The loop of minimum-risk training: sample a batch, make a step; after some steps score the weights.

A round is an interval of steps. Its weights are the means over these steps, which have less noise than where a step
happens to lead (Polyak and Juditsky 1992); the next round goes on from its last step.

Samples come from one of two sources. Segments are judged by what a decision rule chooses from samples with the mean
weights: of the held-out set, or else of the tuning set. With a held-out set, the score of the tuning set is that of the
last batches of the round, as they were sampled for training. The score of documents is the expected BLEU that the steps
saw; held-out documents are judged by a search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.kernels import working_seconds
from toledo.errors import InputError, RunError
from toledo.forest.forest import Forest
from toledo.metrics.references import References
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import AGAIN, STATE, Checkpoint
from toledo.runs.history import History, Round
from toledo.runs.rounds import Loop, all_done, change, no_better, run
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Gibbs
from toledo.text.corpus import Segment
from toledo.tuning.documents.chains import Chains
from toledo.tuning.examples import Examples, want_words
from toledo.tuning.loop import (
    LoopSettings,
    TuningResult,
    TuningSet,
    checked_result,
    require_finite,
    require_free_weights,
)
from toledo.tuning.maximize import draw_batches
from toledo.tuning.minimum_risk.trainer import (
    DocumentBatch,
    Gains,
    MinimumRisk,
    SegmentBatch,
    TrainingState,
    TrainingStep,
)
from toledo.weights import Weights

Numbers = NDArray[np.int64]
SampleSearch = Callable[[Numbers, Weights, int], Sequence[Forest]]
BATCHES, SAMPLES = range(2)  # what random numbers are for
ARRAYS = Gains._fields[1:]


@dataclass(frozen=True)
class TrainingInterval:
    """The steps of a round, the statistics of its last batches, and CPU time."""

    steps: tuple[TrainingStep, ...]
    chosen: tuple[NDArray[np.float64], ...]
    batches: int
    sampling_seconds: float
    step_seconds: float

    @property
    def value(self) -> float:
        """Return the mean expected gain of the steps."""
        return float(np.mean([one.value for one in self.steps]))


@dataclass(frozen=True, eq=False)
class SegmentSource:
    """Segments that can be sampled: numbers of segments, weights and a seed give a forest of samples for each.

    A forest is a list whose scores are logarithms of counts at these weights, as `toledo.search.gibbs` makes them with
    scale 1.
    """

    search: SampleSearch
    references: Sequence[References]
    how: str | None = ""
    held_out: TuningSet | None = None
    progress: Progress = silent

    prefix, lines = "", 2  # of the trainer's name; what random numbers of lines are for

    def __post_init__(self) -> None:
        judged = self.held_out.references if self.held_out else self.references
        if not self.references or not sum(want_words(judged)):
            raise InputError(
                "each segment has an empty reference", remedy="check that the references belong to this source"
            )

    @classmethod
    def gibbs(
        cls,
        model: PhraseModel,
        segments: Sequence[Segment],
        sampling: Gibbs,
        held_out: Sequence[Segment] | None = None,
        seed: int = 1,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> SegmentSource:
        """Sample segments by Gibbs sampling with a model; `seed` is that of the held-out set."""
        how = f"search gibbs, {sampling.chains} × {sampling.iterations} samples"

        def searched(some: Sequence[Segment], progress: Progress) -> SampleSearch:
            def search(numbers: Numbers, weights: Weights, seed: int) -> Sequence[Forest]:
                own = GibbsSearch(model.with_weights(weights), sampling, seed)
                return own.forests([some[number].words for number in numbers], threads, progress)

            return search

        other = None
        if held_out is not None:
            everything, whole = np.arange(len(held_out)), searched(held_out, progress)
            other = TuningSet(
                lambda weights: whole(everything, weights, seed), [one.references for one in held_out], how
            )
        references = [segment.references for segment in segments]
        return cls(searched(segments, silent), references, how, other, progress)

    def __len__(self) -> int:
        return len(self.references)

    def first(self, start: Weights, batches: Sequence[Numbers], settings: LoopSettings) -> tuple[Weights, Round]:
        """Score the initial weights."""
        found = self._sampled(batches[0], start, 0, settings)
        if found[0].sparse is None:
            require_free_weights(found[0].feature_names, start)
        one = self._judged(start, len(batches), settings)
        if one.dev_score is not None:
            references = [self.references[number] for number in batches[0]]
            one = replace(one, score=settings.judge(found, start, references).score)
        return start, one

    def sample(self, numbers: Numbers, weights: Weights, step: int, settings: LoopSettings) -> SegmentBatch:
        """Sample some segments."""
        found = self._sampled(numbers, weights, step, settings)
        references = [self.references[number] for number in numbers]
        return SegmentBatch(Examples(found, references, settings.metric), weights, settings.threads)

    def judge(self, weights: Weights, interval: TrainingInterval, settings: LoopSettings) -> Round:
        """Score what the rule chooses with these weights."""
        one = self._judged(weights, interval.batches, settings)
        if not interval.chosen:
            return one
        return replace(one, score=settings.metric.score(np.sum(interval.chosen, axis=0)))

    def result(self, history: History) -> Weights:
        """Return the weights of the best round; a collapse is an error."""
        judged = self.held_out.references if self.held_out else self.references
        return checked_result(history, sum(want_words(judged)), ())

    def _sampled(self, numbers: Numbers, weights: Weights, step: int, settings: LoopSettings) -> Sequence[Forest]:
        seed = int(np.random.SeedSequence([settings.seed, SAMPLES, step]).generate_state(1)[0])
        found = self.search(numbers, weights, seed)
        if len(found) != numbers.size:
            raise InputError(f"{len(found)} forests for {numbers.size} segments", remedy="sample each segment")
        return found

    def _judged(self, weights: Weights, batches: int, settings: LoopSettings) -> Round:
        if self.held_out is not None:
            best = settings.judge(self.held_out.search(weights), weights, self.held_out.references)
            return Round(0, dict(weights), best.score, best.score, empty=best.empty)
        everything, found = np.arange(len(self)), list[Forest]()
        with self.progress("scoring", everything.size) as advance:
            for part in np.array_split(everything, batches):
                found += self.search(part, weights, settings.seed)
                advance(part.size)
        best = settings.judge(found, weights, self.references)
        return Round(0, dict(weights), best.score, empty=best.empty)


@dataclass(frozen=True, eq=False)
class DocumentSource:
    """Documents that are sampled by chains; `score` gives BLEU of held-out documents with some weights."""

    chains: Chains
    score: Callable[[Weights], float] | None = None

    prefix, lines, how = "document ", 1, None

    def __len__(self) -> int:
        return len(self.chains.documents)

    def first(self, start: Weights, batches: Sequence[Numbers], settings: LoopSettings) -> tuple[Weights, Round]:
        """Give each feature a weight; the score of the start is known after the first step."""
        names = self.chains.names
        require_free_weights(names, start)
        start = start.updated(names, np.array([start.get(name, 0.0) for name in names]))
        return start, Round(0, dict(start), 0.0, self.score(start) if self.score else None)

    def sample(self, numbers: Numbers, weights: Weights, step: int, settings: LoopSettings) -> DocumentBatch:
        """Continue the chains of some documents."""
        samples = self.chains.sample(numbers.tolist(), weights, settings.threads)
        return DocumentBatch(samples, self.chains.names, self.chains.metric, weights)

    def judge(self, weights: Weights, interval: TrainingInterval, settings: LoopSettings) -> Round:
        """Return the expected BLEU that the steps saw."""
        return Round(0, dict(weights), 100.0 * interval.value, self.score(weights) if self.score else None)

    def result(self, history: History) -> Weights:
        """Return the weights of the best round."""
        return history.weights(history.best)


SampleSource = SegmentSource | DocumentSource


def train(
    trainer: MinimumRisk,
    start: Weights,
    source: SampleSource,
    settings: LoopSettings | None = None,
    *,
    average: int = 0,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> TuningResult:
    """Train for `settings.rounds` rounds, or until annealing has finished.

    The result are the weights of the best round, or the mean of the last rounds if `average` says of how many. Without
    annealing, `settings.patience` rounds without a better score end the training of segments as well.
    """
    if not len(source):
        raise InputError("there is nothing to tune on", remedy="give sources and references")
    history, _ = run(TrainingLoop(trainer, start, source, settings or LoopSettings(), progress), checkpoint)
    if not average:
        return TuningResult(source.result(history), history)
    return TuningResult(mean_weights([history.weights(number) for number in last_rounds(history, average)]), history)


def last_rounds(history: History, count: int) -> range:
    """Return the numbers of the last rounds."""
    done = len(history.rounds)
    return range(max(done - count, 0) + 1, done + 1)


def mean_weights(points: Sequence[Weights]) -> Weights:
    """Return the mean of weights; the last have all names, and what has no weight yet counts as 0."""
    names = list(points[-1])
    values = np.mean([[point.get(name, 0.0) for name in names] for point in points], axis=0)
    return points[-1].updated(names, values)


@dataclass(eq=False)
class TrainingLoop(Loop[TrainingState]):
    """Rounds of steps along sampled gradients."""

    trainer: MinimumRisk
    start: Weights
    source: SampleSource
    settings: LoopSettings
    progress: Progress = silent
    batches: int = field(init=False)

    def __post_init__(self) -> None:
        self.batches = -(-len(self.source) // self.trainer.batch)
        self.shown = ("temperature", "entropy") if self.trainer.annealing else ("entropy",)

    def first(self) -> tuple[History, TrainingState]:
        """Score the initial weights."""
        start, one = self.source.first(self.start, self._epoch(0), self.settings)
        name, how = self.source.prefix + self.trainer.name, self.source.how
        return self.settings.first_history(name, start, one, how), TrainingState()

    def round(self, history: History, state: TrainingState) -> tuple[History, TrainingState]:
        """Make the steps of a round, and score their mean weights."""
        number, old = len(history.rounds) + 1, history.weights(len(history.rounds))
        interval = self._interval(history.weights(0), state, number)
        steps, end = interval.steps, interval.steps[-1].state
        averaged = steps if self.trainer.sgd == "adapted" else steps[-1:]
        weights = mean_weights([one.weights for one in averaged])
        began = working_seconds()
        judged = self.source.judge(weights, interval, self.settings)
        derivations = sum(one.derivations for one in steps)
        done = replace(
            judged,
            number=number,
            objective=interval.value,
            hypotheses=derivations,
            new=derivations,
            change=change(old, weights),
            search_seconds=interval.sampling_seconds + working_seconds() - began,
            tuning_seconds=interval.step_seconds,
            details={
                "steps": float(end.step),
                "temperature": self.trainer.temperature(end.step - 1),
                "entropy": float(np.mean([one.entropy for one in steps])),
            },
            path=tuple(one.value for one in steps),
        )
        if number == 1 and self.source.prefix:  # the first step samples with the initial weights
            history = replace(history, start=replace(history.start, score=100.0 * steps[0].value))
        return history.with_round(done), end

    def stop(self, history: History) -> str:
        """Return why training ends."""
        last = self.trainer.last_step
        if last is not None and history.last.details["steps"] >= last:
            return "annealing finished"
        reason = ""
        if last is None and isinstance(self.source, SegmentSource):
            reason = no_better(history, self.settings.patience)
        return reason or all_done(history, self.settings.rounds)

    def kept(self, history: History) -> Collection[int]:
        """Keep the last state until the end."""
        return () if history.stopped or not history.rounds else (len(history.rounds),)

    def save(self, state: TrainingState, directory: Path) -> None:
        """Write weights, gains, and where chains are."""
        arrays = dict(zip(ARRAYS, state.gains[1:], strict=True))
        if isinstance(self.source, DocumentSource):
            arrays |= self.source.chains.to_arrays()
        content = {
            "step": state.step,
            "names": list(state.names),
            "steepness": state.gains.steepness,
            "weights": dict(state.weights or {}),
        }
        storage.save(directory, STATE, content, arrays)

    def restore(self, history: History, place: Callable[[int], Path]) -> TrainingState:
        """Read the state after the last round."""
        if history.stopped or not history.rounds:
            return TrainingState()
        directory = place(len(history.rounds))
        try:
            content, arrays = storage.load(directory, STATE)
            gains = Gains(content["steepness"], *(np.array(arrays[name]) for name in ARRAYS))
            state = TrainingState(content["step"], content["weights"], storage.strings(content, "names"), gains)
        except InputError as error:
            raise RunError(f"{error.file}: {error.message}", remedy=AGAIN) from None
        except KeyError as error:
            raise RunError(f"{directory / STATE}: lacks {error}", remedy=AGAIN) from None
        except storage.DAMAGE as error:
            raise RunError(f"{directory / STATE}: does not fit together: {error}", remedy=AGAIN) from None
        if isinstance(self.source, DocumentSource):
            self.source.chains.put(arrays)
        return state

    def _interval(self, start: Weights, state: TrainingState, number: int) -> TrainingInterval:
        last, count = self.trainer.last_step, self.trainer.steps
        count = count if last is None else min(count, last - state.step)
        weights = start if state.weights is None else replace(start, values_by_name=dict(state.weights))
        steps, chosen, settings = list[TrainingStep](), list[NDArray[np.float64]](), self.settings
        judged = isinstance(self.source, SegmentSource) and self.source.held_out is not None
        began, sampling = working_seconds(), 0.0
        with self.progress(f"round {number}: steps", count) as advance:
            for left in range(count, 0, -1):
                before = working_seconds()
                batch = self.source.sample(self._batch(state.step), weights, state.step, settings)
                sampling += working_seconds() - before
                if judged and left <= self.batches and isinstance(batch, SegmentBatch):
                    some = batch.examples
                    chosen.append(settings.judge(some.forests, weights, some.references).statistics)
                random = np.random.default_rng([settings.seed, self.source.lines, state.step])
                steps.append(self.trainer.step(batch, weights, state, random))
                weights, state = steps[-1].weights, steps[-1].state
                require_finite(steps[-1].value, self.trainer.name, f"step {state.step}")
                advance(1)
        spent = working_seconds() - began - sampling
        return TrainingInterval(tuple(steps), tuple(chosen), self.batches, sampling, spent)

    def _batch(self, step: int) -> Numbers:
        return self._epoch(step // self.batches)[step % self.batches]

    def _epoch(self, number: int) -> list[Numbers]:
        """Return all units in batches; each epoch visits them in another order."""
        random = np.random.default_rng([self.settings.seed, BATCHES, number])
        return draw_batches(len(self.source), self.trainer.batch, random)
