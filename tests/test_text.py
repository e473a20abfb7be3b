"""Tokens and back."""

from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.text import Truecaser, clean, detokenize, escape, lowercase, normalize, tokenize, unescape
from toledo.text.settings import Cleaning
from toledo.text.tokens import is_clean


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


@pytest.mark.parametrize(
    ("source", "target", "fit"),
    [("a b", "c", True), ("", "c", False), ("a b c d e f", "c", False), ("a b c", "d", False), ("<s>", "a", False)],
)
def test_cleaning(source: str, target: str, fit: bool) -> None:
    assert is_clean(source, target, Cleaning(min_length=1, max_length=5, ratio=2.0)) is fit


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


def test_cleaning_lists(tmp_path: Path) -> None:
    (tmp_path / "en").write_text("x\ny\nz z z\n")
    assert clean(["a", "", "c"], tmp_path / "en", ratio=2) == (["a"], ["x"])
    with pytest.raises(InputError, match="one side has only 2 segments"):
        clean(["a", "b"], tmp_path / "en")
