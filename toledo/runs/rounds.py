"""The one loop over rounds: start, round after round, save each, stop; resumed, it ends with the same result.

Random numbers of a round depend on the seed and the number of the round alone, so a loop needs no other state than what
it saves.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from toledo.errors import RunError
from toledo.runs.checkpoint import Checkpoint
from toledo.runs.history import History
from toledo.weights import Weights

log = logging.getLogger(__name__)

LARGEST_SHOWN = 4
ALL_DONE = "all rounds done"

S = TypeVar("S")


class Loop(ABC, Generic[S]):
    """What differs between loops. A state is what the next round needs beside the history."""

    kind = "tuning"
    shown: tuple[str, ...] = ()  # details of rounds to log

    @abstractmethod
    def first(self) -> tuple[History, S]:
        """Return the history before the first round, and its state."""

    @abstractmethod
    def round(self, history: History, state: S) -> tuple[History, S]:
        """Return the history with one more round, and its state."""

    @abstractmethod
    def stop(self, history: History) -> str:
        """Return why the run ends after its last round, or nothing."""

    def kept(self, history: History) -> Collection[int]:
        """Return the numbers of the rounds whose states are needed later."""
        return ()

    def save(self, state: S, directory: Path) -> None:
        """Write the state after a round."""

    @abstractmethod
    def restore(self, history: History, place: Callable[[int], Path]) -> S:
        """Return the state after the last round; `place` gives the directory of a round's state."""


def run(loop: Loop[S], checkpoint: Checkpoint | None) -> tuple[History, S]:
    """Run all rounds, or those after the last one that a checkpoint has."""
    history = checkpoint.load(loop.kind, History) if checkpoint else None
    if checkpoint is None or history is None:
        if checkpoint:
            checkpoint.begin()
        history, state = loop.first()
        if checkpoint:
            history = replace(history, configuration=dict(checkpoint.configuration))
            if 0 in loop.kept(history):
                _save(loop, checkpoint, history, state)
    else:
        if not history.stopped:
            log.info("resuming after round %d", len(history.rounds))
        elif history.stopped.startswith(ALL_DONE) and not loop.stop(history):
            raise RunError(
                f"{checkpoint.directory}: this run has ended, with seed {history.seed}: {history.stopped}",
                remedy="start again with resume=False to run more rounds",
            )
        checkpoint.keep(loop.kept(history))
        state = loop.restore(history, checkpoint.step)
    while not history.stopped:
        history, state = loop.round(history, state)
        history = replace(history, stopped=loop.stop(history))
        log.info("%s", describe(history, loop.shown))
        if checkpoint:
            _save(loop, checkpoint, history, state)
    return history, state


def _save(loop: Loop[S], checkpoint: Checkpoint, history: History, state: S) -> None:
    """Write the state first and the history after it, so that whatever the history names is complete."""
    if history.last.number in loop.kept(history):
        loop.save(state, checkpoint.step(history.last.number))
    checkpoint.save(history.to_json())
    checkpoint.keep(loop.kept(history))


def round_seed(seed: int, number: int) -> int:
    """Return the seed of a round; different rounds and different runs are independent."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def change(old: Weights, new: Weights) -> float:
    """Return the largest change of a free weight, relative to the largest new one."""
    free = [name for name in new if name not in new.frozen]
    largest = max((abs(new[name]) for name in free), default=0.0)
    moved = max((abs(new[name] - old.get(name, 0.0)) for name in free), default=0.0)
    return moved / largest if largest else moved


def all_done(history: History, rounds: int) -> str:
    """Return why a loop ends after its last round, or nothing; if that one is the best, more may be better."""
    done = len(history.rounds)
    if done < rounds:
        return ""
    better = done > 1 and history.best == done
    return f"{ALL_DONE} ({done})" + (", not converged: allow more rounds" if better else "")


def no_better(history: History, patience: int) -> str:
    """Return that the score has not improved for some rounds, or nothing."""
    waited = len(history.rounds) - history.best
    return f"no better score for {patience} round{'' if patience == 1 else 's'}" if waited >= patience else ""


def describe(history: History, shown: tuple[str, ...] = ()) -> str:
    """Describe the last round in one line."""
    before, last = history.all_rounds[-2:]
    trained = f" ({', '.join(last.trained)})" if last.trained else ""
    objective = "" if last.objective is None else f"objective {last.objective:.4f}, "
    text = f"round {last.number}{trained}: {objective}{history.metric} {before.score:.2f} → {last.score:.2f}"
    parts = [text + dev_text(last.dev_score)]
    if last.hypotheses:
        parts.append(f"{last.hypotheses:,} hypotheses ({last.new:,} new)")
    parts += [", ".join(f"{name.replace('_', ' ')} {last.details[name]:.4g}" for name in shown)] if shown else []
    free = [(name, value) for name, value in last.weights.items() if name not in history.frozen]
    largest = sorted(free, key=lambda pair: (-abs(pair[1]), pair[0]))[:LARGEST_SHOWN]
    return "; ".join([*parts, ", ".join(f"{name} {value:.3g}" for name, value in largest)])


def dev_text(score: float | None) -> str:
    """Return the score of the development set in words, if there is one."""
    return "" if score is None else f", dev {score:.2f}"
