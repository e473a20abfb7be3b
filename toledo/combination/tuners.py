"""Tune the shares of systems and the weights of features, in the three ways of Rosti et al. (2011).

`Ascent` maximizes xBLEU on lattices. Paths have the posteriors p ∝ e^{γ s}; the scale γ is set so that the mean entropy
of a segment meets a target, and held while weights are tuned.

`Downhill` maximizes BLEU, or any goal, of the best paths by the simplex method (latBLEU). It needs no gradient, but
only works for few weights: shares and dense weights. After each descent a new simplex is set up around the best point.
Its second stage is for the best paths of the first (`best_paths`), which stand side by side in place of a lattice: an
n-best list that is scored again, here and when outputs are combined.

`ListAscent` maximizes expected BLEU, or any goal, on n-best lists of paths (nbExpBLEU). The best paths of all rounds
are kept as separate paths, edge by edge, so that they are scored as lattices are. The statistics of metrics belong to
whole paths there: those of BLEU are clipped path by path before the expectation is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toledo.combination.goals import NO_WORDS, Goal, WordIds
from toledo.combination.votes import CombinationProblem, CombinationWeights, TunedStage, Vector, VotedForest
from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import row_products, sum_of_products
from toledo.forest.assemble import edges_of, join, split, with_edges
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.forest.inside_outside import distribution
from toledo.forest.kbest import k_best
from toledo.metrics.metric import Metric
from toledo.objectives.objective import Objective, Situation, WeightedSum, without_ngrams
from toledo.objectives.xbleu import XBLEU
from toledo.tuning.maximize import Bounds, Maximum, maximize, nelder_mead

SMALLEST_SCALE, LARGEST_SCALE, SCALE_TOLERANCE = 1e-3, 1e3, 0.01
SECANT_STEPS = 5
REACHABLE = 0.8  # of the entropy of equal chances: beyond it weights have hardly a say
LARGEST_PART = 1 / 3  # of the same, before anything is pruned: the most that is asked for


@dataclass(frozen=True)
class Ascent:
    """The target `entropy` in nats, penalties, steps of L-BFGS, and rounds, each with a new γ.

    In each round xBLEU is first maximized with a `gentle` penalty for short texts. `sparse_l2` is the penalty on
    weights of sparse features; there may be thousands of them, each with little to learn from.
    """

    entropy: float = 3.0
    l2: float = 1e-4
    steps: int = 25
    rounds: int = 1
    gentle: float = 30.0
    sparse_l2: float = 1e-2

    def __post_init__(self) -> None:
        positive = min(self.entropy, self.steps, self.rounds, self.gentle) > 0
        if not (positive and min(self.l2, self.sparse_l2) >= 0.0):
            raise ValueError("ascent: entropy, steps, rounds and steepness are positive, penalties are not negative")

    def tune(self, problem: CombinationProblem, order: int) -> TunedStage:
        """Return the weights with the highest xBLEU found."""
        return self.follow(problem, [XBLEU(order, self.gentle), XBLEU(order)], problem.first)

    def follow(self, problem: CombinationProblem, objectives: Sequence[Objective], point: Vector) -> TunedStage:
        """Go from a point to the maximum of the last objective, by way of the others; each round sets γ first."""
        found = Maximum(point, -np.inf, 0)
        limits, penalties = unbounded(point.size), problem.penalties(self.l2, self.sparse_l2)
        scale = 1.0
        for _ in range(self.rounds):
            scale = self.scale(problem, found.point)
            for objective in objectives:
                function = partial(problem.value_and_gradient, objective, scale, penalties)
                found = found.then(maximize(function, found.point, limits, "lbfgs", self.steps))
        weights = problem.weights(found.point)
        return TunedStage(weights, self.scale(problem, found.point), found.value, found.evaluations)

    def scale(self, problem: CombinationProblem, point: Vector) -> float:
        """Return the γ with the target entropy at a point."""
        return scale_for_entropy(problem.voted, problem.weights(point), self.entropy, problem.threads)


def scale_for_entropy(
    voted: VotedForest, weights: CombinationWeights, target: float, threads: int | None = None
) -> float:
    """Return the γ at which the mean entropy of a segment is the target.

    Where few systems, or systems that agree, leave too few paths for it, the target is a part of what there can be;
    where there is only one path for each segment, γ is 1.
    """
    scores = voted.scores(weights, threads)

    def entropy(scale: float) -> float:
        return float(distribution(voted.forest.shape, scale * scores, threads).entropy().mean())

    most = entropy(0.0)
    if most < SCALE_TOLERANCE:
        return 1.0
    aim = min(target, REACHABLE * most)
    low, high = math.log(SMALLEST_SCALE), math.log(LARGEST_SCALE)
    flat, sharp = _bracket(entropy, aim, low, high)
    while high - low > SCALE_TOLERANCE:  # entropy falls: bisection need only ask between the two
        middle = 0.5 * (low + high)
        if flat < middle < sharp:
            flat, sharp = (middle, sharp) if entropy(math.exp(middle)) > aim else (flat, middle)
        low, high = (middle, high) if middle <= flat else (low, middle)
    return math.exp(0.5 * (low + high))


def entropy_within_reach(voted: VotedForest, target: float, threads: int | None = None) -> float:
    """Return the target, or the largest part of the entropy of equal chances to ask of lattices, if that is less.

    Few systems, and short segments, leave few paths: at the 3 nats that suit ten systems, all paths of three systems
    are nearly equal.
    """
    equal_chances = distribution(voted.forest.shape, np.zeros(voted.arcs.size), threads).entropy().mean()
    most = LARGEST_PART * float(equal_chances)
    return target if most < SCALE_TOLERANCE else min(target, most)


def _bracket(entropy: Callable[[float], float], aim: float, low: float, high: float) -> tuple[float, float]:
    """Return logarithms of scales, close together, between which the entropy meets its aim.

    The secant method finds the place, on logarithms of entropies; then both sides are looked at.
    """
    found: dict[float, float] = {}

    def distance(place: float) -> float:
        if place not in found:
            found[place] = math.log(max(entropy(math.exp(place)), 1e-9) / aim)
        return found[place]

    place, slope = 0.0, -1.0
    for _ in range(SECANT_STEPS):
        last, place = place, min(max(place - distance(place) / slope, low), high)
        if abs(place - last) < 0.25 * SCALE_TOLERANCE:
            break
        slope = min((distance(place) - distance(last)) / (place - last), -0.1)
    for side in (-0.5, 0.5):
        distance(min(max(place + side * SCALE_TOLERANCE, low), high))
    flat = max((place for place, value in found.items() if value > 0.0), default=low)
    return flat, min((place for place, value in found.items() if value <= 0.0), default=high)


def unbounded(size: int) -> Bounds:
    """Return bounds that allow any number."""
    return Bounds(np.full(size, -np.inf), np.full(size, np.inf))


POINTS_PER_WEIGHT = 20  # evaluations in a descent
STEP = 0.5
TOLERANCE = 1e-3


@dataclass(frozen=True)
class Downhill:
    """Nelder and Mead's method, `descents` times; γ is only needed to prune afterwards."""

    goal: Goal
    descents: int = 2
    entropy: float = 3.0

    def tune(self, problem: CombinationProblem, order: int) -> TunedStage:
        """Return the weights with the highest goal of the best paths, never below that at the start."""
        forest = problem.voted.forest
        known = self.goal.prepare(forest.vocabulary)
        sparse = set(forest.sparse.names if forest.sparse else ())
        names = (*problem.start.shares, *problem.names)
        free = np.array([place for place, name in enumerate(names) if name not in sparse])
        point = problem.first.copy()

        def value(point: Vector) -> float:
            scores = problem.voted.scores(problem.weights(point), problem.threads)
            return known.value(best_path_texts(problem.voted, scores))

        def gain(values: Vector) -> float:
            trial = point.copy()
            trial[free] = values
            return value(trial)

        found = nelder_mead(
            gain,
            point[free],
            [STEP * np.eye(free.size)] * self.descents,
            unbounded(free.size),
            evaluations=POINTS_PER_WEIGHT * free.size,
            step_tolerance=TOLERANCE / STEP,
            tolerance=TOLERANCE,
        )
        point[free] = found.point
        weights = problem.weights(point)
        scale = scale_for_entropy(problem.voted, weights, self.entropy, problem.threads)
        return TunedStage(weights, scale, value(point), found.evaluations)


def best_path_texts(voted: VotedForest, scores: Scores) -> list[WordIds]:
    """Return the words of the best path of each lattice."""
    return [NO_WORDS if one is None else one.word_ids for one in viterbi(voted.forest, scores)]


SEGMENTS_AT_ONCE = 8
LIST_SIZE = 300  # as in the paper
Paths = dict[bytes, NDArray[np.int32]]  # the edges of a path, by its words


@dataclass(frozen=True, eq=False)
class ExpectedPathStatistics(Objective):
    """A metric, divided by 100, of the expected statistics of paths; `last_edges` belong to one path each."""

    last_edges: NDArray[np.int64]
    statistics: NDArray[np.float64]
    metric: Metric

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Reward each path, at its last edge, by what its statistics add."""
        expected = sum_of_products(situation.distribution.posteriors[self.last_edges], self.statistics)
        rewards = np.zeros(situation.scores.size)
        rewards[self.last_edges] = row_products(self.statistics, 0.01 * self.metric.gradient(expected))
        return 0.01 * self.metric.score(expected), rewards


@dataclass(frozen=True)
class ListAscent:
    """Finds lists of `size` paths and the weights of the highest expected goal on them in turn."""

    goal: Goal
    ascent: Ascent = field(default_factory=Ascent)
    size: int = LIST_SIZE
    merges: int = 3

    def tune(self, problem: CombinationProblem, order: int) -> TunedStage:
        """Return the weights with the highest expected goal on all lists."""
        parts = split(problem.voted.forest)
        found: list[Paths] = [{} for _ in parts]
        point, stage = problem.first, None
        for _ in range(self.merges):
            scores = problem.voted.scores(problem.weights(point), problem.threads)
            add_paths(parts, scores, found, self.size, problem.threads)
            lists = self.list_problem(problem, parts, found)
            objective = self.objective(lists.voted.forest, found, order)
            stage = replace(self.ascent, rounds=1).follow(lists, [objective], point)
            point = replace(problem, start=stage.weights).first
        if stage is None:
            raise ValueError("lists are merged at least once")
        return replace(stage, scale=self.ascent.scale(problem, point))

    def list_problem(
        self, problem: CombinationProblem, parts: Sequence[tuple[Forest, int, int]], found: list[Paths]
    ) -> CombinationProblem:
        """Return the paths of all segments as lattices, with the votes of their arcs."""
        own = [
            (replace(part, provenance=problem.voted.arcs[begin:end]), paths)
            for (part, begin, end), paths in zip(parts, found, strict=True)
        ]
        forest = join([as_paths(part, list(paths.values())) for part, paths in own])
        arcs = np.empty(0, np.int64) if forest.provenance is None else forest.provenance
        voted = VotedForest(forest, problem.voted.votes, arcs)
        return replace(problem, voted=voted, matched=without_ngrams(forest))

    def objective(self, forest: Forest, found: Sequence[Paths], order: int) -> WeightedSum:
        """Return the expected goal of paths that stand side by side, in the order in which they were found."""
        shape, goals = forest.shape, forest.shape.sentences[1:] - 1
        ends = np.concatenate([np.arange(shape.head_edges[goal], shape.head_edges[goal + 1]) for goal in goals])
        texts = [np.frombuffer(words, np.int32) for paths in found for words in paths]
        segments = np.repeat(np.arange(len(found)), [len(paths) for paths in found])
        known = self.goal.prepare(forest.vocabulary, order)
        statistics = known.statistics(texts, segments)
        return WeightedSum([
            (factor, ExpectedPathStatistics(ends.astype(np.int64), rows, metric))
            for (factor, metric, _), rows in zip(known.parts, statistics, strict=True)
        ])  # fmt: skip


def add_paths(
    parts: Sequence[tuple[Forest, int, int]], scores: Scores, found: list[Paths], size: int, threads: int | None
) -> None:
    """Add the best paths of each segment to those found so far, if their words are new."""

    def work(first: int, last: int) -> None:
        for number in range(first, last):
            forest, begin, end = parts[number]
            for path in islice(k_best(forest, scores[begin:end], distinct=True), size):
                found[number].setdefault(path.word_ids.tobytes(), path.edges)

    map_chunks(work, len(parts), chunk=SEGMENTS_AT_ONCE, threads=threads)


def best_paths(forest: Forest, scores: Scores, size: int, threads: int | None = None) -> list[Forest]:
    """Return for each segment the best paths of different words, side by side."""
    parts = split(forest)
    found: list[Paths] = [{} for _ in parts]
    add_paths(parts, scores, found, size, threads)
    return [as_paths(part, list(paths.values())) for (part, _, _), paths in zip(parts, found, strict=True)]


def as_paths(forest: Forest, paths: Sequence[NDArray[np.int32]]) -> Forest:
    """Return paths of a one-segment lattice, each with separate edges and nodes up to the goal, which they share."""
    edges = np.concatenate([np.empty(0, np.int32), *(path[::-1] for path in paths)])  # from the start on
    sizes = np.array([path.size for path in paths], np.int64)
    ends = np.cumsum(sizes)
    heads = np.arange(edges.size)
    heads[ends - 1] = goal = edges.size
    firsts = np.zeros(edges.size, np.bool_)
    firsts[ends - sizes] = True
    tail_offsets = np.concatenate([[0], np.cumsum(~firsts)]).astype(np.int32)
    tails = (np.flatnonzero(~firsts) - 1).astype(np.int32)
    selected = edges_of(forest).select(edges)
    chosen = selected._replace(heads=heads.astype(np.int32), tail_offsets=tail_offsets, tails=tails)
    return with_edges(forest, chosen, goal)
