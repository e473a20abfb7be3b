"""Derivations as Moses writes them with `-report-segmentation`: `the house |0-1| is |2-2|`, source words from 0."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from toledo.errors import InputError
from toledo.files import display_name, read_lines
from toledo.vocabulary import split_words

SPAN = re.compile(r"\|(\d+)-(\d+)(?:,[^|]*)?\|")  # with -report-segmentation-enriched, more follows a comma


@dataclass(frozen=True)
class SegmentedPhrase:
    """Target words for the source words from `begin` up to `end`."""

    begin: int
    end: int
    words: tuple[str, ...]


def read_segmentation(path: str | Path) -> list[list[SegmentedPhrase]]:
    """The phrases of each line in target order."""
    return [_phrases(line, path, number) for number, line in enumerate(read_lines(path), start=1)]


def _phrases(line: str, path: str | Path, number: int) -> list[SegmentedPhrase]:
    found, words = [], list[str]()
    for token in split_words(line):
        span = SPAN.fullmatch(token)
        if span is None:
            words.append(token)
            continue
        begin, last = int(span[1]), int(span[2])
        if last < begin:
            raise _error(f"the span {token} ends before it begins", path, number)
        found.append(SegmentedPhrase(begin, last + 1, tuple(words)))
        words = []
    if words:
        raise _error(f"no source span follows {' '.join(words)!r}", path, number)
    return found


def _error(message: str, path: str | Path, number: int) -> InputError:
    remedy = "write the source span |first-last| after each phrase, as Moses does with -report-segmentation"
    return InputError(message, file=display_name(path), line=number, remedy=remedy)
