"""The lexicon feature of phrase pairs, Π_m Σ_r p(e_m | f_r), and how what a pair gains is spread over its words.

He and Deng (2012), formulas 5 and 16: word f_r has the part p(e_m | f_r) / Σ_r' p(e_m | f_r') in target word e_m. These
parts depend on the phrase pair alone, so gains are first summed over a pair's uses, and then spread once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.phrases.lexicon import Lexicon, find_entry
from toledo.phrases.table import LOWEST_SCORE, PhrasePairs

PAIRS_AT_ONCE = 1 << 15
ABSENT = -1

Vector = NDArray[np.float64]


class WordPairs(NamedTuple):
    """The entries of a lexicon in some phrase pairs: pair i predicts the words `words[i]:words[i + 1]`.

    Predicted word w has the entries `entries[places[w]:places[w + 1]]`, one for each given word that may write it.
    """

    words: NDArray[np.int64]
    places: NDArray[np.int64]
    entries: NDArray[np.int32]


def word_pairs(pairs: PhrasePairs, chosen: NDArray[np.int32], lexicon: Lexicon, forward: bool) -> WordPairs:
    """The entries for p(target word | source word), or the other way, in the chosen phrase pairs."""
    given, predicted = (pairs.sources, pairs.targets) if forward else (pairs.targets, pairs.sources)
    given_of, predicted_of = (pairs.source, pairs.target) if forward else (pairs.target, pairs.source)
    given_of, predicted_of = given_of[chosen], predicted_of[chosen]
    given_sizes, sizes = np.diff(given.offsets)[given_of], np.diff(predicted.offsets)[predicted_of]
    places, entries = np.zeros(int(sizes.sum()) + 1, np.int64), np.empty(int(given_sizes @ sizes), np.int32)
    sides = given.offsets, given.words, given_of, predicted.offsets, predicted.words, predicted_of
    _fill_entries(*sides, lexicon, places, entries)
    return WordPairs(offsets_of(sizes), places, entries[: places[-1]].copy())


def log_sums(pairs: WordPairs, probabilities: Vector, threads: int | None = None) -> Vector:
    """The logarithm of the feature of each pair, LOWEST_SCORE where a word cannot be written."""
    result = np.empty(pairs.words.size - 1)
    map_chunks(
        lambda begin, end: _log_sums(pairs, probabilities, begin, end, result),
        result.size,
        chunk=PAIRS_AT_ONCE,
        threads=threads,
    )
    return result


@kernel
def spread(pairs: WordPairs, probabilities: Vector, gains: Vector) -> Vector:
    """What each entry of the lexicon gets of the gains of phrase pairs."""
    result = np.zeros(probabilities.size)
    for p in range(gains.size):
        if gains[p] == 0.0 or not _possible(pairs, probabilities, p):
            continue
        for w in range(pairs.words[p], pairs.words[p + 1]):
            total = 0.0
            for k in range(pairs.places[w], pairs.places[w + 1]):
                total += probabilities[pairs.entries[k]]
            for k in range(pairs.places[w], pairs.places[w + 1]):
                result[pairs.entries[k]] += gains[p] * probabilities[pairs.entries[k]] / total
    return result


@kernel
def _log_sum(pairs: WordPairs, probabilities: Vector, p: int) -> float:
    result = 0.0
    for w in range(pairs.words[p], pairs.words[p + 1]):
        total = 0.0
        for k in range(pairs.places[w], pairs.places[w + 1]):
            total += probabilities[pairs.entries[k]]
        if total <= 0.0:
            return LOWEST_SCORE
        result += np.log(total)
    return max(result, LOWEST_SCORE)


@kernel
def _possible(pairs: WordPairs, probabilities: Vector, p: int) -> bool:
    """A feature at its lowest value does not change with its words."""
    return _log_sum(pairs, probabilities, p) > LOWEST_SCORE


@kernel
def _log_sums(pairs: WordPairs, probabilities: Vector, begin: int, end: int, result: Vector) -> None:
    for p in range(begin, end):
        result[p] = _log_sum(pairs, probabilities, p)


@kernel
def _fill_entries(
    given_offsets: NDArray[np.int64],
    given_words: NDArray[np.int32],
    given_of: NDArray[np.int32],
    predicted_offsets: NDArray[np.int64],
    predicted_words: NDArray[np.int32],
    predicted_of: NDArray[np.int32],
    lexicon: Lexicon,
    places: NDArray[np.int64],
    entries: NDArray[np.int32],
) -> None:
    word = place = 0
    for p in range(given_of.size):
        for m in range(predicted_offsets[predicted_of[p]], predicted_offsets[predicted_of[p] + 1]):
            for r in range(given_offsets[given_of[p]], given_offsets[given_of[p] + 1]):
                entry = find_entry(lexicon, given_words[r], predicted_words[m])
                if entry != ABSENT:
                    entries[place] = entry
                    place += 1
            word += 1
            places[word] = place
