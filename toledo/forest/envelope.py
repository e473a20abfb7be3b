"""Which derivation is best at each point of a line through weight space.

Along w + γ d every derivation scores intercept + γ · slope (Och 2003). The maximum over derivations is convex and
piecewise linear in γ: an upper envelope. A node's envelope is that of the union over its edges; an edge's is the sum
of those of its tails, whose pieces are merged at their breakpoints (Macherey et al. 2008; Kumar et al. 2009). For an
n-best list it is the envelope of N lines.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.forest.structure import Forest, Scores, Shape, check_scores
from toledo.kernels import kernel


@dataclass(frozen=True)
class Envelope:
    """Derivation i is the best from `starts[i]` to `starts[i + 1]` (the first from −∞, the last to +∞).

    Its edges are `edges[offsets[i]:offsets[i + 1]]`, its score `intercepts[i] + γ · slopes[i]`.
    """

    starts: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    slopes: NDArray[np.float64]
    offsets: NDArray[np.int64]
    edges: NDArray[np.int32]

    def __len__(self) -> int:
        return self.starts.size

    def at(self, gamma: float) -> int:
        """The number of the derivation that is best at a point."""
        return max(int(np.searchsorted(self.starts, gamma, side="right")) - 1, 0)

    def derivation(self, number: int) -> NDArray[np.int32]:
        """The edges of a derivation, top down and left to right."""
        return self.edges[self.offsets[number] : self.offsets[number + 1]]


def envelope(forest: Forest, intercepts: Scores, slopes: Scores) -> Envelope:
    """The envelope of all derivations of one segment, for edges that score intercept + γ · slope."""
    if len(forest) != 1:
        raise ValueError("an envelope is made for one segment at a time")
    check_scores(forest.shape, intercepts, "intercepts")
    check_scores(forest.shape, slopes, "slopes")
    if np.isneginf(slopes).any():
        raise ValueError("each edge needs a finite slope")
    return Envelope(*_envelope(forest.shape, intercepts, slopes))


class Lines(NamedTuple):
    """Pieces of envelopes: the edge each comes from and, from `children[first_child]` on, the pieces of its tails."""

    starts: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    slopes: NDArray[np.float64]
    edges: NDArray[np.int32]
    first_child: NDArray[np.int64]


@kernel
def _room_for_lines(size: int) -> Lines:
    return Lines(np.empty(size), np.empty(size), np.empty(size), np.empty(size, np.int32), np.empty(size, np.int64))


@kernel
def _longer(lines: Lines, needed: int) -> Lines:
    if needed <= lines.edges.size:
        return lines
    longer = _room_for_lines(max(2 * lines.edges.size, needed))
    size = lines.edges.size
    longer.starts[:size], longer.intercepts[:size], longer.slopes[:size] = lines.starts, lines.intercepts, lines.slopes
    longer.edges[:size], longer.first_child[:size] = lines.edges, lines.first_child
    return longer


@kernel
def _envelope(
    shape: Shape, intercepts: Scores, slopes: Scores
) -> tuple[Scores, Scores, Scores, NDArray[np.int64], NDArray[np.int32]]:
    nodes = shape.head_edges.size - 1
    begins = np.zeros(nodes + 1, np.int64)
    kept, found = _room_for_lines(256), _room_for_lines(256)
    children, used = np.empty(256, np.int64), 0
    for v in range(nodes):
        size = 0
        for h in range(shape.head_edges[v], shape.head_edges[v + 1]):
            if intercepts[h] == -math.inf:
                continue
            pieces = _pieces(shape, begins, h)
            arity = shape.tail_offsets[h + 1] - shape.tail_offsets[h]
            found = _longer(found, size + pieces)
            while used + pieces * arity > children.size:
                children = np.concatenate((children, np.empty_like(children)))
            size = _add_sums(shape, begins, kept, h, intercepts[h], slopes[h], found, size, children, used)
            used += pieces * arity
        order = _hull(found, size)
        begins[v + 1] = begins[v] + order.size
        kept = _longer(kept, begins[v + 1])
        for i in range(order.size):
            place = begins[v] + i
            kept.intercepts[place], kept.slopes[place] = found.intercepts[order[i]], found.slopes[order[i]]
            kept.edges[place], kept.first_child[place] = found.edges[order[i]], found.first_child[order[i]]
            kept.starts[place] = -math.inf if i == 0 else _crossing(kept, place - 1, place)
    first, last = begins[nodes - 1], begins[nodes]
    offsets, edges = _write_out(shape, kept, children, first, last)
    return (
        kept.starts[first:last].copy(),
        kept.intercepts[first:last].copy(),
        kept.slopes[first:last].copy(),
        offsets,
        edges,
    )


@kernel
def _pieces(shape: Shape, begins: NDArray[np.int64], h: int) -> int:
    """How many pieces the sum over the tails of an edge can have; none if a tail has none."""
    total = 1
    for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
        own = begins[shape.tails[t] + 1] - begins[shape.tails[t]]
        if own == 0:
            return 0
        total += own - 1
    return total


@kernel
def _add_sums(
    shape: Shape,
    begins: NDArray[np.int64],
    kept: Lines,
    h: int,
    intercept: float,
    slope: float,
    found: Lines,
    size: int,
    children: NDArray[np.int64],
    used: int,
) -> int:
    """Walk over the envelopes of the tails from −∞ on; at a breakpoint its tail moves on to the next piece."""
    first, last = shape.tail_offsets[h], shape.tail_offsets[h + 1]
    arity = last - first
    if _pieces(shape, begins, h) == 0:
        return size
    current = np.empty(arity, np.int64)
    for i in range(arity):
        current[i] = begins[shape.tails[first + i]]
    while True:
        total, rise, mover, nearest = intercept, slope, -1, math.inf
        for i in range(arity):
            total += kept.intercepts[current[i]]
            rise += kept.slopes[current[i]]
            children[used + i] = current[i]
            if current[i] + 1 < begins[shape.tails[first + i] + 1] and kept.starts[current[i] + 1] < nearest:
                mover, nearest = i, kept.starts[current[i] + 1]
        found.intercepts[size], found.slopes[size] = total, rise
        found.edges[size], found.first_child[size] = h, used
        size += 1
        used += arity
        if mover < 0:
            return size
        current[mover] += 1


@kernel
def _hull(lines: Lines, size: int) -> NDArray[np.int64]:
    """The lines of the upper envelope by rising slope; among equal lines the first one.

    Slopes may differ so little that lines cross beyond all numbers, at ±∞: then only one of them counts.
    """
    order = np.argsort(lines.slopes[:size], kind="mergesort")
    hull, starts, top = np.empty(size, np.int64), np.empty(size), 0
    for line in order:
        if top and lines.slopes[hull[top - 1]] == lines.slopes[line]:
            if lines.intercepts[hull[top - 1]] >= lines.intercepts[line]:
                continue
            top -= 1
        start = -math.inf
        while top:
            start = _crossing(lines, hull[top - 1], line)
            if start > starts[top - 1]:
                break
            start = -math.inf
            top -= 1
        if start < math.inf:
            hull[top], starts[top] = line, start
            top += 1
    return hull[:top]


@kernel
def _crossing(lines: Lines, left: int, right: int) -> float:
    """Where the steeper line `right` overtakes."""
    return float((lines.intercepts[left] - lines.intercepts[right]) / (lines.slopes[right] - lines.slopes[left]))


@kernel
def _write_out(
    shape: Shape, lines: Lines, children: NDArray[np.int64], first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The edges of each piece of the goal, top down and left to right."""
    offsets, edges, size = np.zeros(last - first + 1, np.int64), np.empty(256, np.int32), 0
    stack = np.empty(64, np.int64)
    for line in range(first, last):
        stack[0], depth = line, 1
        while depth:
            depth -= 1
            place = stack[depth]
            h = lines.edges[place]
            if size == edges.size:
                edges = np.concatenate((edges, np.empty_like(edges)))
            edges[size] = h
            size += 1
            arity = shape.tail_offsets[h + 1] - shape.tail_offsets[h]
            if depth + arity > stack.size:
                stack = np.concatenate((stack, np.empty_like(stack), np.empty(arity, np.int64)))
            for i in range(arity - 1, -1, -1):
                stack[depth] = children[lines.first_child[place] + i]
                depth += 1
        offsets[line - first + 1] = size
    return offsets, edges[:size]
