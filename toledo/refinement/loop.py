"""The training procedure of He and Deng (2012), Figure 1: train Θ on lists, tune λ, validate; keep the best.

    refined = refine(model, ListSpace(parts), Settings(schedule="two-stage"), tune=tune, validate=validate)
    refined.model.save("refined")

Who tunes the weights and how, and by what a model is judged, are functions that are given. The lists stay those of the
baseline.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.refinement.distributions import LEXICON, PHRASE, prior_values
from toledo.refinement.expected_bleu import UTILITIES, SearchSpaces, normalised
from toledo.refinement.growth import Growth
from toledo.refinement.history import Checkpoint, Iteration, RefinementHistory, State
from toledo.refinement.objective import DISTANCES, RefinementObjective, TrainedParameters, require_say, strength_of
from toledo.refinement.refined import refined_model
from toledo.refinement.softmax import SoftmaxAscent

log = logging.getLogger(__name__)

SCHEDULES: dict[str, tuple[tuple[str, ...], ...]] = {
    "phrase": (PHRASE,),
    "lexicon": (LEXICON,),
    "both": (PHRASE + LEXICON,),
    "two-stage": (PHRASE, LEXICON),
}

Tune = Callable[[Model, int], Model]
Validate = Callable[[Model], float]


@dataclass(frozen=True)
class Settings:
    """What to train, how, and how far; `PAPER` has that of He and Deng.

    `strength` is τ, `lexicon_strength` that of lexicons if it is another, `distance` what they multiply. `utility` is
    expected BLEU of sentences, or BLEU of the corpus with expected statistics (lattices know the latter only). `scale`
    is the L1 norm of the weights in posteriors: the larger, the sharper. A stage ends after `iterations`, or after
    `patience` iterations without a better validation score. Weights are tuned after every `tune_every` iterations,
    never with 0.
    """

    schedule: str = "two-stage"
    strength: float = 0.2
    lexicon_strength: float | None = 0.02
    distance: str = "ratios"
    utility: str = "corpus"
    scale: float = 20.0
    iterations: int = 1
    patience: int = 3
    tune_every: int = 1
    method: Growth | SoftmaxAscent = SoftmaxAscent()  # noqa: RUF009 (frozen)
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise ValueError(f"no schedule {self.schedule!r}: choose from {', '.join(SCHEDULES)}")
        if min(self.iterations, self.patience) < 1 or self.tune_every < 0:
            raise ValueError("iterations and patience are at least 1, and no negative number between tunings")
        if not (math.isfinite(self.scale) and self.scale > 0.0):
            raise ValueError("the scale must be positive")
        strengths = (self.strength, self.lexicon_strength or 0.0)
        if not all(math.isfinite(one) and one >= 0.0 for one in strengths):
            raise ValueError("τ must not be negative")
        if self.distance not in DISTANCES or self.utility not in UTILITIES:
            raise ValueError(f"no distance {self.distance!r} or no utility {self.utility!r}")
        if isinstance(self.method, Growth) and self.distance != "kl":
            raise ValueError("growth transforms know no distance but KL")

    @property
    def stages(self) -> tuple[tuple[str, ...], ...]:
        """The families to train in each stage."""
        return SCHEDULES[self.schedule]

    @property
    def families(self) -> tuple[str, ...]:
        """All families that are trained."""
        return tuple(dict.fromkeys(name for stage in self.stages for name in stage))

    def strength_of(self, family: str) -> float:
        """The τ of a family."""
        return strength_of(family, self.strength, self.lexicon_strength)


PAPER = Settings(
    strength=1e-5,
    lexicon_strength=None,
    distance="kl",
    utility="sentence",
    scale=5.0,
    iterations=10,
    method=Growth(),
)


@dataclass(frozen=True)
class Refined:
    """The model of the best iteration, and all iterations."""

    model: Model
    history: RefinementHistory


def refine(
    model: Model,
    space: SearchSpaces,
    settings: Settings,
    *,
    tune: Tune,
    validate: Validate,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> Refined:
    """Train from a baseline with its weights; goes on where a checkpoint left off.

    `tune(model, number)` gives a model the weights that it should have, `validate(model)` a score, more being better.
    """
    loop = _Loop(model, space, settings, tune, validate, checkpoint)
    with progress("refining", len(settings.stages) * settings.iterations) as advance:
        return loop.run(advance)


@dataclass(eq=False)
class _Loop:
    model: Model
    space: SearchSpaces
    settings: Settings
    tune: Tune
    validate: Validate
    checkpoint: Checkpoint | None

    @cached_property
    def parameters(self) -> TrainedParameters:
        return TrainedParameters(self.model, self.settings.families, self.space.used, self.settings.threads)

    def run(self, advance: Callable[[int], None]) -> Refined:
        history, state, best = self._begin()
        while history.finished < len(self.settings.stages):
            history, state, best = self._stage(history, best if self._is_new_stage(history) else state, best, advance)
        return Refined(self._model(best), history)

    def _begin(self) -> tuple[RefinementHistory, State, State]:
        """A new history, or that of an interrupted run with its last and best states."""
        history = self.checkpoint.load() if self.checkpoint else None
        if self.checkpoint and history:
            log.info("going on after iteration %d", history.last.number)
            return history, self._state(history.last.number), self._state(history.best.number)
        score = self.validate(self.model)
        log.info("baseline: validation %.2f", score)
        state = State(prior_values(self.parameters.families), self.model.weights)
        configuration = self.checkpoint.configuration if self.checkpoint else {}
        history = RefinementHistory((Iteration(0, -1, (), dict(state.weights), score),), configuration=configuration)
        self._keep(history, state)
        return history, state, state

    def _state(self, number: int) -> State:
        """A state of the checkpoint; families that it does not have were not trained before."""
        assert self.checkpoint is not None  # noqa: S101 (that is where the history came from)
        state = self.checkpoint.load_state(number)
        return State({**prior_values(self.parameters.families), **state.values}, state.weights)

    def _is_new_stage(self, history: RefinementHistory) -> bool:
        return history.last.stage < history.finished

    def _stage(
        self, history: RefinementHistory, state: State, best: State, advance: Callable[[int], None]
    ) -> tuple[RefinementHistory, State, State]:
        """One stage to its end, from the best state so far."""
        stage, families = history.finished, self.settings.stages[history.finished]
        first = next((one.number for one in history.iterations if one.stage == stage), history.last.number + 1)
        since = max(history.best.number, first - 1)
        while not (stopped := self._reason(history, first, since)):
            iteration, state = self._iterate(history.last.number + 1, stage, families, state)
            history = history.with_iteration(iteration)
            if history.best.number == iteration.number:
                best, since = state, iteration.number
            log.info("%s", _text(iteration))
            self._keep(history, state)
            advance(1)
        log.info("stage %d ends: %s", stage + 1, stopped)
        history = RefinementHistory(history.iterations, stage + 1, stopped, history.configuration)
        if self.checkpoint:
            self.checkpoint.save(history)
        return history, state, best

    def _reason(self, history: RefinementHistory, first: int, since: int) -> str:
        done = history.last.number - first + 1
        if history.last.number - since >= self.settings.patience:
            return f"no better validation score for {self.settings.patience} iterations"
        return "all iterations are done" if done >= self.settings.iterations else ""

    def _iterate(self, number: int, stage: int, families: tuple[str, ...], state: State) -> tuple[Iteration, State]:
        began = time.process_time()
        exponents = normalised(state.weights, self.model.feature_names, self.settings.scale)
        objective = RefinementObjective(
            self.space,
            self.parameters,
            exponents,
            self.settings.strength,
            families,
            self.settings.lexicon_strength,
            self.settings.distance,
        )
        require_say(families, exponents)
        before = objective.at(state.values)
        step = self.settings.method.step(objective, state.values, before)
        seconds, began = time.process_time() - began, time.process_time()
        state = State(step.values, state.weights)
        model = self._model(state)
        if self.settings.tune_every and number % self.settings.tune_every == 0:
            model = self.tune(model, number)
            state = State(step.values, model.weights)
        found = step.point.expectation
        iteration = Iteration(
            number=number,
            stage=stage,
            families=tuple(objective.trainable),
            weights=dict(state.weights),
            validation=self.validate(model),
            objective=(before.value, step.point.value),
            expected=found.mean,
            best=found.best,
            entropy=found.entropy,
            divergence=step.point.divergence,
            caution=step.caution,
            seconds=seconds,
            tuning_seconds=time.process_time() - began,
        )
        return iteration, state

    def _model(self, state: State) -> Model:
        return refined_model(self.parameters, state.values, self.settings.threads).with_weights(state.weights)

    def _keep(self, history: RefinementHistory, state: State) -> None:
        if self.checkpoint:
            self.checkpoint.save(history, state)


def _text(one: Iteration) -> str:
    before, after = one.objective or (math.nan, math.nan)
    return (
        f"iteration {one.number} ({', '.join(one.families)}): O {before:.5f} → {after:.5f}, "
        f"expected BLEU {100 * (one.expected or 0.0):.2f}, best of the lists {one.best:.2f}; "
        f"validation {one.validation:.2f}"
    )
