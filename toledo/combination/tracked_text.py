"""Text that is normalized without forgetting what it was: each character knows its place in the line as written.

The rules are those of the Moses scripts (`MosesPunctNormalizer.substitutions`). They replace marks, move them, and add
and remove blanks. `pieces` puts words back upon the line: a piece is what is written for a word, or for several words
that cannot be told apart there, such as `",` for the words `,` and `"`. Pieces and the gaps between them are the line,
character by character, whatever the rules do.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

# Control characters but the tab; soft hyphen, zero-width space, word joiner, byte order mark
INVISIBLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u00ad\u200b\u2060\ufeff]")
JAMO = range(0x1160, 0x1200)  # Korean vowels and final consonants: they join what stands before, without being marks

Span = tuple[int, int]
Rule = tuple[re.Pattern[str], str]


class TrackedText(NamedTuple):
    """A changed line, and the span of the line as it was written that each of its characters stands for."""

    text: str
    spans: Sequence[Span]


class LinePieces(NamedTuple):
    """What is written for each word, None for a word that is part of the piece before, and the gaps around them.

    There is a gap before each word, empty before a word without a piece of its own, and one after the last.
    """

    written: tuple[str | None, ...]
    gaps: tuple[str, ...]


def visible(line: str) -> TrackedText:
    """Compose characters and drop invisible ones, so that words that look alike are equal.

    Joiners (U+200C, U+200D) stay: some scripts spell with them.
    """
    kept = [(span, INVISIBLE.sub("", cluster)) for span, cluster in _composed(line)]
    return TrackedText("".join(cluster for _, cluster in kept), [span for span, cluster in kept for _ in cluster])


def substitute(tracked: TrackedText, rules: Iterable[Rule]) -> TrackedText:
    """Apply rules one after the other, everywhere in the text."""
    for pattern, template in rules:
        if pattern.search(tracked.text):
            tracked = _substitute(tracked, pattern, template)
    return tracked


def pieces(line: str, tracked: TrackedText, words: Sequence[str]) -> LinePieces:
    """Return what is written for each word in the line; `words` are those of the changed text.

    Where the words are not those of the text, all words from there on are one piece.
    """
    places = _places(tracked.text, words)
    units: list[list[int]] = []  # begin, end and number of words
    for first, last in places:
        begin, end = _covered(tracked.spans[first:last])
        count = 1
        while units and begin < units[-1][1]:  # they share characters, or stand in another order
            before, after, more = units.pop()
            begin, end, count = min(begin, before), max(end, after), count + more
        units.append([begin, end, count])
    if len(places) < len(words):
        rest = units[-1][1] if units else len(line) - len(line.lstrip())
        units.append([rest, max(len(line.rstrip()), rest), len(words) - len(places)])
    written: list[str | None] = []
    gaps, place = [], 0
    for begin, end, count in units:
        written += [line[begin:end], *[None] * (count - 1)]
        gaps += [line[place:begin], *[""] * (count - 1)]
        place = end
    return LinePieces(tuple(written), (*gaps, line[place:]))


def _composed(line: str) -> list[tuple[Span, str]]:
    """Return the line in composed characters (NFC), cut where characters cannot have been joined."""
    if unicodedata.is_normalized("NFC", line):
        return [((place, place + 1), character) for place, character in enumerate(line)]
    starts = [
        place
        for place, character in enumerate(line)
        if place == 0 or (unicodedata.category(character)[0] != "M" and ord(character) not in JAMO)
    ]
    spans = list(zip(starts, [*starts[1:], len(line)], strict=True))
    found = [unicodedata.normalize("NFC", line[begin:end]) for begin, end in spans]
    if "".join(found) != unicodedata.normalize("NFC", line):
        return [((0, len(line)), unicodedata.normalize("NFC", line))]
    return list(zip(spans, found, strict=True))


def _substitute(tracked: TrackedText, pattern: re.Pattern[str], template: str) -> TrackedText:
    text, old_spans = tracked
    parts: list[str] = []
    spans: list[Span] = []
    place = 0
    for match in pattern.finditer(text):
        begin, end = match.span()
        new = match.expand(template) if "\\" in template else template
        if new != match[0]:
            parts += [text[place:begin], new]
            spans += [*old_spans[place:begin], *_moved(match[0], new, old_spans[begin:end])]
            place = end
    return TrackedText("".join([*parts, text[place:]]), [*spans, *old_spans[place:]])


def _moved(old: str, new: str, spans: Sequence[Span]) -> list[Span]:
    """Return the spans of new characters: their own where they stay, or else that of all that is replaced."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    gone, come = old[head : len(old) - tail], new[head : len(new) - tail]
    middle = spans[head : len(old) - tail]
    if len(gone) != len(come) or sorted(gone) == sorted(come):
        core = [span for span, character in zip(middle, gone, strict=True) if not character.isspace()]
        before = spans[head - 1][1] if head else spans[0][0]
        middle = [_covered(core) if core else (before, before)] * len(come)
    return [*spans[:head], *middle, *spans[len(old) - tail :]]


def _common(one: str, two: str) -> int:
    """Return how many characters two texts begin with alike."""
    number = 0
    for left, right in zip(one, two, strict=False):
        if left != right:
            break
        number += 1
    return number


def _covered(spans: Sequence[Span]) -> Span:
    return min(begin for begin, _ in spans), max(end for _, end in spans)


def _places(text: str, words: Sequence[str]) -> list[Span]:
    """Return where the words stand in a text, as far as it consists of them and blanks."""
    places: list[Span] = []
    place = 0
    for word in words:
        while place < len(text) and text[place].isspace():
            place += 1
        if not text.startswith(word, place):
            break
        places.append((place, place + len(word)))
        place += len(word)
    return places


def blanks_before(text: str, words: Sequence[str]) -> list[bool]:
    """Return whether a blank stands before each word of a text; nothing if the text has other characters."""
    places = _places(text, words)
    if len(places) < len(words) or (places and text[places[-1][1] :].strip()):
        return []
    return [begin > end for (_, end), (begin, _) in pairwise([(0, 0), *places])]
