"""The best derivation: max instead of sum."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Scores, Shape, Yields
from toledo.growing import doubled, grown
from toledo.kernels import inlined, kernel

NO_EDGE = -1


class Best(NamedTuple):
    """The best score of each node (−inf where nothing derives it) and its edge, the first among equals."""

    scores: Scores
    edges: NDArray[np.int32]


@kernel
def best_below(shape: Shape, scores: Scores) -> Best:
    """One sweep from children to parents."""
    nodes = shape.head_edges.size - 1
    best, edges = np.full(nodes, -math.inf), np.full(nodes, NO_EDGE, np.int32)
    for v in range(nodes):
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            score = scores[h]
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                score += best[shape.tails[t]]
            if score > best[v]:
                best[v], edges[v] = score, h
    return Best(best, edges)


@kernel
def best_above(shape: Shape, scores: Scores, best: Best) -> Scores:
    """Max-marginals: the best score of any derivation of the sentence that uses each edge."""
    nodes = shape.head_edges.size - 1
    outside, result = np.full(nodes, -math.inf), np.full(scores.size, -math.inf)
    for sentence in range(shape.sentences.size - 1):
        if shape.sentences[sentence + 1] > shape.sentences[sentence]:
            outside[shape.sentences[sentence + 1] - 1] = 0.0
    for v in range(nodes - 1, -1, -1):
        if outside[v] == -math.inf:
            continue
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            begin, end = shape.tail_offsets[h], shape.tail_offsets[h + 1]
            score = outside[v] + scores[h]
            for t in range(begin, end):
                score += best.scores[shape.tails[t]]
            result[h] = score
            if score > -math.inf:
                for t in range(begin, end):  # by position: a node may be twice a tail of one edge
                    outside[shape.tails[t]] = max(outside[shape.tails[t]], score - best.scores[shape.tails[t]])
    return result


@kernel
def on_best(shape: Shape, best: Best) -> NDArray[np.bool_]:
    """Which edges the best derivations of the sentences use (these may be too long to be written out)."""
    nodes = shape.head_edges.size - 1
    reached, used = np.zeros(nodes, np.bool_), np.zeros(shape.tail_offsets.size - 1, np.bool_)
    reached[shape.sentences[1:] - 1] = True
    for v in range(nodes - 1, -1, -1):
        h = best.edges[v]
        if reached[v] and h != NO_EDGE:
            used[h] = True
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                reached[shape.tails[t]] = True
    return used


@kernel
def best_lengths(shape: Shape, yields: Yields, best: Best) -> NDArray[np.float64]:
    """The number of words of the best derivation of each node."""
    lengths = np.zeros(best.edges.size)
    for v in range(best.edges.size):
        h = best.edges[v]
        if h != NO_EDGE:
            arity = shape.tail_offsets[h + 1] - shape.tail_offsets[h]
            lengths[v] = yields.offsets[h + 1] - yields.offsets[h] - arity
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                lengths[v] += lengths[shape.tails[t]]
    return lengths


@kernel
def best_derivation(shape: Shape, best: Best, node: int) -> NDArray[np.int32]:
    """The edges of the best derivation of a node, top down and left to right; none if nothing derives it."""
    edges, size = np.empty(64, np.int32), 0
    stack, depth = np.empty(64, np.int32), 0
    if best.edges[node] != NO_EDGE:
        stack[0], depth = node, 1
    while depth:
        depth -= 1
        h = best.edges[stack[depth]]
        if size == edges.size:
            edges = doubled(edges)
        edges[size] = h
        size += 1
        stack = push_tails(shape, h, stack, depth)
        depth += shape.tail_offsets[h + 1] - shape.tail_offsets[h]
    return edges[:size]


@inlined
def push_tails(shape: Shape, h: int, stack: NDArray[np.int32], depth: int) -> NDArray[np.int32]:
    """Put the tails of an edge on a stack of nodes, which may move to get room: the first one on top."""
    begin, end = shape.tail_offsets[h], shape.tail_offsets[h + 1]
    if depth + end - begin > stack.size:
        stack = grown(stack, depth + end - begin)
    for t in range(begin, end):
        stack[depth + end - 1 - t] = shape.tails[t]
    return stack
