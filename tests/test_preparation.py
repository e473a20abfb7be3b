"""Raw text to the words of a model and back."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.errors import InputError, MissingExtraError
from toledo.text.characters import clean_characters, main_script
from toledo.text.preparation import TextSide, make_side
from toledo.text.tokenizers import TOKENIZERS, Chinese, make_tokenizer
from toledo.text.vocabulary import Vocabulary, split_words

ENGLISH = ["The dog isn't here. \"It's gone,\" he said.", "We saw the dog.", "A dog saw Berlin; Berlin is big."]


def english() -> TextSide:
    side = make_side("en", None, ENGLISH)
    return side.learn_case([side.tokens(text) for text in ENGLISH])


def test_characters() -> None:
    """One form for each character: composed, without marks that nobody sees, blanks for blanks of all kinds."""
    assert clean_characters("\ufeffCafe\u0301\u00a0 au\u200b lait\r\n") == "Café au lait"
    assert clean_characters("l\u2019homme \u2019n R&amp;D &foo; &#228;\x07") == "l'homme \u2019n R&D &foo; ä"


@given(st.text().map(lambda text: text.replace("&", "")))
def test_clean_characters_stay(text: str) -> None:
    once = clean_characters(text)
    assert not any(ord(one) < 32 for one in once)
    assert clean_characters(once) == once


def test_scripts() -> None:
    assert main_script(["Это дом, a", "и"]) == "CYRILLIC"
    assert main_script(["これは日本語です"]) == "CJK"
    assert main_script(["123 ."]) == ""


def test_words_and_back() -> None:
    side = english()
    assert side.words(ENGLISH[0])[:4] == ["the", "dog", "isn", "'t"]
    assert side.words("Berlin is big.") == ["Berlin", "is", "big", "."]
    for text in ENGLISH:
        assert side.write(" ".join(side.words(text))) == text
    assert side.words("The [b] & c|d") == ["the", "&#91;", "b", "&#93;", "&amp;", "c", "&#124;", "d"]
    assert side.write("the &#91; b &#93; &amp; c") == "The [b] & c"


def test_text_without_capitals_gets_none() -> None:
    texts = ["a dog.", "the dog saw Berlin."]
    side = make_side("en", None, texts)
    side = side.learn_case([side.tokens(text) for text in texts])
    assert side.truecaser is None
    assert side.write("the dog .") == "the dog."


def test_what_is_saved_comes_back() -> None:
    side = english()
    assert TextSide.from_table(side.to_table(), side.to_arrays()) == side
    plain = TextSide("de")
    assert TextSide.from_table(plain.to_table(), plain.to_arrays()) == plain


def test_doubts() -> None:
    side, blanks = english(), TextSide()
    assert side.doubt(ENGLISH) == side.doubt([]) == blanks.doubt([]) == ""
    assert '<n translation="flat" is taken as words' in blanks.doubt(["a", 'a <n translation="flat">b</n> .'])
    assert "<wall/> is taken as words" in blanks.doubt(["a <wall/> b ."])
    assert blanks.doubt(["a < wall / > b .", "a &lt;wall/&gt; b ."]) == ""
    assert "looks tokenized" in side.doubt(["the dog is here .", "a dog ."])
    assert "most letters are CYRILLIC, and LATIN is expected" in side.doubt(["Это русское предложение."] * 2)
    assert "all in lower case" in side.doubt(["the dog is here."] * 5)
    assert not side.doubt(["the dog is here."])
    assert "looks raw ('here.')" in blanks.doubt(["the dog is here.", "it is"])
    assert not blanks.doubt(["the dog is here ."])
    assert not blanks.doubt(["the dog is here."], Vocabulary(["here."]))


def test_chinese_is_written_without_blanks() -> None:
    side = make_side("zh-TW", None, [])
    assert isinstance(side.tokenizer, Chinese)
    words = side.words("我在New York，很好。")
    assert words == ["我", "在", "New", "York", "，", "很", "好", "。"]
    assert side.write(" ".join(words)) == "我在New York，很好。"


@pytest.mark.parametrize(
    ("language", "module", "line"),
    [
        ("ja", "sacrebleu.tokenizers.tokenizer_ja_mecab", 'pip install "sacrebleu[ja]"'),
        ("th", "sentencepiece", 'pip install "toledo-mt[sentencepiece]"'),
    ],
)
def test_what_is_missing_is_said(language: str, module: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        make_side(language, None, ["บ้าน"])
    assert line in str(caught.value)


def test_tokenizers_by_name(tmp_path: Path) -> None:
    assert TOKENIZERS.names() == ["moses", "zh", "ja-mecab", "ko-mecab", "sentencepiece"]
    assert make_tokenizer("ko") == make_tokenizer("xx") == TOKENIZERS.make("moses")
    with pytest.raises(InputError, match="ko-mecab cannot be undone"):
        make_side("ko", "ko-mecab", [], target=True)


def test_pieces() -> None:
    pytest.importorskip("sentencepiece", reason="needs the extra sentencepiece")
    texts = [
        f"{subject} {verb} {thing}." for subject in ("Er", "Sie") for verb in ("sieht", "hat") for thing in ENGLISH
    ]
    side = make_side("th", "sentencepiece:size=200", texts).learn_case(texts)
    for text in texts:
        words = side.words(text)
        assert len(words) > len(split_words(text))
        assert side.write(" ".join(words)) == text
    assert TextSide.from_table(side.to_table(), side.to_arrays()).words(texts[0]) == side.words(texts[0])


def test_words_of_japanese() -> None:
    pytest.importorskip("MeCab", reason="needs the extra ja of sacreBLEU")
    side = make_side("ja", None, [])
    words = side.words("これは家です。")
    assert len(words) > 3
    assert side.write(" ".join(words)) == "これは家です。"


def test_most_real_sentences_come_back(shared_folder: Path) -> None:
    """Text that a model reads and writes unchanged: more than 99.5 % of captions in three languages."""
    for pair, language in (("de", "de"), ("de", "en"), ("fr", "fr")):
        file = shared_folder / "data" / f"multi30k-{pair}-en" / "raw" / f"val.{language}"
        lines = file.read_text("utf-8").splitlines()
        side = make_side(language, None, lines)
        back = [side.write(side.tokens(line)) for line in lines]
        same = sum(clean_characters(line) == one for line, one in zip(lines, back, strict=True))
        assert same > 0.995 * len(lines)
