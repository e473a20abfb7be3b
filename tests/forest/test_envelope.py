"""The best derivation along a line, against enumeration at many points."""

import math
from itertools import pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.forest.assemble import join
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.derivations import best_below, derivation_words
from toledo.forest.envelope import envelope, envelope_texts
from toledo.forest.forest import Forest
from toledo.text.vocabulary import Vocabulary


@given(st.data())
def test_the_envelope_is_the_maximum_over_all_derivations_everywhere(data: st.DataObject) -> None:
    forest = data.draw(oracle.forests(max_nodes=4))
    intercepts = data.draw(oracle.edge_scores(forest))
    steep = st.floats(-3, 3).filter(lambda slope: slope == 0.0 or abs(slope) > 1e-6)
    slopes = np.array(data.draw(st.lists(steep, min_size=forest.edges, max_size=forest.edges)))
    possible = [tree for tree in oracle.derivations(forest) if tree.score(intercepts) > -math.inf]
    found = envelope(forest, intercepts, slopes)
    if not possible:
        assert len(found) == 0
        return
    assert found.starts[0] == -math.inf
    assert np.all(np.diff(found.starts) >= 0)
    assert np.all(np.diff(found.slopes) > 0)
    inner = found.starts[1:].tolist()
    middles = [(left + right) / 2 for left, right in pairwise(inner)]
    points = [*inner, *middles, -1e4, -1.0, 0.0, 1.0, 1e4]
    for gamma in points:
        best = max(tree.score(intercepts) + gamma * tree.score(slopes) for tree in possible)
        number = found.at(gamma)
        edges = found.derivation(number)
        assert intercepts[edges].sum() + gamma * slopes[edges].sum() == pytest.approx(best, rel=1e-7, abs=1e-6)
        assert found.intercepts[number] == pytest.approx(intercepts[edges].sum(), abs=1e-7)
        assert found.slopes[number] == pytest.approx(slopes[edges].sum(), abs=1e-9)
        assert tuple(edges.tolist()) in {tree.edges for tree in possible}


def test_an_nbest_list() -> None:
    entries = [
        ListEntry(["a"], {"x": 0.0, "y": 0.0}),
        ListEntry(["b"], {"x": -1.0, "y": 1.0}),
        ListEntry(["c"], {"x": -9.0}),
    ]
    forest = from_nbest(entries, ["x", "y"], Vocabulary())
    found = envelope(forest, forest.scores({"x": 1.0, "y": 0.0}), forest.scores({"x": 0.0, "y": 1.0}))
    assert found.starts.tolist() == [-math.inf, 1.0]
    assert [found.derivation(i).tolist() for i in range(2)] == [[0], [1]]
    assert [found.at(gamma) for gamma in (-5.0, 0.9, 1.0, 7.0)] == [0, 0, 1, 1]


@pytest.mark.parametrize(("tiny", "lower", "best"), [(1e-308, -3000.0, [0]), (1e-308, 3000.0, [1]), (0.0, 1.0, [1])])
def test_lines_that_cross_beyond_all_numbers(tiny: float, lower: float, best: list[int]) -> None:
    forest = from_nbest([ListEntry(["a"]), ListEntry(["b"])], (), Vocabulary())
    for sign in (1.0, -1.0):
        found = envelope(forest, np.array([0.0, lower]), np.array([0.0, sign * tiny]))
        assert found.starts.tolist() == [-math.inf]
        assert found.derivation(0).tolist() == best


def long_list(size: int) -> Forest:
    return from_nbest([ListEntry([f"w{i}"]) for i in range(size)], (), Vocabulary())


@pytest.mark.parametrize("forest", [oracle.chain(60, 5), oracle.doubling_forest(6, 60), long_list(500)], ids=repr)
def test_many_pieces_against_the_best_derivation_at_each_point(forest: Forest) -> None:
    """More pieces than there is room for at first; the same derivations as texts, beside those of another sentence."""
    random = np.random.default_rng(3)
    slopes = random.normal(size=forest.edges)
    intercepts = -(slopes**2) + 0.001 * random.normal(size=forest.edges)  # tangents of a parabola: many of them count
    found = envelope(forest, intercepts, slopes)
    assert len(found) > 100
    for number, gamma in enumerate(found.starts[1:] + 1e-9, start=1):
        best = best_below(forest.shape, intercepts + gamma * slopes).scores[-1]
        assert found.intercepts[number] + gamma * found.slopes[number] == pytest.approx(best, rel=1e-9, abs=1e-6)
    both = join([forest, forest])
    texts = envelope_texts(both.shape, both.yields, np.tile(intercepts, 2), np.tile(slopes, 2), 1, 2)
    words = [derivation_words(forest.yields, found.derivation(i)).tolist() for i in range(len(found))]
    assert [texts.words[begin:end].tolist() for begin, end in pairwise(texts.offsets)] == words
    assert (texts.sentences.tolist(), texts.starts.tolist()) == ([0, len(found)], found.starts.tolist())
