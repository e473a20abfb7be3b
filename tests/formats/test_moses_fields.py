"""Compiled parsing against Python's own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.compiled.hashing import number_rows
from toledo.text.byte_fields import parse_links, parse_numbers, split_fields, split_tokens, take_field

lines_of_tokens = st.lists(st.lists(st.sampled_from(["a", "bc", "ß", "|||", "|", "||"]), max_size=9), max_size=5)


def data_of(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


def fields_of(line: list[str]) -> list[list[str]]:
    fields: list[list[str]] = [[]]
    for token in line:
        if token == "|||":
            fields.append([])
        else:
            fields[-1].append(token)
    return fields


@given(lines_of_tokens, st.sampled_from([" ", "  ", "\t ", "\r"]), st.booleans())
def test_tokens_and_fields_are_those_of_split(lines: list[list[str]], space: str, end: bool) -> None:
    text = "".join(space + space.join(line) + "\n" for line in lines)
    text = text if end or not lines else text[:-1] + " "
    data = data_of(text)
    tokens = split_tokens(data)
    found = [data[begin:stop].tobytes().decode() for begin, stop in zip(tokens.begin, tokens.end, strict=True)]
    assert [found[tokens.offsets[i] : tokens.offsets[i + 1]] for i in range(len(lines))] == lines
    assert tokens.offsets.size == len(lines) + 1
    fields = split_fields(data, tokens, 3)
    assert fields.per_line.tolist() == [line.count("|||") + 1 for line in lines]
    for number in range(3):
        part = take_field(tokens, fields.first[number], fields.stop[number])
        for i, line in enumerate(lines):
            expected = (fields_of(line) + [[], [], []])[number]
            places = range(part.offsets[i], part.offsets[i + 1])
            assert [data[part.begin[t] : part.end[t]].tobytes().decode() for t in places] == expected


def test_bars_inside_a_word_are_noticed() -> None:
    for text, glued in (("a ||| b|||c", 2), ("||||", 0), ("a || b", -1), ("a ||| b", -1)):
        data = data_of(text)
        assert split_fields(data, split_tokens(data), 3).glued == glued


numbers = st.one_of(
    st.floats(-1e290, 1e290).map(repr),
    st.from_regex(r"[+-]?[0-9]{1,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(r"\.[0-9]{1,5}", fullmatch=True),
)


@given(st.lists(numbers, min_size=1))
def test_numbers_are_those_of_float(texts: list[str]) -> None:
    data = data_of(" ".join(texts))
    np.testing.assert_allclose(
        parse_numbers(data, split_tokens(data)), [float(text) for text in texts], rtol=1e-14, atol=1e-320
    )


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-inf", "1e", "1e+", "e5", ".", "-", "0x1", "1,5", "1.2.3", "1e5.0", "٣"]
)
def test_what_is_not_a_number_gives_nan(text: str) -> None:
    data = data_of(text)
    assert math.isnan(parse_numbers(data, split_tokens(data))[0])


def test_extreme_exponents() -> None:
    data = data_of("1e999 1e99999999999999999999 1e-999 1e-99999999999999999999 1e-310 0e999 " + "0" * 400 + "1")
    values = parse_numbers(data, split_tokens(data))
    assert values.tolist()[:4] == [math.inf, math.inf, 0, 0]
    np.testing.assert_allclose(values[4:], [1e-310, 0, 1], rtol=1e-12)


def test_links() -> None:
    data = data_of("0-1 12-345 00-7 99999999999999999999-0 -1 1- 1 1-2-3 a-1 1-b (0)")
    expected = [[0, 1], [12, 345], [0, 7], [9999, 0]] + [[-1, -1]] * 7
    assert parse_links(data, split_tokens(data)).tolist() == expected


@given(st.lists(st.sampled_from(["a", "aa", "ab", "ba", "ö", "o"])))
def test_words_are_numbered_in_order_of_appearance(words: list[str]) -> None:
    data = data_of(" ".join(words))
    tokens = split_tokens(data)
    found, first = number_rows(data, tokens.begin, tokens.end)
    distinct = list(dict.fromkeys(words))
    assert [distinct[number] for number in found.tolist()] == words
    assert first.tolist() == [words.index(word) for word in distinct]
