"""Written text to words and back."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesPunctNormalizer

import toledo
from toledo.combination.spelling import Written
from toledo.combination.tracked_text import pieces, substitute, visible
from toledo.combination.written_text import LatticeTruecaser, RawText

PAIRS = ("cs-en", "de-en", "ja-en", "ru-en")
# What the rules replace, move or drop, and what they must leave alone.
MARKS = [
    "\u201c", "\u201d", "\u2019", "\u2018", '"', "'", ",", ".", "\u2026", "...", "\u2014", "-", "(", ")", "3",
    "1,000.5", "%", "\u00a0", " ", "  ", "\t", "\u200b", "\u00ad", "e\u0301", "\u00ab", "\u00bb", "''", "`", "@x", "#y",
    "https://a.b/c?d=1&e", "\u0130", "\uac00", "\u1100\u1161", "The", "the", "THE", "Mr.", "U.S.", "don't", "\u00df",
    "&amp;", "<b>", "\ufb01", "DOTMULTI", ":", ";",
]  # fmt: skip
marked = st.lists(st.sampled_from(MARKS), max_size=12).map("".join)
any_text = st.one_of(marked, st.text(st.characters(exclude_categories=["Cs"]), max_size=20), st.text(max_size=20))


@pytest.fixture(scope="module")
def raw_text() -> RawText:
    return RawText("en")


@pytest.mark.parametrize("half", ["tune", "test"])
def test_words_are_those_of_the_tokenized_files(shared_folder, raw_text: RawText, half: str) -> None:
    folder = shared_folder / "data" / "wmt22-syscomb" / "ja-en" / half
    for name in ("sys.Online-W.en", "sys.KYB.en", "ref.A.en"):
        raw, tokenized = ((path / name).read_text("utf-8").splitlines() for path in (folder / "raw", folder))
        assert [" ".join(raw_text.read(line).lower) for line in raw] == tokenized


def test_a_line_has_its_words_in_their_case_and_its_blanks(raw_text: RawText) -> None:
    line = raw_text.read("\u201cHe\u2019s  at Motorola®,\u201d she said.")
    assert line.words == ('"', "He", "'s", "at", "Motorola", "®", ",", '"', "she", "said", ".")
    assert line.lower[1:5] == ("he", "'s", "at", "motorola")
    assert line.blanks == (False, False, False, True, True, False, False, False, True, True, False)
    assert raw_text.read("").words == raw_text.read(" \t ").words == ()


def test_what_cannot_be_seen_is_no_word(raw_text: RawText) -> None:
    assert raw_text.read("cafe\u0301\u200b \ufeffso\u00adlo\x07").words == ("caf\u00e9", "solo")
    assert raw_text.read("<s> a </s> <unk>").words == ("<", "s", ">", "a", "<", "/", "s", ">", "<", "unk", ">")


def test_rules_write_where_outputs_say_nothing(raw_text: RawText) -> None:
    words = ("I", "'m", "at", "Motorola", "®", ",", "he", "said", ".")
    assert raw_text.write(words) == "I'm at Motorola ®, he said."
    assert raw_text.write(()) == ""


def test_outputs_decide_between_words_that_they_have_side_by_side(raw_text: RawText) -> None:
    words = ("I", "'m", "at", "Motorola", "®", "/", "Bosch", ".")
    outputs = [raw_text.read(text) for text in ("at Motorola® / Bosch", "MOTOROLA® and", "motorola ® /Bosch or")]
    assert raw_text.write(words, outputs) == "I'm at Motorola® / Bosch."  # a tie: the rules put a blank before Bosch


def test_a_line_of_the_systems_comes_back(raw_text: RawText) -> None:
    for line in ("It's 50% (or \"more\"), isn't it?", "Use #PRS_ORG# and/or C++...", "e.g. 3.5 km; A-B_C"):
        read = raw_text.read(line)
        assert raw_text.write(read.words, [read]) == line


def test_unknown_blanks_do_not_vote(raw_text: RawText) -> None:
    assert raw_text.write(("a", "/", "b"), [Written(("a", "/", "b"))]) == raw_text.write(("a", "/", "b"))


@pytest.fixture(scope="module")
def truecaser() -> LatticeTruecaser:
    """It knows other cases, which must not win."""
    return LatticeTruecaser.train([["THE", "Cat", "and", "the", "cat", "."], ["Mr", "The"]])


def round_trip(raw_text: RawText, truecaser: LatticeTruecaser, line: str) -> str:
    """Read a line, forget its case, and write it as the only output says."""
    read = raw_text.read(line)
    return raw_text.write(truecaser.restore(read.lower, [read.words]), [read])


@pytest.mark.parametrize("pair", PAIRS)
def test_outputs_of_real_systems_come_back(shared_folder: Path, raw_text: RawText, truecaser, pair: str) -> None:
    files = sorted((shared_folder / "data" / "wmt22-syscomb" / pair).glob("*/raw/sys.*.en"))
    assert files
    lines = {line for path in files for line in path.read_bytes().decode("utf-8").split("\n") if line.strip()}
    assert [line for line in sorted(lines) if round_trip(raw_text, truecaser, line) != line] == []


@given(line=any_text, language=st.sampled_from(["en", "de", "fr", "ja", "zh"]))
def test_any_line_comes_back(truecaser, line: str, language: str) -> None:
    own = RAW[language]
    read = own.read(line)
    expected = re.sub(r"[\r\n]+", " ", line)
    assert read.line == expected
    assert round_trip(own, truecaser, line) == (expected if read.words else "")


RAW = {language: RawText(language) for language in ("en", "de", "fr", "ja", "zh")}


@given(line=any_text, language=st.sampled_from(["en", "de", "cs"]))
def test_rules_are_applied_as_the_scripts_apply_them(line: str, language: str) -> None:
    normalizer = MosesPunctNormalizer(lang=language)
    rules = [(re.compile(pattern), template) for pattern, template in normalizer.substitutions]
    before = visible(line)
    after = substitute(before, rules)
    assert after.text.strip() == normalizer.normalize(before.text)
    assert len(after.spans) == len(after.text)
    assert all(0 <= begin <= end <= len(line) for begin, end in after.spans)


@given(line=any_text, words=st.lists(st.sampled_from(["a", "The", '"', ","]), max_size=4))
def test_pieces_and_gaps_are_the_line_whatever_the_words(line: str, words: list[str]) -> None:
    written, gaps = pieces(line, visible(line), words)
    assert len(written) == len(gaps) - 1 == len(words)
    assert "".join(gap + (text or "") for gap, text in zip(gaps, (*written, ""), strict=True)) == line


def test_marks_that_change_places_are_one_piece(raw_text: RawText) -> None:
    read = raw_text.read("the \u201cend\u201d, (3) The")
    assert read.words == ("the", '"', "end", ",", '"', "(", "3", ")", "The")
    assert read.pieces is not None
    assert read.pieces.written == ("the", "\u201c", "end", "\u201d,", None, "(", "3", ")", "The")
    other = raw_text.read('the "end" (3) The')
    assert raw_text.write(read.words, [read, read, other]) == "the \u201cend\u201d, (3) The"
    assert raw_text.write(("the", "end", ","), [read]) == "the end,"  # the mark alone is not in the other's piece


def test_the_majority_at_a_place_decides_on_marks(raw_text: RawText) -> None:
    outputs = [raw_text.read(line) for line in ("It\u2019s  10 %", "It\u2019s 10%", "It's 10%")]
    assert raw_text.write(("It", "'s", "10", "%"), outputs) == "It\u2019s 10%"
    assert raw_text.write(("It", "'s", "10", "%"), outputs, [1.0, 0.2, 0.3]) == "It\u2019s  10 %"


def test_a_word_that_moves_is_written_as_elsewhere(raw_text: RawText) -> None:
    outputs = [raw_text.read("Yesterday so\u00adlo \u2018x\u2019")]
    assert raw_text.write(("So\u00adlo".replace("\u00ad", ""), "yesterday"), outputs) == "So\u00adlo yesterday"


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_characters_are_words_where_there_are_no_blanks(language: str) -> None:
    own = RawText(language)
    line = "昨日、アメリカへ「Python 3」を持って行った。"
    read = own.read(line)
    assert read.words[:7] == ("昨", "日", "、", "アメリカ", "へ", "「", "Python")
    assert own.write(read.words, [read]) == line
    assert own.write(("昨", "日", "、", "アメリカ", "へ", "2", "回", "。")) == "昨日、アメリカへ2回。"
    assert own.read("我有 3 本书。").blanks == (False, False, True, True, False, False)


@pytest.fixture(scope="module")
def combination(shared_folder: Path) -> toledo.Combination:
    """Three systems, tuned on a few raw segments."""
    folder = shared_folder / "data" / "wmt22-syscomb" / "de-en" / "tune" / "raw"
    names = {"A": "sys.Online-A.en", "B": "sys.Online-W.en", "C": "sys.PROMT.en"}
    texts = {name: (folder / file).read_text("utf-8").splitlines()[:12] for name, file in names.items()}
    references = (folder / "ref.A.en").read_text("utf-8").splitlines()[:12]
    return toledo.Combination.tune(texts, references, threads=1)


@pytest.mark.parametrize("pair", PAIRS)
def test_a_system_alone_is_combined_into_what_it_wrote(
    shared_folder: Path, combination: toledo.Combination, pair: str
) -> None:
    """Through networks, lattice, language model and rule: said by one system while others are silent, or by all."""
    lines = []
    for file in sorted((shared_folder / "data" / "wmt22-syscomb" / pair / "test" / "raw").glob("sys.*.en")):
        own = file.read_text("utf-8").split("\n")[:-1]
        lines += own[len(lines) % 7 :: len(own) // 12]
    silent = [""] * len(lines)
    for others in (silent, lines):
        assert combination.run({"A": lines, "B": others, "C": others}, threads=1) == lines


def test_what_most_systems_wrote_comes_out_as_they_wrote_it(combination: toledo.Combination) -> None:
    line = "(3) The “new” site https://a.B/c?d=1 costs 1,000.5 €/m² – that’s 10% more."
    said = {"A": [line], "B": [line.replace("site", "page")], "C": [line.replace("more", "less")]}
    assert combination.run(said, threads=1) == [line]
