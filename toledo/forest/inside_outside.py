"""Sums over all derivations in linear time: log partition, posteriors, entropy, expectations, advantage.

Scores stay in logarithms per *node*; per edge only its probability given its head is kept,

    p(h | v) = exp(s_h + Σ log Z(tails) − log Z(v)),          log Z(v) = log Σ_h exp(s_h + Σ log Z(tails)),

one exponential per edge and one logarithm per node, and no number over- or underflows. Top down, the expected number
of visits to a node gives posteriors by products alone: V(goal) = 1, P(h) = V(head) p(h | head), V(t) = Σ P(h) over the
places of t as a tail. A node that is twice a tail of an edge is counted twice, as it must be.

**Advantage.** For rewards r_h and R(d) = Σ_{h∈d} r_h, the derivative of E[R] by the score of an edge is
A(h) = Σ_d P(d) n_h(d) (R(d) − E[R]). With ρ(v) the expected reward below v and Q(h) = r_h + Σ ρ(tails), reverse
differentiation of ρ(goal) gives, top down,

    A(h) = p(h | v) (V(v) (Q(h) − ρ(v)) + B(v)),              B(t) = Σ A(h) over the places of t as a tail:

one scalar sweep up and one down for any objective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.forest.forest import Scores, Shape, check_scores, sentences_at_once


@dataclass(frozen=True, eq=False)
class Distribution:
    """The distribution over derivations that some scores give to a forest."""

    shape: Shape
    log_inside: Scores  # log Z(v) for each node
    conditional: Scores  # p(h | head) for each edge
    visits: Scores  # expected visits of each node
    posteriors: Scores  # expected uses of each edge

    @property
    def log_partition(self) -> Scores:
        """The logarithm of the total weight of each sentence's derivations; −inf where there are none."""
        return self.log_inside[self.shape.sentences[1:] - 1]

    def entropy(self) -> Scores:
        """Return the entropy of the derivations of each sentence, in nats."""
        return _entropy(self.shape, self.conditional, self.visits)


def distribution(shape: Shape, scores: Scores, threads: int | None = None) -> Distribution:
    """Inside and outside for all sentences."""
    check_scores(shape, scores)
    nodes = shape.head_edges.size - 1
    result = Distribution(shape, np.empty(nodes), np.empty(scores.size), np.zeros(nodes), np.empty(scores.size))

    def work(first: int, last: int) -> None:
        inside(shape, first, last, scores, 0, result.log_inside, 0, result.conditional)
        outside(shape, first, last, result.log_inside, 0, result.conditional, result.visits, result.posteriors, 0)

    map_chunks(work, shape.sentences.size - 1, chunk=sentences_at_once(shape), threads=threads)
    return result


def advantage(given: Distribution, rewards: Scores, threads: int | None = None) -> Scores:
    """Return the derivative of the expected total reward by the score of each edge."""
    shape = given.shape
    if rewards.shape != given.posteriors.shape:
        raise ValueError(f"rewards of shape {rewards.shape} for {given.posteriors.size} edges")
    result = np.empty(rewards.size)

    def work(first: int, last: int) -> None:
        edge_advantage(shape, first, last, given.conditional, given.visits, rewards, result, 0)

    map_chunks(work, shape.sentences.size - 1, chunk=sentences_at_once(shape), threads=threads)
    return result


@kernel
def inside(
    shape: Shape,
    first: int,
    last: int,
    scores: Scores,
    first_edge: int,
    log_inside: Scores,
    first_node: int,
    conditional: Scores,
) -> None:
    """Run the inside pass for some sentences; `scores` begin at `first_edge`, `log_inside` at `first_node`."""
    for v in range(shape.sentences[first], shape.sentences[last]):
        begin, end = shape.head_edges[v], shape.head_edges[v + 1]
        best = -math.inf
        for h in range(begin, end):
            score = scores[h - first_edge]
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                score += log_inside[shape.tails[t] - first_node]
            conditional[h] = score
            best = max(best, score)
        if best == -math.inf:  # no derivation reaches this node
            log_inside[v - first_node] = best
            conditional[begin:end] = 0.0
            continue
        total = 0.0
        for h in range(begin, end):
            conditional[h] = math.exp(conditional[h] - best)
            total += conditional[h]
        for h in range(begin, end):
            conditional[h] /= total
        log_inside[v - first_node] = best + math.log(total)


@kernel
def outside(
    shape: Shape,
    first: int,
    last: int,
    log_inside: Scores,
    first_node: int,
    conditional: Scores,
    visits: Scores,
    posteriors: Scores,
    first_edge: int,
) -> None:
    """Run the outside pass for some sentences; `log_inside` begins at `first_node`, `posteriors` at `first_edge`."""
    for sentence in range(first, last):
        start, goal = shape.sentences[sentence], shape.sentences[sentence + 1] - 1
        if goal >= start and log_inside[goal - first_node] > -math.inf:
            visits[goal] = 1.0
        for v in range(goal, start - 1, -1):
            for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
                posterior = visits[v] * conditional[h]
                posteriors[h - first_edge] = posterior
                for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                    visits[shape.tails[t]] += posterior


@kernel
def edge_advantage(
    shape: Shape,
    first: int,
    last: int,
    conditional: Scores,
    visits: Scores,
    rewards: Scores,
    result: Scores,
    first_edge: int,
) -> None:
    """Both ways for some sentences; `rewards` and `result` begin at `first_edge`."""
    start, end = shape.sentences[first], shape.sentences[last]
    below = np.zeros(end - start)  # ρ(v)
    above = np.zeros(end - start)  # B(v)
    for v in range(start, end):
        expected = 0.0
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            reward = rewards[h - first_edge]
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                reward += below[shape.tails[t] - start]
            result[h - first_edge] = reward  # Q(h), for the way down
            if conditional[h] > 0.0:  # an impossible edge may have any reward
                expected += conditional[h] * reward
        below[v - start] = expected
    for v in range(end - 1, start - 1, -1):
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            gain = 0.0
            if conditional[h] > 0.0:
                gain = conditional[h] * (visits[v] * (result[h - first_edge] - below[v - start]) + above[v - start])
            result[h - first_edge] = gain
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                above[shape.tails[t] - start] += gain


@kernel
def _entropy(shape: Shape, conditional: Scores, visits: Scores) -> NDArray[np.float64]:
    result = np.zeros(shape.sentences.size - 1)
    for sentence in range(result.size):
        for v in range(shape.sentences[sentence], shape.sentences[sentence + 1]):
            for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
                if conditional[h] > 0.0:
                    result[sentence] -= visits[v] * conditional[h] * math.log(conditional[h])
    return result
