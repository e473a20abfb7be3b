"""Constructors, joining, saving, and what is refused."""

import dataclasses
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.assemble import join, split
from toledo.forest.constructors import (
    Arc,
    ForestBuilder,
    ListEntry,
    from_confusion_network,
    from_lattice,
    from_nbest,
    from_samples,
)
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Shape, Yields
from toledo.forest.kbest import k_best
from toledo.text.vocabulary import Vocabulary


def texts(forest: Forest, weights: dict[str, float]) -> list[str]:
    return [str(one) for one in k_best(forest, forest.scores(weights))]


def test_an_nbest_list_with_sparse_features_and_base_scores() -> None:
    entries = [
        ListEntry(["the", "house"], {"lm": -2.0, "pair=haus-house": 1.0}),
        ListEntry([], {"lm": -1.0}, base=-5.0),
        ListEntry(["a", "home"], {"lm": -2.5, "pair=haus-home": 1.0, "pair=ein-a": 2.0}),
    ]
    forest = from_nbest(entries, ["lm"], Vocabulary())
    assert repr(forest) == "Forest(1 nodes, 3 edges, 1 dense and 3 sparse features)"
    assert forest.scores({"lm": 1.0, "pair=ein-a": 3.0}).tolist() == [-2.0, -6.0, 3.5]
    best = viterbi(forest, forest.scores({"lm": 1.0}))[0]
    assert best is not None
    assert (best.words, best.features, best.provenance) == (
        ("the", "house"),
        {"lm": -2.0, "pair=haus-house": 1.0},
        (0,),
    )
    assert texts(forest, {"lm": 1.0}) == ["the house", "a home", ""]


def test_samples_have_their_counts_as_weights() -> None:
    forest = from_samples([["a"], ["b"], ["a"], ["a"]], Vocabulary())
    np.testing.assert_allclose(np.exp(forest.scores({})), [3.0, 1.0])


def test_a_lattice_with_several_finals_and_a_dead_end() -> None:
    arcs = [
        Arc(0, 1, ["the"], {"s": 1.0}),
        Arc(0, 2, ["a", "small"], {"s": 0.5}),
        Arc(1, 3, ["house"], {"s": 0.0}),
        Arc(2, 3, ["house"], {"s": 1.0}),
        Arc(1, 9, ["dead"], {"s": 9.0}),
    ]
    forest = from_lattice(arcs, start=0, finals=[3, 2], feature_names=["s"], vocabulary=Vocabulary())
    assert sorted(texts(forest, {"s": 1.0})) == ["a small", "a small house", "the house"]
    assert texts(forest, {"s": 1.0})[0] == "a small house"


@pytest.mark.parametrize(
    ("arcs", "finals", "message"),
    [
        ([Arc(0, 1, ["a"]), Arc(1, 0, ["b"])], [1], "back to the start"),
        ([Arc(0, 1, ["a"]), Arc(1, 2, ["b"]), Arc(2, 1, ["c"])], [2], "cycle"),
        ([Arc(0, 1, ["a"])], [7], "final state 7"),
    ],
)
def test_bad_lattices_are_refused(arcs: list[Arc], finals: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_lattice(arcs, 0, finals, (), Vocabulary())


def test_a_confusion_network() -> None:
    slots = [{"a": {"p": 0.6}, "the": {"p": 0.4}}, {None: {"p": 0.9}, "big": {"p": 0.1}}, {"house": {"p": 1.0}}]
    forest = from_confusion_network(slots, ["p"], Vocabulary())
    assert texts(forest, {"p": 1.0}) == ["a house", "the house", "a big house", "the big house"]
    with pytest.raises(InputError, match="slot 1 is empty"):
        from_confusion_network([{"a": {}}, {}], (), Vocabulary())


def test_a_single_node_and_an_empty_forest() -> None:
    builder = ForestBuilder(Vocabulary(), ())
    goal = builder.node()
    assert viterbi(builder.build(goal), np.empty(0)) == [None]
    builder.edge(goal)
    found = viterbi(builder.build(goal), np.zeros(1))[0]
    assert found is not None
    assert found.words == ()


@given(oracle.forests(), oracle.forests())
def test_joining_and_splitting_are_inverse(first: Forest, second: Forest) -> None:
    second = dataclasses.replace(second, vocabulary=first.vocabulary, base=np.arange(second.edges, dtype=float))
    parts = [part for part, _, _ in split(join([first, second, first]))]
    weights = {"f0": 1.0, "f1": 2.0}
    for part, original in zip(parts, [first, second, first], strict=True):
        assert sorted(oracle.derivations(part), key=repr) == sorted(oracle.derivations(original), key=repr)
        np.testing.assert_array_equal(part.scores(weights), original.scores(weights))


def test_forests_that_do_not_belong_together_are_refused() -> None:
    first = from_nbest([ListEntry(["a"], {"x": 1.0})], ["x"], Vocabulary())
    with pytest.raises(InputError, match="own vocabulary"):
        join([first, from_nbest([ListEntry(["a"])], ["x"], Vocabulary())])
    with pytest.raises(InputError, match="other features"):
        join([first, from_nbest([ListEntry(["a"])], ["y"], first.vocabulary)])


@given(oracle.forests())
def test_saving_and_loading(tmp_path_factory: pytest.TempPathFactory, forest: Forest) -> None:
    folder = tmp_path_factory.mktemp("forest")
    forest.save(folder / "f")
    loaded = Forest.load(folder / "f")
    assert oracle.derivations(loaded) == oracle.derivations(forest)
    assert list(loaded.vocabulary) == list(forest.vocabulary)
    np.testing.assert_array_equal(loaded.features, forest.features)


def test_saving_keeps_sparse_features_base_and_provenance(tmp_path: Path) -> None:
    entries = [ListEntry(["a"], {"x": 1.0}, base=2.0), ListEntry(["b"], {"y": 3.0})]
    from_nbest(entries, (), Vocabulary()).save(tmp_path / "f")
    loaded = Forest.load(tmp_path / "f")
    assert loaded.scores({"x": 1.0, "y": 2.0}).tolist() == [3.0, 6.0]
    assert loaded.provenance is not None
    assert loaded.provenance.tolist() == [0, 1]


def tampered(forest: Forest, **changes: np.ndarray) -> Forest:
    shape = Shape(**{**forest.shape._asdict(), **{k: v for k, v in changes.items() if k in Shape._fields}})
    yields = Yields(**{**forest.yields._asdict(), **{k[6:]: v for k, v in changes.items() if k.startswith("yield_")}})
    others = {k: v for k, v in changes.items() if k in ("features", "base", "provenance")}
    return dataclasses.replace(forest, shape=shape, yields=yields, **others)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tails": np.array([0, 1, 5], np.int32)}, "earlier node"),
        ({"tails": np.array([0, 1, -1], np.int32)}, "earlier node"),
        ({"head_edges": np.array([0, 2, 1, 4], np.int32)}, "must rise"),
        ({"head_edges": np.array([0, 1, 3, 9], np.int32)}, "must rise"),
        ({"tail_offsets": np.array([0, 0, 1, 2], np.int32)}, "must rise"),
        ({"sentences": np.array([0, 2])}, "must rise"),
        ({"yield_words": np.array([-1, 99, -1, 3, -1], np.int32)}, "vocabulary"),
        ({"yield_words": np.array([-1, 3, -2, 3, -1], np.int32)}, "once, in order"),
        ({"features": np.full((4, 1), np.nan, np.float32)}, "not finite"),
        ({"features": np.zeros((3, 1), np.float32)}, "shape"),
        ({"base": np.array([0.0, 0.0, np.inf, 0.0])}, "base score"),
        ({"base": np.zeros(2)}, "base has shape"),
        ({"provenance": np.zeros(2, np.int64)}, "provenance has shape"),
    ],
)
def test_arrays_that_kernels_could_not_read_are_refused(changes: dict[str, np.ndarray], message: str) -> None:
    slots = [{"a": {"p": 0.6}, "b": {"p": 0.1}}]
    forest = from_confusion_network([*slots, {None: {"p": 1.0}}], ["p"], Vocabulary())
    with pytest.raises(InputError, match=message):
        tampered(forest, **changes)


@pytest.mark.parametrize("node", [-1, 3])
def test_a_builder_refuses_nodes_that_do_not_exist(node: int) -> None:
    builder = ForestBuilder(Vocabulary(), ())
    goal = builder.node()
    with pytest.raises(InputError, match=f"names node {node}"):
        builder.edge(goal, (node,))


@given(st.data())
def test_edges_in_any_order_give_the_same_forest(data: st.DataObject) -> None:
    builder = ForestBuilder(Vocabulary(), ())
    nodes = [builder.node() for _ in range(4)]
    edges = [(1, (0,), [0, "b"]), (2, (0, 0), [1 - 1, "c", 1]), (3, (1,), [0]), (3, (2,), ["d", 0]), (0, (), ["a"])]
    for head, tails, words in data.draw(st.permutations(edges)):
        builder.edge(nodes[head], [nodes[tail] for tail in tails], words)
    forest = builder.build(nodes[3])
    assert sorted(texts(forest, {})) == ["a b", "d a c a"]


def test_a_goal_without_derivations_stays_empty_where_its_parts_have_some() -> None:
    builder = ForestBuilder(Vocabulary(), ())
    possible, dead, goal = builder.node(), builder.node(), builder.node()
    builder.edge(possible, words=["a"])
    builder.edge(goal, (possible, dead))
    assert builder.build(goal).edges == 0
