"""Forests that are lattices, as states and arcs with at most one word: what PLF and SLF can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from toledo.errors import InputError
from toledo.forest.assemble import keep_edges
from toledo.forest.forest import Forest
from toledo.formats.fields import EdgeText, edge_texts

START = 0


@dataclass(frozen=True)
class LatticeArc:
    """From a state to a later one, with one word or none."""

    start: int
    end: int
    word: str | None
    features: Mapping[str, float]


@dataclass(frozen=True)
class WordLattice:
    """State 0 is the start, the last one the end."""

    states: int
    arcs: list[LatticeArc]


def lattice_of(forest: Forest) -> WordLattice:
    """The lattice of a one-segment forest; refuses edges that join several nodes, or write before their tail."""
    if len(forest) != 1:
        raise ValueError("a lattice is made of one segment at a time")
    useful = keep_edges(forest, np.ones(forest.edges, bool) if forest.base is None else forest.base > -np.inf)
    if not useful.edges:
        raise InputError("the forest has no derivation", remedy="leave the segment out, or write JSONL or a hypergraph")
    edges = list(edge_texts(useful))
    for edge in edges:
        _require_linear(edge)
    entering: list[list[EdgeText]] = [[] for _ in range(useful.nodes)]
    for edge in edges:
        entering[edge.head].append(edge)
    return _numbered(entering)


def _require_linear(edge: EdgeText) -> None:
    if len(edge.tails) > 1:
        problem = f"an edge of node {edge.head} joins {len(edge.tails)} nodes"
    elif edge.tails and edge.content[0] != -1:
        problem = f"an edge of node {edge.head} writes words before those of its tail"
    else:
        return
    raise InputError(f"not a lattice: {problem}", remedy="write a hypergraph or an n-best list")


def _numbered(entering: list[list[EdgeText]]) -> WordLattice:
    """Number states in topological order. Nodes that only say `start here` or `end here` need no state of their own."""
    goal = len(entering) - 1
    while len(entering[goal]) == 1 and _says_nothing(entering[goal][0]) and entering[goal][0].tails:
        goal = entering[goal][0].tails[0]
    states: dict[int, int] = {}
    arcs: list[LatticeArc] = []
    used = START
    for node, edges in enumerate(entering[: goal + 1]):
        if len(edges) == 1 and not edges[0].tails and _says_nothing(edges[0]):
            states[node] = START
            continue
        paths = []
        for edge in edges:
            words = [part for part in edge.content if isinstance(part, str)]
            inner = list(range(used + 1, used + max(len(words), 1)))
            used += len(inner)
            paths.append((edge, words, inner))
        used += 1
        states[node] = used
        for edge, words, inner in paths:
            first = states[edge.tails[0]] if edge.tails else START
            arcs += _chain([first, *inner, used], words, edge.features)
    return WordLattice(used + 1, sorted(arcs, key=lambda arc: arc.start))


def _chain(states: list[int], words: list[str], features: Mapping[str, float]) -> list[LatticeArc]:
    """One arc for each word; the first one has the features."""
    if not words:
        return [LatticeArc(states[0], states[1], None, features)]
    return [
        LatticeArc(start, end, word, features if place == 0 else {})
        for place, (start, end, word) in enumerate(zip(states[:-1], states[1:], words, strict=True))
    ]


def _says_nothing(edge: EdgeText) -> bool:
    return not edge.features and not any(isinstance(part, str) for part in edge.content)
