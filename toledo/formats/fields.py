"""Parts that text formats share: numbers, words, edges with features, word lattices, and segments by number."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from toledo.errors import InputError
from toledo.forest.assemble import keep_edges
from toledo.forest.forest import Forest

log = logging.getLogger(__name__)

Item = TypeVar("Item")

BASE = "base"  # the feature name of the score of an edge that no weight changes
MOST_DENSE = 100
LARGEST = 3.0e38  # what single precision holds
LARGEST_GAP = 100_000

ASCII_SPACE = re.compile(r"[ \t\r\n\f\v]")
NAME = re.compile(r"(\d{1,9})((\.[A-Za-z]+)*)", re.ASCII)
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class EdgeText:
    """An edge in a text format: word strings with −1 − k for the k-th tail, and features.

    All dense features are included if one of them is not 0, so that a file names them in order.
    """

    head: int
    tails: tuple[int, ...]
    content: tuple[str | int, ...]
    features: Mapping[str, float]


def parse_number(text: str) -> float:
    """Return the value of a finite decimal number; ValueError for anything else, `nan` and `inf` included."""
    if not DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    value = float(text)
    if abs(value) > LARGEST:
        raise ValueError(f"{text} is too large")
    return value


def number_text(value: float) -> str:
    """Return the fewest digits that give the same number: in single precision if the number fits into it."""
    if abs(value) <= LARGEST:
        single = np.float32(value)
        if float(single) == value:
            return str(single).removesuffix(".0")
    return repr(value)


def dense_names(rows: Iterable[Mapping[str, float]]) -> tuple[str, ...]:
    """Return the features to keep dense: all, or of more than 100 those that more than half of the rows have."""
    counts: Counter[str] = Counter()
    total = 0
    for row in rows:
        counts.update(row.keys())
        total += 1
    counts.pop(BASE, None)
    if len(counts) <= MOST_DENSE:
        return tuple(counts)
    return tuple(name for name, count in counts.items() if 2 * count > total)


def without_base(features: Mapping[str, float]) -> tuple[Mapping[str, float], float]:
    """Separate the base score from the other features."""
    if BASE not in features:
        return features, 0.0
    return {name: value for name, value in features.items() if name != BASE}, features[BASE]


def edge_texts(forest: Forest) -> Iterator[EdgeText]:
    """Yield the edges of a forest in order."""
    shape, yields, words = forest.shape, forest.yields, list(forest.vocabulary)
    heads = np.repeat(np.arange(forest.nodes), np.diff(shape.head_edges)).tolist()
    tail_offsets, tails = shape.tail_offsets.tolist(), shape.tails.tolist()
    offsets, parts = yields.offsets.tolist(), yields.words.tolist()
    for edge, features in enumerate(_edge_features(forest)):
        content = [part if part < 0 else words[part] for part in parts[offsets[edge] : offsets[edge + 1]]]
        children = tails[tail_offsets[edge] : tail_offsets[edge + 1]]
        yield EdgeText(heads[edge], tuple(children), tuple(content), features)


def words_text(words: Iterable[str], kind: str, forbidden: re.Pattern[str]) -> str:
    """Return words with spaces between them; refuse words that would be read back as something else."""
    listed = list(words)
    text = " ".join(listed)
    if text.split() == listed and not forbidden.search(text):  # the usual case, checked as a whole
        return text
    for word in listed:
        if not word or ASCII_SPACE.search(word) or forbidden.search(word):
            remedy = "replace such words, or write another format: JSONL"
            raise InputError(f"{word!r} cannot be written in {kind}", remedy=remedy)
    return text


def _edge_features(forest: Forest) -> Iterator[dict[str, float]]:
    base = None if forest.base is None else forest.base.tolist()
    sparse = forest.sparse
    offsets, ids, values = (array.tolist() for array in sparse.arrays) if sparse else ([], [], [])
    for edge in range(forest.edges):
        row = forest.features[edge].tolist()
        features = dict(zip(forest.feature_names, row, strict=True)) if any(row) else {}
        if sparse:
            for place in range(offsets[edge], offsets[edge + 1]):
                features[sparse.names[ids[place]]] = features.get(sparse.names[ids[place]], 0.0) + values[place]
        if base and base[edge]:
            features[BASE] = base[edge]
        if not all(math.isfinite(value) for value in features.values()):
            raise InputError(f"edge {edge} is impossible (−inf)", remedy="prune the forest first")
        yield features


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
    """Return the lattice of a one-segment forest; refuse edges that join several nodes, or write before their tail."""
    if len(forest) != 1:
        raise ValueError("a lattice is made of one segment at a time")
    useful = keep_edges(forest, np.ones(forest.edges, bool) if forest.base is None else forest.base > -np.inf)
    if not useful.edges:
        raise InputError("the forest has no derivation", remedy="leave the segment out, or write JSONL or a hypergraph")
    entering: list[list[EdgeText]] = [[] for _ in range(useful.nodes)]
    for edge in edge_texts(useful):
        _require_linear(edge)
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
    """Number states in topological order. Nodes that only mark the start or the end need no state."""
    goal = len(entering) - 1
    while len(entering[goal]) == 1 and _says_nothing(entering[goal][0]) and entering[goal][0].tails:
        goal = entering[goal][0].tails[0]
    states: dict[int, int] = {}
    arcs: list[LatticeArc] = []
    used = 0  # the start
    for node, edges in enumerate(entering[: goal + 1]):
        if len(edges) == 1 and not edges[0].tails and _says_nothing(edges[0]):
            states[node] = 0
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
            first = states[edge.tails[0]] if edge.tails else 0
            arcs += _chain([first, *inner, used], words, edge.features)
    return WordLattice(used + 1, sorted(arcs, key=lambda arc: arc.start))


def _chain(states: list[int], words: list[str], features: Mapping[str, float]) -> list[LatticeArc]:
    """Return one arc for each word; the first one has the features."""
    if not words:
        return [LatticeArc(states[0], states[1], None, features)]
    return [
        LatticeArc(start, end, word, features if place == 0 else {})
        for place, (start, end, word) in enumerate(zip(states[:-1], states[1:], words, strict=True))
    ]


def _says_nothing(edge: EdgeText) -> bool:
    return not edge.features and not any(isinstance(part, str) for part in edge.content)


def fill_gaps(numbered: Iterable[tuple[int, Item]], empty: Callable[[int], Item], file: str | Path) -> Iterator[Item]:
    """Yield an item for each number from 0, `empty(number)` where there is none; numbers must rise."""
    expected = 0
    missing: list[int] = []
    for number, item in numbered:
        if number - expected > LARGEST_GAP:
            message = f"segment {number} follows segment {expected - 1}"
            raise InputError(message, file=file, remedy="number the segments 0, 1, 2, …")
        for absent in range(expected, number):
            missing.append(absent)
            yield empty(absent)
        yield item
        expected = number + 1
    if missing:
        message = "%s: %d segments without a hypothesis, the first is %s (counted from 0)"
        log.warning(message, file, len(missing), missing[0])


def numbered_files(directory: str | Path) -> list[tuple[int, Path]]:
    """Return the files `0`, `1.gz`, `2.slf.gz` … of a directory, by number."""
    files: dict[int, Path] = {}
    for path in sorted(Path(directory).iterdir()):
        match = NAME.fullmatch(path.name)
        if not match or not path.is_file():
            continue
        number = int(match[1])
        if number in files:
            message = f"segment {number} occurs twice, as {files[number].name} and {path.name}"
            raise InputError(message, file=directory, remedy="keep one of them")
        files[number] = path
    if not files:
        remedy = "name them 0.gz, 1.gz, … or give one file"
        raise InputError("has no files named by segment", file=directory, remedy=remedy)
    return sorted(files.items())
