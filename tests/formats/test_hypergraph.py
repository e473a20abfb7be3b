"""Hypergraphs as text: Moses' own layout, round trips of any forest, and what is refused."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import oracle
import pytest
from hypothesis import given
from lattice_words import texts

from toledo.errors import InputError
from toledo.forest.constructors import ForestBuilder, ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.formats.hypergraph import HEADER, hypergraph_text, read_hypergraphs
from toledo.text.vocabulary import Vocabulary

GOLDEN = Path(__file__).parent / "golden"


def write_hypergraphs(forests: Iterable[Forest], path: Path) -> None:
    path.write_text("".join(hypergraph_text(forest) for forest in forests), encoding="utf-8")


def test_a_search_graph_of_moses() -> None:
    (forest,) = read_hypergraphs(GOLDEN / "moses.hg", Vocabulary(), ["LM0", "TM0_1", "TM0_2"])
    assert texts(forest) == {
        ("the house", (("LM0", -2.5), ("TM0_1", -0.75), ("pair=haus-house", 1.0))): 1,
        ("a house", (("LM0", -3.0), ("TM0_1", -1.75), ("TM0_2", 0.5), ("pair=haus-house", 1.0))): 1,
        ("the house", (("LM0", -3.0), ("TM0_1", -0.125))): 1,
    }
    assert forest.sparse is not None
    assert forest.sparse.names == ("pair=haus-house",)


def test_edges_with_several_tails_and_comments() -> None:
    (forest,) = read_hypergraphs(GOLDEN / "chart.hg", Vocabulary())
    assert forest.feature_names == ("p",)
    found = texts(forest)
    assert found["the man sees , the man", (("base", -2.0), ("p", -0.75))] == 1
    assert found["the man sees , # hash", (("base", -2.0), ("p", -1.25))] == 1
    assert found.total() == 4


def test_graphs_without_covered_words_as_joshua_writes_them(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("# target ||| features\n2 2\n1\na ||| lm_0=-1.5\n1\n<s> [0] </s> ||| tm_0=2\n")
    (forest,) = read_hypergraphs(tmp_path / "f", Vocabulary())
    assert texts(forest) == {("a", (("lm_0", -1.5), ("tm_0", 2.0))): 1}


def test_several_graphs_in_a_file(tmp_path: Path) -> None:
    text = (GOLDEN / "chart.hg").read_text()
    (tmp_path / "f").write_text(text + "\n" + text)
    assert [forest.edges for forest in read_hypergraphs(tmp_path / "f", Vocabulary())] == [4, 4]


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["0 0"], 1, "instead of the header"),
        ([HEADER], 2, "file ends before the numbers of nodes and edges"),
        ([HEADER, "1"], 2, "is not the numbers of nodes and edges"),
        ([HEADER, "1 -1"], 2, "is not the numbers of nodes and edges"),
        ([HEADER, "0 0"], 2, "without nodes"),
        ([HEADER, "9999999999 1"], 2, "too large"),
        ([HEADER, "1 1"], 3, "file ends before the number of edges of node 0"),
        ([HEADER, "1 1", "x"], 3, "is not the number of edges"),
        ([HEADER, "1 1", "2"], 3, "more than 1 edges"),
        ([HEADER, "1 2", "1", "a ||| ||| 0"], 4, "1 edges instead of 2"),
        ([HEADER, "1 1", "1"], 4, "file ends before the edges of node 0"),
        ([HEADER, "1 1", "1", "a ||| x=1"], 4, "2 fields instead of 3"),
        ([HEADER, "1 1", "1", "a ||| ||| x"], 4, "'x' is not a number of covered words"),
        ([HEADER, "1 1", "1", "a ||| x ||| 0"], 4, "'x' is not a feature"),
        ([HEADER, "1 1", "1", "a ||| x=nan ||| 0"], 4, "x: 'nan' is not a number"),
        ([HEADER, "1 1", "1", "a ||| x=1 x=2 ||| 0"], 4, "x occurs twice"),
        ([HEADER, "1 1", "1", "[0] ||| ||| 0"], 4, "is not a node before 0"),
        ([HEADER, "1 1", "1", "[X] ||| ||| 0"], 4, "is not a node before 0"),
        ([HEADER, "1 1", "1", "a ||| ||| 0", "b ||| ||| 0"], 5, "instead of the header"),
    ],
)
def test_bad_graphs_are_refused(tmp_path: Path, lines: list[str], line: int, message: str) -> None:
    (tmp_path / "f").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message) as caught:
        list(read_hypergraphs(tmp_path / "f", Vocabulary()))
    assert (caught.value.line, bool(caught.value.remedy)) == (line, True)


@given(oracle.forests(), oracle.forests())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, first: Forest, second: Forest) -> None:
    path = tmp_path_factory.mktemp("hypergraph") / "f.hg.gz"
    write_hypergraphs([first, second], path)
    found = list(read_hypergraphs(path, Vocabulary(), ["f0", "f1"]))
    for one, original in zip(found, (first, second), strict=True):
        assert texts(one) == texts(original)
        assert (one.nodes, one.edges) == (original.nodes, original.edges)
        np.testing.assert_array_equal(np.sort(one.features, axis=0), np.sort(original.features, axis=0))


def test_base_and_sparse_features_and_covered_words(tmp_path: Path) -> None:
    builder = ForestBuilder(Vocabulary(), ("p",))
    leaf, goal = builder.node(), builder.node()
    builder.edge(leaf, words=["a", "b"], features={"p": 0.1, "s": 2.0}, base=-1.5)
    builder.edge(goal, (leaf, leaf), [0, "c", 1])
    write_hypergraphs([builder.build(goal)], tmp_path / "f")
    assert (tmp_path / "f").read_text().splitlines() == [
        HEADER, "2 2", "# node 0", "1", "a b ||| p=0.1 s=2 base=-1.5 ||| 2", "# node 1", "1", "[0] c [0] |||  ||| 5"
    ]  # fmt: skip
    (found,) = read_hypergraphs(tmp_path / "f", Vocabulary(), ("p",))
    assert texts(found) == {("a b c a b", (("base", -3.0), ("p", 0.2), ("s", 4.0))): 1}


def test_an_empty_forest_is_a_node_without_edges(tmp_path: Path) -> None:
    write_hypergraphs([from_nbest([], (), Vocabulary())], tmp_path / "f")
    (found,) = read_hypergraphs(tmp_path / "f", Vocabulary())
    assert (found.nodes, found.edges) == (1, 0)


@pytest.mark.parametrize("word", ["[1]", "[X]", "</s>", "a|||b", "a b"])
def test_words_that_would_be_read_as_something_else_are_refused(tmp_path: Path, word: str) -> None:
    forest = from_nbest([ListEntry(["x", word, "y"])], (), Vocabulary())
    with pytest.raises(InputError, match="cannot be written in a hypergraph"):
        write_hypergraphs([forest], tmp_path / "f")
