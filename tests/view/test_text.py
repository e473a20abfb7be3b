"""Texts: differences by longest common subsequence, shades by probability."""

import itertools
import re

from hypothesis import given
from hypothesis import strategies as st

from toledo.view.text import against, common_words, difference, segment, shade, shaded_text, spaced, written_words

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


def longest(first: list[str], second: list[str]) -> int:
    """The length of a longest common subsequence, by trying all."""
    for size in range(min(len(first), len(second)), -1, -1):
        some = {tuple(one) for one in itertools.combinations(first, size)}
        if some & {tuple(one) for one in itertools.combinations(second, size)}:
            return size
    raise AssertionError


def plain(markup: str) -> list[str]:
    return re.sub('<span class="gap"[^>]*>‸</span>|<[^>]*>', "", markup).split()


@given(WORDS, WORDS)
def test_common_words_are_a_longest_common_subsequence(first: list[str], second: list[str]) -> None:
    one, two = common_words(first, second)
    kept = [word for word, common in zip(first, one, strict=True) if common]
    assert kept == [word for word, common in zip(second, two, strict=True) if common]
    assert len(kept) == longest(first, second)


@given(WORDS, WORDS, WORDS)
def test_marks_leave_the_texts_as_they_are(first: list[str], second: list[str], reference: list[str]) -> None:
    one, two = difference(first, second, [reference])
    assert (plain(one), plain(two)) == (first, second)
    assert ("<del>" in one or "<ins>" in two) == (first != second)
    assert "<ins>" not in one
    assert "<del>" not in two


def test_words_of_one_mark_are_joined_and_those_of_references_are_bold() -> None:
    one, two = difference(["three", "men", "walk", "uphill", "."], ["three", "men", "are", "walking", "uphill", "."],
                          [["three", "men", "are", "walking", "up", "."], ["three", "men", "walk"]])  # fmt: skip
    assert one == "three men <del><b>walk</b></del> uphill ."
    assert two == "three men <ins><b>are walking</b></ins> uphill ."


def test_missing_words_leave_a_mark() -> None:
    assert against(["a", "c"], ["a", "<b>", "c"]) == ('a <span class="gap" title="not here: &lt;b&gt;">‸</span> c')
    assert against(["a"], ["a"]) == "a"
    assert against([], ["a"]) == '<span class="gap" title="not here: a">‸</span>'


@given(st.text(st.sampled_from("ab'-.,!?  日本です\u0939\u093f"), max_size=12))
def test_written_words_are_the_text(text: str) -> None:
    words = written_words(text)
    assert spaced(words) == " ".join(text.split())
    assert not any(" " in word for word in words)


def test_punctuation_is_apart_and_shown_as_it_is_written() -> None:
    assert written_words("Don't go, 3.5 km!") == ["Don't", "go", ",", "3.5", "km", "!"]
    assert written_words("日本では") == ["日", "本", "で", "は"]
    assert written_words("\u0939\u093f\u0928 x") == ["\u0939\u093f\u0928", "x"]  # vowel signs belong to their word
    one, two = difference(written_words("I see a cat."), written_words("I see a cat, dog."), [written_words("a dog")])
    assert one == 'I see a cat<span class="gap" title="not here: , dog">‸</span>.'
    assert two == "I see a cat<ins>, <b>dog</b></ins>."


def test_shades() -> None:
    assert [shade(value) for value in (-0.1, 0.0, 0.05, 0.0626, 0.5, 0.99, 1.0, 1.2)] == [
        "p0", "p0", "p0", "p1", "p4", "p8", "p8", "p8",
    ]  # fmt: skip
    text = shaded_text([("the", [0.9]), ("<house>", [0.4, 0.25])])
    assert '<span class="w p7" title="0.90">the</span>' in text
    assert '<span class="w p3 low" title="0.40, 2-gram 0.25">&lt;house&gt;</span>' in text
    assert "empty" in shaded_text([])


def test_segments_have_places_to_link_to() -> None:
    found = segment("Segment 7", [("source", "<x>"), ("system", "y")], quiet=[0], place="segment-7")
    assert found.startswith('<article class="segment" id="segment-7"><h4>Segment 7</h4>')
    assert '<dd class="quiet" dir="auto">&lt;x&gt;</dd><dt>system</dt><dd dir="auto">y</dd>' in found
