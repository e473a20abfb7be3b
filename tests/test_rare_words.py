"""Variants of words, and the table that rewrites rare ones."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rare_twin import all_splits, near

from toledo.text.corpus import ParallelCorpus, encode_texts
from toledo.text.preparation import Preparation, TextSide
from toledo.text.rare_words import RareWords, RewrittenWords, given_links, given_span, given_words, rewrite_sources
from toledo.text.vocabulary import Vocabulary
from toledo.text.word_variants import (
    MOST_PARTS,
    UNCHANGED,
    EndingChange,
    EndingChanges,
    Variant,
    Variants,
    best_splits,
    common_changes,
    fold,
    size,
)

COUNTS = {
    "haus": 50, "tür": 40, "liebe": 30, "brief": 20, "schule": 25, "hof": 9, "jacke": 30, "blau": 60, "rote": 15,
    "roten": 30, "spiel": 20, "hockey": 10, "und": 500, "hunde": 12, "selten": 2, "hausbrief": 3,
}  # fmt: skip
PARTS = frozenset(COUNTS) - {"und", "selten"}
CHANGES = EndingChanges(
    endings=(EndingChange("n", ""), EndingChange("", "n"), EndingChange("s", "")),
    links=(UNCHANGED, EndingChange("s", ""), EndingChange("", "e")),
)
RATES = {"hyphen": 0.8, "compound": 0.5, "form": 0.6, "end": 0.45, "start": 0.1, "edit": 0.45, "edit:5": 0.05}


def rare_words() -> RareWords:
    return RareWords(Variants(COUNTS, PARTS, CHANGES), RATES, {"hausbrief": ("haus", "brief")})


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("und", "und"),  # frequent words stay
        ("selten", "selten"),  # so do rare ones for which nothing was decided
        ("hausbrief", "haus brief"),  # was decided
        ("haustür", "haus tür"),
        ("liebesbrief", "liebe brief"),  # a linking element
        ("schulhof", "schule hof"),  # a letter is dropped inside
        ("hausundtür", "hausundtür"),  # `und` is not a part
        ("rotes", "rote"),  # another form
        ("fleecejacke", "jacke"),
        ("hockey-spiel", "hockey spiel"),
        ("hockey-xyz", "hockey xyz"),  # what is unknown is copied
        ("xyz-abc", "xyz-abc"),  # with its hyphen, if nothing is known of it
        ("hockey-haustür", "hockey haus tür"),
        ("hausbriefe", "haus brief"),  # a form of a word that is rewritten itself
        ("hockei", "hockey"),
        ("hockye", "hockey"),
        ("bleu", "bleu"),  # too short to be a slip
        ("jackentasche", "jackentasche"),  # what begins a word is worth too little here
        ("2haus", "2haus"),
        ("-", "-"),
        ("haus-", "haus-"),
        ("Haus", "haus"),
        ("Haustür", "haus tür"),
        ("&#124;", "&#124;"),
        ("x" * 200, "x" * 200),
    ],
)
def test_rules(word: str, parts: str) -> None:
    changes = replace(CHANGES, endings=(*CHANGES.endings, EndingChange("e", "")))
    rare = replace(rare_words(), variants=Variants(COUNTS, PARTS, changes))
    assert " ".join(rare.of(word)) == parts


def test_the_case_of_the_training_text_is_used() -> None:
    counts = {"Haus": 9, "Tür": 8, "tür": 3, "laut": 7}
    rare = RareWords(Variants(counts, frozenset(counts), EndingChanges(links=(UNCHANGED,))), {"compound": 0.5}, {})
    assert rare.of("Haustür") == ("Haus", "Tür")
    assert rare.of("tür") == ("tür",)


def test_no_rule_is_used_that_is_worth_nothing() -> None:
    rare = replace(rare_words(), rates={})
    for word in ("haustür", "rotes", "fleecejacke", "hockey-spiel", "hockei"):
        assert rare.of(word) == (word,)


def test_the_most_valuable_variant_wins() -> None:
    """A kind without an example has the value of its rule; the share of letters counts."""
    rare = replace(rare_words(), rates={"compound": 0.4, "end": 0.95})
    assert rare.of("haustür") == ("haus", "tür")
    assert rare.of("liebesbrief") == ("brief",)
    assert replace(rare, rates={**rare.rates, "compound:s>": 0.6}).of("liebesbrief") == ("liebe", "brief")


def test_words_come_from_given_ones() -> None:
    words = rare_words().rewrite(["blau", "haustür", "und", "hausbrief"])
    assert isinstance(words, RewrittenWords)
    assert words == ["blau", "haus", "tür", "und", "haus", "brief"]
    assert list(given_words(words)) == ["blau", "haustür", "und", "hausbrief"]
    assert words.places == (0, 1, 1, 2, 3, 3)
    assert given_span(words, 1, 3) == (1, 2)
    assert given_span(words, 0, 2) == (0, 2)
    assert given_links(words, ((0, 0), (1, 1), (2, 1), (3, 2), (5, 2))) == ((0, 0), (1, 1), (2, 2), (3, 2))
    plain = ["a", "b"]
    assert (given_words(plain), given_span(plain, 0, 1), given_links(plain, ((1, 0),))) == (plain, (0, 1), ((1, 0),))


ALPHABET = "abc"
words_of = st.text(ALPHABET, min_size=3, max_size=4)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(words_of, st.integers(1, 50), min_size=1, max_size=25),
    st.text(ALPHABET, min_size=1, max_size=12),
    st.lists(
        st.builds(EndingChange, st.text(ALPHABET, max_size=2), st.text(ALPHABET, max_size=1)), max_size=3, unique=True
    ),
)
def test_best_splits_are_the_best_of_all(counts: dict[str, int], word: str, links: list[EndingChange]) -> None:
    known = {spelled: (spelled, n) for spelled, n in counts.items()}
    changes = EndingChanges(links=(UNCHANGED, *links), heads=(UNCHANGED, EndingChange("c", "a")))
    found = {len(split.parts): split for split in best_splits(word, known, changes)}
    for number in range(2, MOST_PARTS + 1):
        ways = list(all_splits(word, known, changes, number))
        assert bool(ways) == (number in found)
        if ways:
            best = max(score for score, _ in ways)
            assert found[number].score == pytest.approx(best)
            assert any(score == pytest.approx(best) and parts == found[number].parts for score, parts in ways)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("ab", min_size=4, max_size=7), max_size=20), st.text("abc", min_size=5, max_size=7))
def test_words_at_distance_1(forms: list[str], word: str) -> None:
    variants = Variants(dict.fromkeys(forms, 5), frozenset())
    assert variants.near(word) == near(word, forms)


def test_changes_of_endings() -> None:
    words = [stem + ending for stem in ("lauf", "kauf", "glaub", "trink", "spiel") for ending in ("en", "t", "st")]
    found = common_changes([*words, "haus", "hausen"], most=10)
    assert EndingChange("en", "t") in found
    assert EndingChange("t", "en") in found
    assert EndingChange("", "en") not in found  # one stem only
    assert common_changes(words, most=2) == sorted(found, key=lambda change: found.index(change))[:2]


def test_sizes_and_accents() -> None:
    assert (size("abc"), size("日本"), size("äö")) == (3, 4, 2)
    assert (fold("Häuser"), fold("élève"), fold("が"), fold("한")) == ("hauser", "eleve", "が", "한")
    assert Variant("form:n>", ("a",)).rule == "form"


def test_tables_are_kept() -> None:
    rare = rare_words()
    other = RareWords.from_arrays(rare.to_arrays())
    assert other == rare
    assert other != replace(rare, rates={})
    empty = RareWords(Variants({}, frozenset()), {}, {})
    assert RareWords.from_arrays(empty.to_arrays()).of("haus") == ("haus",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("known", "haus\t3"),
        ("known", "haus\t-1\t1"),
        ("known", "haus\tmany\t1"),
        ("known", "haus\t0\t1"),
        ("known", f"haus\t{'9' * 5000}\t1"),
        ("known", "haus\t3\t1\nhaus\t3\t1"),
        ("known", "ein haus\t3\t1"),
        ("known", "<s>\t3\t1"),
        ("known", "\t3\t1"),
        ("rewritten", "haus"),
        ("rewritten", "hausbrief\t"),
        ("rewritten", "hausbrief\thaus fremd"),
        ("rewritten", "fremd\thaus"),
        ("rewritten", "hausbrief\thaus hausbrief"),
        ("rewritten", "hausbrief\thaus\nhaus\tbrief"),
        ("rules", "rate\tform\tnan"),
        ("rules", "rate\tform\t2"),
        ("rules", "rate\tform\tx"),
        ("rules", "other\ta\tb"),
        ("rules", "link\tabcdefgh\t"),
    ],
)
def test_hostile_tables_are_refused(name: str, text: str) -> None:
    arrays = rare_words().to_arrays() | {name: np.frombuffer(text.encode(), np.uint8)}
    with pytest.raises(ValueError, match=r"rare words?|not a word|could not convert|worth"):
        RareWords.from_arrays(arrays)


def test_a_table_in_other_bytes_is_refused() -> None:
    with pytest.raises(UnicodeDecodeError):
        RareWords.from_arrays(rare_words().to_arrays() | {"known": np.array([255, 254], np.uint8)})
    with pytest.raises(KeyError):
        RareWords.from_arrays({})


def test_sides_of_text_keep_rare_words() -> None:
    side = TextSide("de", rare=rare_words())
    assert side.words("blau haustür") == ["blau", "haus", "tür"]
    other = TextSide.from_table(side.to_table(), side.to_arrays())
    assert other.words("blau haustür") == ["blau", "haus", "tür"]
    prepared = Preparation(side)
    assert prepared.of_words.source.words("haustür") == ["haus", "tür"]
    assert prepared.signature == "de.blanks+rare-any.blanks"
    assert Preparation(TextSide("de")).of_words == Preparation()


def test_sources_are_rewritten_as_if_read_so() -> None:
    sources = ["blau haustür und", "hausbrief", "", "und und liebesbrief x-y"]
    given_ids, targets = Vocabulary(), Vocabulary()
    corpus = ParallelCorpus(
        encode_texts(sources, given_ids, "sources"), encode_texts(["a"] * 4, targets, "targets"),
        given_ids, targets, np.arange(1, 5),
    )  # fmt: skip
    rare = rare_words()
    found = rewrite_sources(corpus, rare)
    read = Vocabulary()
    expected = encode_texts([" ".join(rare.rewrite(line.split())) for line in sources], read, "sources")
    assert list(found.source_vocabulary) == list(read)
    assert found.source.words.tolist() == expected.words.tolist()
    assert found.source.offsets.tolist() == expected.offsets.tolist()
    assert found.source.words.dtype == np.int32
    known = Vocabulary(["brief"])
    again = rewrite_sources(corpus, rare, known)
    assert known.words(again.source[1].tolist()) == ["haus", "brief"]


def test_words_known_from_elsewhere_are_not_rewritten() -> None:
    rare = rare_words()
    more = rare.knowing(["hausbrief", "fleecejacke", "und"])
    assert [more.of(word) for word in ("hausbrief", "fleecejacke", "und")] == [
        ("hausbrief",),
        ("fleecejacke",),
        ("und",),
    ]
    assert more.of("haustür") == ("haus", "tür")
    assert rare.of("fleecejacke") == ("jacke",)
