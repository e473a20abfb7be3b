"""The best derivation by score and linear gain, its statistics, and the difference that it makes: for one segment.

The gain (|r_B| + |r|) · BLEU(B + s) of a translation with statistics s is linearised around the pseudo-corpus B. With
β = BLEU(B), r and c its lengths, m_n and t_n its matches and n-grams of order n ≤ N, an n-gram of order n is worth

    r β / N · ([it is in a reference] / m_n − 1 / t_n),     and each word also  β r² / c²  if c < r.

(A segment like B itself, of any length, leaves these derivatives as they are.) Matches are not clipped here: that would
not be local to edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Shape
from toledo.kernels import inner_kernel, kernel
from toledo.tuning.margins import Learner, add_row
from toledo.tuning.rows import Rows, Vector

NONE = -1


class ForestExamples(NamedTuple):
    """Forests whose edges know the n-grams they complete, beside references.

    `edge_counts[h]` has the n-grams of each order that edge h completes and the references have, then all of them.
    """

    shape: Shape
    rows: Rows
    ngram_offsets: NDArray[np.int64]
    ngram_ids: NDArray[np.int32]
    orders: NDArray[np.uint8]
    reference_counts: Vector
    reference_lengths: NDArray[np.float64]
    edge_counts: NDArray[np.float32]


class Room(NamedTuple):
    """Memory for one segment at a time: by edge, by node, by n-gram."""

    scores: Vector
    rewards: Vector
    best: Vector
    hope: NDArray[np.int32]
    fear: NDArray[np.int32]
    visits: Vector
    counts: Vector


@kernel
def new_room(examples: ForestExamples) -> Room:
    """Enough for any segment."""
    shape, nodes, edges = examples.shape, 0, 0
    for segment in range(shape.sentences.size - 1):
        first, last = shape.sentences[segment], shape.sentences[segment + 1]
        nodes, edges = max(nodes, last - first), max(edges, shape.head_edges[last] - shape.head_edges[first])
    return Room(
        np.empty(edges),
        np.empty(edges),
        np.empty(nodes),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes),
        np.zeros(examples.orders.size),
    )


@inner_kernel
def worth_of_ngrams(background: Vector, worth: Vector) -> None:
    """For each order what a match is worth, then what any n-gram is: see above."""
    order = worth.size // 2
    c, r, precision = background[0], background[1], 1.0
    for n in range(order):
        precision *= background[2 + n] / background[2 + order + n]
    bleu = precision ** (1.0 / order) * (np.exp(1.0 - r / c) if c < r else 1.0)
    for n in range(order):
        worth[n] = r * bleu / (order * background[2 + n])
        worth[order + n] = -r * bleu / (order * background[2 + order + n])
    if c < r:
        worth[order] += bleu * (r / c) ** 2.0


@inner_kernel
def count_ngrams(
    offsets: NDArray[np.int64],
    ids: NDArray[np.int32],
    orders: NDArray[np.uint8],
    reference_counts: Vector,
    counts: NDArray[np.float32],
) -> None:
    """Fill `edge_counts`."""
    order = counts.shape[1] // 2
    for h in range(offsets.size - 1):
        for i in range(offsets[h], offsets[h + 1]):
            n = int(orders[ids[i]]) - 1
            counts[h, order + n] += 1.0
            if reference_counts[ids[i]] > 0.0:
                counts[h, n] += 1.0


@inner_kernel
def reward_edges(counts: NDArray[np.float32], worth: Vector, begin: int, end: int, rewards: Vector) -> None:
    """Write what the n-grams that the edges `begin:end` complete are worth."""
    for h in range(begin, end):
        total = 0.0
        for k in range(worth.size):
            total += counts[h, k] * worth[k]
        rewards[h - begin] = total


@inner_kernel
def choose_edges(shape: Shape, first: int, last: int, room: Room, factor: float, edges: NDArray[np.int32]) -> None:
    """The best edge of each node by score plus factor times reward; NONE where nothing derives it."""
    _, head_edges, tail_offsets, tails = shape
    scores, rewards, best = room.scores, room.rewards, room.best
    begin = head_edges[first]
    for v in range(first, last):
        best[v - first], edges[v - first] = -np.inf, NONE
        for h in range(head_edges[v], head_edges[v + 1]):
            score = scores[h - begin] + factor * rewards[h - begin]
            for t in range(tail_offsets[h], tail_offsets[h + 1]):
                score += best[tails[t] - first]
            if score > best[v - first]:
                best[v - first], edges[v - first] = score, h


@inner_kernel
def trace(
    examples: ForestExamples, segment: int, room: Room, edges: NDArray[np.int32], statistics: NDArray[np.float64]
) -> float:
    """How often the best derivation visits each node, its statistics with clipped matches, and its model score."""
    shape, _, ngram_offsets, ngram_ids, orders, reference_counts, reference_lengths, _ = examples
    visits, counts = room.visits, room.counts
    first, last = shape.sentences[segment], shape.sentences[segment + 1]
    begin, score, order = shape.head_edges[first], 0.0, (statistics.size - 2) // 2
    statistics[:] = 0.0
    visits[: last - first] = 0.0
    visits[last - 1 - first] = 1.0
    for v in range(last - 1, first - 1, -1):
        if visits[v - first] > 0.0:
            h = edges[v - first]
            score += visits[v - first] * room.scores[h - begin]
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                visits[shape.tails[t] - first] += visits[v - first]
            for i in range(ngram_offsets[h], ngram_offsets[h + 1]):
                counts[ngram_ids[i]] += visits[v - first]
    for v in range(first, last):
        if visits[v - first] > 0.0:
            h = edges[v - first]
            for i in range(ngram_offsets[h], ngram_offsets[h + 1]):
                g = ngram_ids[i]
                n = int(orders[g]) - 1
                statistics[2 + n] += min(counts[g], reference_counts[g])
                statistics[2 + order + n] += counts[g]
                counts[g] = 0.0
    statistics[0] = statistics[2 + order]
    statistics[1] = _closest(statistics[0], reference_lengths[segment])
    return score


@inner_kernel
def _closest(length: float, candidates: Vector) -> float:
    best = candidates[0]
    for candidate in candidates:
        distance, best_distance = abs(candidate - length), abs(best - length)
        if distance < best_distance or (distance == best_distance and candidate < best):
            best = candidate
    return float(best)


@inner_kernel
def add_derivation(
    rows: Rows,
    first: int,
    last: int,
    room: Room,
    edges: NDArray[np.int32],
    factor: float,
    learner: Learner,
) -> None:
    """Add the features of the derivation traced last to the difference."""
    for v in range(first, last):
        if room.visits[v - first] > 0.0:
            add_row(rows, edges[v - first], factor * room.visits[v - first], learner)
