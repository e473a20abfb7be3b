"""Alignments of GIZA++: what is written in its format is read and symmetrized as one-way alignments are."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toledo
from toledo.api.pairs import encode_words
from toledo.errors import InputError
from toledo.formats.giza import read_giza
from toledo.phrases.word_alignment.symmetrize import OneWay, symmetrize

Sentence = list[str]
HEAD = "# Sentence pair ({}) source length {} target length {} alignment score : 1.5e-05"


def giza(number: int, words: Sentence, others: Sentence, links: list[int]) -> str:
    """A sentence pair as GIZA++ writes it: `links[i]` is the place in `others` of word i, -1 for NULL."""
    lists = [" ".join(["({", *(str(i + 1) for i, link in enumerate(links) if link == place), "})"])
             for place in range(-1, len(others))]  # fmt: skip
    last = " ".join(f"{word} {some}" for word, some in zip(["NULL", *others], lists, strict=True))
    return f"{HEAD.format(number, len(others), len(words))}\n{' '.join(words)}\n{last} \n"


words = st.lists(st.sampled_from(["a", "b", "NULL", "({", "x})"]), min_size=1, max_size=5)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=4), st.data())
def test_both_directions_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[Sentence, Sentence]], data: st.DataObject
) -> None:
    if data.draw(st.booleans()):
        pairs = [([f"s{w}" for w in source], [f"t{w}" for w in target]) for source, target in pairs]
    else:  # the two sides have words in common; all but one pair may be copies
        pairs = [(["a"] * len(source), ["a"] * len(target)) for source, target in pairs] + [(["a"], ["b"])]
    forward = [[data.draw(st.integers(-1, len(source) - 1)) for _ in target] for source, target in pairs]
    backward = [[data.draw(st.integers(-1, len(target) - 1)) for _ in source] for source, target in pairs]
    order = data.draw(st.permutations(range(len(pairs))))
    folder = tmp_path_factory.mktemp("giza")
    files = [folder / "one.A3.final", folder / "other.A3.final.part000"]
    files[0].write_text("".join(giza(n + 1, pairs[n][1], pairs[n][0], forward[n]) for n in order))
    files[1].write_text("".join(giza(n + 1, *pairs[n], backward[n]) for n in range(len(pairs))))
    corpus = encode_words([" ".join(one) for one, _ in pairs], [" ".join(one) for _, one in pairs])
    one_way = OneWay(
        corpus.source.offsets, corpus.target.offsets,
        np.array([link for some in forward for link in some], np.int32),
        np.array([link for some in backward for link in some], np.int32),
    )  # fmt: skip
    expected = symmetrize(one_way, "grow-diag-final-and")
    for given_files in (files, files[::-1]):
        found = read_giza(given_files, corpus, "grow-diag-final-and")
        assert found.offsets.tolist() == expected.offsets.tolist()
        assert found.links.tolist() == expected.links.tolist()


SOURCES, TARGETS = ["lo huno nigro", "lo huno"], ["the black dog", "the dog"]
FORWARD = giza(1, TARGETS[0].split(), SOURCES[0].split(), [0, 2, 1]) + giza(2, ["the", "dog"], ["lo", "huno"], [0, 1])
BACKWARD = giza(1, SOURCES[0].split(), TARGETS[0].split(), [0, 2, 1]) + giza(2, ["lo", "huno"], ["the", "dog"], [0, 1])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, text in (("forward", FORWARD), ("backward", BACKWARD)):
        (tmp_path / f"{name}.A3.final").write_text(text)
    return tmp_path / "forward.A3.final", tmp_path / "backward.A3.final"


def test_a_model_from_them(files: tuple[Path, Path]) -> None:
    by_giza = toledo.train(SOURCES, TARGETS, tokenized=True, giza=files)
    by_links = toledo.train(SOURCES, TARGETS, tokenized=True, alignments=["0-0 1-2 2-1", "0-0 1-1"])
    for model in (by_giza, by_links):
        assert model.translate("lo huno nigro") == "the black dog"
    assert len(by_giza.phrase_model.table) == len(by_links.phrase_model.table)
    assert by_giza.phrase_model.table.scores.tolist() == by_links.phrase_model.table.scores.tolist()


def test_pairs_that_are_missing_have_no_links(files: tuple[Path, Path], caplog: pytest.LogCaptureFixture) -> None:
    files[0].write_text(FORWARD[FORWARD.index("# Sentence pair (2)") :])
    found = read_giza(files, encode_words(SOURCES, TARGETS), "intersection")
    assert [some.tolist() for some in (found[0], found[1])] == [[], [[0, 0], [1, 1]]]
    assert "no alignment for 1 of 2 sentence pairs" in caplog.text


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "empty"),
    "no header": (lambda text: text.replace("# Sentence pair (2)", "Sentence 2"), "not a sentence pair"),
    "cut": (lambda text: text[: text.rindex("NULL")], "not a sentence pair"),
    "no NULL": (lambda text: text.replace("NULL ({ }) ", ""), "not an alignment"),
    "not closed": (lambda text: text.replace("})", "}"), "not an alignment"),
    "outside": (lambda text: text.replace("({ 3 })", "({ 4 })"), "counted from 1 to 3"),
    "twice": (lambda text: text.replace("({ 3 })", "({ 1 })"), "one place at most"),
    "number": (lambda text: text.replace("(2)", "(3)"), "the text has 2"),
    "other words": (lambda text: text.replace("huno", "gato"), "not that of the text"),
    "other length": (
        lambda text: text.replace("the dog\n", "the\n").replace("huno ({ 2 })", "huno ({ })"),
        "has 1 and",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_not_such_a_file(damage: str, files: tuple[Path, Path]) -> None:
    change, message = DAMAGES[damage]
    changed = change(FORWARD)
    assert changed != FORWARD
    files[0].write_text(changed)
    with pytest.raises(InputError, match=message):
        read_giza(files, encode_words(SOURCES, TARGETS), "union")


def test_one_direction_twice(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="same direction"):
        read_giza((files[0], files[0]), encode_words(SOURCES, TARGETS), "union")


def test_only_for_text_that_does_not_change(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="tokenized"):
        toledo.train(SOURCES, TARGETS, giza=files)
    with pytest.raises(InputError, match="exclude"):
        toledo.train(SOURCES, TARGETS, giza=files, alignments=["0-0", "0-0"], tokenized=True)
