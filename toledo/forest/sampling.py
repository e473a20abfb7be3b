"""Exact samples of derivations: from the goal down, an edge for each node by its probability given the node."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from toledo.forest.derivation import Derivation
from toledo.forest.inside_outside import distribution
from toledo.forest.structure import Forest, Scores, Shape
from toledo.forest.viterbi import push_tails
from toledo.growing import doubled
from toledo.kernels import kernel
from toledo.randomness import RandomState, next_uniform, random_state


def sample(forest: Forest, scores: Scores, count: int, seed: int) -> list[Derivation]:
    """Independent draws from the distribution that the scores give to the derivations of one segment."""
    if len(forest) != 1:
        raise ValueError("samples are drawn for one segment at a time")
    given = distribution(forest.shape, scores, threads=1)
    if np.isneginf(given.log_partition[0]):
        raise ValueError("the forest has no possible derivation to sample")
    offsets, edges = _sample(forest.shape, given.conditional, count, random_state(seed))
    drawn = [edges[begin:end] for begin, end in pairwise(offsets.tolist())]
    return [Derivation(forest, float(scores[some].sum()), some) for some in drawn]


@kernel
def _sample(
    shape: Shape, conditional: Scores, count: int, state: RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The edges of each draw, top down and left to right."""
    offsets = np.zeros(count + 1, np.int64)
    edges, size = np.empty(1024, np.int32), 0
    stack = np.empty(64, np.int32)
    for number in range(count):
        stack[0] = shape.head_edges.size - 2
        depth = 1
        while depth:
            depth -= 1
            h = _draw_edge(shape, conditional, stack[depth], next_uniform(state))
            if size == edges.size:
                edges = doubled(edges)
            edges[size] = h
            size += 1
            stack = push_tails(shape, h, stack, depth)
            depth += shape.tail_offsets[h + 1] - shape.tail_offsets[h]
        offsets[number + 1] = size
    return offsets, edges[:size]


@kernel
def _draw_edge(shape: Shape, conditional: Scores, node: int, uniform: float) -> int:
    chosen = -1
    for h in range(shape.head_edges[node], shape.head_edges[node + 1]):
        if conditional[h] > 0.0:
            chosen = h  # the last possible edge takes what rounding leaves over
            uniform -= conditional[h]
            if uniform < 0.0:
                break
    return chosen
