"""Truecasing against the best of all casings."""

from dataclasses import replace
from itertools import pairwise, product
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.combination.spelling import link_words
from toledo.combination.written_text import (
    NOTHING,
    Casings,
    LatticeTruecaser,
    capitalized,
    casing_shares,
    count_casings,
)
from toledo.text.corpus import Sentences
from toledo.text.tokens import sentence_starts

TEXT = [
    line.split()
    for line in (
        "The May Day is in May .",
        "We may go . May we ? You may .",
        "An apple is not Apple . In May the apple may be red .",
        "NASA sends an iPhone to Mr May .",
    )
]
FORMS = ["may", "May", "MAY", "apple", "Apple", "the", "The", ".", "red", "iPhone", '"', "new"]
lines = st.lists(st.sampled_from(FORMS), max_size=5)


@pytest.fixture(scope="module")
def truecaser() -> LatticeTruecaser:
    return LatticeTruecaser.train(TEXT)


@settings(max_examples=60)
@given(line=lines, outputs=st.lists(lines, max_size=3), weight=st.sampled_from([0.0, 0.3, 1.0, 3.0]))
def test_the_best_of_all_casings_is_found(truecaser, line: list[str], outputs: list[list[str]], weight: float) -> None:
    words = [word.lower() for word in line]
    shares = truecaser.shares(words, outputs, [1.0] * len(outputs))
    every = list(product(*shares))
    scores = [
        sum(log(share[form]) for share, form in zip(shares, forms, strict=True))
        + weight * model_score(truecaser, forms)
        for forms in every
    ]
    found = replace(truecaser, model_weight=weight).restore(words, outputs)
    assert [word.lower() for word in found] == words
    assert scores[every.index(found)] == pytest.approx(max(scores), abs=1e-4)


def model_score(truecaser: LatticeTruecaser, forms: tuple[str, ...]) -> float:
    """The natural logarithm of the probability of one sentence."""
    ids = truecaser.vocabulary.ids(forms)
    return float(truecaser.model.score_sentences(Sentences.from_lengths(ids, np.array([len(forms)])))[0]) * log(10)


def test_shares_are_those_of_votes() -> None:
    own = count_casings([["The", "apple"], ["An", "Apple", ".", "Apple"], ["an", "apple"]])
    assert own["apple"] == Casings(inside={"apple": 2, "Apple": 1}, first={"Apple": 1})
    inside = casing_shares("apple", False, own["apple"], NOTHING)
    assert inside == pytest.approx({"apple": 2.01 / 3.01, "Apple": 1 / 3.01})  # the capital at the beginning: no vote
    begins = casing_shares("apple", True, own["apple"], NOTHING)
    assert begins == pytest.approx({"Apple": 1.0})
    with_table = casing_shares("nasa", False, NOTHING, count_casings([["NASA", "and", "NASA", "or", "Nasa"]])["nasa"])
    assert with_table == pytest.approx({"NASA": 0.5 * 1.5 / 2.5 / 0.51, "Nasa": 0.5 / 2.5 / 0.51, "nasa": 0.01 / 0.51})


@settings(max_examples=100)
@given(st.text(max_size=4), st.booleans(), lines, lines)
def test_shares_add_up_and_keep_the_word(word: str, begins: bool, own: list[str], known: list[str]) -> None:
    one, two = (count_casings([text]) for text in (own, known))
    for lower in {word.lower(), *(form.lower() for form in FORMS)}:
        shares = casing_shares(lower, begins, one.get(lower, NOTHING), two.get(lower, NOTHING))
        assert sum(shares.values()) == pytest.approx(1.0)
        assert (capitalized(lower) if begins else lower) in shares
        assert min(shares.values()) > 0


def test_what_outputs_say(truecaser: LatticeTruecaser) -> None:
    outputs = [["In", "May", "Grossmann", "may", "visit", "NATO"], ["Grossmann", "may", "visit", "NATO", "in", "May"]]
    assert " ".join(truecaser.restore(["in", "may", "grossmann", "visits", "nato", "."], outputs)) == (
        "In May Grossmann visits NATO ."
    )
    assert truecaser.restore(["iphone", "?", "the", "end"], [["iPhone", "?"]])[1:] == ("?", "The", "end")
    assert truecaser.restore([], outputs) == ()
    assert truecaser.restore(["zzz", "zzz"]) == ("Zzz", "zzz")


def test_the_result_does_not_depend_on_what_came_before(truecaser: LatticeTruecaser) -> None:
    words = ["we", "may", "see", "the", "apple", "in", "may"]
    before = truecaser.restore(words)
    truecaser.restore(["quite", "new"], [["Quite", "New", "WORDS"]])
    assert truecaser.restore(words) == before


@settings(max_examples=100)
@given(line=lines, outputs=st.lists(lines, max_size=3))
def test_what_outputs_have_at_the_place_decides_alone(truecaser, line: list[str], outputs: list[list[str]]) -> None:
    words, weights = [word.lower() for word in line], [1.0, 0.5, 0.25][: len(outputs)]
    own, table = count_casings(outputs), count_casings(TEXT)
    rows = link_words(words, [[word.lower() for word in output] for output in outputs])
    found = truecaser.shares(words, outputs, weights)
    for place, (word, begins, shares) in enumerate(zip(words, sentence_starts(words), found, strict=True)):
        votes: dict[str, float] = {}
        for output, row, weight in zip(outputs, rows, weights, strict=True):
            if row[place] < 0:
                continue
            form, began = output[row[place]], sentence_starts(output)[row[place]]
            if began == begins:
                votes[form] = votes.get(form, 0.0) + weight
            elif begins:
                votes[capitalized(form)] = votes.get(capitalized(form), 0.0) + weight / 2
            elif form != capitalized(form.lower()):
                votes[form] = votes.get(form, 0.0) + weight / 2
        if votes:
            assert shares == pytest.approx({form: vote / sum(votes.values()) for form, vote in votes.items()})
        else:
            assert shares == casing_shares(word, begins, own.get(word, NOTHING), table.get(word, NOTHING))


@settings(max_examples=100)
@given(words=st.lists(st.sampled_from("abc"), max_size=5), output=st.lists(st.sampled_from("abc"), max_size=5))
def test_links_are_the_best_of_all(words: list[str], output: list[str]) -> None:
    def value(row: tuple[int, ...]) -> tuple[int, int]:
        return sum(place >= 0 for place in row), sum(a >= 0 and b == a + 1 for a, b in pairwise(row))

    (found,) = link_words(words, [output])
    every = [
        row
        for row in product(range(-1, len(output)), repeat=len(words))
        if all(place < 0 or words[i] == output[place] for i, place in enumerate(row))
        and (known := [place for place in row if place >= 0]) == sorted(set(known))
    ]
    assert tuple(found) in every
    assert value(tuple(found)) == max(map(value, every))
