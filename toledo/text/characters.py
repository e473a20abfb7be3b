"""Characters of raw text: one form for each, and the script that they belong to."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

# Control characters that are no white space, soft hyphens, marks of direction and of byte order.
_INVISIBLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\u200e\u200f\u2060\ufeff]")
_SPACES = re.compile(r"\s+")
_APOSTROPHE = re.compile(r"(?<=[^\W\d_])[’ʼ](?=[^\W\d_])")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});")

CJK = "CJK"
_WITHOUT_BLANKS = {CJK, "THAI", "LAO", "KHMER", "MYANMAR"}
_ONE_SCRIPT = {"HIRAGANA": CJK, "KATAKANA": CJK, "KATAKANA-HIRAGANA": CJK, "BOPOMOFO": CJK}


def clean_characters(text: str) -> str:
    """Return text in Unicode's form NFC, with single spaces and without control characters.

    Entities of HTML become characters, and an apostrophe inside a word becomes the plain one.
    """
    if text.isascii() and text.isprintable() and "&" not in text and "  " not in text:
        return text.strip()
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", text))
    return _SPACES.sub(" ", _APOSTROPHE.sub("'", text)).strip()


def scripts(texts: Iterable[str]) -> Counter[str]:
    """Count the letters of texts by their scripts: LATIN, CYRILLIC, CJK (also for Kana), …"""
    found: Counter[str] = Counter()
    for text in texts:
        for letter, count in Counter(text).items():
            if name := _script(letter):
                found[name] += count
    return found


def main_script(texts: Iterable[str]) -> str:
    """Return the script of most letters, nothing if there are no letters."""
    found = scripts(texts).most_common(1)
    return found[0][0] if found else ""


def lack_blanks(texts: Sequence[str]) -> bool:
    """Return whether texts are in a script that has no blanks between words, and nobody has put them there."""
    letters, blanks = scripts(texts), sum(text.count(" ") for text in texts)
    return bool(letters) and letters.most_common(1)[0][0] in _WITHOUT_BLANKS and letters.total() > 5 * blanks


@lru_cache(maxsize=1 << 16)
def _script(letter: str) -> str:
    if not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "").partition(" ")[0]
    return _ONE_SCRIPT.get(name, name)
