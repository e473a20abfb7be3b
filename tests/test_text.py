"""Tokens and back."""

from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.text.tokens import Tokenizer, Truecaser, detruecase, escape, is_clean, unescape


def test_tokens_and_back() -> None:
    tokeniser = Tokenizer("en")
    line = 'He said: "It\'s 5 < 6 | 7 [sic]."'
    tokens = tokeniser.tokenize(line)
    assert tokens == 'He said : " It \'s 5 &lt; 6 &#124; 7 &#91; sic &#93; . "'
    assert tokeniser.detokenize(tokens) == line


def test_escaping_round_trip() -> None:
    assert escape("<s> a|b [x]") == "&lt;s&gt; a&#124;b &#91;x&#93;"
    for line in ("<s> a|b [x]", "R & D &lt; &amp;lt;", "&#124;"):
        assert unescape(escape(line)) == line
    assert unescape("&quot; it &apos;s &amp;lt;") == "\" it 's &lt;"


def test_truecasing(tmp_path: Path) -> None:
    truecaser = Truecaser.train(["The Haus is big . The man saw the Haus", "A man saw the house"])
    truecaser.save(tmp_path / "model")
    loaded = Truecaser.load(tmp_path / "model")
    assert loaded == truecaser
    assert loaded.truecase('" The man . Haus . Unseen') == '" the man . Haus . Unseen'
    assert detruecase("the man . “ haus . ä") == "The man . “ Haus . Ä"


def test_a_bad_truecasing_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("Haus\nhaus\n")
    with pytest.raises(InputError, match="not one new word") as caught:
        Truecaser.load(tmp_path / "model")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("source", "target", "clean"),
    [("a b", "c", True), ("", "c", False), ("a b c d e f", "c", False), ("a b c", "d", False), ("<s>", "a", False)],
)
def test_cleaning(source: str, target: str, clean: bool) -> None:
    assert is_clean(source, target, shortest=1, longest=5, most_ratio=2.0) is clean
