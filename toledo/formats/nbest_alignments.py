"""Which source words a hypothesis translates: phrases and word links, as n-best lists write them.

`|0-1|` after each phrase of the text (-report-segmentation), `0-1=0-2` for each phrase in a field of its own, and `0-0`
for each pair of linked words in another.
"""

from __future__ import annotations

import re

from toledo.formats.features import words_text
from toledo.formats.hypotheses import Entry, PhraseSpan

Links = tuple[tuple[int, int], ...]
Phrases = tuple[PhraseSpan, ...]

MARK = re.compile(r"\|(\d+)-(\d+)\|", re.ASCII)
NOT_MARKED = re.compile(r"\|\|\||(^|\s)\|\d+-\d+\|(\s|$)")
LINKS = re.compile(rb"\s*(\d+-\d+\s*)*")
PHRASES = re.compile(rb"\s*(\d+(-\d+)?=(\d+(-\d+)?)?\s*)*")


def split_marks(words: list[str]) -> tuple[list[str], Phrases]:
    """Words and phrases from text with |i-j| after each phrase; text that does not end so has no marks."""
    if not words or words[-1][-1] != "|" or not MARK.fullmatch(words[-1]):
        return words, ()
    plain: list[str] = []
    phrases = []
    start = 0
    for token in words:
        if match := MARK.fullmatch(token):
            phrases.append(PhraseSpan(range(int(match[1]), int(match[2]) + 1), range(start, len(plain))))
            start = len(plain)
        else:
            plain.append(token)
    return plain, tuple(phrases)


def marked_text(entry: Entry) -> str:
    """Text with |i-j| after each phrase; refuses words that look so themselves."""
    parts = []
    for source, target in entry.phrases:
        words = words_text(entry.words[target.start : target.stop], "text with segmentation", NOT_MARKED)
        parts.append(f"{words} |{source[0]}-{source[-1]}|")
    return " ".join(parts)


def parse_links(field: bytes) -> Links | None:
    """Word links, or None if the field is something else."""
    if not LINKS.fullmatch(field):
        return None
    return tuple((int(source), int(target)) for source, _, target in (t.partition(b"-") for t in field.split()))


def parse_phrases(field: bytes) -> Phrases | None:
    """Phrases, or None if the field is something else; nothing after `=` is an empty target side."""
    if not PHRASES.fullmatch(field):
        return None
    pairs = (token.split(b"=") for token in field.split())
    return tuple(PhraseSpan(_positions(source), _positions(target)) for source, target in pairs)


def links_text(links: Links) -> str:
    """Word links as a field."""
    return " ".join(f"{source}-{target}" for source, target in links)


def phrases_text(phrases: Phrases) -> str:
    """Phrases as a field."""
    return " ".join(f"{_positions_text(span.source)}={_positions_text(span.target)}" for span in phrases)


def _positions(text: bytes) -> range:
    """From `1-4` or `1`: the first and the last position."""
    if not text:
        return range(0)
    first, _, last = text.partition(b"-")
    return range(int(first), int(last or first) + 1)


def _positions_text(positions: range) -> str:
    if len(positions) < 2:
        return str(positions[0]) if positions else ""
    return f"{positions[0]}-{positions[-1]}"
