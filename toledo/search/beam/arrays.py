"""The arrays that beam search works on, and how they grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inlined, kernel
from toledo.language_model.automaton import Automaton

NONE = -1
MIX = np.uint64(0x9E37_79B9_7F4A_7C15)


class Limits(NamedTuple):
    """Pops per stack, and the longest jump."""

    pops: int
    distortion: int


class Scoring(NamedTuple):
    """What else a step scores: jumps, language models, and reordering by pair if there is a reordering model.

    `reordering[pair, 3 * side + orientation]` is weighted; side 0 looks at the previous phrase, 1 at the following one.
    """

    models: tuple[Automaton, ...]
    model_weights: NDArray[np.float64]
    distortion_weight: float
    reordering: NDArray[np.float32]


class Nodes(NamedTuple):
    """Hypotheses. `gap` and `mask`: words translated; `begin`, `end`: the last span; `option`: the last option."""

    gap: NDArray[np.int32]
    mask: NDArray[np.uint64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    option: NDArray[np.int32]
    states: NDArray[np.int32]
    score: NDArray[np.float64]
    best_edge: NDArray[np.int32]


class EdgeArrays(NamedTuple):
    """Steps from `tails` to `heads` by an option; `model_scores` are natural logs of each language model."""

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    options: NDArray[np.int32]
    model_scores: NDArray[np.float32]


class Cubes(NamedTuple):
    """A group (hypotheses `ranked[first:stop]`), a span's options, what each cell adds, the next cube of the stack."""

    first: NDArray[np.int32]
    stop: NDArray[np.int32]
    option_first: NDArray[np.int32]
    option_stop: NDArray[np.int32]
    orientation: NDArray[np.int32]
    added: NDArray[np.float64]
    future: NDArray[np.float64]
    following: NDArray[np.int32]


class Queue(NamedTuple):
    """Cells that wait: a cube, one of its hypotheses (`ranked[row]`) and one of its options.

    `keys` and `heap` order them, the best first. `known` is whether a cell's score and what the models say of it are
    known, or only what it can be expected to score.
    """

    cube: NDArray[np.int32]
    row: NDArray[np.int32]
    option: NDArray[np.int32]
    known: NDArray[np.bool_]
    score: NDArray[np.float64]
    model_scores: NDArray[np.float32]
    states: NDArray[np.int32]
    keys: NDArray[np.float64]
    heap: NDArray[np.int32]


class Groups(NamedTuple):
    """Room for sorting the hypotheses of a stack into groups."""

    table: NDArray[np.int32]
    counts: NDArray[np.int32]
    starts: NDArray[np.int32]
    group: NDArray[np.int32]
    leaders: NDArray[np.int32]


class Lattice(NamedTuple):
    """The result: edges in the order of their making; the last node is the goal, its edges end the sentence."""

    nodes: int
    edges: EdgeArrays
    best_edge: NDArray[np.int32]
    node_end: NDArray[np.int32]
    node_begin: NDArray[np.int32]
    node_option: NDArray[np.int32]
    score: float


@kernel
def grown(array: NDArray[Any], needed: int) -> NDArray[Any]:
    """The array with room for `needed` entries."""
    if needed <= array.shape[0]:
        return array
    larger = np.empty((max(needed, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
    larger[: array.shape[0]] = array
    return larger


@kernel
def power_of_two(least: int) -> int:
    """The smallest power of two that is at least so large."""
    size = 1
    while size < least:
        size *= 2
    return size


@kernel
def room_for_cubes(size: int) -> Cubes:
    """Cubes not yet made."""
    return Cubes(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
        np.empty(size, np.int32), np.empty(size), np.empty(size), np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def room_for_nodes(size: int, models: int) -> Nodes:
    """Hypotheses not yet made."""
    return Nodes(
        np.empty(size, np.int32), np.empty(size, np.uint64), np.empty(size, np.int32), np.empty(size, np.int32),
        np.empty(size, np.int32), np.empty((size, models), np.int32), np.empty(size), np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def room_for_edges(size: int, models: int) -> EdgeArrays:
    """Steps not yet made."""
    return EdgeArrays(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
        np.empty((size, models), np.float32),
    )  # fmt: skip


@kernel
def room_for_queue(size: int, models: int) -> Queue:
    """A queue with room for so many cells in all, of which some may have been taken already."""
    return Queue(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.bool_),
        np.empty(size), np.empty((size, models), np.float32), np.empty((size, models), np.int32),
        np.empty(size), np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def room_for_groups(size: int) -> Groups:
    """Room for so many hypotheses."""
    return Groups(
        np.empty(power_of_two(2 * size + 2), np.int32), np.empty(size + 1, np.int32), np.empty(size + 1, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def cubes_with_room(cubes: Cubes, needed: int) -> Cubes:
    """The cubes with room for `needed` in all."""
    if needed <= cubes.first.size:
        return cubes
    return Cubes(
        grown(cubes.first, needed), grown(cubes.stop, needed), grown(cubes.option_first, needed),
        grown(cubes.option_stop, needed), grown(cubes.orientation, needed), grown(cubes.added, needed),
        grown(cubes.future, needed), grown(cubes.following, needed),
    )  # fmt: skip


@kernel
def nodes_with_room(nodes: Nodes, needed: int) -> Nodes:
    """The hypotheses with room for `needed` in all."""
    if needed <= nodes.gap.size:
        return nodes
    return Nodes(
        grown(nodes.gap, needed), grown(nodes.mask, needed), grown(nodes.begin, needed), grown(nodes.end, needed),
        grown(nodes.option, needed), grown(nodes.states, needed), grown(nodes.score, needed),
        grown(nodes.best_edge, needed),
    )  # fmt: skip


@kernel
def edges_with_room(edges: EdgeArrays, needed: int) -> EdgeArrays:
    """The steps with room for `needed` in all."""
    if needed <= edges.heads.size:
        return edges
    return EdgeArrays(
        grown(edges.heads, needed), grown(edges.tails, needed), grown(edges.options, needed),
        grown(edges.model_scores, needed),
    )  # fmt: skip


@inlined
def same_group(nodes: Nodes, i: int, j: int, reordering: bool) -> bool:
    """Whether the same spans may follow two hypotheses, at the same cost."""
    return bool(
        nodes.end[i] == nodes.end[j]
        and nodes.mask[i] == nodes.mask[j]
        and nodes.gap[i] == nodes.gap[j]
        and (not reordering or nodes.begin[i] == nodes.begin[j])
    )
