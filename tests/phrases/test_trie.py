"""Tries against dictionaries of tuples."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.compiled.hashing import EMPTY, PairIndex
from toledo.phrases.trie import NO_PHRASE, Phrases, PhraseTrie, TrieBuilder, build_trie, check_trie, find_phrases

word_lists = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple), max_size=30)


def arrays(phrases: list[tuple[int, ...]]) -> tuple[np.ndarray, np.ndarray]:
    words = np.array([word for phrase in phrases for word in phrase], np.int32)
    return words, np.cumsum([0, *map(len, phrases)], dtype=np.int64)


@given(word_lists, word_lists)
def test_equal_phrases_end_at_the_same_node_over_several_blocks(first: list[Any], second: list[Any]) -> None:
    builder = TrieBuilder()
    ends = np.concatenate([builder.add(*arrays(block)) for block in (first, second)])
    phrases, numbers = builder.phrases(ends)
    assert [tuple(phrases[number].tolist()) for number in numbers.tolist()] == first + second
    assert len(phrases) == len(set(first + second))


@given(word_lists, word_lists)
def test_phrases_are_found_as_in_a_dictionary(known: list[Any], asked: list[Any]) -> None:
    known = sorted(set(known))
    words, offsets = arrays(known)
    trie = build_trie(Phrases(words, offsets))
    twin = {phrase: number for number, phrase in enumerate(known)}
    expected = [twin.get(phrase, NO_PHRASE) for phrase in asked]
    assert find_phrases(trie, *arrays(asked)).tolist() == expected


def test_a_trie_grows_beyond_its_first_table() -> None:
    phrases = [(number, number % 7) for number in range(5000)]
    builder = TrieBuilder()
    ends = [builder.add(*arrays([phrase])) for phrase in phrases[:50]] + [builder.add(*arrays(phrases))]
    distinct, numbers = builder.phrases(np.concatenate(ends))
    assert len(distinct) == 5000
    assert numbers.tolist() == [*range(50), *range(5000)]


def damaged_tries(trie: PhraseTrie) -> Iterator[tuple[str, PhraseTrie]]:
    keys, values = trie.children
    wild, beyond, below = values.copy(), trie.phrase.copy(), trie.phrase.copy()
    wild[keys != EMPTY] = trie.phrase.size
    beyond[1], below[1] = 2, -2
    yield "power of two", PhraseTrie(PairIndex(keys[:-1], values[:-1]), trie.phrase)
    yield "too full", PhraseTrie(PairIndex(np.zeros_like(keys), values), trie.phrase)
    yield "needs a root", PhraseTrie(trie.children, trie.phrase[:0])
    yield "node that does not exist", PhraseTrie(PairIndex(keys, wild), trie.phrase)
    yield "phrase that does not exist", PhraseTrie(trie.children, beyond)
    yield "phrase that does not exist", PhraseTrie(trie.children, below)
    yield "does not lead to its phrases", PhraseTrie(trie.children, trie.phrase[[0, 2, 1]])


def test_a_damaged_trie_is_refused() -> None:
    phrases = Phrases(np.array([5, 5, 6], np.int32), np.array([0, 1, 3], np.int64))
    trie = build_trie(phrases)
    check_trie(trie, phrases)
    for fault, damaged in damaged_tries(trie):
        with pytest.raises(ValueError, match=fault):
            check_trie(damaged, phrases)
