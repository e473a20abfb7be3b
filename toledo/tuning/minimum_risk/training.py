"""The loop of minimum-risk training: sample a batch, make a step; after some steps write the weights and score them.

A round is an interval of steps. Its weights are the means over these steps, which have less noise than where a step
happens to lead (Polyak and Juditsky 1992); the next round goes on from its last step. It is judged by what a decision
rule chooses from samples with the mean weights: of the held-out set, or else of the tuning set. With a held-out set,
the score of the tuning set is that of the last batches of the round, as they were sampled for training.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.metrics.references import References
from toledo.progress import Progress, silent
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.examples import OneBest, want_words
from toledo.tuning.history import History, Round
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, first_history
from toledo.tuning.maximise import draw_batches
from toledo.tuning.minimum_risk.state import TrainingState, run_rounds, save_round
from toledo.tuning.minimum_risk.trainer import SamplingTrainer, Step
from toledo.tuning.rounds import all_done, change, checked_result, require_finite, require_free_weights, round_text
from toledo.weights import Weights

log = logging.getLogger(__name__)

Numbers = NDArray[np.int64]
SampleSearch = Callable[[Numbers, Weights, int], Sequence[Forest]]
BATCHES, SAMPLES, LINES = range(3)  # what random numbers are for


@dataclass(frozen=True, eq=False)
class SampledSet:
    """Segments that can be sampled: numbers of segments, weights and a seed give a forest of samples for each.

    A forest is a list whose scores are logarithms of counts at these weights, as `toledo.search.gibbs` makes them with
    scale 1.
    """

    search: SampleSearch
    references: Sequence[References]
    how: str = ""


@dataclass(frozen=True)
class _Interval:
    """The steps of a round, and the score of its last batches."""

    steps: tuple[Step, ...]
    score: float | None
    sampling_seconds: float
    step_seconds: float


def train(
    trainer: SamplingTrainer,
    start: Weights,
    tuning: SampledSet,
    settings: LoopSettings | None = None,
    *,
    held_out: TuningSet | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> TuningResult:
    """Train for `settings.rounds` rounds, or until it is cold, and give the weights of the best round.

    Without annealing, `settings.patience` rounds without a better score end it as well.
    """
    judged = held_out.references if held_out else tuning.references
    if not tuning.references or not sum(want_words(judged)):
        raise InputError("each segment has an empty reference", remedy="give the references of these very lines")
    loop = _Training(trainer, tuning, held_out, settings or LoopSettings(), checkpoint, progress)
    history = loop.run(start)
    return TuningResult(checked_result(history, sum(want_words(judged)), ()), history)


def mean_weights(points: Sequence[Weights]) -> Weights:
    """The mean of weights; the last of them have all names, and what has no weight yet counts as 0."""
    names = list(points[-1])
    values = np.mean([[point.get(name, 0.0) for name in names] for point in points], axis=0)
    return points[-1].updated(names, values)


class _Training:
    """One run."""

    def __init__(
        self,
        trainer: SamplingTrainer,
        tuning: SampledSet,
        held_out: TuningSet | None,
        settings: LoopSettings,
        checkpoint: Checkpoint | None,
        progress: Progress,
    ) -> None:
        self.trainer, self.tuning, self.held_out = trainer, tuning, held_out
        self.settings, self.checkpoint, self.progress = settings, checkpoint, progress
        self.batches = -(-len(tuning.references) // trainer.batch)

    def run(self, start: Weights) -> History:
        return run_rounds(self.checkpoint, self.settings.rounds, partial(self._first, start), self._round)

    def _first(self, start: Weights) -> History:
        numbers = self._batch(0)
        found = self._sample(numbers, start, 0)
        require_free_weights(found[0], start)
        judged, held_out = self._judge(start)
        best = judged if held_out is None else self._score(found, start, numbers)
        return first_history(
            self.trainer.name, start, self.settings, best.score, held_out, judged.empty, self.tuning.how,
            self.checkpoint,
        )  # fmt: skip

    def _round(self, history: History, state: TrainingState) -> tuple[History, TrainingState]:
        number, old = len(history.rounds) + 1, history.weights(len(history.rounds))
        interval = self._interval(self._point(history.start, state), state, number)
        steps, end = interval.steps, interval.steps[-1]
        weights = mean_weights([one.weights for one in steps])
        began = time.process_time()
        judged, held_out = self._judge(weights)
        done = Round(
            number=number,
            weights=dict(weights),
            objective=float(np.mean([one.value for one in steps])),
            before=history.rounds[-1].after if history.rounds else history.start_score,
            after=judged.score if interval.score is None else interval.score,
            held_out=held_out,
            hypotheses=sum(one.derivations for one in steps),
            new=sum(one.derivations for one in steps),
            empty=judged.empty,
            change=change(old, weights),
            search_seconds=interval.sampling_seconds + time.process_time() - began,
            tuning_seconds=interval.step_seconds,
            details={
                "steps": float(end.state.step),
                "temperature": self.trainer.temperature(end.state.step - 1),
                "entropy": float(np.mean([one.entropy for one in steps])),
            },
            path=tuple(one.value for one in steps),
        )
        history = history.with_round(done)
        history = history.with_stop(self._reason_to_stop(history, end.state))
        log.info("%s%s", round_text(history), self._temperature_text(done))
        if self.checkpoint:
            save_round(self.checkpoint, history, end.state)
        return history, end.state

    @staticmethod
    def _point(start: Weights, state: TrainingState) -> Weights:
        return start if state.weights is None else replace(start, values_by_name=dict(state.weights))

    def _interval(self, weights: Weights, state: TrainingState, number: int) -> _Interval:
        steps: list[Step] = []
        last, count, chosen = self.trainer.last_step, self.trainer.steps, []
        count = count if last is None else min(count, last - state.step)
        began, sampling = time.process_time(), 0.0
        with self.progress(f"round {number}: steps", count) as advance:
            for left in range(count, 0, -1):
                numbers, before = self._batch(state.step), time.process_time()
                found = self._sample(numbers, weights, state.step)
                sampling += time.process_time() - before
                if self.held_out and left <= self.batches:
                    chosen.append(self._score(found, weights, numbers).statistics)
                steps.append(self._step(found, numbers, weights, state))
                weights, state = steps[-1].weights, steps[-1].state
                advance(1)
        score = self.settings.metric.score(np.sum(chosen, axis=0)) if chosen else None
        return _Interval(tuple(steps), score, sampling, time.process_time() - began - sampling)

    def _step(self, found: Sequence[Forest], numbers: Numbers, weights: Weights, state: TrainingState) -> Step:
        settings, references = self.settings, [self.tuning.references[number] for number in numbers]
        random = np.random.default_rng([settings.seed, LINES, state.step])
        step = self.trainer.step(found, references, settings.metric, weights, state, random, settings.threads)
        require_finite(step.value, self.trainer.name, f"step {state.step + 1}")
        return step

    def _batch(self, step: int) -> Numbers:
        """The segments of a step; each epoch visits all of them in an order of its own."""
        random = np.random.default_rng([self.settings.seed, BATCHES, step // self.batches])
        return draw_batches(len(self.tuning.references), self.trainer.batch, random)[step % self.batches]

    def _sample(self, numbers: Numbers, weights: Weights, step: int) -> Sequence[Forest]:
        seed = int(np.random.SeedSequence([self.settings.seed, SAMPLES, step]).generate_state(1)[0])
        found = self.tuning.search(numbers, weights, seed)
        if len(found) != numbers.size:
            raise InputError(f"{len(found)} forests for {numbers.size} segments", remedy="sample each segment")
        return found

    def _judge(self, weights: Weights) -> tuple[OneBest, float | None]:
        """What a rule chooses with these weights, and its score if that is one of held-out data."""
        settings = self.settings
        if self.held_out is None:
            everything, found = np.arange(len(self.tuning.references)), list[Forest]()
            with self.progress("scoring", everything.size) as advance:
                for part in np.array_split(everything, self.batches):
                    found += self.tuning.search(part, weights, settings.seed)
                    advance(part.size)
            return self._score(found, weights, everything), None
        best = settings.judge(self.held_out.search(weights), weights, self.held_out.references)
        return best, best.score

    def _score(self, found: Sequence[Forest], weights: Weights, numbers: Numbers) -> OneBest:
        return self.settings.judge(found, weights, [self.tuning.references[number] for number in numbers])

    def _reason_to_stop(self, history: History, state: TrainingState) -> str:
        done, last = len(history.rounds), self.trainer.last_step
        if last is not None and state.step >= last:
            return "it is cold"
        if last is None and done - history.best >= self.settings.patience:
            return f"no better score for {self.settings.patience} rounds"
        return "" if done < self.settings.rounds else all_done(history)

    def _temperature_text(self, done: Round) -> str:
        details = done.details
        heat = f"temperature {details['temperature']:.4f}, " if self.trainer.annealing else ""
        return f"; {heat}entropy {details['entropy']:.2f}"
