"""Written text to words and back."""

import pytest

from toledo.combination.written_text import RawText, Written


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
    assert raw_text.read("") == raw_text.read(" \t ") == Written((), ())


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
    assert raw_text.write(("a", "/", "b"), [Written(("a", "/", "b"), None)]) == raw_text.write(("a", "/", "b"))


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_characters_are_words_where_there_are_no_blanks(language: str) -> None:
    own = RawText(language)
    line = "昨日、アメリカへ「Python 3」を持って行った。"
    read = own.read(line)
    assert read.words[:7] == ("昨", "日", "、", "アメリカ", "へ", "「", "Python")
    assert own.write(read.words, [read]) == line
    assert own.write(("昨", "日", "、", "アメリカ", "へ", "2", "回", "。")) == "昨日、アメリカへ2回。"
    assert own.read("我有 3 本书。").blanks == (False, False, True, True, False, False)
