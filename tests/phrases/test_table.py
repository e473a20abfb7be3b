"""Look-up against a dictionary of tuples; stored tables; damaged arrays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from small_tables import content_of, entries, make_table, sentences

from toledo import storage
from toledo.errors import InputError
from toledo.phrases.table import REORDERING_FEATURES, SCORE_FEATURES, PhraseTable
from toledo.phrases.trie import NO_SPAN, find_pairs

SMALL = {
    (("ein",), ("a",)): (-1, -2, -3, -4),
    (("ein",), ("one",)): (-5, -6, -7, -8),
    (("ein", "haus"), ("a", "house")): (-1, -1, -1, -1),
}


@given(entries, sentences)
def test_spans_are_those_of_a_dictionary(content: dict[Any, Any], words: list[str]) -> None:
    table = make_table(content)
    spans = table.lookup(table.source_vocabulary.ids(words))
    found = {}
    for number, (begin, end, first, stop) in enumerate(zip(*(array.tolist() for array in spans[:4]), strict=True)):
        found[begin, end] = {table[pair].target for pair in range(first, stop)}
        assert {table[pair].source for pair in range(first, stop)} == {tuple(words[begin:end])}
        assert spans.at[begin, end - begin - 1] == number
    expected: dict[tuple[int, int], set[Any]] = {}
    for source, target in content:
        for begin in range(len(words) - len(source) + 1):
            if tuple(words[begin : begin + len(source)]) == source:
                expected.setdefault((begin, begin + len(source)), set()).add(target)
    assert found == expected
    assert list(found) == sorted(found)
    assert np.count_nonzero(spans.at != NO_SPAN) == len(found)


@given(entries)
def test_entries_are_what_was_put_in(content: dict[Any, Any]) -> None:
    assert content_of(make_table(content)) == content


@given(entries)
def test_pairs_are_found_by_their_phrases(content: dict[Any, Any]) -> None:
    table = make_table(content)
    every = np.indices((len(table.pairs.sources), len(table.pairs.targets))).reshape(2, -1).astype(np.int32)
    found = find_pairs(table.option_offsets, table.pairs.target, every[0], every[1])
    twin = {pair: number for number, pair in enumerate(zip(table.pairs.source, table.pairs.target, strict=True))}
    assert found.tolist() == [twin.get(pair, -1) for pair in zip(*every, strict=True)]
    unknown = np.array([-1], np.int32)
    assert find_pairs(table.option_offsets, table.pairs.target, unknown, unknown).tolist() == [-1]


def test_options_are_objects_to_read() -> None:
    table = make_table(SMALL, reordering=True)
    options = table.options(["das", "ein", "haus"])
    assert [(option.begin, option.end, option.pair.target) for option in options] == [
        (1, 2, ("one",)),
        (1, 2, ("a",)),
        (1, 3, ("a", "house")),
    ]
    pair = options[1].pair
    assert tuple(pair.scores) == SCORE_FEATURES + REORDERING_FEATURES
    assert pair.scores["phrase.forward"] == -3
    assert (pair.alignment, pair.joint_count, pair.source_count) == (((0, 0),), 1, 0)
    with pytest.raises(IndexError):
        table[len(table)]


def test_negative_word_ids_are_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        make_table(SMALL).lookup(np.array([-1], np.int32))


@pytest.mark.parametrize("reordering", [False, True])
def test_a_stored_table_is_mapped_and_the_same(tmp_path: Path, reordering: bool) -> None:
    table = make_table(SMALL, reordering)
    storage.save(tmp_path / "table", "table.toml", {"features": table.feature_names}, table.to_arrays())
    content, arrays = storage.load(tmp_path / "table", "table.toml")
    vocabularies = table.source_vocabulary, table.target_vocabulary
    again = PhraseTable.from_arrays(arrays, *vocabularies, content["features"])
    assert list(again) == list(table)
    assert again.options(["ein", "haus"]) == table.options(["ein", "haus"])


def damages(arrays: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """For each fault: the array, and its damaged content."""
    word_beyond, nan = arrays["source_words"] + 99, arrays["scores"] * np.nan
    unsorted, links = np.array([1, 2, 0], np.int32), arrays["links"] + np.uint8(7)
    return {
        "not in the vocabulary": ("source_words", word_beyond),
        "not in the vocabulary ": ("target_words", -arrays["target_words"]),
        "must rise from 0": ("source_offsets", arrays["source_offsets"] + 1),
        "1 to 255 words": ("target_offsets", np.array([0, 0, 1, 4], np.int64)),
        "source phrase that does not exist": ("pair_source", arrays["pair_source"] + np.int32(1)),
        "target phrase that does not exist": ("pair_target", arrays["pair_target"] - np.int32(1)),
        "distinct and sorted": ("pair_target", unsorted),
        "offsets of the links must rise": ("link_offsets", arrays["link_offsets"][::-1].copy()),
        "outside its phrases": ("links", links),
        "not a finite number": ("scores", nan),
        "must be a contiguous float32": ("scores", arrays["scores"].astype(np.float64)),
        "must be a contiguous float32 ": ("scores", arrays["scores"][:, ::-1]),
        "must be a contiguous float32[3, 4]".replace("[", r"\["): ("scores", arrays["scores"][:2]),
        "reordering must be": ("reordering", arrays["scores"]),
        "does not lead to its phrases": ("trie_keys", np.full_like(arrays["trie_keys"], 2**64 - 1)),
    }


@pytest.mark.parametrize("fault", damages(make_table(SMALL).to_arrays()))
def test_damaged_arrays_are_refused(fault: str) -> None:
    table = make_table(SMALL)
    name, content = damages(table.to_arrays())[fault]
    with pytest.raises(InputError, match=fault.strip()):
        PhraseTable.from_arrays({**table.to_arrays(), name: content}, table.source_vocabulary, table.target_vocabulary)


def test_missing_arrays_are_named() -> None:
    table = make_table(SMALL)
    arrays = table.to_arrays()
    del arrays["scores"]
    with pytest.raises(InputError, match="lacks 'scores'"):
        PhraseTable.from_arrays(arrays, table.source_vocabulary, table.target_vocabulary)


def test_feature_names_are_distinct() -> None:
    with pytest.raises(ValueError, match="same name"):
        replace(make_table(SMALL), feature_names=("lm",) * 4)
