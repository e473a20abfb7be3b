"""Tuning by gradients of expectations: expected BLEU, CoBLEU, xBLEU and their like.

On lists every hypothesis has its statistics, so sentence scores and corpus scores of any metric have exact
expectations (Smith and Eisner 2006). On lattices and forests the objectives are functions of expected n-gram counts
(Pauls, DeNero and Klein 2009; Rosti et al. 2011): the forests are pruned, their nodes split by boundary words once a
round, and each step is then two sweeps over the edges.

The scale of the weights says how sharp the distributions are. It is part of what is learnt, and not normalised: `norm`
in the details of a result is the L2 norm of the free weights, `entropy` the mean entropy of a segment in nats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np

from toledo.errors import InputError
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import localise
from toledo.forest.pruning import prune_to_density
from toledo.metrics.bleu import BLEU
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.gleu import ConsensusGLEU
from toledo.objectives.linear_bleu import LinearBLEU
from toledo.objectives.lists import Entropy, ExpectedGain, ExpectedStatistics
from toledo.objectives.objective import MatchedForest, Objective, WeightedSum, match, without_ngrams
from toledo.objectives.xbleu import XBLEU
from toledo.progress import Progress, silent
from toledo.tuning.examples import Examples, sentence_gains
from toledo.tuning.maximise import Annealing, Maximum, Optimiser, maximise
from toledo.tuning.rows import parameters
from toledo.tuning.tuner import Tuned
from toledo.tuning.weight_space import Penalties, WeightSpace, ascend_batches, draw_batches
from toledo.weights import Weights

Name = Literal["cobleu", "xbleu", "expected-bleu", "corpus-expected-bleu", "linear-bleu", "gleu"]
OF_LISTS = ("expected-bleu", "corpus-expected-bleu")


@dataclass(frozen=True)
class GradientTuner:
    """Maximises an objective by L-BFGS or by adaptive gradient ascent, with at most `steps` of them in a round.

    CoBLEU and xBLEU are first maximised with a `gentle` penalty for short texts, of this steepness, and only then as
    they are: good weights lie on the edge of the penalty, where gradient methods get stuck (see `objectives.cobleu`).

    With a `batch` of so many segments it makes small steps for random batches instead, in `steps` epochs: an objective
    of a corpus is then one of many small corpora.

    `on="forests"` wants lattices and forests, which it prunes to `density` edges per word. The two expected BLEUs need
    lists, where they also serve TER and chrF: of sentences, or of the corpus by expected statistics. Penalties are
    compared with objectives between 0 and 1 (CoBLEU: the logarithm of that). Without any, sharper distributions are
    nearly always better, so weights grow without end and a first step may end on a plateau far away; a small `l2`
    decides how sharp they become. Thousands of sparse features want a larger one.
    """

    objective: Name = "xbleu"
    optimiser: Optimiser = "lbfgs"
    annealing: Annealing | None = None
    l2: float = 1e-5
    l1: float = 0.0
    order: int = 4
    density: float = 30.0
    on: Literal["lists", "forests"] = "forests"
    steps: int = 100
    batch: int | None = None
    gentle: float | None = 30.0

    def __post_init__(self) -> None:
        if self.objective not in get_args(Name) or self.optimiser not in get_args(Optimiser):
            raise ValueError(f"no objective {self.objective!r} or no optimiser {self.optimiser!r}")
        if self.objective in OF_LISTS and self.on != "lists":
            raise ValueError(f"{self.objective} needs n-best lists; use xbleu or cobleu on lattices and forests")
        if self.steps < 1 or not self.density > 0.0 or (self.batch is not None and self.batch < 1):
            raise ValueError("steps, density and the size of batches must be positive")
        Penalties(self.l2, self.l1)

    @property
    def name(self) -> str:
        """The objective is what the command line calls it."""
        return self.objective

    @property
    def wants(self) -> Literal["lists", "forests"]:
        """Where it works."""
        return self.on

    def tune(
        self,
        examples: Examples,
        start: Weights,
        *,
        seed: int = 0,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> Tuned:
        """Weights that maximise the objective on all that was found; only batches are random."""
        matched = self.prepare(examples, start, threads)
        forest = matched.ngrams.forest
        space = WeightSpace(matched, parameters(forest, start), start, Penalties(self.l2, self.l1), threads)
        objective = self.make_objective(examples, matched, start)
        before = space.value_and_gradient(objective, space.limits.clip(space.first))[0]
        random = np.random.default_rng(seed)
        parts = [(space, objective)] if self.batch is None else self._batches(examples, space, random)
        found = self._follow(parts, random, progress)
        weights = space.weights(found.point)
        free = space.free_weights(found.point)
        given = distribution(forest.shape, forest.scores(weights, threads), threads)
        details = {
            "before": before,
            "norm": float(np.linalg.norm(free)),
            "entropy": float(given.entropy().mean()),
            "evaluations": float(found.evaluations),
            "edges": float(forest.edges),
        }
        return Tuned(weights, space.value_and_gradient(objective, found.point)[0], details, found.path)

    def prepare(self, examples: Examples, start: Weights, threads: int | None = None) -> MatchedForest:
        """What steps work on: lists, or forests that are small and know their n-grams."""
        forest = examples.forest
        if self.objective in OF_LISTS:
            return without_ngrams(forest)
        if not isinstance(examples.metric, BLEU):
            raise InputError(
                f"{self.objective} maximises BLEU, not {examples.metric.name}",
                remedy="use expected-bleu or corpus-expected-bleu, which work with any metric",
            )
        if self.on == "forests":
            forest = prune_to_density(forest, forest.scores(start, threads), self.density)
        scores = forest.scores(start, threads)
        return match(localise(forest, scores, self.order, threads=threads), examples.references)

    def make_objective(self, examples: Examples, matched: MatchedForest, start: Weights) -> Objective:
        """What is maximised, on a scale on which a point of BLEU is about 0.01."""
        segments = len(examples.references)
        if self.objective == "expected-bleu":
            return ExpectedGain(sentence_gains(examples.lists) / segments)
        if self.objective == "corpus-expected-bleu":
            return ExpectedStatistics(examples.lists.statistics, examples.metric)
        if self.objective == "linear-bleu":
            words = float(matched.reference_lengths.mean(axis=1).sum())
            return WeightedSum([(1.0 / max(words, 1.0), fitted_linear_bleu(matched, start, self.order))])
        if self.objective == "gleu":
            return ConsensusGLEU(self.order)
        return CoBLEU(self.order) if self.objective == "cobleu" else XBLEU(self.order)

    def _follow(
        self, parts: Sequence[tuple[WeightSpace, Objective]], random: np.random.Generator, progress: Progress
    ) -> Maximum:
        """The maximum from one stage to the next, of the whole or by small steps for each part."""
        space, stages = parts[0][0], self._stages
        found = Maximum(space.first, -np.inf, 0)
        with progress(f"maximising {self.name}", total=len(stages)) as advance:
            for stage in stages:
                functions = [partial(one.value_and_gradient, stage.of(own, one.matched)) for one, own in parts]
                if self.batch is None:
                    better = maximise(functions[0], found.point, space.limits, self.optimiser, stage.steps)
                else:
                    better = ascend_batches(functions, found.point, space.limits, stage.steps, random)
                found = found.then(better)
                advance(1)
        return found

    def _batches(
        self, examples: Examples, whole: WeightSpace, random: np.random.Generator
    ) -> list[tuple[WeightSpace, Objective]]:
        """The same weights for batches of segments, each with its objective."""
        parts = []
        for numbers in draw_batches(len(examples.references), self.batch or 1, random):
            some = examples.only(numbers)
            matched = self.prepare(some, whole.start, whole.threads)
            parts.append((replace(whole, matched=matched), self.make_objective(some, matched, whole.start)))
        return parts

    @property
    def _stages(self) -> list[Stage]:
        """From gentle to true, from hot to cold."""
        gentle = self.gentle if self.objective in ("cobleu", "xbleu") else None
        first = [] if gentle is None else [Stage(0.0, gentle, self.steps)]
        if not self.annealing:
            return [*first, Stage(0.0, None, self.steps)]
        temperatures, steps = self.annealing.temperatures, self.annealing.steps
        hot = [Stage(one, gentle, steps) for one in temperatures if one > 0.0]
        cold = [Stage(one, None, steps) for one in temperatures if one < 0.0]
        return [*hot, *first, Stage(0.0, None, self.steps), *cold]


class Stage(NamedTuple):
    """A temperature, the steepness of the penalty for short texts (None for that of the objective), and steps."""

    temperature: float
    steepness: float | None
    steps: int

    def of(self, objective: Objective, matched: MatchedForest) -> Objective:
        """The objective of this stage."""
        if self.steepness is not None and isinstance(objective, CoBLEU | XBLEU):
            objective = replace(objective, steepness=self.steepness)
        return at_temperature(objective, self.temperature, matched)


def at_temperature(objective: Objective, temperature: float, matched: MatchedForest) -> Objective:
    """The objective plus temperature times the mean entropy of the segments."""
    if temperature == 0.0:
        return objective
    return WeightedSum([(1.0, objective), (temperature / len(matched.ngrams.forest), Entropy())])


def fitted_linear_bleu(matched: MatchedForest, weights: Weights, order: int) -> LinearBLEU:
    """Linear BLEU with the unigram precision and the ratio of precisions that these weights give."""
    ngrams = matched.ngrams
    given = distribution(ngrams.forest.shape, ngrams.forest.scores(weights))
    expected = ngrams.expected_counts(given)
    totals = np.bincount(ngrams.orders, expected, order + 1)[1:]
    matches = np.bincount(ngrams.orders, np.where(matched.reference_counts > 0.0, expected, 0.0), order + 1)[1:]
    if not matches.all():
        return LinearBLEU(order)
    precisions = matches / totals
    ratio = (precisions[-1] / precisions[0]) ** (1.0 / max(order - 1, 1))
    return LinearBLEU(order, float(precisions[0]), float(ratio))
