"""Words and numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.text.vocabulary import BEGIN, END, UNKNOWN, Vocabulary, split_words


def test_reserved_words_come_first() -> None:
    assert list(Vocabulary(["a"])) == ["<unk>", "<s>", "</s>", "a"]
    assert [Vocabulary().id(word) for word in ("<unk>", "<s>", "</s>", "b")] == [UNKNOWN, BEGIN, END, UNKNOWN]


def test_encoding_grows_or_does_not() -> None:
    vocabulary = Vocabulary()
    words, lengths = vocabulary.encode_lines([b"a b a", b"", "ä\u00a0ö\tb".encode()])
    assert words.tolist() == [3, 4, 3, 5, 4]
    assert lengths.tolist() == [3, 0, 2]
    assert vocabulary.words(words.tolist()) == ["a", "b", "a", "ä\u00a0ö", "b"]
    assert vocabulary.encode_lines([b"b c"], grow=False)[0].tolist() == [4, UNKNOWN]
    assert "c" not in vocabulary
    assert vocabulary.add("c") == 6
    assert vocabulary.word(6) == "c"


words = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n\f\v"), min_size=1)


@given(st.lists(words))
def test_arrays_round_trip(added: list[str]) -> None:
    vocabulary = Vocabulary(added)
    arrays = vocabulary.to_arrays()
    copy = Vocabulary.from_arrays(arrays["bytes"], arrays["offsets"])
    assert list(copy) == list(vocabulary)
    assert copy.ids(added).tolist() == vocabulary.ids(added).tolist()


@given(st.lists(words), st.sampled_from([" ", "\t", "  ", " \r"]))
def test_words_split_alike_from_text_and_bytes(added: list[str], space: str) -> None:
    line = space.join(added)
    vocabulary = Vocabulary()
    assert split_words(line) == added == vocabulary.words(vocabulary.encode_lines([line.encode()])[0])


def test_a_tampered_vocabulary_is_refused() -> None:
    arrays = Vocabulary(["a", "b"]).to_arrays()
    data = arrays["bytes"].copy()
    data[-1] = ord("a")
    with pytest.raises(InputError, match="repeats words"):
        Vocabulary.from_arrays(data, arrays["offsets"])
