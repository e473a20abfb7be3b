"""Unions of forests: against enumeration, and each derivation once."""

from collections import Counter

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.assemble import join, keep_edges
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.forest.uniting import unite
from toledo.text.vocabulary import Vocabulary

Content = tuple[tuple[int, ...], ...]


def contents(forest: Forest, *, origins: bool = True) -> Counter[tuple[tuple[int, ...], Content]]:
    """Each derivation as its words and what its edges are: provenance (with `origins`) and features."""
    provenance = forest.provenance if forest.provenance is not None and origins else np.full(forest.edges, -1)
    rows = [(int(provenance[h]), *forest.features[h].tolist()) for h in range(forest.edges)]
    return Counter((tree.words, tuple(rows[edge] for edge in tree.edges)) for tree in oracle.derivations(forest))


def numbered(forest: Forest) -> Forest:
    """The edges told apart, as those of a search are."""
    return Forest(
        forest.shape, forest.yields, forest.features, forest.feature_names, forest.vocabulary,
        provenance=np.arange(forest.edges) + 5,
    )  # fmt: skip


@st.composite
def parts(draw: st.DrawFn, count: int = 3) -> tuple[Forest, list[Forest]]:
    """A search space, and what some searches have found of it."""
    whole = numbered(draw(oracle.forests(max_nodes=5, max_edges=3)))
    masks = [draw(st.lists(st.booleans(), min_size=whole.edges, max_size=whole.edges)) for _ in range(count)]
    return whole, [keep_edges(whole, np.array(mask)) for mask in masks]


@given(parts())
def test_a_union_has_every_derivation_once_and_only_those_of_the_search_space(
    drawn: tuple[Forest, list[Forest]],
) -> None:
    whole, found = drawn
    origins = any(forest.shape.tails.size for forest in found)  # where an entry of a list came from does not matter
    united = contents(unite(found), origins=origins)
    assert set(united.values()) <= {1}
    assert set(united) <= set(contents(whole, origins=origins))
    for forest in found:
        assert set(contents(forest, origins=origins)) <= set(united)


@given(parts(count=2))
def test_uniting_again_adds_nothing(drawn: tuple[Forest, list[Forest]]) -> None:
    united = unite(drawn[1])
    again = unite([united, drawn[1][0]])
    assert (again.nodes, again.edges) == (united.nodes, united.edges)
    assert contents(again) == contents(united)


@given(st.data())
def test_without_distinct_any_forests_are_put_side_by_side(data: st.DataObject) -> None:
    first = data.draw(oracle.forests(max_nodes=4))
    second = data.draw(oracle.forests(max_nodes=4))
    second = Forest(second.shape, second.yields, second.features, second.feature_names, first.vocabulary)
    assert contents(unite([first, second], distinct=False)) == contents(first) + contents(second)


def entries(*rows: tuple[str, float, float]) -> list[ListEntry]:
    return [ListEntry(text.split(), {"x": x, "sparse": sparse}) for text, x, sparse in rows]


def test_lists_keep_each_text_with_its_features_once() -> None:
    vocabulary = Vocabulary()
    one = from_nbest(entries(("a b", 1.0, 0.0), ("a", 1.0, 2.0), ("a b", 1.0, 0.0)), ["x"], vocabulary)
    two = from_nbest(entries(("a", 1.0, 2.0), ("a", 1.0, 3.0), ("a b", -1.0, 0.0), ("", -0.0, 0.0)), ["x"], vocabulary)
    united = unite([one, two, one])
    texts = sorted(" ".join(vocabulary.words(tree.words)) for tree in oracle.derivations(united))
    assert texts == ["", "a", "a", "a b", "a b"]
    assert united.nodes == 1
    assert unite([one]).edges == 2
    assert unite([one, two], distinct=False).edges == 7


def test_nothing_found_is_no_obstacle() -> None:
    vocabulary = Vocabulary()
    some = from_nbest(entries(("a b", 1.0, 0.0)), ["x"], vocabulary)
    nothing = keep_edges(some, np.array([False]))
    assert unite([nothing, some]).edges == 1
    assert unite([nothing, nothing]).edges == 0


def test_forests_of_several_segments_are_refused() -> None:
    some = from_nbest(entries(("a b", 1.0, 0.0)), ["x"], Vocabulary())
    with pytest.raises(InputError, match="several segments"):
        unite([join([some, some])])
