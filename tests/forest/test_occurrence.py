"""Chances of n-grams on forests with hundreds of them, against the plain recursion for each n-gram."""

import numpy as np
import oracle
import pytest

from toledo.forest.constructors import ForestBuilder
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import Distribution, distribution
from toledo.forest.ngrams import NGramForest, localize
from toledo.text.vocabulary import Vocabulary


def random_forest(rng: np.random.Generator, nodes: int, words: int, arity: int) -> Forest:
    """Edges to near nodes, with up to three words around their tails; few words in all make n-grams come again."""
    builder = ForestBuilder(Vocabulary(), ())
    for node in range(nodes):
        builder.node()
        for _ in range(rng.integers(1, 4)):
            tails = rng.integers(max(0, node - 4), node, rng.integers(1, arity + 1)).tolist() if node else []
            content: list[int | str] = list(range(len(tails)))
            for _ in range(rng.integers(0, 4)):
                content.insert(int(rng.integers(0, len(content) + 1)), f"w{rng.integers(words)}")
            builder.edge(node, tails, content, base=float(rng.normal()) if rng.random() < 0.9 else -np.inf)
    return builder.build(nodes - 1)


def chances_twin(split: NGramForest, given: Distribution) -> np.ndarray:
    """q(v) for each n-gram on its own."""
    shape = split.forest.shape
    completes = np.zeros((split.forest.edges, split.orders.size), bool)
    for edge in range(split.forest.edges):
        completes[edge, split.ids[split.offsets[edge] : split.offsets[edge + 1]]] = True
    without = np.zeros((split.forest.nodes, split.orders.size))
    for node in range(split.forest.nodes):
        for edge in range(shape.head_edges[node], shape.head_edges[node + 1]):
            tails = shape.tails[shape.tail_offsets[edge] : shape.tail_offsets[edge + 1]]
            without[node] += given.conditional[edge] * ~completes[edge] * without[tails].prod(axis=0)
    return float(given.visits[-1]) - without[-1]


@pytest.mark.parametrize(("arity", "nodes"), [(1, 60), (2, 9)])
@pytest.mark.parametrize("words", [2, 8, 40])
def test_chances_of_many_ngrams(arity: int, nodes: int, words: int) -> None:
    found = 0
    for seed in range(6):
        forest = random_forest(np.random.default_rng(seed), nodes, words, arity)
        split = localize(forest, forest.scores({}), 3)
        given = distribution(split.forest.shape, split.forest.scores({}))
        chances = split.occurrence(given)
        np.testing.assert_allclose(chances, chances_twin(split, given), atol=1e-12)
        assert ((chances >= 0.0) & (chances <= 1.0)).all()
        found = max(found, split.orders.size)
    assert found > 64 or words == 2


def test_a_word_that_comes_again_or_twice_at_one_edge() -> None:
    builder = ForestBuilder(Vocabulary(), ())
    start, goal = builder.node(), builder.node()
    builder.edge(start, words=["a", "a"])
    builder.edge(start, words=["b"])
    builder.edge(goal, (start,), [0, "b"])
    forest = builder.build(goal)
    split = localize(forest, forest.scores({}), 2)
    chances = split.occurrence(distribution(split.forest.shape, split.forest.scores({})))
    texts = [tuple(forest.vocabulary.words(list(ngram))) for ngram in split.ngrams(0)]
    named = dict(zip(texts, chances.tolist(), strict=True))
    assert named == pytest.approx({("a",): 0.5, ("b",): 1.0, ("a", "a"): 0.5, ("a", "b"): 0.5, ("b", "b"): 0.5})


def test_where_a_node_is_twice_a_tail() -> None:
    forest = oracle.doubling_forest(3)
    split = localize(forest, forest.scores({}), 2)
    chances = split.occurrence(distribution(split.forest.shape, split.forest.scores({})))
    np.testing.assert_allclose(chances, 1.0)
