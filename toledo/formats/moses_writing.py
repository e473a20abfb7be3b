"""Lines of Moses' tables, with as many digits as it takes to read the same numbers back, and of its lexicons.

Moses' tools expect lines in the order of their bytes (`LC_ALL=C sort`). A line is words with single spaces between,
`|||` after each phrase. As no word has a space in it, the order of lines is the order of sequences of words, if words
are compared with the space that follows them and `|||` is a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.sorting import rank_pairs, sort_pairs
from toledo.errors import InputError
from toledo.files import display_name, write_lines
from toledo.phrases.lexicon import NULL, Lexicon
from toledo.phrases.table import LOWEST_SCORE, PhraseTable
from toledo.phrases.trie import Phrases
from toledo.progress import Advance, Progress, silent
from toledo.text.vocabulary import Vocabulary

SEPARATOR = "|||"
PAIRS_AT_ONCE = 10_000
LEAST_DIGITS, MOST_DIGITS = 6, 9
NULL_NAME = "NULL"
DECIMALS = 7  # of lexicons


def line_order(table: PhraseTable) -> NDArray[np.int32]:
    """Return the pairs of a table in the order of their lines."""
    source = _phrase_ranks(table.pairs.sources, _word_ranks(table.source_vocabulary))
    target = _phrase_ranks(table.pairs.targets, _word_ranks(table.target_vocabulary))
    return sort_pairs(source[table.pairs.source], target[table.pairs.target])


def _word_ranks(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """Return the rank of each word among all words, and last that of the separator."""
    keys = [f"{word} ".encode() for word in (*vocabulary, SEPARATOR)]
    ranks = np.empty(len(keys), np.int32)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys), dtype=np.int32)
    return ranks


def _phrase_ranks(phrases: Phrases, word_ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the rank of each phrase: suffixes from position k are ranked by word k and the rank of what follows."""
    begins, lengths = phrases.offsets[:-1], np.diff(phrases.offsets)
    ranks = np.zeros(len(phrases), np.int32)
    for position in range(int(lengths.max(initial=0)), -1, -1):
        reaching = np.flatnonzero(lengths >= position)
        heads = np.full(reaching.size, word_ranks[-1])
        inside = lengths[reaching] > position
        heads[inside] = word_ranks[phrases.words[begins[reaching[inside]] + position]]
        ranks[reaching] = rank_pairs(heads, ranks[reaching]).of
    return ranks


def write_pairs(
    path: str | Path,
    table: PhraseTable,
    tails: Callable[[NDArray[np.int32]], Iterable[str]],
    progress: Progress = silent,
) -> None:
    """Write `source ||| target ||| tail` for each pair; `tails` gives the ends of lines for some pairs."""
    with progress(f"writing {display_name(path)}", len(table)) as advance:
        write_lines(path, _lines(table, tails, advance))


def probability_texts(logs: NDArray[np.float32]) -> Iterator[str]:
    """Yield rows of natural logarithms as probabilities, 0 for LOWEST_SCORE.

    Six digits, as Moses writes, where they give the same logarithm in single precision, otherwise up to nine.
    """
    values = np.where(logs > LOWEST_SCORE, np.exp(logs.astype(np.float64)), 0.0)
    pairs = np.empty((*logs.shape, 2), object)
    pairs[..., 0], pairs[..., 1] = _digits_needed(values, logs), values
    template = " ".join(["%.*g"] * logs.shape[1])
    return (template % tuple(row) for row in pairs.reshape(len(logs), -1).tolist())


def _digits_needed(values: NDArray[np.float64], logs: NDArray[np.float32]) -> NDArray[np.int64]:
    digits = np.full(values.shape, LEAST_DIGITS)
    with np.errstate(divide="ignore", invalid="ignore"):
        magnitude = np.floor(np.log10(values))
        for fewer in range(LEAST_DIGITS, MOST_DIGITS):
            unit = 10.0 ** (magnitude - (fewer - 1))
            rounded = np.log(np.rint(values / unit) * unit).astype(np.float32)
            digits[(rounded != logs) & (values > 0)] = fewer + 1
    return digits


def _lines(table: PhraseTable, tails: Callable[[NDArray[np.int32]], Iterable[str]], advance: Advance) -> Iterator[str]:
    order, pairs = line_order(table), table.pairs
    for begin in range(0, order.size, PAIRS_AT_ONCE):
        chosen = order[begin : begin + PAIRS_AT_ONCE]
        sources = _texts(pairs.sources, pairs.source[chosen], table.source_vocabulary)
        targets = _texts(pairs.targets, pairs.target[chosen], table.target_vocabulary)
        for source, target, tail in zip(sources, targets, tails(chosen), strict=True):
            yield f"{source} ||| {target} ||| {tail}"
        advance(chosen.size)


def _texts(phrases: Phrases, chosen: NDArray[np.int32], vocabulary: Vocabulary) -> Iterator[str]:
    """Return the words of phrases; each distinct phrase is joined once."""
    distinct, place = np.unique(chosen, return_inverse=True)
    texts = [" ".join(vocabulary.words(phrases[number].tolist())) for number in distinct.tolist()]
    bad = next((text for text in texts if SEPARATOR in text), None)
    if bad is not None:
        message = f"Moses' tables cannot hold the phrase {bad!r}: {SEPARATOR} separates their fields"
        raise InputError(message, remedy="escape the text before training: toledo text escape")
    return (texts[number] for number in place.tolist())


def write_lexicon(path: str | Path, lexicon: Lexicon, given: Vocabulary, words: Vocabulary) -> None:
    """Write lines `word given-word p(word | given word)`, as Moses' `lex.f2e`, for p not 0 in seven decimals."""
    write_lines(path, _lexicon_lines(lexicon, given.words(range(len(given))), words.words(range(len(words)))))


def _lexicon_lines(lexicon: Lexicon, given: list[str], words: list[str]) -> Iterator[str]:
    for row in range(lexicon.offsets.size - 1):
        entries = slice(int(lexicon.offsets[row]), int(lexicon.offsets[row + 1]))
        rounded = np.round(lexicon.probabilities[entries].astype(np.float64), DECIMALS)
        name = NULL_NAME if row == NULL else given[row]
        for entry in np.flatnonzero(rounded).tolist():
            yield f"{words[lexicon.words[entries][entry]]} {name} {rounded[entry]:.{DECIMALS}f}"
