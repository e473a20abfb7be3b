"""PLF: a strict parser that evaluates nothing, probabilities and logarithms, round trips."""

import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattice_words import lattices, texts

from toledo.errors import InputError
from toledo.forest.constructors import ForestBuilder, ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.formats.plf import Values, plf_text, read_plf
from toledo.text.vocabulary import Vocabulary

GOLDEN = Path(__file__).parent / "golden"


def write_plf(forests: Iterable[Forest], path: Path, values: Values = "probabilities") -> None:
    path.write_text("".join(plf_text(forest, values) for forest in forests), encoding="utf-8")


def read(tmp_path: Path, text: str, **options) -> list[Forest]:
    (tmp_path / "f.plf").write_text(text, encoding="utf-8")
    return list(read_plf(tmp_path / "f.plf", Vocabulary(), **options))


def log(value: float) -> float:
    return round(math.log(value), 3)


def test_probabilities_as_in_moses() -> None:
    first, second, empty = read_plf(GOLDEN / "lattices.plf", Vocabulary())
    assert first.feature_names == second.feature_names == empty.feature_names == ("score",)
    assert texts(first) == {
        ("the small house", (("score", log(0.75 * 0.5)),)): 1,
        ("the house", (("score", log(0.75 * 0.5)),)): 1,
        ("a small house", (("score", log(0.25 * 0.5)),)): 1,
        ("a house", (("score", log(0.25 * 0.5)),)): 1,
    }
    assert texts(second) == {("it's", ()): 1, ("it's über", (("score", log(0.5) - 100),)): 1}
    assert texts(empty) == {("", ()): 1}


def test_logarithms_names_and_sparse_features(tmp_path: Path) -> None:
    line = "((('a b', -1.5, 2, base=-3, x=4, 1),),)"
    (forest,) = read(tmp_path, line, values="logarithms", feature_names=["lm", "wp"])
    assert texts(forest) == {("a b", (("base", -3.0), ("lm", -1.5), ("wp", 2.0), ("x", 4.0))): 1}
    (unnamed,) = read(tmp_path, line, values="logarithms")
    assert unnamed.feature_names == ("score_1", "score_2")


def test_empty_lattices_at_the_beginning_take_later_names(tmp_path: Path) -> None:
    forests = read(tmp_path, "()\n()\n((('a', 0.5, 0.5, 1),),)\n")
    assert [forest.feature_names for forest in forests] == [("score_1", "score_2")] * 3


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("", 1, "'\\(' is missing"),
        ("((('a', 1, 1),),", 17, "'\\(' is missing"),
        ("((('a', 1, 1),),) x", 19, "after the end"),
        ("((('a', 1, 1),),), ((", 18, "after the end"),
        ("(('a', 1, 1),)", 3, "expected '\\(', found \"'a'\""),
        ("(((a, 1, 1),),)", 4, "expected a word in quotes"),
        ("((('a, 1, 1),),)", 4, "quote that does not end"),
        ("((('a', 'b', 1),),)", 9, "expected a number"),
        ("((('a', x, 1),),)", 9, "'x' is not a number"),
        ("((('a', nan, 1),),)", 9, "'nan' is not a number"),
        ("((('a', 1_0, 1),),)", 9, "'1_0' is not a number"),
        ("((('a', 1, 0),),)", 12, "the last number of an arc is 0"),
        ("((('a', 1, -1),),)", 12, "the last number of an arc is -1"),
        ("((('a', 1, 0.5),),)", 12, "the last number of an arc is 0.5"),
        ("((('a'),),)", 3, "an arc without a number"),
        ("((('a', 1, 2),),)", 3, "leads to state 2, the last one is 1"),
        ("((('a', -0.5, 1),),)", 3, "not a probability"),
        ("((('a', 1, 1), ('b', 1)),)", 16, "0 numbers before the last instead of 1"),
        ("((('a\\n', 1, 1),),)", 6, "in a word"),
        ("((), )", 1, "no arc leads to the last state"),
        ("__import__('os').system('true')", 1, "expected '\\('"),
        ("(((__import__('os'), 1, 1),),)", 4, "expected a word in quotes"),
        ("(((('a', 1, 1),),),)", 4, "expected a word in quotes"),
    ],
)
def test_bad_lattices_are_refused(tmp_path: Path, line: str, column: int, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, "()\n" + line + "\n")
    assert caught.value.line == 2
    assert f"(column {column})" in caught.value.message
    assert caught.value.remedy


def test_deep_nesting_does_not_overflow_the_stack(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a word"):
        read(tmp_path, "(" * 100_000)


@given(lattices(), st.sampled_from(["probabilities", "logarithms"]))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, forest: Forest, values) -> None:
    path = tmp_path_factory.mktemp("plf") / "f.plf.gz"
    write_plf([forest, forest], path, values)
    for found in read_plf(path, Vocabulary(), ["f", "g"], values):
        assert texts(found) == texts(forest)


def test_an_nbest_list_is_a_lattice(tmp_path: Path) -> None:
    forest = from_nbest([ListEntry(["a", "b"], {"p": 0.0}), ListEntry([], {"p": -1.0})], ["p"], Vocabulary())
    write_plf([forest], tmp_path / "f.plf")
    assert (tmp_path / "f.plf").read_text() == "((('a', 1, 1),('*EPS*', 0.36787944, 2),),(('b', 1, 1),),)\n"


def test_other_forests_are_refused(tmp_path: Path) -> None:
    builder = ForestBuilder(Vocabulary(), ())
    leaf, before, both, nothing = (builder.node() for _ in range(4))
    builder.edge(leaf, words=["a"])
    builder.edge(before, (leaf,), ["b", 0])
    builder.edge(both, (leaf, leaf))
    for goal, message in ((before, "writes words before"), (both, "joins 2 nodes"), (nothing, "no derivation")):
        with pytest.raises(InputError, match=message):
            write_plf([builder.build(goal)], tmp_path / "f.plf")
    for word in ("*EPS*", "a b"):
        with pytest.raises(InputError, match="cannot be written in PLF"):
            write_plf([from_nbest([ListEntry([word])], (), Vocabulary())], tmp_path / "f.plf")
    far = from_nbest([ListEntry(["a"], {"p": -800.0})], ["p"], Vocabulary())
    with pytest.raises(InputError, match="too far from 0"):
        write_plf([far], tmp_path / "f.plf")
    assert not (tmp_path / "f.plf").exists()


def test_no_probability_is_written_that_cannot_be_read_back(tmp_path: Path) -> None:
    for value in (88.0, 88.59, 89.0, 700.0):
        builder = ForestBuilder(Vocabulary(), ["score"])
        start, goal = builder.node(), builder.node()
        builder.edge(start)
        builder.edge(goal, (start,), [0, "a"], {"score": value})
        forest = builder.build(goal)
        if value < 88.6:
            (again,) = read(tmp_path, plf_text(forest))
            assert texts(again) == texts(forest)
        else:
            with pytest.raises(InputError, match="too far from 0 for a probability"):
                plf_text(forest)
