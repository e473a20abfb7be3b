"""Tokens and back."""

from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.text import Truecaser, clean, detokenize, escape, lowercase, normalize, tokenize, unescape


def test_tokens_and_back() -> None:
    line = 'He said: "It\'s 5 < 6 | 7 [sic]."'
    tokens = tokenize(line, "en")
    assert tokens == 'He said : " It \'s 5 &lt; 6 &#124; 7 &#91; sic &#93; . "'
    assert detokenize(tokens, "en") == line


def test_escaping_round_trip() -> None:
    assert escape("<s> a|b [x]") == "&lt;s&gt; a&#124;b &#91;x&#93;"
    assert escape("""'it's' "&" """) == "&apos;it&apos;s&apos; &quot;&amp;&quot; "
    for line in ("<s> a|b [x]", "R & D &lt; &amp;lt;", "&#124;"):
        assert unescape(escape(line)) == line
    assert unescape("&quot; it &apos;s &amp;lt;") == "\" it 's &lt;"


def test_truecasing(tmp_path: Path) -> None:
    truecaser = Truecaser.train(["The Haus is big . The man saw the Haus", "A man saw the house"])
    truecaser.save(tmp_path / "model")
    loaded = Truecaser.load(tmp_path / "model")
    assert loaded == truecaser
    assert loaded.apply('" The man . Haus . Unseen') == '" the man . Haus . Unseen'
    assert Truecaser.undo("the man . “ haus . ä") == "The man . “ Haus . Ä"


def test_a_bad_truecasing_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("Haus\nhaus\n")
    with pytest.raises(InputError, match="not one new word") as caught:
        Truecaser.load(tmp_path / "model")
    assert caught.value.line == 2


def test_one_text_or_many(tmp_path: Path) -> None:
    """A string is one text and gives one; a list, an iterator or a file gives a list."""
    (tmp_path / "file").write_text("A, b\nC\n")
    assert tokenize("A, b", "en") == "A , b"
    assert tokenize(iter(["A, b", "C"]), "en") == tokenize(tmp_path / "file", language="en") == ["A , b", "C"]
    assert lowercase(["A"]) == ["a"]
    assert normalize("„A“", "de") == '"A"'
    truecaser = Truecaser.train(["A man saw the Haus"])
    assert truecaser.apply(["Man", "haus"]) == ["man", "Haus"]
    with pytest.raises(TypeError, match=r"texts\[1\] is None, expected str"):
        lowercase(["a", None])  # type: ignore[list-item]


def test_languages_without_blanks() -> None:
    """Chinese is split into characters and written without blanks, except between words of alphabets."""
    text = "我有an iPhone, 你呢？"
    assert tokenize(text, "zh").split()[:4] == ["我", "有", "an", "iPhone"]
    assert detokenize(tokenize(text, "zh-CN"), "zh") == "我有an iPhone,你呢？"
    with pytest.raises(InputError, match="no tokenizer for th without a model of SentencePiece"):
        tokenize("บ้าน", "th")
    with pytest.raises(InputError, match="no language 'German!'"):
        tokenize("das", "German!")


def test_cleaning_lists(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "en").write_text("x\ny\nz z z\nx\n")
    with caplog.at_level("INFO", logger="toledo"):
        assert clean(["a", "", "c", "a"], tmp_path / "en", ratio=2) == (["a"], ["x"])
    assert "kept 1 of 4 sentence pairs (1 too short, 1 of very unequal length, 1 repeated)" in caplog.text
    assert "  repeated, line 4: a ||| x" in caplog.text
    assert clean(["a", "", "c", "a"], tmp_path / "en", ratio=3, keep_duplicates=True)[0] == ["a", "c", "a"]
    with pytest.raises(InputError, match="sources has 2 segments, targets 4"):
        clean(["a", "b"], tmp_path / "en")
