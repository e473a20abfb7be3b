"""Forests as text: the hypergraphs of Moses (-output-search-graph-hypergraph), its tuners, and lazy decoding.

    # target ||| features ||| source-covered
    3 4                            nodes and edges
    1                              edges of node 0, then one line for each
    <s> |||  ||| 0
    2                              edges of node 1
    [0] the house ||| LM0=-3.5 TM0_1=-0.2 ||| 2
    [0] a house ||| LM0=-4 TM0_1=-1.5 ||| 2
    1                              edges of node 2, the last node: the goal
    [1] </s> ||| LM0=-0.5 ||| 2

An edge names earlier nodes as [k]. Lines with # before a number of edges are comments. `<s>` and `</s>` are no words.
Moses writes one file for each segment into a directory; a file may also hold several graphs in a row. Joshua's graphs
have the header `# target ||| features` and no third field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toledo.errors import InputError
from toledo.files import file_error, read_lines
from toledo.forest.constructors import ForestBuilder
from toledo.forest.forest import Forest
from toledo.formats.fields import EdgeText, dense_names, edge_texts, number_text, parse_number, without_base, words_text
from toledo.text.vocabulary import RESERVED, Vocabulary, split_words

HEADER = "# target ||| features ||| source-covered"
HEADERS = {HEADER: 3, "# target ||| features": 2}  # and the fields of an edge
BOUNDARIES = set(RESERVED[1:])
LARGEST = 2**31

NODE = re.compile(r"\[(\d{1,10})\]", re.ASCII)
SEPARATOR = re.compile(r"(?:^|\s)\|\|\|(?=\s|$)")
NOT_A_WORD = re.compile(r"\|\|\||(^|\s)(\[\S*\]|</?s>)(\s|$)")
NOT_A_NAME = re.compile(r"\|\|\|")


class _Edge(NamedTuple):
    head: int
    tails: list[int]
    content: list[str | int]
    features: dict[str, float]


def read_hypergraphs(
    path: str | Path, vocabulary: Vocabulary, feature_names: Sequence[str] | None = None
) -> Iterator[Forest]:
    """Read the forests of a file, mostly one. Without names, the features of the first forest are dense."""
    names = None if feature_names is None else tuple(feature_names)
    for nodes, edges in _HypergraphReader(path).graphs():
        if names is None:
            names = dense_names(edge.features for edge in edges)
        builder = ForestBuilder(vocabulary, names)
        for _ in range(nodes):
            goal = builder.node()
        for edge in edges:
            features, base = without_base(edge.features)
            builder.edge(edge.head, edge.tails, edge.content, features, base)
        yield builder.build(goal)


def hypergraph_text(forest: Forest) -> str:
    """Return the lines of one forest.

    A forest does not know its source. In place of the number of covered source words stands the number of target
    words, the most that a node can have: readers use it to distribute the length of the reference.
    """
    return "".join(f"{line}\n" for line in _lines(forest))


class _HypergraphReader:
    """Reads graphs line by line; knows the place for errors."""

    def __init__(self, path: str | Path) -> None:
        self.file = path
        self.lines = read_lines(path)
        self.number = 0
        self.fields = 0

    def graphs(self) -> Iterator[tuple[int, list[_Edge]]]:
        while (line := self.next_line()) is not None:
            if not line.strip():
                continue
            if line.rstrip() not in HEADERS:
                raise self.error(f"{line[:60]!r} instead of the header", f"a graph begins with the line {HEADER}")
            self.fields = HEADERS[line.rstrip()]
            yield self.graph()

    def graph(self) -> tuple[int, list[_Edge]]:
        nodes, total = self.counts(2, "the numbers of nodes and edges")
        if not nodes:
            raise self.error("a graph without nodes", "the last node is the goal: write at least one")
        edges: list[_Edge] = []
        for node in range(nodes):
            (size,) = self.counts(1, f"the number of edges of node {node}")
            if len(edges) + size > total:
                raise self.error(f"more than {total} edges", "correct the number of edges at the beginning")
            edges += (self.edge(node) for _ in range(size))
        if len(edges) < total:
            raise self.error(f"{len(edges)} edges instead of {total}", "correct the number of edges at the beginning")
        return nodes, edges

    def counts(self, size: int, what: str) -> list[int]:
        line = self.next_line()
        while line is not None and line.startswith("#"):
            line = self.next_line()
        if line is None:
            raise self.error(f"the file ends before {what}", "is the file complete?")
        numbers = split_words(line)
        if len(numbers) != size or not all(text.isascii() and text.isdigit() and len(text) < 11 for text in numbers):
            raise self.error(f"{line[:60]!r} is not {what}", "write whole numbers")
        values = [int(text) for text in numbers]
        if max(values) >= LARGEST:
            raise self.error(f"{max(values)} is too large", "split the graph")
        return values

    def edge(self, head: int) -> _Edge:
        line = self.next_line()
        if line is None:
            raise self.error(f"the file ends before the edges of node {head}", "is the file complete?")
        fields = SEPARATOR.split(line)
        if len(fields) != self.fields:
            layout = "write: words and [nodes] ||| name=value … ||| covered"
            raise self.error(f"{len(fields)} fields instead of {self.fields}", layout)
        covered = fields[-1].strip()
        if len(fields) > 2 and not (covered.isascii() and covered.isdigit()):
            raise self.error(f"{covered!r} is not a number of covered words", "write a whole number, 0 if unknown")
        tails, content = self.target(head, split_words(fields[0]))
        return _Edge(head, tails, content, self.features(split_words(fields[1])))

    def target(self, head: int, tokens: list[str]) -> tuple[list[int], list[str | int]]:
        tails: list[int] = []
        content: list[str | int] = []
        for token in tokens:
            if token[0] == "[" and token[-1] == "]":
                match = NODE.fullmatch(token)
                if not match or int(match[1]) >= head:
                    remedy = "children come first; escape [ and ] in words"
                    raise self.error(f"{token} is not a node before {head}", remedy)
                content.append(len(tails))
                tails.append(int(match[1]))
            elif token not in BOUNDARIES:
                content.append(token)
        return tails, content

    def features(self, tokens: list[str]) -> dict[str, float]:
        features: dict[str, float] = {}
        for token in tokens:
            name, _, value = token.rpartition("=")
            if not name:
                raise self.error(f"{token!r} is not a feature", "write name=value")
            if name in features:
                raise self.error(f"{name} occurs twice", "keep one of them")
            try:
                features[name] = parse_number(value)
            except ValueError as error:
                raise self.error(f"{name}: {error}", "features are finite numbers") from None
        return features

    def next_line(self) -> str | None:
        self.number += 1
        return next(self.lines, None)

    def error(self, message: str, remedy: str) -> InputError:
        return file_error(self.file, self.number, message, remedy)


def _lines(forest: Forest) -> Iterator[str]:
    if len(forest) != 1:
        raise ValueError("a hypergraph is written for one segment at a time")
    yield HEADER
    yield f"{forest.nodes} {forest.edges}"
    edges = edge_texts(forest)
    longest: list[int] = []
    for node, size in enumerate((forest.shape.head_edges[1:] - forest.shape.head_edges[:-1]).tolist()):
        entering = [next(edges) for _ in range(size)]
        longest.append(max((_length(edge, longest) for edge in entering), default=0))
        yield f"# node {node}"
        yield str(size)
        yield from (_edge_line(edge, longest[node]) for edge in entering)


def _length(edge: EdgeText, longest: list[int]) -> int:
    return len(edge.content) - len(edge.tails) + sum(longest[tail] for tail in edge.tails)


def _edge_line(edge: EdgeText, covered: int) -> str:
    words_text((part for part in edge.content if isinstance(part, str)), "a hypergraph", NOT_A_WORD)
    words_text(edge.features, "a hypergraph as the name of a feature", NOT_A_NAME)
    target = " ".join(f"[{edge.tails[-1 - part]}]" if isinstance(part, int) else part for part in edge.content)
    features = " ".join(f"{name}={number_text(value)}" for name, value in edge.features.items())
    return f"{target} ||| {features} ||| {covered}"
