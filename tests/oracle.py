"""Brute force: every derivation of a small forest, one by one. What inference is tested against."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from toledo.forest.assemble import Edges, from_edges
from toledo.forest.constructors import ForestBuilder
from toledo.forest.forest import Forest, Yields
from toledo.text.vocabulary import Vocabulary

WORDS = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Tree:
    """A derivation: the edges it uses (with repetition, top down, left to right) and the words it writes."""

    edges: tuple[int, ...]
    words: tuple[int, ...]

    def score(self, scores: np.ndarray) -> float:
        return float(sum(scores[edge] for edge in self.edges))


def derivations(forest: Forest, node: int | None = None) -> list[Tree]:
    """All derivations of a node (of the goal by default)."""
    node = forest.nodes - 1 if node is None else node
    shape = forest.shape
    found = []
    for edge in range(shape.head_edges[node], shape.head_edges[node + 1]):
        tails = shape.tails[shape.tail_offsets[edge] : shape.tail_offsets[edge + 1]]
        content = forest.yields.words[forest.yields.offsets[edge] : forest.yields.offsets[edge + 1]].tolist()
        for children in itertools.product(*(derivations(forest, int(tail)) for tail in tails)):
            words: list[int] = []
            for part in content:
                words += children[-1 - part].words if part < 0 else (part,)
            edges = (edge, *itertools.chain.from_iterable(child.edges for child in children))
            found.append(Tree(edges, tuple(words)))
    return found


def probabilities(trees: list[Tree], scores: np.ndarray) -> np.ndarray:
    """The posterior of each derivation; all 0 if none is possible."""
    values = np.array([tree.score(scores) for tree in trees])
    if not values.size or np.isneginf(values.max()):
        return np.zeros(values.size)
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def log_partition(trees: list[Tree], scores: np.ndarray) -> float:
    values = [tree.score(scores) for tree in trees]
    best = max(values, default=-math.inf)
    return best if best == -math.inf else best + math.log(sum(math.exp(value - best) for value in values))


def ngrams(words: tuple[int, ...], order: int) -> Counter[tuple[int, ...]]:
    """All n-grams up to an order, counted."""
    return Counter(words[i : i + n] for n in range(1, order + 1) for i in range(len(words) - n + 1))


@st.composite
def forests(draw: st.DrawFn, max_nodes: int = 5, max_edges: int = 3, max_words: int = 2, features: int = 2) -> Forest:
    """Small random forests: up to two tails per edge (or one twice), empty yields, dead nodes, n-best lists."""
    vocabulary = Vocabulary(WORDS)
    nodes = draw(st.integers(1, max_nodes))
    heads, tails, yields = [], [], []
    for node in range(nodes):
        for _ in range(draw(st.integers(0 if node < nodes - 1 else 1, max_edges))):
            arity = draw(st.integers(0, min(node, 2)))
            children = [draw(st.integers(0, node - 1)) for _ in range(arity)]
            words: list[int] = [-1 - place for place in range(arity)]
            for _ in range(draw(st.integers(0, max_words))):
                words.insert(draw(st.integers(0, len(words))), draw(st.integers(3, len(vocabulary) - 1)))
            heads.append(node)
            tails.append(children)
            yields.append(words)
    values = st.floats(-3, 3, width=32)
    table = [[draw(values) for _ in range(features)] for _ in heads]
    edges = Edges(
        np.array(heads, np.int32),
        np.cumsum([0, *map(len, tails)], dtype=np.int32),
        np.array([tail for row in tails for tail in row], np.int32),
        Yields(
            np.cumsum([0, *map(len, yields)], dtype=np.int32),
            np.array([word for row in yields for word in row], np.int32),
        ),
        np.array(table, np.float32).reshape(len(heads), features),
    )
    return from_edges(edges, nodes - 1, [f"f{k}" for k in range(features)], vocabulary)


def edge_scores(forest: Forest, impossible: bool = True) -> st.SearchStrategy[np.ndarray]:
    """Random scores for the edges of a forest: ordinary, in the thousands, and −inf."""
    choices = st.floats(-4, 4) | st.sampled_from([-3000.0, 2500.0])
    if impossible:
        choices |= st.just(-math.inf)
    return st.lists(choices, min_size=forest.edges, max_size=forest.edges).map(
        lambda values: np.array(values, np.float64)
    )


def doubling_forest(depth: int, ways: int = 2) -> Forest:
    """Each node joins two copies of the one below, in several ways: far more than 10^300 derivations."""
    builder = ForestBuilder(Vocabulary(), ())
    below = builder.node()
    builder.edge(below, words=["a"])
    for _ in range(depth):
        node = builder.node()
        for _ in range(ways):
            builder.edge(node, (below, below))
        below = node
    return builder.build(below)


def chain(depth: int, ways: int) -> Forest:
    """A lattice in which every word can be chosen in several ways."""
    builder = ForestBuilder(Vocabulary(), ())
    below = builder.node()
    builder.edge(below)
    for _ in range(depth):
        node = builder.node()
        for word in range(ways):
            builder.edge(node, (below,), [0, f"w{word}"])
        below = node
    return builder.build(below)
