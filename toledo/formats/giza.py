"""Word alignments as GIZA++ and MGIZA++ write them (`*.A3.final`), one file for each direction.

    # Sentence pair (1) source length 2 target length 3 alignment score : 0.0123
    the black dog
    NULL ({ }) lo ({ 1 }) huno ({ 2 3 })

The second line is a sentence, the third its translation, each word with the places of those words that it generates,
counted from 1. So every word of the second line has at most one link. Which of the two languages it is in is seen from
the words. MGIZA++ writes parts whose pairs are in any order: the number in brackets counts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import file_error, read_lines
from toledo.phrases.settings import Symmetrization
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.symmetrize import UNALIGNED, OneWay, symmetrize
from toledo.text.corpus import ParallelCorpus
from toledo.text.vocabulary import split_words

log = logging.getLogger(__name__)

_HEAD = re.compile(r"# Sentence pair \(([0-9]{1,9})\) source length [0-9]+ target length [0-9]+ alignment score : .*")
_WORD = re.compile(r"(\S+) \(\{((?: [0-9]{1,9})*) \}\) ?")
_REMEDY = "give the two files that end in A3.final, as GIZA++ wrote them"
NULL_WORD = "NULL"


class _Pair(NamedTuple):
    """A sentence pair: where it is in the file, its place in the text, and which words generate which."""

    line: int
    place: int
    words: list[str]  # each with at most one link
    others: list[str]
    generated: list[list[int]]  # places of `words`, from 0, for each of `others`


def read_giza(
    files: Sequence[str | Path], corpus: ParallelCorpus, method: Symmetrization, threads: int | None = None
) -> WordLinks:
    """Read the alignments of both directions, in any order, and symmetrize them."""
    first, second = files
    read = {forward: _read_direction(path, corpus, forward=forward) for path, forward in _directions(files, corpus)}
    if len(read) != 2:
        raise InputError(f"{first} and {second} are of the same direction", remedy="give one file for each direction")
    one_way = OneWay(corpus.source.offsets, corpus.target.offsets, read[True], read[False])
    return symmetrize(one_way, method, threads)


def _directions(files: Sequence[str | Path], corpus: ParallelCorpus) -> Iterator[tuple[str | Path, bool]]:
    """Yield each file, and whether it gives each target word a source word."""
    for place, path in enumerate(files):
        forward = None
        for pair in _pairs(path):
            _require_place(path, pair, corpus)
            source, target = _words(corpus, pair.place)
            if (pair.others, pair.words) != (source, target) and (pair.words, pair.others) != (source, target):
                message = f"sentence pair {pair.place + 1} is not that of the text"
                raise file_error(path, pair.line, message, "give the tokenized text that GIZA++ has aligned")
            forward = place == 0  # if all pairs are copies, both directions are the same
            if source != target:
                forward = pair.words == target
                break
        if forward is None:
            raise file_error(path, None, "the file is empty", _REMEDY)
        yield path, forward


def _read_direction(path: str | Path, corpus: ParallelCorpus, *, forward: bool) -> NDArray[np.int32]:
    """Return for each word of one side the place of its word on the other side."""
    own, other = (corpus.target, corpus.source) if forward else (corpus.source, corpus.target)
    links = np.full(int(own.offsets[-1]), UNALIGNED, np.int32)
    seen = np.zeros(len(corpus), np.bool_)
    for pair in _pairs(path):
        _require_place(path, pair, corpus)
        begin, length = int(own.offsets[pair.place]), int(own.lengths[pair.place])
        if (len(pair.words), len(pair.others)) != (length, other.lengths[pair.place]):
            message = f"sentence pair {pair.place + 1} has {len(pair.words)} and {len(pair.others)} words"
            remedy = f"the text has {length} and {other.lengths[pair.place]}: give the text that GIZA++ has aligned"
            raise file_error(path, pair.line, message, remedy)
        for place, generated in enumerate(pair.generated):
            links[[begin + word for word in generated]] = place
        seen[pair.place] = True
    if missing := int(np.count_nonzero(~seen)):
        log.warning(
            "%s has no alignment for %d of %d sentence pairs; they stay without links", path, missing, seen.size
        )
    return links


def _pairs(path: str | Path) -> Iterator[_Pair]:
    lines = read_lines(path)
    number = 1
    while block := list(islice(lines, 3)):
        head = _HEAD.fullmatch(block[0])
        if head is None or len(block) < 3:
            raise file_error(path, number, "not a sentence pair of GIZA++", _REMEDY)
        words = split_words(block[1])
        others, generated = _generated(path, number + 2, block[2], len(words))
        yield _Pair(number, int(head[1]) - 1, words, others, generated)
        number += 3


def _generated(path: str | Path, number: int, line: str, length: int) -> tuple[list[str], list[list[int]]]:
    found, end = [], 0
    while match := _WORD.match(line, end):
        end = match.end()
        found.append((match[1], [int(place) - 1 for place in match[2].split()]))
    if end != len(line) or not found or found[0][0] != NULL_WORD:
        raise file_error(path, number, "not an alignment of GIZA++", "write NULL ({ }) word ({ 1 2 }) …")
    places = [place for _, some in found for place in some]
    if len(set(places)) != len(places) or not all(0 <= place < length for place in places):
        message = f"words are counted from 1 to {length}, and each has one place at most"
        raise file_error(path, number, message, _REMEDY)
    return [word for word, _ in found[1:]], [some for _, some in found[1:]]


def _require_place(path: str | Path, pair: _Pair, corpus: ParallelCorpus) -> None:
    if not 0 <= pair.place < len(corpus):
        message = f"sentence pair {pair.place + 1}, but the text has {len(corpus)}"
        raise file_error(path, pair.line, message, "give the text that GIZA++ has aligned")


def _words(corpus: ParallelCorpus, place: int) -> tuple[list[str], list[str]]:
    source = corpus.source_vocabulary.words(corpus.source[place].tolist())
    return source, corpus.target_vocabulary.words(corpus.target[place].tolist())
