"""Pictures: valid, escaped, readable; layouts without overlaps; summaries."""

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from toledo.errors import InputError
from toledo.forest.constructors import Arc, ForestBuilder, ListEntry, from_lattice, from_nbest
from toledo.forest.derivations import log10_derivations, summarize
from toledo.forest.drawing import to_dot, to_svg
from toledo.forest.forest import Forest
from toledo.text.vocabulary import Vocabulary
from toledo.view.layout import Box, _isotonic, place

SVG = "{http://www.w3.org/2000/svg}"


def lattice() -> Forest:
    arcs = [
        Arc(0, 1, ["the"], {"p": 1.0}),
        Arc(0, 1, ["<a&\"b'>"], {"p": 0.0}),
        Arc(1, 2, ["house"], {"p": 0.5}),
        Arc(0, 2, [], {"p": -1.0}),
    ]
    return from_lattice(arcs, 0, [2], ["p"], Vocabulary())


def labels(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return [element.text or "" for element in root.iter(f"{SVG}text") if element.get("class") == "word"]


def test_an_svg_picture_shows_words_posteriors_and_the_best_derivation() -> None:
    forest = lattice()
    scores = forest.scores({"p": 1.0})
    svg = to_svg(forest, scores)
    assert sorted(labels(svg)) == sorted(["the", "<a&\"b'>", "house"])
    root = ElementTree.fromstring(svg)
    values = [element.text for element in root.iter(f"{SVG}text") if element.get("class") == "value"]
    total = math.exp(1.5) + math.exp(0.5) + math.exp(-1)
    assert f"{math.exp(1.5) / total:.2f}" in values
    best = [group for group in root.iter(f"{SVG}g") if group.get("class") == "best"]
    assert {text.text for group in best for text in group.iter(f"{SVG}text")} >= {"the", "house"}
    assert not any(text.text == "<a&\"b'>" for group in best for text in group.iter(f"{SVG}text"))
    assert len([element for element in root.iter(f"{SVG}circle") if element.get("class") == "node"]) == forest.nodes + 1
    assert "p 0.5" in svg  # features on hovering


def test_without_scores_there_are_no_numbers() -> None:
    svg = to_svg(lattice())
    assert 'class="value"' not in svg
    assert 'class="best"' not in svg


def test_edges_with_several_tails_show_where_the_tails_go() -> None:
    builder = ForestBuilder(Vocabulary(), ())
    leaf, goal = builder.node(), builder.node()
    builder.edge(leaf, words=["a"])
    builder.edge(goal, (leaf, leaf), ["x", 0, "y", 1])
    builder.edge(goal, (leaf, leaf))
    assert sorted(labels(to_svg(builder.build(goal)))) == ["a", "x ① y ②"]


def test_an_empty_hypothesis_is_seen() -> None:
    forest = from_nbest([ListEntry(["a"]), ListEntry([])], (), Vocabulary())
    assert to_svg(forest).count('class="dot"') == 1


def test_odd_words() -> None:
    words = ["\x00\x1b", "\u202e", "x" * 100, "家" * 10, "]]>", "--"]
    forest = from_nbest([ListEntry([word]) for word in words], (), Vocabulary())
    shown = labels(to_svg(forest, np.zeros(len(words))))
    assert "x" * 39 + "…" in shown
    assert {"␀␛", "⟨U+202E⟩"} <= set(shown)
    dot = to_dot(from_nbest([ListEntry(['a"b\\'])], (), Vocabulary()))
    assert '[label="a\\"b\\\\"]' in dot


def test_large_and_joined_forests_are_refused() -> None:
    forest = from_nbest([ListEntry([str(number)]) for number in range(201)], (), Vocabulary())
    for draw in (to_svg, to_dot):
        with pytest.raises(InputError, match="201 edges are too many") as caught:
            draw(forest)
        assert "prune" in str(caught.value.remedy)


def test_graphviz_text() -> None:
    forest = lattice()
    dot = to_dot(forest, forest.scores({"p": 1.0}))
    assert dot.startswith("digraph forest {")
    assert dot.count("color=red") == 3  # the, house, and the end
    assert len(re.findall(r"n\d+ -> n\d+", dot)) == 5
    assert f"n{forest.nodes - 1} [shape=doublecircle]" in dot


@given(oracle.forests(), st.data())
def test_every_small_forest_can_be_drawn(forest: Forest, data: st.DataObject) -> None:
    scores = data.draw(st.none() | oracle.edge_scores(forest))
    svg = to_svg(forest, scores)
    ElementTree.fromstring(svg)
    assert "nan" not in svg
    assert to_dot(forest, scores).endswith("}\n")


@given(st.data())
def test_layouts_do_not_overlap(data: st.DataObject) -> None:
    layers = sorted(data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=15)))
    layers = [sorted(set(layers)).index(layer) for layer in layers]
    size = st.floats(1, 50)
    boxes = [Box(layer, data.draw(size), data.draw(size)) for layer in layers]
    pairs = [(a, b) for a in range(len(boxes)) for b in range(len(boxes)) if layers[a] < layers[b]]
    lines = data.draw(st.lists(st.sampled_from(pairs), max_size=20)) if pairs else []
    found = place(boxes, lines, gap=10, distance=5)
    for i, (one, (x, y)) in enumerate(zip(boxes, found.centers, strict=True)):
        assert x - one.width / 2 >= -1e-6
        assert x + one.width / 2 <= found.width + 1e-6
        assert y - one.height / 2 >= -1e-6
        assert y + one.height / 2 <= found.height + 1e-6
        for j in range(i):
            if boxes[j].layer == one.layer:
                assert abs(y - found.centers[j][1]) >= (one.height + boxes[j].height) / 2 + 5 / 3 - 1e-6
            else:
                assert abs(x - found.centers[j][0]) >= (one.width + boxes[j].width) / 2 + 10 - 1e-6
    for (start, end), points in zip(lines, found.lines, strict=True):
        assert points[0][1] == found.centers[start][1]
        assert points[-1][1] == found.centers[end][1]
        assert all(before[0] <= after[0] for before, after in itertools.pairwise(points))


def test_crossings_that_need_not_be_are_avoided() -> None:
    boxes = [Box(0, 1, 1), Box(0, 1, 1), Box(1, 1, 1), Box(1, 1, 1)]
    centers = place(boxes, [(0, 3), (1, 2)], 10, 5).centers
    assert (centers[0][1] < centers[1][1]) == (centers[3][1] < centers[2][1])


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20))
def test_heights_are_the_nearest_that_rise(values: list[float]) -> None:
    np.testing.assert_allclose(_isotonic(values), isotonic_regression(values).x, atol=1e-9)


@given(oracle.forests())
def test_the_number_of_derivations(forest: Forest) -> None:
    count = len(oracle.derivations(forest))
    found = log10_derivations(forest.shape)[0]
    assert found == -math.inf if count == 0 else round(10**found, 6) == count


def test_numbers_beyond_floating_point() -> None:
    assert math.isclose(log10_derivations(oracle.chain(400, 10).shape)[0], 400)
    assert math.isclose(log10_derivations(oracle.doubling_forest(60).shape)[0], (2.0**60 - 1) * math.log10(2))


def test_a_summary() -> None:
    forest = lattice()
    found = summarize(forest, forest.scores({"p": 1.0}))
    assert (found.nodes, found.edges, str(found.best)) == (4, 6, "the house")
    weights = np.exp([1.5, 0.5, -1.0])
    chances = weights / weights.sum()
    assert math.isclose(found.entropy, -(chances * np.log(chances)).sum())
    assert math.isclose(found.log_partition, math.log(weights.sum()))
    assert summarize(from_nbest([], (), Vocabulary()), np.empty(0)).best is None
