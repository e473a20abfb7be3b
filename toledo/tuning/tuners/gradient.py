"""Tuning by gradients of expectations: expected BLEU, CoBLEU, xBLEU and their like.

On lists every hypothesis has its statistics, so sentence scores and corpus scores of any metric have exact
expectations (Smith and Eisner 2006). On lattices and forests the objectives are functions of expected n-gram counts
(Pauls, DeNero and Klein 2009; Rosti et al. 2011): the forests are pruned, their nodes split by boundary words once a
round, and each step is then two sweeps over the edges.

The scale of the weights says how sharp the distributions are. It is part of what is learned, and not normalized: `norm`
in the details of a result is the L2 norm of the free weights, `entropy` the mean entropy of a segment in nats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from toledo.errors import InputError
from toledo.forest.assemble import prune_to_density
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import localize
from toledo.metrics.metric import Metric
from toledo.objectives.lists import Entropy
from toledo.objectives.objective import MatchedForest, Objective, WeightedSum, match, without_ngrams
from toledo.objectives.registry import OBJECTIVES
from toledo.progress import Progress
from toledo.settings import Meta, Settings
from toledo.tuning.examples import Examples
from toledo.tuning.maximize import DeterministicAnnealing, Maximum, Optimizer, ascend_batches, draw_batches, maximize
from toledo.tuning.tuner import SearchSpace, Tuned, Tuner, TuningProblem, refuse_metric
from toledo.tuning.weight_space import PenalizedObjective, weight_space
from toledo.weights import Weights

STEPS = 100  # in a round
Count = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class Gradient(Settings, Tuner):
    """Maximize an objective by L-BFGS or by gradient ascent.

    CoBLEU and xBLEU are first maximized with a `gentle` penalty for short texts, and only then as they are: good
    weights lie on the edge of the penalty, where gradient methods get stuck (see `CoBLEU`). With a `batch`, an
    objective of a corpus becomes one of many small corpora.

    Penalties are compared with objectives between 0 and 1 (CoBLEU: the logarithm of that). Without any, sharper
    distributions are nearly always better, so weights grow without end and a first step may end on a plateau far away;
    a small `l2` decides how sharp they become. Thousands of sparse features want a larger one.
    """

    objective: Annotated[Objective | str, Meta(description="Objective to maximize.")]
    l2: Annotated[float, Meta(ge=0, description="L2 penalty on the weights.")] = 1e-5
    optimizer: Annotated[Optimizer, Meta(description="L-BFGS, plain gradient ascent, or AdaGrad.")] = "lbfgs"
    steps: Annotated[Count | None, Meta(description="Steps in a round (100), or epochs with batches.")] = None
    batch: Annotated[Count | None, Meta(description="Number of segments in a batch; one step per batch.")] = None
    annealing: Annotated[
        bool | DeterministicAnnealing, Meta(description="Anneal from flat to sharp distributions.")
    ] = False
    on: Annotated[
        SearchSpace | None, Meta(description="Tune on n-best lists, or on lattices and forests where possible.")
    ] = None
    density: Annotated[float, Meta(gt=0, description="Prune forests to this many edges per word.")] = 30.0
    l1: Annotated[float, Meta(ge=0, description="L1 penalty on the weights, which makes some of them 0.")] = 0.0
    gentle: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="Steepness of the brevity penalty in the first of two stages."),
    ] = 30.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "objective", OBJECTIVES.make(self.objective))
        if self.on is not None and self.on not in self.goal.works_on:
            raise InputError(
                f"objective {self.name!r} works on {self.goal.works_on[0]} only", remedy="leave `on` out", argument="on"
            )
        if self.batch is not None and self.optimizer != "lbfgs":
            raise InputError(
                f"optimizer {self.optimizer!r} uses all segments at once, but `batch` takes a step for each batch",
                remedy="leave one of both out",
                argument="optimizer",
            )

    @property
    def goal(self) -> Objective:
        """The objective itself."""
        assert isinstance(self.objective, Objective)  # noqa: S101 (it was made from its name)
        return self.objective

    @property
    def name(self) -> str:
        """The name of the objective."""
        return self.goal.name

    @property
    def wants(self) -> SearchSpace:
        """What it works on: what was chosen, or what is usual for the objective."""
        return self.on or self.goal.works_on[0]

    def check_metric(self, metric: Metric) -> None:
        """Refuse a metric that the objective does not stand for."""
        if self.goal.only_metric not in (None, metric.name):
            raise refuse_metric(self.name, metric)

    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return weights that maximize the objective on all that was found; only batches are random."""
        examples, start, threads = problem.examples, problem.start, problem.threads
        matched = self.prepare(examples, start, threads)
        forest = matched.ngrams.forest
        objective = self.goal.fitted(matched, start, lambda: examples.lists)
        whole = PenalizedObjective(objective, matched, weight_space(forest, start), self.l2, self.l1, threads)
        before = whole(whole.bounds.clip(whole.first))[0]
        random = np.random.default_rng(seed)
        parts = [whole] if self.batch is None else self._batches(examples, whole, start, random)
        found = self._follow(parts, random, progress)
        weights = whole.weights(found.point)
        given = distribution(forest.shape, forest.scores(start.updated(whole.space.names, weights), threads), threads)
        details = {
            "before": before,
            "norm": float(np.linalg.norm(whole.free_weights(found.point))),
            "entropy": float(given.entropy().mean()),
            "evaluations": float(found.evaluations),
            "edges": float(forest.edges),
        }
        return Tuned(start.updated(whole.space.names, weights), whole(found.point)[0], details, found.path)

    def prepare(self, examples: Examples, start: Weights, threads: int | None = None) -> MatchedForest:
        """Return what steps work on: lists, or forests that are small and know their n-grams."""
        forest = examples.forest
        if not self.goal.order:
            return without_ngrams(forest)
        if self.wants == "forests":
            forest = prune_to_density(forest, forest.scores(start, threads), self.density)
        scores = forest.scores(start, threads)
        return match(localize(forest, scores, self.goal.order, threads=threads), examples.references)

    def _follow(self, parts: Sequence[PenalizedObjective], random: np.random.Generator, progress: Progress) -> Maximum:
        """Follow the maximum from one stage to the next, of the whole or by small steps for each part."""
        stages, bounds = self._stages(), parts[0].bounds
        found = Maximum(parts[0].first, -np.inf, 0)
        with progress(f"maximizing {self.name}", total=len(stages)) as advance:
            for stage in stages:
                functions = [stage.of(part) for part in parts]
                if self.batch is None:
                    better = maximize(functions[0], found.point, bounds, self.optimizer, stage.steps)
                else:
                    better = ascend_batches(functions, found.point, bounds, stage.steps, random)
                found = found.then(better)
                advance(1)
        return found

    def _batches(
        self, examples: Examples, whole: PenalizedObjective, start: Weights, random: np.random.Generator
    ) -> list[PenalizedObjective]:
        """Return the same weights for batches of segments, each with its objective."""
        parts = []
        for numbers in draw_batches(len(examples.references), self.batch or 1, random):
            some = examples.only(numbers)
            matched = self.prepare(some, start, whole.threads)
            objective = self.goal.fitted(matched, start, lambda some=some: some.lists)  # type: ignore[misc]
            parts.append(replace(whole, objective=objective, matched=matched))
        return parts

    def _stages(self) -> list[GradientStage]:
        """Return the stages from gentle to true, from hot to cold."""
        steps = self.steps or STEPS
        gentle = None if self.gentle is None or self.goal.gentle(self.gentle) is None else self.gentle
        first = [] if gentle is None else [GradientStage(0.0, gentle, steps)]
        last = GradientStage(0.0, None, steps)
        if not self.annealing:
            return [*first, last]
        schedule = DeterministicAnnealing() if self.annealing is True else self.annealing
        hot = [GradientStage(one, gentle, schedule.steps) for one in schedule.temperatures if one > 0.0]
        cold = [GradientStage(one, None, schedule.steps) for one in schedule.temperatures if one < 0.0]
        return [*hot, *first, last, *cold]


class GradientStage(NamedTuple):
    """A temperature, the steepness of the penalty for short texts (None for that of the objective), and steps."""

    temperature: float
    steepness: float | None
    steps: int

    def of(self, part: PenalizedObjective) -> PenalizedObjective:
        """Return the function to maximize in this stage."""
        objective = part.objective
        if self.steepness is not None:
            objective = objective.gentle(self.steepness) or objective
        return replace(part, objective=at_temperature(objective, self.temperature, part.matched))


def at_temperature(objective: Objective, temperature: float, matched: MatchedForest) -> Objective:
    """Return the objective plus temperature times the mean entropy of the segments."""
    if temperature == 0.0:
        return objective
    return WeightedSum([(1.0, objective), (temperature / len(matched.ngrams.forest), Entropy())])
