"""The arrays that beam search works on, and how they grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.growing import grown
from toledo.heap import ENTRY
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


NODE = np.dtype(
    [
        ("mask", np.uint64),  # with `gap`: the words translated
        ("score", np.float64),
        ("gap", np.int32),
        ("begin", np.int32),  # of the last span
        ("end", np.int32),
        ("option", np.int32),  # the last one
        ("best_edge", np.int32),
    ],
    align=True,
)
CUBE = np.dtype(
    [
        ("added", np.float64),  # to each cell
        ("future", np.float64),
        ("first", np.int32),  # of its group, the hypotheses `ranked[first:stop]`
        ("stop", np.int32),
        ("option_first", np.int32),
        ("option_stop", np.int32),
        ("orientation", np.int32),
        ("following", np.int32),  # the next cube of the stack
    ],
    align=True,
)
CELL = np.dtype(
    [
        ("score", np.float64),
        ("cube", np.int32),
        ("row", np.int32),  # the hypothesis is `ranked[row]`
        ("option", np.int32),
        ("known", np.int32),  # whether its score is, and what the models say of it
    ],
    align=True,
)


class Nodes(NamedTuple):
    """Hypotheses; what a step reads of one lies side by side."""

    records: NDArray[Any]  # NODE
    states: NDArray[np.int32]


class EdgeArrays(NamedTuple):
    """Steps from `tails` to `heads` by an option; `model_scores` are natural logs of each language model."""

    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    options: NDArray[np.int32]
    model_scores: NDArray[np.float32]


class Queue(NamedTuple):
    """Cells that wait; `heap` gives the best first, by its score if that is known, else by what can be expected."""

    cells: NDArray[Any]  # CELL
    model_scores: NDArray[np.float32]
    states: NDArray[np.int32]
    heap: NDArray[Any]  # ENTRY


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
def power_of_two(least: int) -> int:
    """The smallest power of two that is at least so large."""
    size = 1
    while size < least:
        size *= 2
    return size


@kernel
def room_for_nodes(size: int, models: int) -> Nodes:
    """Hypotheses not yet made."""
    return Nodes(np.empty(size, NODE), np.empty((size, models), np.int32))


@kernel
def room_for_edges(size: int, models: int) -> EdgeArrays:
    """Steps not yet made."""
    return EdgeArrays(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32),
        np.empty((size, models), np.float32),
    )  # fmt: skip


@kernel
def room_for_queue(size: int, models: int) -> Queue:
    """A queue with room for so many cells in all, those taken included."""
    model_scores, states = np.empty((size, models), np.float32), np.empty((size, models), np.int32)
    return Queue(np.empty(size, CELL), model_scores, states, np.empty(size, ENTRY))


@kernel
def room_for_groups(size: int) -> Groups:
    """Room for so many hypotheses."""
    return Groups(
        np.empty(power_of_two(2 * size + 2), np.int32), np.empty(size + 1, np.int32), np.empty(size + 1, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def nodes_with_room(nodes: Nodes, needed: int) -> Nodes:
    """The hypotheses with room for `needed` in all."""
    if needed <= nodes.records.size:
        return nodes
    return Nodes(grown(nodes.records, needed), grown(nodes.states, needed))


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
        nodes.records[i]["end"] == nodes.records[j]["end"]
        and nodes.records[i]["mask"] == nodes.records[j]["mask"]
        and nodes.records[i]["gap"] == nodes.records[j]["gap"]
        and (not reordering or nodes.records[i]["begin"] == nodes.records[j]["begin"])
    )
