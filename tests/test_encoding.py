"""Compiled encoding of text against splitting lines in Python."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.text.encoding import FIRST_PIECE, Encoder, padded, word_key
from toledo.text.vocabulary import UNKNOWN, Vocabulary

# Short and long words that share beginnings, all kinds of white space, and control characters that are none.
pieces = st.one_of(
    st.sampled_from(
        ["a", "ab", "abcdefgh", "abcdefghi", "abcdefghj", "abcdefghabcdefgh", "abcdefghabcdefghx", "ä" * 4]
    ),
    st.sampled_from([" ", "  ", "\t", "\n", "\n\n", "\r\n", "\v", "\f"]),
    st.sampled_from(["\0", "a\0", "\x1f", "a\x01b", "\u3000", "\u00a0", "\x85", "<unk>", "</s>"]),
    st.text(st.characters(codec="utf-8"), max_size=20),
)
texts = st.lists(pieces, max_size=30).map("".join)


def lines_of(text: bytes) -> list[bytes]:
    return text.split(b"\n")[:-1] if text.endswith(b"\n") or not text else text.split(b"\n")


@settings(max_examples=300, deadline=None)
@given(texts, texts)
def test_equal_to_splitting_lines(known, text):
    one, other = Vocabulary(), Vocabulary()
    for block in (known.encode(), text.encode()):
        words, lengths = Encoder(one, grow=True).encode(block)
        expected_words, expected_lengths = other.encode_lines(lines_of(block))
        assert np.array_equal(words, expected_words)
        assert np.array_equal(lengths, expected_lengths)
    assert list(one) == list(other)


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_words_that_are_not_known(known, text):
    vocabulary = Vocabulary()
    Encoder(vocabulary, grow=True).encode(known.encode())
    size = len(vocabulary)
    words, lengths = Encoder(vocabulary, grow=False).encode(text.encode())
    expected_words, expected_lengths = vocabulary.encode_lines(lines_of(text.encode()), grow=False)
    assert np.array_equal(words, expected_words)
    assert np.array_equal(lengths, expected_lengths)
    assert len(vocabulary) == size


@pytest.mark.parametrize("grow", [True, False])
def test_large_blocks_are_encoded_piece_by_piece(grow):
    rng = np.random.default_rng(7)
    numbers = rng.zipf(1.2, 100_000).clip(max=10**6)
    block = b"".join(b"word%d%s" % (n, b"\n" if n % 7 == 0 else b" ") for n in numbers.tolist())
    assert len(block) > 4 * FIRST_PIECE
    one, other = Vocabulary(["word1"]), Vocabulary(["word1"])
    words, lengths = Encoder(one, grow).encode(block)
    expected_words, expected_lengths = other.encode_lines(lines_of(block), grow)
    assert np.array_equal(words, expected_words)
    assert np.array_equal(lengths, expected_lengths)
    assert list(one) == list(other)


def test_words_of_one_hash_are_told_apart():
    """The key of a word of 16 bytes is a hash of its first half, xor its second half: two of one key can be made."""
    halves = [f"word{number:04}".encode() for number in range(100)]
    keys = {half: int(word_key(padded(half + bytes(8)).bytes, 0, 16)) for half in halves}
    pairs = ((one, other, keys[one] ^ keys[other]) for one, other in combinations(halves, 2))
    one, other, change = next(pair for pair in pairs if not pair[2] & 0x8080_8080_8080_8080)
    changes = change.to_bytes(8, "little")
    end = bytes(next(byte for byte in range(33, 127) if 33 <= byte ^ part < 127) for part in changes)
    words = [one + end, other + bytes(byte ^ part for byte, part in zip(end, changes, strict=True))]
    assert word_key(padded(words[0]).bytes, 0, 16) == word_key(padded(words[1]).bytes, 0, 16)
    assert Encoder(Vocabulary(), grow=True).encode(b" ".join(words))[0].tolist() == [3, 4]
    assert Encoder(Vocabulary([words[0].decode()]), grow=False).encode(b" ".join(words))[0].tolist() == [3, UNKNOWN]


def test_a_line_without_end_and_nothing_at_all():
    encoder = Encoder(Vocabulary(), grow=False)
    assert [part.tolist() for part in encoder.encode(b"a b")] == [[UNKNOWN, UNKNOWN], [2]]
    assert [part.tolist() for part in encoder.encode(b"")] == [[], []]
