"""SLF: words on links and on nodes, scales, quotes, several lattices in a file, round trips, and what is refused."""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from lattice_words import lattices, texts

from toledo.errors import InputError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.formats.slf import SlfLattice, read_slf, slf_text
from toledo.text.vocabulary import Vocabulary

GOLDEN = Path(__file__).parent / "golden"


def write_slf(forests: Iterable[Forest], path: Path) -> None:
    path.write_text("".join(slf_text(forest, number) for number, forest in enumerate(forests)), encoding="utf-8")


def golden(name: str) -> SlfLattice:
    (found,) = read_slf(GOLDEN / name, Vocabulary())
    return found


def ranking(found: SlfLattice) -> list[tuple[str, float]]:
    scores = found.forest.scores(found.weights)
    return [(str(one), round(one.score, 4)) for one in k_best(found.forest, scores)]


def test_a_lattice_of_a_recognizer() -> None:
    found = golden("speech.slf")
    assert found.name == "an utterance"
    assert found.weights == {"a": 1.0, "l": 2.0, "words": -0.5}
    assert ranking(found) == [
        ("the häuser", round(-1 - 10.5 - 3 - 2 * (1.25 + 0.5 + 0.1) - 0.5 * 2, 4)),
        ("the it's", round(-1 - 10.5 - 4 - 2 * (1.25 + 0.5 + 0.1) - 0.5 * 2, 4)),
        ('a "small" häuser', round(-1 - 12 - 3 - 2 * (2 + 0.5 + 0.1) - 0.5 * 3, 4)),
        ('a "small" it\'s', round(-1 - 12 - 4 - 2 * (2 + 0.5 + 0.1) - 0.5 * 3, 4)),
    ]


def test_words_on_nodes_and_another_base() -> None:
    found = golden("network.slf")
    ln10 = math.log(10)
    assert ranking(found) == [("call steve", round(-0.375 * ln10, 4)), ("call young", round(-0.5 * ln10, 4))]


def test_a_search_graph_of_moses() -> None:
    found = golden("moses.slf")
    assert found.weights == {"x1": 0.5, "x2": 0.2}
    assert ranking(found) == [("the house", -0.95), ("home", -1.9)]


def lattice(*lines: str, header: str = "N=3 L=2") -> str:
    return "\n".join([header, *lines, ""])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (lattice("J=0 S=0 E=1"), 1, "1 links instead of 2"),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=2", header="L=2"), 1, "no N="),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=3"), 3, "a link to node 3 of 3"),
        (lattice("J=0 S=0 E=1", "J=1 S=1"), 3, "no E="),
        (lattice("J=0 S=0 E=1", "J=1 S=-1 E=2"), 3, "S=-1"),
        (lattice("J=0 S=0 E=0", "J=1 S=0 E=2"), 2, "from node 0 to itself"),
        (lattice("J=0 S=0 E=1 a=x", "J=1 S=1 E=2"), 2, "a: 'x' is not a number"),
        (lattice("J=0 S=0 E=1 a=inf", "J=1 S=1 E=2"), 2, "a: 'inf' is not a number"),
        (lattice("J=0 S=0 E=1 a=1 a=2", "J=1 S=1 E=2"), 2, "a occurs twice"),
        (lattice("J=0 S=0 E=1 word", "J=1 S=1 E=2"), 2, "'word' is not a field"),
        (lattice('J=0 S=0 E=1 W="a', "J=1 S=1 E=2"), 2, "is not a field"),
        (lattice("J=0 S=0 E=2", "J=1 S=1 E=2"), 1, "no one start: nodes 0, 1"),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=0"), 1, "no one start: no node"),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=0", header="start=0 end=1 N=2 L=2"), 1, "back to the start"),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=2", header="start=9 N=3 L=2"), 1, "start or the end has no link"),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=2", header="base=1 N=3 L=2"), 1, "base=1"),
        (lattice("J=0 S=0 E=1 a=-1", "J=1 S=1 E=2", header="base=0 N=3 L=2"), 2, "not a probability"),
        (lattice("I=0", "I=0", "J=0 S=0 E=1", "J=1 S=1 E=2"), 3, "node 0 is defined twice"),
        (lattice("I=7", "J=0 S=0 E=1", "J=1 S=1 E=2"), 2, "node 7 of 3"),
        (lattice("I=0 L=sub", "J=0 S=0 E=1", "J=1 S=1 E=2"), 2, "a sub-lattice"),
        (lattice("J=0 S=0 E=1", "J=1 S=1 E=2", header="SUBLAT=x N=3 L=2"), 1, "a sub-lattice"),
        (lattice("J=0 S=0 E=1 W=\\377", "J=1 S=1 E=2"), 2, "is not UTF-8"),
    ],
)
def test_bad_lattices_are_refused(tmp_path: Path, text: str, line: int, message: str) -> None:
    (tmp_path / "f.slf").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        list(read_slf(tmp_path / "f.slf", Vocabulary()))
    assert (caught.value.file, caught.value.line, bool(caught.value.remedy)) == (str(tmp_path / "f.slf"), line, True)


def test_base_zero_means_probabilities(tmp_path: Path) -> None:
    (tmp_path / "f.slf").write_text(lattice("J=0 S=0 E=1 a=0.5", "J=1 S=1 E=2 a=0", header="base=0 N=3 L=2"))
    (found,) = read_slf(tmp_path / "f.slf", Vocabulary())
    np.testing.assert_allclose(found.forest.features.sum(), math.log(0.5) - 100, rtol=1e-6)


@given(lattices())
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, forest: Forest) -> None:
    path = tmp_path_factory.mktemp("slf") / "f.slf"
    write_slf([forest, forest], path)
    found = list(read_slf(path, Vocabulary()))
    assert [one.name for one in found] == ["0", "1"]
    for one in found:
        assert texts(one.forest) == texts(forest)
    write_slf([found[0].forest], path)  # states and arcs do not grow on the way
    again = next(read_slf(path, Vocabulary()))
    assert (again.forest.nodes, again.forest.edges) == (found[0].forest.nodes, found[0].forest.edges)


def test_names_and_words_that_slf_cannot_say_are_refused(tmp_path: Path) -> None:
    for hypothesis, message in (
        (ListEntry(["a"], {"W": 1.0}), "no field for a feature named 'W'"),
        (ListEntry(["a"], {"acoustic": 1.0}), "no field for a feature named 'acoustic'"),
        (ListEntry(["a"], {"a=b": 1.0}), "no field for a feature named 'a=b'"),
        (ListEntry(["!NULL"]), "cannot be written in SLF"),
    ):
        with pytest.raises(InputError, match=message):
            write_slf([from_nbest([hypothesis], (), Vocabulary())], tmp_path / "f.slf")
    assert not (tmp_path / "f.slf").exists()
