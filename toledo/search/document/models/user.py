"""Models of users: a function of the text, a class (both in Python), or a compiled function inside the loop.

The page document-models.md shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numba
import numpy as np
from numpy.typing import NDArray

from toledo.compiled.numba_internals import NO_REFERENCE_COUNTS
from toledo.search.document.arrays import REJECTED, USERS, State, Text
from toledo.search.document.loop import ACCEPT, PROPOSE, REJECT, Plan, first_half, second_half
from toledo.search.document.models.counts import Measures
from toledo.search.steps import Step

Memories = tuple[tuple[float, NDArray[Any]], ...]


@dataclass(frozen=True)
class Change:
    """A proposal: in a sentence (from 0), the phrases `new` for the phrases `old`, which begin at `place` (from 0)."""

    sentence: int
    place: int
    old: tuple[Step, ...]
    new: tuple[Step, ...]


@runtime_checkable
class PythonModel(Protocol):
    """A model as a class. After each `propose` comes either `accept` or `reject`."""

    name: str

    def start(self, translations: Sequence[Sequence[Step]]) -> float:
        """Return the value of a whole document, phrases in target order; forget what was known before."""

    def propose(self, change: Change) -> float:
        """Return the value of the document if the change were made."""

    def accept(self) -> None:
        """Keep the change."""

    def reject(self) -> None:
        """Take the change back."""


@dataclass
class FunctionModel:
    """A model as a function of the words of all sentences: easy to write, and computed again for each proposal."""

    name: str
    function: Callable[[list[list[str]]], float]

    def start(self, translations: Sequence[Sequence[Step]]) -> float:
        """Return the value of a whole document."""
        self._phrases = [list(sentence) for sentence in translations]
        return self._value()

    def propose(self, change: Change) -> float:
        """Return the value of the document if the change were made."""
        self._change = change
        self._exchange(change.old, change.new)
        return self._value()

    def accept(self) -> None:
        """Keep the change."""

    def reject(self) -> None:
        """Take the change back."""
        self._exchange(self._change.new, self._change.old)

    def _exchange(self, old: Sequence[Step], new: Sequence[Step]) -> None:
        place = self._change.place
        self._phrases[self._change.sentence][place : place + len(old)] = new

    def _value(self) -> float:
        return float(self.function([[word for step in sentence for word in step.words] for sentence in self._phrases]))


@dataclass(frozen=True)
class CompiledModel:
    """A model as a function for compiled code: `function(text, state, change, memory, event) -> value`.

    `memory(text)` makes an array that the function may use as it likes. Events are START (count everything),
    PROPOSE (the value if the change were made), ACCEPT and REJECT (what became of it; the value does not matter).
    """

    name: str
    function: Callable[..., float]
    memory: Callable[[Text], NDArray[Any]] = lambda text: np.zeros(1)


@cache
def combine(functions: tuple[Callable[..., float], ...]) -> Callable[..., float]:
    """Return one compiled function for several: the weighted sum of their values.

    `memories` has weight and memory of each.
    """
    function = functions[0]
    if len(functions) == 1:

        def combined(text: Any, state: Any, change: Any, memories: Any, event: int) -> float:
            return float(memories[0][0] * function(text, state, change, memories[0][1], event))
    else:
        rest = combine(functions[1:])

        def combined(text: Any, state: Any, change: Any, memories: Any, event: int) -> float:
            own = memories[0][0] * function(text, state, change, memories[0][1], event)
            return float(own + rest(text, state, change, memories[1:], event))

    return _not_kept(combined)


def _run_with_users(
    text: Text, state: State, measures: Measures, plan: Plan, steps: int, users: Callable[..., float], memories: Any
) -> int:
    """Take steps as `run_steps` does, with a function of `combine` asked between proposal and decision."""
    for done in range(steps):
        if state.counters[REJECTED] >= plan.max_rejected:
            return done
        trial = first_half(text, state, measures, plan)
        value = state.totals[USERS]
        if trial.new:
            value = users(text, state, trial, memories, PROPOSE)
        accepted = second_half(text, state, measures, trial, value)
        if trial.new:
            users(text, state, trial, memories, ACCEPT if accepted else REJECT)
    return steps


@cache
def run_with_users() -> Callable[..., int]:
    """Return the loop for compiled functions of users.

    It is not kept on disk, where a changed function would not be noticed.
    """
    return _not_kept(_run_with_users)


def _not_kept(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function as an inner kernel, but do not keep it on disk."""
    return numba.njit(nogil=True, error_model="numpy", **NO_REFERENCE_COUNTS)(function)  # type: ignore[no-any-return]
