"""Scores of arcs by the systems that vote for them, and their derivatives (Rosti et al. 2011, equation 1).

    s = log(Σ_n σ_n conf_n) + Σ_m λ_m f_m,        σ = softmax(θ)

The shares σ of the systems are positive and add up to 1; θ are free numbers. Scores are linear in the weights λ of
features, but not in the shares. With A(h) the derivative of an objective by the score of edge h (its advantage),

    ∂J/∂λ_m = Σ_h A(h) f_m(h),            ∂J/∂σ_n = Σ_h A(h) conf_n(h) / Σ_k σ_k conf_k(h),
    ∂J/∂θ_n = σ_n (∂J/∂σ_n − Σ_k σ_k ∂J/∂σ_k)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.combination.lattice import NO_ARC, NetworkLattice, Votes, join_votes
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import gather_rows
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores, edges_of_sentences
from toledo.forest.linear import EDGES_AT_ONCE, Rows, weighted_sum
from toledo.objectives.objective import MatchedForest, Objective
from toledo.tuning.maximize import dot
from toledo.weights import Weights

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class CombinationWeights:
    """The share of each system, by name, and the weights of features."""

    shares: Mapping[str, float]
    features: Weights = field(default_factory=lambda: Weights({}))

    def __post_init__(self) -> None:
        values = list(self.shares.values())
        if not values or min(values) < 0.0 or abs(sum(values) - 1.0) > 1e-6:
            raise InputError("the shares of systems are not positive or do not add up to 1", remedy="correct them")

    @property
    def sigma(self) -> Vector:
        """The shares in the order of the systems."""
        return np.array(list(self.shares.values()), np.float64)


def uniform(systems: Sequence[str], features: Weights) -> CombinationWeights:
    """Return weights with the same share for each system."""
    return CombinationWeights(dict.fromkeys(systems, 1.0 / len(systems)), features)


def softmax(free: Vector) -> Vector:
    """Return the shares of free numbers."""
    grown = np.exp(free - free.max())
    return np.asarray(grown / grown.sum())


@dataclass(frozen=True)
class TunedStage:
    """Weights, the scale γ that gives them the target entropy, and the value of the objective there."""

    weights: CombinationWeights
    scale: float
    value: float
    evaluations: int = 0

    def to_table(self) -> dict[str, Any]:
        """Return the stage for a TOML or JSON file."""
        return {
            "scale": self.scale,
            "value": self.value,
            "evaluations": self.evaluations,
            "shares": dict(self.weights.shares),
            **self.weights.features.to_table(),
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any], file: str | Path) -> TunedStage:
        """Read what `to_table` returned."""
        shares = table.get("shares")
        numbers = [table.get(name) for name in ("scale", "value", "evaluations")]
        if not isinstance(shares, dict) or not all(isinstance(number, int | float) for number in numbers):
            raise InputError("a stage lacks shares, scale or value", file=file, remedy="tune again")
        weights = CombinationWeights(
            {str(name): float(share) for name, share in shares.items()}, Weights.from_table(table, file)
        )
        return cls(weights, float(numbers[0] or 0.0), float(numbers[1] or 0.0), int(numbers[2] or 0))


@dataclass(frozen=True, eq=False)
class VotedForest:
    """Lattices of some segments in a row, however expanded or pruned, with the votes for their arcs.

    `arcs[h]` is the number of the arc of edge h among the votes, NO_ARC for an edge without votes.
    """

    forest: Forest
    votes: Votes
    arcs: NDArray[np.int64]

    def scores(self, weights: CombinationWeights, threads: int | None = None, scale: float = 1.0) -> Scores:
        """Return the score of each edge, times a scale."""
        rows, vector, logs = self.forest.rows, self.forest.vector(weights.features), self._logs(weights.sigma)
        scores = np.empty(self.arcs.size)
        map_chunks(
            lambda begin, end: _score(rows, vector, logs, self.arcs, scale, begin, end, scores),
            scores.size, chunk=EDGES_AT_ONCE, threads=threads,
        )  # fmt: skip
        return scores

    def voted(self, sigma: Vector) -> Scores:
        """Return the part of the score of each edge that the votes give."""
        return np.where(self.arcs == NO_ARC, 0.0, np.append(self._logs(sigma), 0.0)[self.arcs])

    def _logs(self, sigma: Vector) -> Scores:
        """Return the logarithm of the votes for each arc."""
        if sigma.size <= self.votes.systems.max(initial=-1):
            raise InputError(f"shares of {sigma.size} systems only", remedy="give all systems of the lattices a share")
        return _log_confidences(self.votes, sigma)

    def gradient(
        self, weights: CombinationWeights, advantage: Scores, threads: int | None = None
    ) -> tuple[Vector, dict[str, float]]:
        """Return the derivatives by θ and by the weights of features, from those by the scores of edges."""
        sigma = weights.sigma
        slopes = _share_slopes(self.votes, sigma, self.arcs, advantage)
        columns = self.forest.columns
        gradient = weighted_sum(self.forest.rows, advantage, len(columns), threads, EDGES_AT_ONCE)
        named = dict(zip(columns, gradient.tolist(), strict=True))
        return sigma * (slopes - float(np.sum(sigma * slopes))), named

    def decided(self, sigma: Vector) -> Forest:
        """Return the forest with the votes as base scores: a log-linear model like any other."""
        return replace(self.forest, base=self.voted(sigma))


def with_votes(forest: Forest, lattices: Sequence[NetworkLattice]) -> VotedForest:
    """Give a forest the votes of the lattices that it was made from, segment by segment in the same order."""
    if len(forest) != len(lattices) or forest.provenance is None:
        raise ValueError("a forest and lattices of other segments")
    sizes = np.array([lattice.votes.offsets.size - 1 for lattice in lattices])
    starts = np.cumsum(sizes) - sizes
    own = np.repeat(starts, np.diff(edges_of_sentences(forest.shape)))
    limits = np.repeat(sizes, np.diff(edges_of_sentences(forest.shape)))
    if np.any(forest.provenance >= limits):
        raise ValueError("a forest with arcs that its lattice does not have")
    has_votes = forest.provenance != NO_ARC
    arcs = forest.provenance[has_votes] + own[has_votes]
    used = np.zeros(sizes.sum(), np.bool_)
    used[arcs] = True
    numbers = np.full(forest.edges, NO_ARC, np.int64)
    numbers[has_votes] = (np.cumsum(used) - 1)[arcs]
    return VotedForest(forest, _of_arcs(join_votes([lattice.votes for lattice in lattices]), used), numbers)


def _of_arcs(votes: Votes, used: NDArray[np.bool_]) -> Votes:
    """Return the votes for some arcs: pruning leaves few of them."""
    arcs = np.flatnonzero(used)
    offsets, systems = gather_rows(votes.offsets, votes.systems, arcs)
    return Votes(offsets, systems, gather_rows(votes.offsets, votes.confidences, arcs)[1])


@kernel
def _log_confidences(votes: Votes, sigma: Vector) -> Scores:
    result = np.empty(votes.offsets.size - 1)
    for arc in range(result.size):
        total = 0.0
        for vote in range(votes.offsets[arc], votes.offsets[arc + 1]):
            total += sigma[votes.systems[vote]] * votes.confidences[vote]
        result[arc] = np.log(total)
    return result


@kernel
def _score(
    rows: Rows,
    weights: Vector,
    logs: Scores,
    arcs: NDArray[np.int64],
    scale: float,
    begin: int,
    end: int,
    out_scores: Scores,
) -> None:
    _, dense, offsets, columns, values = rows
    for h in range(begin, end):
        total = logs[arcs[h]] if arcs[h] != NO_ARC else 0.0
        for k in range(dense.shape[1]):
            total += dense[h, k] * weights[k]
        if offsets.size:
            for i in range(offsets[h], offsets[h + 1]):
                total += values[i] * weights[columns[i]]
        out_scores[h] = scale * total


@kernel
def _share_slopes(votes: Votes, sigma: Vector, arcs: NDArray[np.int64], advantage: Scores) -> Vector:
    gains, slopes = np.zeros(votes.offsets.size - 1), np.zeros(sigma.size)
    for h in range(arcs.size):
        if arcs[h] != NO_ARC:
            gains[arcs[h]] += advantage[h]
    for arc in range(gains.size):
        if gains[arc] == 0.0:
            continue
        begin, end = votes.offsets[arc], votes.offsets[arc + 1]
        total = 0.0
        for vote in range(begin, end):
            total += sigma[votes.systems[vote]] * votes.confidences[vote]
        for vote in range(begin, end):
            slopes[votes.systems[vote]] += gains[arc] * votes.confidences[vote] / total
    return slopes


References = Sequence[Sequence[Sequence[str]]]  # words of each reference of each segment
LEAST_SHARE = 1e-9


@dataclass(frozen=True, eq=False)
class CombinationProblem:
    """A point is θ, whose softmax are the shares, and then the weights that are not frozen, by `names`."""

    voted: VotedForest
    matched: MatchedForest
    start: CombinationWeights
    threads: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features whose weights are tuned: those that have one at the start, unless it is frozen."""
        known, frozen = self.start.features, self.start.features.frozen
        return tuple(name for name in self.voted.forest.columns if name in known and name not in frozen)

    @cached_property
    def first(self) -> Vector:
        """The point of the initial weights."""
        free = np.log(np.maximum(self.start.sigma, LEAST_SHARE))
        return np.concatenate([free - free.mean(), [self.start.features.get(name, 0.0) for name in self.names]])

    def penalties(self, l2: float, sparse_l2: float) -> Vector:
        """Return the penalty on each number of a point."""
        dense = set(self.voted.forest.feature_names)
        own = [l2 if name in dense else sparse_l2 for name in self.names]
        return np.array([*[l2] * len(self.start.shares), *own])

    def weights(self, point: Vector) -> CombinationWeights:
        """Return the weights at a point."""
        size = len(self.start.shares)
        shares = dict(zip(self.start.shares, softmax(point[:size]).tolist(), strict=True))
        return CombinationWeights(shares, self.start.features.updated(self.names, point[size:]))

    def value_and_gradient(
        self, objective: Objective, scale: float, l2: float | Vector, point: Vector
    ) -> tuple[float, Vector]:
        """Return the objective minus penalties at a point, and its derivatives.

        The shares are pulled towards equal ones, the weights towards those at the start; `l2` is how hard.
        """
        weights = self.weights(point)
        scores = self.voted.scores(weights, self.threads, scale)
        value, advantage = objective.value_and_advantage(self.matched, scores, self.threads)
        advantage *= scale
        free, named = self.voted.gradient(weights, advantage, self.threads)
        slopes = np.concatenate([free, [named.get(name, 0.0) for name in self.names]])
        away = point - np.concatenate([np.zeros(free.size), self.first[free.size :]])
        return value - 0.5 * dot(l2 * away, away), slopes - l2 * away
