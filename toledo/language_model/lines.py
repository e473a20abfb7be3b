"""Scoring lines of text as they stand in a file, from bytes to log10 probabilities in one piece of compiled code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import refuse_reserved_words
from toledo.encoding import Encoder, Text, WordIndex, build_word_index, encode_text, padded
from toledo.files import display_name, read_blocks
from toledo.kernels import kernel, map_chunks
from toledo.language_model.automaton import NOT_A_WORD, Automaton
from toledo.language_model.boundaries import count_boundaries
from toledo.language_model.query import LanguageModel
from toledo.language_model.scoring import sentence_scores
from toledo.vocabulary import BEGIN, END, UNKNOWN, Vocabulary

BYTES_AT_ONCE = 1 << 18  # what becomes of them fits into a processor's own cache


class LineScores(NamedTuple):
    """What a model says of each line: its log10 probability, its number of words, and how many of them are unknown."""

    log10: NDArray[np.float64]
    words: NDArray[np.int64]
    unknown: NDArray[np.int64]


class LineScorer:
    """A language model and the words of a vocabulary, made ready once for scoring any number of lines."""

    def __init__(self, model: LanguageModel, vocabulary: Vocabulary) -> None:
        self._automaton = model.automaton
        self._vocabulary = vocabulary
        known = model.automaton.unigrams["next"][: len(vocabulary)] != NOT_A_WORD
        known[UNKNOWN] = False  # `<unk>` in a text is no word that the model knows
        self._index = build_word_index(vocabulary, known)

    def score(self, lines: Sequence[str], threads: int | None = None) -> NDArray[np.float64]:
        """The log10 probability of each line as a sentence, its end included."""
        scores = self.score_block("\n".join([*lines, ""]).encode(), threads).log10
        if scores.size != len(lines):
            raise ValueError("a line holds a line end")
        return scores

    def score_file(self, path: str | Path, threads: int | None = None) -> Iterator[LineScores]:
        """All lines of a file, block by block, for files that need not fit in memory."""
        done = 0
        for block in read_blocks(path):
            scores = self.score_block(block, threads, display_name(path), done)
            yield scores
            done += scores.log10.size

    def score_block(
        self, block: bytes, threads: int | None = None, file: str | None = None, done: int = 0
    ) -> LineScores:
        """All lines of some bytes; `file` and the number of lines `done` before them are for messages."""
        bounds = _chunk_bounds(block)

        def work(chunk: int, _: int) -> tuple[LineScores, int]:
            content = block[bounds[chunk] : bounds[chunk + 1]]
            return _score_text(self._index, self._automaton, padded(content), len(content))

        parts = map_chunks(work, len(bounds) - 1, chunk=1, threads=threads)
        if any(boundaries for _, boundaries in parts):
            words, lengths = Encoder(self._vocabulary, grow=False).encode(block)
            refuse_reserved_words(file, done, words, lengths, BEGIN)
        if len(parts) == 1:
            return parts[0][0]
        return LineScores(*(np.concatenate(column) for column in zip(*(scores for scores, _ in parts), strict=True)))


def _chunk_bounds(block: bytes) -> list[int]:
    """Where chunks of whole lines of about BYTES_AT_ONCE begin and end; one chunk at least."""
    bounds = [0]
    while len(block) - bounds[-1] > BYTES_AT_ONCE:
        bounds.append(block.find(b"\n", bounds[-1] + BYTES_AT_ONCE) + 1 or len(block))
    return bounds if bounds[-1] == len(block) and len(bounds) > 1 else [*bounds, len(block)]


@kernel
def _score_text(index: WordIndex, automaton: Automaton, text: Text, size: int) -> tuple[LineScores, int]:
    """The scores of all lines, and how often `<s>` or `</s>` stands in them, which makes the scores worthless."""
    encoded = encode_text(index, text, size, UNKNOWN, END)
    lines = encoded.lacking.size
    scores = sentence_scores(automaton, encoded.words, encoded.offsets)
    return LineScores(scores, np.diff(encoded.offsets) - 1, encoded.lacking), count_boundaries(encoded.words) - lines
