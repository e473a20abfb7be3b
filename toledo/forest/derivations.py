"""One derivation: the edges it uses and what follows from them.

The best derivation: max instead of sum.

Exact samples of derivations: from the goal down, an edge for each node by its probability given the node.

A forest in a few numbers: its size, how many derivations it has, how sure of one the scores are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import doubled, grown
from toledo.compiled.kernels import inlined, kernel
from toledo.compiled.random import RandomState, next_uniform, random_state
from toledo.forest.forest import Forest, Scores, Shape, Yields, check_scores
from toledo.forest.inside_outside import distribution

NO_EDGE = -1


class Best(NamedTuple):
    """The best score of each node (−inf where nothing derives it) and its edge, the first among equals."""

    scores: Scores
    edges: NDArray[np.int32]


@kernel
def best_below(shape: Shape, scores: Scores) -> Best:
    """Find the best edge of each node, in one sweep from children to parents."""
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
    """Return which edges the best derivations of the sentences use (these may be too long to be written out)."""
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
    """Return the number of words of the best derivation of each node."""
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
    """Return the edges of the best derivation of a node, top down and left to right; none if nothing derives it."""
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


@dataclass(frozen=True, eq=False)
class Derivation:
    """A way to derive a translation: its score, and its edges top down and left to right (with repetition)."""

    forest: Forest
    score: float
    edges: NDArray[np.int32]

    @cached_property
    def word_ids(self) -> NDArray[np.int32]:
        """The words it writes, as ids."""
        return derivation_words(self.forest.yields, self.edges)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words it writes."""
        return tuple(self.forest.vocabulary.words(self.word_ids.tolist()))

    @cached_property
    def features(self) -> dict[str, float]:
        """The sum of each feature over its edges, sparse ones only where they occur."""
        totals = self.forest.features[self.edges].sum(axis=0, dtype=np.float64)
        found = dict(zip(self.forest.feature_names, totals.tolist(), strict=True))
        if self.forest.sparse is not None:
            offsets, ids, values = self.forest.sparse.arrays
            for edge in self.edges.tolist():
                for place in range(offsets[edge], offsets[edge + 1]):
                    name = self.forest.sparse.names[ids[place]]
                    found[name] = found.get(name, 0.0) + float(values[place])
        return found

    @property
    def stored_features(self) -> dict[str, float]:
        """Features in the precision in which they are stored; further digits are noise of the sum."""
        return {name: float(np.float32(value)) for name, value in self.features.items()}

    @cached_property
    def base(self) -> float:
        """The sum of the base scores of its edges, which no weight changes."""
        return 0.0 if self.forest.base is None else float(self.forest.base[self.edges].sum())

    @cached_property
    def provenance(self) -> tuple[int, ...]:
        """Where each of its edges came from; empty if the forest does not know."""
        return () if self.forest.provenance is None else tuple(self.forest.provenance[self.edges].tolist())

    def __str__(self) -> str:
        return " ".join(self.words)

    def __repr__(self) -> str:
        return f"Derivation({' '.join(self.words)!r}, score {self.score:.6g}, {self.edges.size} edges)"


def viterbi(forest: Forest, scores: Scores) -> list[Derivation | None]:
    """Return the best derivation of each segment, or None where there is none."""
    check_scores(forest.shape, scores)
    best = best_below(forest.shape, scores)
    found = []
    for goal in (forest.shape.sentences[1:] - 1).tolist():
        edges = best_derivation(forest.shape, best, goal)
        found.append(Derivation(forest, float(best.scores[goal]), edges) if edges.size else None)
    return found


@kernel
def derivation_words(yields: Yields, edges: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the words that a derivation writes, from its edges top down and left to right.

    Tails are written in order, so a walk through the yields with a stack of half-read edges meets the edges in theirs.
    """
    words, size = np.empty(64, np.int32), 0
    place_of, end_of = np.empty(edges.size, np.int32), np.empty(edges.size, np.int32)
    depth = used = 0
    if edges.size:
        place_of[0], end_of[0] = yields.offsets[edges[0]], yields.offsets[edges[0] + 1]
        depth = used = 1
    while depth:
        place = place_of[depth - 1]
        if place == end_of[depth - 1]:
            depth -= 1
            continue
        place_of[depth - 1] += 1
        if yields.words[place] < 0:
            place_of[depth], end_of[depth] = yields.offsets[edges[used]], yields.offsets[edges[used] + 1]
            depth += 1
            used += 1
            continue
        if size == words.size:
            words = doubled(words)
        words[size] = yields.words[place]
        size += 1
    return words[:size]


@kernel
def texts_of_derivations(
    yields: Yields, edges: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the words of all derivations `edges[offsets[i]:offsets[i + 1]]` in a row, and where each text begins."""
    words, ends = np.empty(1024, np.int32), np.zeros(offsets.size, np.int64)
    for i in range(offsets.size - 1):
        own, end = derivation_words(yields, edges[offsets[i] : offsets[i + 1]]), ends[i]
        while end + own.size > words.size:
            words = doubled(words)
        words[end : end + own.size] = own
        ends[i + 1] = end + own.size
    return words[: ends[-1]].copy(), ends


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
    """Return the edges of each draw, top down and left to right."""
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


@dataclass(frozen=True)
class Summary:
    """One segment: entropy in nats; no best derivation, and −inf for the count, where there is none at all."""

    nodes: int
    edges: int
    log10_derivations: float
    log_partition: float
    entropy: float
    best: Derivation | None


def log10_derivations(shape: Shape) -> NDArray[np.float64]:
    """Return how many derivations each segment has, as a decimal logarithm: their total weight if each weighs 1."""
    edges = shape.tail_offsets.size - 1
    return distribution(shape, np.zeros(edges), threads=1).log_partition / math.log(10.0)


def summarize(forest: Forest, scores: Scores) -> Summary:
    """Look at one segment."""
    if len(forest) != 1:
        raise ValueError("only one segment can be summarized at a time")
    given = distribution(forest.shape, scores, threads=1)
    return Summary(
        nodes=forest.nodes,
        edges=forest.edges,
        log10_derivations=float(log10_derivations(forest.shape)[0]),
        log_partition=float(given.log_partition[0]),
        entropy=float(given.entropy()[0]),
        best=viterbi(forest, scores)[0],
    )
