"""The training procedure of He and Deng (2012), Figure 1: train Θ on lists, tune λ, validate; keep the best.

    refined = refine(model, ListSpace(parts), RefineSettings(), tune=tune, validate=validate)
    refined.model.save("refined")

Who tunes the weights and how, and by what a model is judged, are functions that are given. The lists stay those of the
baseline.

    DIRECTORY/round-3           parameters and weights of an iteration: the last one and the best one
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from toledo import storage
from toledo.compiled.kernels import working_seconds
from toledo.model import PhraseModel
from toledo.progress import Advance, Progress, silent
from toledo.refinement.ascent import Growth, SoftmaxAscent
from toledo.refinement.distributions import LEXICON, PHRASE, Vector, prior_values, refined_model
from toledo.refinement.expected_bleu import SearchSpaces, normalized
from toledo.refinement.objective import RefinementObjective, TrainedParameters, require_say
from toledo.refinement.settings import RefineSettings
from toledo.runs.checkpoint import STATE, Checkpoint
from toledo.runs.history import History, Round
from toledo.runs.rounds import ALL_DONE, Loop, run
from toledo.weights import Weights

STAGES: dict[str, tuple[tuple[str, ...], ...]] = {
    "phrase": (PHRASE,),
    "lexicon": (LEXICON,),
    "both": (PHRASE + LEXICON,),
    "two-stage": (PHRASE, LEXICON),
}

Tune = Callable[[PhraseModel, int], PhraseModel]
Validate = Callable[[PhraseModel], float]


def families_of(settings: RefineSettings) -> tuple[str, ...]:
    """Return all families that are trained."""
    return tuple(dict.fromkeys(name for stage in STAGES[settings.parameters] for name in stage))


def method_of(settings: RefineSettings) -> Growth | SoftmaxAscent:
    """Return the way to take a step."""
    if settings.method == "lbfgs":
        return SoftmaxAscent(settings.resolved().steps or 1)
    return Growth(published=settings.method == "he-deng")


@dataclass(frozen=True)
class Refined:
    """The model of the best iteration, and all iterations."""

    model: PhraseModel
    history: History


def refine(
    model: PhraseModel,
    space: SearchSpaces,
    settings: RefineSettings,
    *,
    tune: Tune,
    validate: Validate,
    checkpoint: Checkpoint | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> Refined:
    """Train from a baseline with its weights; resume what a checkpoint has.

    `tune(model, number)` gives a model the weights that it should have, `validate(model)` a score, more being better.
    """
    settings = settings.resolved()
    loop = RefineLoop(model, space, settings, tune, validate, threads)
    with progress("refining", len(STAGES[settings.parameters]) * (settings.iterations or 1)) as loop.advance:
        history, state = run(loop, checkpoint)
    return Refined(loop.model_at(state.best), history)


RefinedPoint = tuple[dict[str, Vector], Weights]  # shares of all families, and weights


@dataclass(frozen=True, eq=False)
class RefineState:
    """The parameters of the last and of the best iteration."""

    last: RefinedPoint
    best: RefinedPoint


@dataclass(eq=False)
class RefineLoop(Loop[RefineState]):
    """Iterations of all stages."""

    model: PhraseModel
    space: SearchSpaces
    settings: RefineSettings
    tune: Tune
    validate: Validate
    threads: int | None = None

    kind, shown = "refinement", ("expected", "best_of_lists")

    def __post_init__(self) -> None:
        self.advance: Advance = lambda steps: None

    @cached_property
    def parameters(self) -> TrainedParameters:
        """Return the parameters to train."""
        return TrainedParameters(self.model, families_of(self.settings), self.space.used, self.threads)

    def first(self) -> tuple[History, RefineState]:
        """Score the baseline."""
        weights = self.model.weights
        one = Round(0, dict(weights), self.validate(self.model), stage=-1)
        point = (dict(prior_values(self.parameters.families)), weights)
        return History(self.kind, "refinement", "BLEU", True, 0, one).from_weights(weights), RefineState(point, point)

    def round(self, history: History, state: RefineState) -> tuple[History, RefineState]:
        """Train one step, tune weights, and score; a new stage starts from the best iteration so far."""
        number, stage = len(history.rounds) + 1, max(history.last.stage, 0)
        values, weights = state.last
        if history.rounds and self._ended(history):
            stage, (values, weights) = stage + 1, state.best
        began = working_seconds()
        objective = self._objective(STAGES[self.settings.parameters][stage], weights)
        before = objective.at(values)
        step = method_of(self.settings).step(objective, values, before)
        seconds, began = working_seconds() - began, working_seconds()
        point = (dict(step.values), weights)
        model = self.model_at(point)
        if self.settings.tune_every and number % self.settings.tune_every == 0:
            model = self.tune(model, number)
            point = (dict(step.values), model.weights)
        found, details = step.point.expectation, {"objective_before": before.value}
        details |= {"expected_before": before.expectation.mean, "expected": found.mean}
        details |= {"best_of_lists": found.best, "entropy": found.entropy}
        details |= {"divergence": step.point.divergence, "caution": step.caution}
        done = Round(
            number=number,
            weights=dict(point[1]),
            score=self.validate(model),
            objective=step.point.value,
            search_seconds=seconds,
            tuning_seconds=working_seconds() - began,
            details=details,
            stage=stage,
            trained=tuple(objective.trainable),
        )
        history = history.with_round(done)
        self.advance(1)
        return history, RefineState(point, point if history.best == number else state.best)

    def stop(self, history: History) -> str:
        """Return why the last stage has ended."""
        is_last = history.last.stage == len(STAGES[self.settings.parameters]) - 1
        return self._ended(history) if is_last else ""

    def _ended(self, history: History) -> str:
        """Return why the stage of the last iteration has ended, or nothing."""
        own = [one.number for one in history.rounds if one.stage == history.last.stage]
        if own[-1] - max(history.best, own[0] - 1) >= self.settings.patience:
            return f"no better score for {self.settings.patience} iterations"
        return ALL_DONE if len(own) >= (self.settings.iterations or 1) else ""

    def kept(self, history: History) -> Collection[int]:
        """Keep the last and the best iteration."""
        return {history.last.number, history.best}

    def save(self, state: RefineState, directory: Path) -> None:
        """Write the last iteration."""
        values, weights = state.last
        storage.save(directory, STATE, weights.to_table(), values)

    def restore(self, history: History, place: Callable[[int], Path]) -> RefineState:
        """Read the last and the best iteration."""
        return RefineState(*(_load(place(number)) for number in (history.last.number, history.best)))

    def model_at(self, point: RefinedPoint) -> PhraseModel:
        """Return the model with some parameters and weights."""
        values, weights = point
        return refined_model(self.parameters, values, self.threads).with_weights(weights)

    def _objective(self, families: tuple[str, ...], weights: Weights) -> RefinementObjective:
        settings = self.settings
        exponents = normalized(weights, self.model.feature_names, settings.sharpness or 0.0)
        require_say(families, exponents)
        return RefinementObjective(
            self.space, self.parameters, exponents, settings.tau or 0.0, families, settings.lexicon_tau,
            settings.distance or "kl",
        )  # fmt: skip


def _load(directory: Path) -> RefinedPoint:
    content, arrays = storage.load(directory, STATE)
    return dict(arrays), Weights.from_table(content, directory / STATE)
