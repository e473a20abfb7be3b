"""Word alignments in the format of Pharaoh and Moses: a line for each sentence pair, source-target links: `0-0 1-2`.

Derivations as Moses writes them with `-report-segmentation`: `the house |0-1| is |2-2|`, source words from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.files import file_error, read_bytes_lines, read_lines
from toledo.phrases.table import WordLinks
from toledo.text.corpus import ParallelCorpus
from toledo.text.vocabulary import split_words

LINES_AT_ONCE = 20_000

_LINE = re.compile(rb"\s*(?:[0-9]{1,9}-[0-9]{1,9}(?:\s+|$))*")
_LINK = re.compile(rb"[0-9]{1,9}-[0-9]{1,9}")


def read_alignments(given: str | Path | Iterable[str], corpus: ParallelCorpus) -> WordLinks:
    """Read the alignments of a corpus from a file or from lines; links may be in any order, a line may be empty."""
    if isinstance(given, str | Path):
        path, lines = given, read_bytes_lines(given)
    else:
        path, lines = "alignments", iter([text.encode() for text in given])
    links, counts = [np.empty((0, 2), np.int32)], [np.empty(0, np.int64)]
    done = 0
    while block := list(islice(lines, LINES_AT_ONCE)):
        _check_syntax(path, done, block)
        counts.append(np.array([line.count(b"-") for line in block], np.int64))
        numbers = b" ".join(block).replace(b"-", b" ").split()
        links.append(np.array(numbers, "S9").astype(np.int32).reshape(-1, 2))
        done += len(block)
    if done != len(corpus):
        message = f"{done} lines of alignments for {len(corpus)} sentence pairs"
        raise file_error(path, None, message, "align the same text, one line for each sentence pair")
    alignments = _sorted(np.concatenate(counts), np.concatenate(links))
    _check_range(path, alignments, corpus)
    return alignments


def alignment_lines(alignments: WordLinks) -> Iterator[str]:
    """Yield the line of each sentence pair."""
    for first in range(0, len(alignments), LINES_AT_ONCE):
        offsets = alignments.offsets[first : first + LINES_AT_ONCE + 1]
        links = [f"{source}-{target}" for source, target in alignments.links[offsets[0] : offsets[-1]].tolist()]
        bounds = (offsets - offsets[0]).tolist()
        for begin, end in pairwise(bounds):
            yield " ".join(links[begin:end])


def _check_syntax(path: str | Path, done: int, lines: list[bytes]) -> None:
    for number, line in enumerate(lines, start=done + 1):
        if _LINE.fullmatch(line) is None:
            bad = next(text for text in line.split() if _LINK.fullmatch(text) is None)
            remedy = "write links as source-target, positions counted from 0, for example: 0-0 1-2"
            raise file_error(path, number, f"{bad.decode()!r} is not a link", remedy)


def _sorted(counts: NDArray[np.int64], links: NDArray[np.int32]) -> WordLinks:
    """Return links in order without duplicates."""
    pairs = np.repeat(np.arange(counts.size), counts)
    order = np.lexsort((links[:, 1], links[:, 0], pairs))
    pairs, links = pairs[order], links[order]
    new = np.ones(pairs.size, np.bool_)
    new[1:] = (np.diff(pairs) > 0) | (np.diff(links, axis=0) != 0).any(axis=1)
    counts = np.bincount(pairs[new], minlength=counts.size)
    return WordLinks.from_lengths(np.ascontiguousarray(links[new]), counts)


def _check_range(path: str | Path, alignments: WordLinks, corpus: ParallelCorpus) -> None:
    bad = alignments.first_outside(corpus)
    if bad is None:
        return
    source, target = int(corpus.source.lengths[bad]), int(corpus.target.lengths[bad])
    link = next(link for link in alignments[bad].tolist() if link[0] >= source or link[1] >= target)
    message = f"the link {link[0]}-{link[1]} leads out of a sentence pair of {source} and {target} words"
    raise file_error(path, bad + 1, message, "align the same text, and give source and target in the same order")


SPAN = re.compile(
    r"\|(\d{1,9})-(\d{1,9})(?:,[^|]*)?\|", re.ASCII
)  # with -report-segmentation-enriched, more follows a comma


@dataclass(frozen=True)
class SegmentedPhrase:
    """Target words for the source words from `begin` up to `end`."""

    begin: int
    end: int
    words: tuple[str, ...]


def read_segmentation(path: str | Path) -> list[list[SegmentedPhrase]]:
    """Read the phrases of each line in target order."""
    return [_phrases(line, path, number) for number, line in enumerate(read_lines(path), start=1)]


def _phrases(line: str, path: str | Path, number: int) -> list[SegmentedPhrase]:
    remedy = "write the source span |first-last| after each phrase, as Moses does with -report-segmentation"
    phrases, words = [], list[str]()
    for token in split_words(line):
        span = SPAN.fullmatch(token)
        if span is None:
            words.append(token)
            continue
        begin, last = int(span[1]), int(span[2])
        if last < begin:
            raise file_error(path, number, f"the span {token} ends before it begins", remedy)
        phrases.append(SegmentedPhrase(begin, last + 1, tuple(words)))
        words = []
    if words:
        raise file_error(path, number, f"no source span follows {' '.join(words)!r}", remedy)
    return phrases
