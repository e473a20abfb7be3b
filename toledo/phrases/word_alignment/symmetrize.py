"""From two one-way alignments to one: intersection, union and what lies between (Och and Ney 2003; Koehn et al. 2003).

A one-way alignment gives each word at most one link: `forward` the source position of each target word, `backward` the
target position of each source word, UNALIGNED where there is none. The growing heuristics visit points in the order of
Moses' `symal`, so that the results are the same, link by link.
"""

from __future__ import annotations

from typing import NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.phrases.settings import Symmetrization
from toledo.phrases.table import WordLinks

UNALIGNED = -1
SENTENCES = 2000  # sentence pairs of one piece of work

SYMMETRIZATIONS: tuple[Symmetrization, ...] = get_args(Symmetrization)

# Neighbors as (target, source) steps; the first four are those of "grow".
NEIGHBORS = np.array([(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)])
EMPTY, FORWARD, BACKWARD, CHOSEN = 0, 1, 2, 3


class _Heuristic(NamedTuple):
    union: bool
    neighbors: int
    final: bool
    both_uncovered: bool  # "and": a final point joins two words that both lack a link


HEURISTICS: dict[Symmetrization, _Heuristic] = {
    "intersection": _Heuristic(False, 0, False, False),
    "union": _Heuristic(True, 0, False, False),
    "grow": _Heuristic(False, 4, False, False),
    "grow-diag": _Heuristic(False, 8, False, False),
    "grow-diag-final": _Heuristic(False, 8, True, False),
    "grow-diag-final-and": _Heuristic(False, 8, True, True),
}


class OneWay(NamedTuple):
    """Two one-way alignments; those of pair s are at `source_offsets[s]` and at `target_offsets[s]`."""

    source_offsets: NDArray[np.int64]
    target_offsets: NDArray[np.int64]
    forward: NDArray[np.int32]
    backward: NDArray[np.int32]


def symmetrize(one_way: OneWay, method: Symmetrization, threads: int | None = None) -> WordLinks:
    """Combine two one-way alignments of the same sentence pairs."""
    _check(one_way)
    heuristic = HEURISTICS[method]
    pairs = one_way.source_offsets.size - 1
    parts = map_chunks(
        lambda first, last: _symmetrize(one_way, heuristic, NEIGHBORS, first, last),
        pairs,
        chunk=SENTENCES,
        threads=threads,
    )
    counts = np.concatenate([np.empty(0, np.int64), *(counts for counts, _ in parts)])
    links = np.concatenate([np.empty((0, 2), np.int32), *(links for _, links in parts)])
    return WordLinks.from_lengths(links, counts)


def _check(one_way: OneWay) -> None:
    for offsets, links, other in (
        (one_way.target_offsets, one_way.forward, one_way.source_offsets),
        (one_way.source_offsets, one_way.backward, one_way.target_offsets),
    ):
        if offsets.size != other.size or links.size != offsets[-1]:
            raise ValueError("the one-way alignments do not fit the sentences")
        if np.any((links < UNALIGNED) | (links >= np.repeat(np.diff(other), np.diff(offsets)))):
            raise ValueError("a link leads out of its sentence")


@kernel
def _symmetrize(
    one_way: OneWay, heuristic: _Heuristic, neighbors: NDArray[np.int64], first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the number of links of each sentence pair, and the links."""
    most = one_way.source_offsets[last] - one_way.source_offsets[first]
    most += one_way.target_offsets[last] - one_way.target_offsets[first]
    links, total = np.empty((most, 2), np.int32), 0
    counts = np.empty(last - first, np.int64)
    for sentence in range(first, last):
        forward = one_way.forward[one_way.target_offsets[sentence] : one_way.target_offsets[sentence + 1]]
        backward = one_way.backward[one_way.source_offsets[sentence] : one_way.source_offsets[sentence + 1]]
        points = _points(forward, backward)
        covered_target, covered_source = np.zeros(forward.size, np.bool_), np.zeros(backward.size, np.bool_)
        _cover(points, covered_target, covered_source)
        _grow(points, neighbors[: heuristic.neighbors], covered_target, covered_source)
        if heuristic.final:
            _add_final(points, FORWARD, heuristic.both_uncovered, covered_target, covered_source)
            _add_final(points, BACKWARD, heuristic.both_uncovered, covered_target, covered_source)
        least = FORWARD if heuristic.union else CHOSEN
        before = total
        for source in range(backward.size):
            for target in range(forward.size):
                if points[target, source] >= least:
                    links[total, 0], links[total, 1] = source, target
                    total += 1
        counts[sentence - first] = total - before
    return counts, links[:total].copy()


@kernel
def _points(forward: NDArray[np.int32], backward: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return a matrix of [target, source] that says which of the two has each link; CHOSEN are those of both."""
    points = np.zeros((forward.size, backward.size), np.uint8)
    for target in range(forward.size):
        if forward[target] != UNALIGNED:
            points[target, forward[target]] = FORWARD
    for source in range(backward.size):
        if backward[source] != UNALIGNED:
            points[backward[source], source] += BACKWARD
    return points


@kernel
def _cover(points: NDArray[np.uint8], covered_target: NDArray[np.bool_], covered_source: NDArray[np.bool_]) -> None:
    for target in range(points.shape[0]):
        for source in range(points.shape[1]):
            if points[target, source] == CHOSEN:
                covered_target[target] = covered_source[source] = True


@kernel
def _grow(
    points: NDArray[np.uint8],
    neighbors: NDArray[np.int64],
    covered_target: NDArray[np.bool_],
    covered_source: NDArray[np.bool_],
) -> None:
    """Choose points of the union beside chosen ones that reach an uncovered word, until there are none."""
    added = True
    while added:
        added = False
        for target in range(points.shape[0]):
            for source in range(points.shape[1]):
                if points[target, source] != CHOSEN:
                    continue
                for step in range(neighbors.shape[0]):
                    t, s = target + neighbors[step, 0], source + neighbors[step, 1]
                    if not (0 <= t < points.shape[0] and 0 <= s < points.shape[1]) or points[t, s] == EMPTY:
                        continue
                    if not (covered_target[t] and covered_source[s]):
                        points[t, s] = CHOSEN
                        covered_target[t] = covered_source[s] = added = True


@kernel
def _add_final(
    points: NDArray[np.uint8],
    kind: int,
    both_uncovered: bool,
    covered_target: NDArray[np.bool_],
    covered_source: NDArray[np.bool_],
) -> None:
    """Choose remaining points of one direction that reach an uncovered word, or two of them."""
    for target in range(points.shape[0]):
        for source in range(points.shape[1]):
            if points[target, source] != kind:
                continue
            missing = int(not covered_target[target]) + int(not covered_source[source])
            if missing >= (2 if both_uncovered else 1):
                points[target, source] = CHOSEN
                covered_target[target] = covered_source[source] = True
