"""Lexical weights: how well the words of a phrase pair translate each other.

With an alignment (Koehn, Och and Marcu 2003): Π_m mean over the links (r, m) of p(e_m | f_r), with the empty word for a
word without links. Without one (He and Deng 2012, from IBM Model 1): Π_m Σ_r p(e_m | f_r), not normalised.
All results are natural logarithms, LOWEST_SCORE for a probability of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel, map_chunks
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons, word_probability
from toledo.phrases.pairs import PhrasePairs
from toledo.phrases.table import LOWEST_SCORE

PAIRS_AT_ONCE = 1 << 16
LONGEST = 256  # words in a phrase: positions are bytes


class Weights(NamedTuple):
    """Logarithms of forward weights p(target | source) and backward weights p(source | target) of each pair."""

    forward: NDArray[np.float64]
    backward: NDArray[np.float64]


class _View(NamedTuple):
    """Pairs seen in one direction: given and predicted phrases, and the column of the given word in the links."""

    given_offsets: NDArray[np.int64]
    given_words: NDArray[np.int32]
    given: NDArray[np.int32]
    offsets: NDArray[np.int64]
    words: NDArray[np.int32]
    predicted: NDArray[np.int32]
    link_offsets: NDArray[np.int64]
    links: NDArray[np.uint8]
    column: int


def alignment_weights(pairs: PhrasePairs, lexicons: Lexicons, threads: int | None = None) -> Weights:
    """The weights of Koehn et al. with the links of the pairs."""
    return _both_directions(_with_links, pairs, lexicons, threads)


def model1_weights(pairs: PhrasePairs, lexicons: Lexicons, threads: int | None = None) -> Weights:
    """The weights of He and Deng, whatever the links."""
    return _both_directions(_without_links, pairs, lexicons, threads)


def _both_directions(
    weigh: Callable[[_View, Lexicon, int, int], NDArray[np.float64]],
    pairs: PhrasePairs,
    lexicons: Lexicons,
    threads: int | None,
) -> Weights:
    source = (pairs.sources.offsets, pairs.sources.words, pairs.source)
    target = (pairs.targets.offsets, pairs.targets.words, pairs.target)
    links = (pairs.link_offsets, pairs.links)
    views = _View(*source, *target, *links, 0), _View(*target, *source, *links, 1)

    def in_chunks(view: _View, lexicon: Lexicon) -> NDArray[np.float64]:
        parts = map_chunks(
            lambda begin, end: weigh(view, lexicon, begin, end), len(pairs), chunk=PAIRS_AT_ONCE, threads=threads
        )
        return np.concatenate([np.empty(0), *parts])

    return Weights(in_chunks(views[0], lexicons.forward), in_chunks(views[1], lexicons.backward))


@kernel
def _with_links(view: _View, lexicon: Lexicon, begin: int, end: int) -> NDArray[np.float64]:
    weights = np.empty(end - begin, np.float64)
    sums, counts = np.empty(LONGEST, np.float64), np.empty(LONGEST, np.int64)
    for p in range(begin, end):
        given = view.given_words[view.given_offsets[view.given[p]] :]
        first, last = view.offsets[view.predicted[p]], view.offsets[view.predicted[p] + 1]
        words = view.words[first:last]
        sums[: words.size] = 0.0
        counts[: words.size] = 0
        for k in range(view.link_offsets[p], view.link_offsets[p + 1]):
            m = view.links[k, 1 - view.column]
            sums[m] += word_probability(lexicon, given[view.links[k, view.column]], words[m])
            counts[m] += 1
        product = 1.0
        for m in range(words.size):
            product *= sums[m] / counts[m] if counts[m] else word_probability(lexicon, NULL, words[m])
        weights[p - begin] = _floored_log(product)
    return weights


@kernel
def _without_links(view: _View, lexicon: Lexicon, begin: int, end: int) -> NDArray[np.float64]:
    weights = np.empty(end - begin, np.float64)
    for p in range(begin, end):
        first, last = view.given_offsets[view.given[p]], view.given_offsets[view.given[p] + 1]
        product = 1.0
        for m in range(view.offsets[view.predicted[p]], view.offsets[view.predicted[p] + 1]):
            total = 0.0
            for r in range(first, last):
                total += word_probability(lexicon, view.given_words[r], view.words[m])
            product *= total
        weights[p - begin] = _floored_log(product)
    return weights


@kernel
def _floored_log(probability: float) -> float:
    return max(np.log(probability), LOWEST_SCORE) if probability > 0.0 else LOWEST_SCORE
