"""Language models in the ARPA format of KenLM, SRILM and IRSTLM, in and out.

    \\data\\
    ngram 1=4
    …
    \\1-grams:
    -1.2	<unk>	0
    …
    \\end\\

A line is a log10 probability, the words, and, below the highest order, a log10 back-off weight, 0 if it is left out.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.encoding import MISSING, WordIndex, build_word_index
from toledo.errors import InputError
from toledo.files import atomic_writer, display_name, read_bytes_lines
from toledo.formats.arpa_reading import LineReader, NGramLines, find_places, find_words
from toledo.formats.arpa_writing import ngram_lines
from toledo.hashing import NOT_FOUND, PairIndex, build_pair_index
from toledo.language_model import BackoffModel, LanguageModel, NGrams
from toledo.language_model.backoff import MOST_WORDS
from toledo.progress import Progress, silent
from toledo.sorting import sort_pairs
from toledo.vocabulary import BEGIN, END, RESERVED, UNKNOWN, Vocabulary

log = logging.getLogger(__name__)

SCORE_WITHOUT_UNKNOWN = -100.0  # KenLM's choice for a model without <unk>
BINARY = b"mmap lm "  # how the binary files of KenLM begin
COUNT = re.compile(rb"ngram (\d+) ?= ?(\d+)")


@dataclass(frozen=True)
class _Section:
    """The n-grams of an order, and their places by (place of the context, word)."""

    ngrams: NGrams
    places: PairIndex


def read_arpa(path: str | Path, vocabulary: Vocabulary, progress: Progress = silent) -> LanguageModel:
    """Read a model; words that are new join the vocabulary."""
    _refuse_binary(path)
    reader = LineReader(path, progress)
    counts = _read_counts(reader)
    sections = [_read_unigrams(reader, counts[0], len(counts) == 1, vocabulary)]
    words = build_word_index(vocabulary)
    for order, count in enumerate(counts[1:], start=2):
        reader.expect(b"\\%d-grams:" % order, f"after {counts[order - 2]} {order - 1}-grams")
        sections.append(_read_section(reader, order, count, order == len(counts), words, sections))
    reader.expect(b"\\end\\", f"after {counts[-1]} {len(counts)}-grams")
    reader.expect_end()
    return LanguageModel(BackoffModel(tuple(section.ngrams for section in sections)))


def write_arpa(path: str | Path, model: LanguageModel, vocabulary: Vocabulary, progress: Progress = silent) -> None:
    """Write a model with as many digits as it takes to read the same numbers back."""
    orders = model.ngrams.orders
    with progress(f"writing {display_name(path)}", sum(map(len, orders))) as advance, atomic_writer(path) as stream:
        stream.write("\\data\\\n")
        stream.writelines(f"ngram {order}={len(ngrams)}\n" for order, ngrams in enumerate(orders, start=1))
        for order in range(1, len(orders) + 1):
            stream.write(f"\n\\{order}-grams:\n")
            for lines, text in ngram_lines(model.ngrams, order, vocabulary):
                stream.write(text)
                advance(lines)
        stream.write("\n\\end\\\n")


def _refuse_binary(path: str | Path) -> None:
    if Path(path).is_file() and next(read_bytes_lines(path), b"").startswith(BINARY):
        raise InputError(
            "a binary file of KenLM, not an ARPA file",
            file=display_name(path),
            remedy="give the ARPA file that it was made from (with a moses.ini: --language-model FILE.arpa)",
        )


def _read_counts(reader: LineReader) -> list[int]:
    """The header; passes the line that opens the unigrams."""
    reader.expect(b"\\data\\", "at the beginning")
    counts: list[int] = []
    while (line := b" ".join(reader.next_line("\\1-grams:"))) != b"\\1-grams:":
        match = COUNT.fullmatch(line)
        if not match or int(match[1]) != len(counts) + 1:
            what = f"expected the number of {len(counts) + 1}-grams or \\1-grams:, found {line[:80].decode()!r}"
            raise reader.error(what, f"write in the header: ngram {len(counts) + 1}=...")
        counts.append(int(match[2]))
    if not 1 <= len(counts) <= MOST_WORDS:
        raise reader.error(f"a model of order {len(counts)}", f"only orders from 1 to {MOST_WORDS} can be read")
    return counts


def _read_unigrams(reader: LineReader, count: int, highest: bool, vocabulary: Vocabulary) -> _Section:
    start, parts, ids = reader.line, [], []
    for lines in reader.ngram_lines(1, count, highest):
        ids.append(vocabulary.encode_lines([b" ".join(lines.block.spellings(lines.words[:, 0]))])[0])
        parts.append(lines)
    words = np.concatenate([np.empty(0, np.int32), *ids])
    scores, backoffs = _joined(parts)
    missing = [RESERVED[word] for word in (BEGIN, END) if word not in words]
    if missing:
        raise reader.error(f"the model has no unigram {missing[0]}", "estimate it with sentence boundaries")
    if UNKNOWN not in words:
        log.warning(
            "the language model has no <unk>: unknown words get the log10 probability %g", SCORE_WITHOUT_UNKNOWN
        )
        words, scores = np.append(words, np.int32(UNKNOWN)), np.append(scores, np.float32(SCORE_WITHOUT_UNKNOWN))
        backoffs = backoffs if highest else np.append(backoffs, np.float32(0))
    return _section(reader, start, 1, np.zeros_like(words), words, scores, backoffs)


def _read_section(
    reader: LineReader, order: int, count: int, highest: bool, index: WordIndex, sections: list[_Section]
) -> _Section:
    start, parts, contexts, words = reader.line, [], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for lines in reader.ngram_lines(order, count, highest):
        ids = _known_words(reader, lines, index)
        contexts.append(_places_of_contexts(reader, lines, ids, sections))
        words.append(ids[:, -1])
        parts.append(lines)
    return _section(reader, start, order, np.concatenate(contexts), np.concatenate(words), *_joined(parts))


def _known_words(reader: LineReader, lines: NGramLines, index: WordIndex) -> NDArray[np.int32]:
    tokens, flat = lines.block.tokens, lines.words.ravel()
    ids = find_words(index, lines.block.text, tokens.begin[flat], tokens.end[flat])
    missing = np.flatnonzero(ids == MISSING)
    if missing.size:
        word = lines.block.word(int(flat[missing[0]])).decode()
        line = lines.first_line + int(missing[0]) // lines.words.shape[1]
        raise reader.error(f"the word {word!r} is not among the unigrams", line=line)
    return ids.reshape(lines.words.shape)


def _places_of_contexts(
    reader: LineReader, lines: NGramLines, ids: NDArray[np.int32], sections: list[_Section]
) -> NDArray[np.int32]:
    places = np.zeros(len(ids), np.int32)
    for section, column in zip(sections, ids.T, strict=False):
        places = find_places(section.places, places, np.ascontiguousarray(column))
    lost = np.flatnonzero(places == NOT_FOUND)
    if lost.size:
        order = ids.shape[1]
        what = f"the first {order - 1} words of this {order}-gram are not among the {order - 1}-grams"
        raise reader.error(
            what, "estimate or prune the model with a tool that keeps contexts", lines.first_line + int(lost[0])
        )
    return places


def _joined(parts: list[NGramLines]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    empty = np.empty(0, np.float32)
    scores, backoffs = [part.scores for part in parts], [part.backoffs for part in parts]
    return np.concatenate([empty, *scores]), np.concatenate([empty, *backoffs])


def _section(
    reader: LineReader,
    start: int,
    order: int,
    contexts: NDArray[np.int32],
    words: NDArray[np.int32],
    scores: NDArray[np.float32],
    backoffs: NDArray[np.float32],
) -> _Section:
    """Sort n-grams that stood in the lines after `start`."""
    by_place = sort_pairs(contexts, words)
    contexts, words = contexts[by_place], words[by_place]
    twice = np.flatnonzero((contexts[1:] == contexts[:-1]) & (words[1:] == words[:-1]))
    if twice.size:
        raise reader.error(
            f"this {order}-gram stands here twice", "remove one", start + int(by_place[twice[0] + 1]) + 1
        )
    ngrams = NGrams(contexts, words, scores[by_place], backoffs[by_place] if backoffs.size else backoffs)
    return _Section(ngrams, build_pair_index(contexts, words))
