"""The loop of training by document chains: sample a batch of documents, make a step; rounds, checkpoints, a history.

A round's weights are the means over its steps, and its score is the expected BLEU that they saw; or, with held-out
documents, BLEU of what a search finds there with the mean weights. The next round goes on from the last step.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.progress import Progress, silent
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.documents.chains import Chains
from toledo.tuning.documents.trainer import DocumentTrainer
from toledo.tuning.history import History, Round
from toledo.tuning.loop import TuningResult
from toledo.tuning.maximise import draw_batches
from toledo.tuning.minimum_risk.state import TrainingState, run_rounds, save_round
from toledo.tuning.minimum_risk.trainer import Step
from toledo.tuning.minimum_risk.training import mean_weights
from toledo.tuning.rounds import all_done, change, require_finite, round_text
from toledo.weights import Weights

log = logging.getLogger(__name__)

Judge = Callable[[Weights], float]
BATCHES, LINES = range(2)  # what random numbers are for


@dataclass(frozen=True)
class TrainingSettings:
    """How many rounds; with `best`, the weights of the best round are taken, else the mean of the `last` ones."""

    rounds: int = 5
    seed: int = 1
    threads: int | None = None
    best: bool = True
    last: int = 1

    def __post_init__(self) -> None:
        if min(self.rounds, self.last) < 1:
            raise ValueError("a training has at least one round")

    def final(self, history: History) -> range:
        """The numbers of the rounds whose weights, or their mean, are the result."""
        if self.best:
            return range(history.best, history.best + 1)
        done = len(history.rounds)
        return range(max(done - self.last, 0) + 1, done + 1)


def train_documents(
    trainer: DocumentTrainer,
    start: Weights,
    chains: Chains,
    settings: TrainingSettings = TrainingSettings(),
    *,
    judge: Judge | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> TuningResult:
    """Train for so many rounds, or until it is cold. `judge` gives BLEU of held-out documents."""
    if not chains.documents or start.frozen.issuperset(chains.names):
        raise InputError("there is nothing to tune", remedy="give documents, and freeze fewer weights")
    history = _Training(trainer, chains, settings, judge, checkpoint, progress).run(start)
    return TuningResult(mean_weights([history.weights(number) for number in settings.final(history)]), history)


class _Training:
    """One run."""

    def __init__(
        self,
        trainer: DocumentTrainer,
        chains: Chains,
        settings: TrainingSettings,
        judge: Judge | None,
        checkpoint: Checkpoint | None,
        progress: Progress,
    ) -> None:
        self.trainer, self.chains, self.settings, self.judge = trainer, chains, settings, judge
        self.checkpoint, self.progress = checkpoint, progress
        self.batches = -(-len(chains.documents) // trainer.batch)

    def run(self, start: Weights) -> History:
        first = partial(self._first, start)
        return run_rounds(self.checkpoint, self.settings.rounds, first, self._round, self.chains.put)

    def _first(self, start: Weights) -> History:
        names = self.chains.names
        start = start.updated(names, np.array([start.get(name, 0.0) for name in names]))
        held_out = self.judge(start) if self.judge else None
        configuration = self.checkpoint.configuration if self.checkpoint else {}
        return History(
            self.trainer.name, self.chains.metric.name, True, self.settings.seed, start, 0.0, held_out, 0,
            configuration=configuration,
        )  # fmt: skip

    def _round(self, history: History, state: TrainingState) -> tuple[History, TrainingState]:
        number, old = len(history.rounds) + 1, history.weights(len(history.rounds))
        began = time.process_time()
        steps, sampling = self._steps(history.start, state, number)
        weights, end = mean_weights([one.weights for one in steps]), steps[-1].state
        stepping = time.process_time() - began - sampling
        before = time.process_time()
        held_out = self.judge(weights) if self.judge else None
        value = float(np.mean([one.value for one in steps]))
        done = Round(
            number=number, weights=dict(weights), objective=value,
            before=history.rounds[-1].after if history.rounds else 100.0 * steps[0].value,
            after=100.0 * value, held_out=held_out,
            hypotheses=sum(one.derivations for one in steps), new=sum(one.derivations for one in steps), empty=0,
            change=change(old, weights),
            search_seconds=sampling + time.process_time() - before, tuning_seconds=stepping,
            details={
                "steps": float(end.step), "temperature": self.trainer.temperature(end.step - 1),
                "entropy": float(np.mean([one.entropy for one in steps])),
            },
            path=tuple(one.value for one in steps),
        )  # fmt: skip
        if number == 1:
            history = replace(history, start_score=100.0 * steps[0].value)
        history = history.with_round(done)
        history = history.with_stop(self._reason_to_stop(history, end))
        log.info("%s", round_text(history))
        if self.checkpoint:
            save_round(self.checkpoint, history, end, self.chains.to_arrays())
        return history, end

    def _steps(self, start: Weights, state: TrainingState, number: int) -> tuple[list[Step], float]:
        last, count = self.trainer.last_step, self.trainer.steps
        count = count if last is None else min(count, last - state.step)
        weights = start if state.weights is None else replace(start, values_by_name=dict(state.weights))
        steps: list[Step] = []
        sampling, seed = 0.0, self.settings.seed
        with self.progress(f"round {number}: steps", count) as advance:
            for _ in range(count):
                before = time.process_time()
                samples = self.chains.sample(self._batch(state.step).tolist(), weights, self.settings.threads)
                sampling += time.process_time() - before
                random = np.random.default_rng([seed, LINES, state.step])
                steps.append(self.trainer.step(samples, self.chains.names, self.chains.metric, weights, state, random))
                weights, state = steps[-1].weights, steps[-1].state
                require_finite(steps[-1].value, self.trainer.objective, f"step {state.step}")
                advance(1)
        return steps, sampling

    def _batch(self, step: int) -> NDArray[np.int64]:
        """The documents of a step; each epoch visits all of them in an order of its own."""
        random = np.random.default_rng([self.settings.seed, BATCHES, step // self.batches])
        return draw_batches(len(self.chains.documents), self.trainer.batch, random)[step % self.batches]

    def _reason_to_stop(self, history: History, state: TrainingState) -> str:
        last = self.trainer.last_step
        if last is not None and state.step >= last:
            return "it is cold"
        return "" if len(history.rounds) < self.settings.rounds else all_done(history)
