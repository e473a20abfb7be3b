"""Counting the words of phrases, and how consistently source words are translated.

The values of document models from what they count.

- parity (Hardmeier et al. 2013): log of the share of sentences whose number of words is odd, or even if those are more.
- type-token: V / N, with N words and V distinct ones. Only tokens with a letter or a digit are words here.
- OVIX (Hultman and Westman 1977): log N / log(2 − log V / log N); V is at most N − 1, so that it is finite.
- LIX (Björnsson 1968): N / sentences + 100 · words of more than six letters / N.
- consistency: how likely it is that another occurrence of a source word has the same translation, of words that occur
  more than once.
- semantic: see `vectors`. BLEU: of the document, 0 to 100.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel
from toledo.metrics.bleu import ADD_K, bleu_score
from toledo.search.document.models.bleu import Words
from toledo.search.document.models.counts import (
    ALIKE,
    BLEU,
    CONSISTENCY,
    FRACTION,
    HYPOTHESIS,
    IS_LONG,
    IS_WORD,
    LIKELY,
    LIX,
    LONG,
    MATCHES,
    NGRAMS,
    NOTHING,
    ODD,
    ORDER,
    OVIX,
    PARITY,
    REFERENCE,
    SEMANTIC,
    TYPE_TOKEN,
    TYPES,
    WORDS,
    Consistency,
    Measures,
)


@inner_kernel
def exchange_words(
    types: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    counts: NDArray[np.int32],
    totals: NDArray[np.int64],
    words: Words,
    first: int,
    old: int,
    new: int,
    sign: int,
) -> None:
    """Take away the words of `old` phrases from a place on, and add those of `new` ones; the other way with sign −1."""
    for k in range(old + new):
        option = words.chosen[first + k] if k < old else words.new[k - old]
        added = -sign if k < old else sign
        for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
            kind = types[i]
            if kinds[kind] & IS_WORD:
                counts[kind] += added
                totals[WORDS] += added
                totals[LONG] += added if kinds[kind] & IS_LONG else 0
                if counts[kind] == (1 if added > 0 else 0):  # it was not there before, or is no more
                    totals[TYPES] += added


@inner_kernel
def exchange_translations(
    seen: Consistency,
    totals: NDArray[np.int64],
    chosen: NDArray[np.int32],
    replacement: NDArray[np.int32],
    first: int,
    old: int,
    new: int,
    sign: int,
) -> None:
    """Take away the translations of words by `old` phrases, and add those by `new` ones; the other way with sign −1.

    c(c − 1) grows by 2c when one more comes to c.
    """
    for k in range(old + new):
        option = chosen[first + k] if k < old else replacement[k - old]
        added = -sign if k < old else sign
        for i in range(seen.offsets[option], seen.offsets[option + 1]):
            cell = seen.cells[i]
            if cell != NOTHING:
                others = seen.counts[cell] - (1 if added < 0 else 0)
                totals[ALIKE] += 2 * added * others * seen.shares[cell]
                seen.counts[cell] += added


@inner_kernel
def document_score(measures: Measures) -> float:
    """The weighted sum of the values of all active models."""
    totals, values, active = measures.totals, measures.values, measures.active
    if active[PARITY]:
        values[PARITY] = parity(totals[ODD], measures.lengths.size)
    if active[TYPE_TOKEN]:
        values[TYPE_TOKEN] = totals[TYPES] / max(totals[WORDS], 1)
    if active[OVIX]:
        values[OVIX] = ovix(totals[WORDS], totals[TYPES])
    if active[LIX]:
        words = max(totals[WORDS], 1)
        values[LIX] = totals[WORDS] / max(measures.lengths.size, 1) + 100.0 * totals[LONG] / words
    if active[CONSISTENCY]:
        values[CONSISTENCY] = totals[ALIKE] / FRACTION / max(measures.consistency.occurrences, 1)
    if active[SEMANTIC]:
        values[SEMANTIC] = totals[LIKELY] / FRACTION
    if active[BLEU]:
        known = measures.references
        values[BLEU] = document_bleu(totals, measures.logs, measures.scratch, known.method, known.value)
    total = 0.0
    for k in range(values.size):
        total += measures.weights[k] * values[k]
    return total


@inner_kernel
def parity(odd: int, sentences: int) -> float:
    """The log share of the sentences of the more frequent parity."""
    return math.log(max(odd, sentences - odd) / sentences) if sentences else 0.0


@inner_kernel
def ovix(words: int, types: int) -> float:
    """The word variation index; 0 for a text of less than two words."""
    if words < 2:
        return 0.0
    length = math.log(words)
    return length / math.log(2.0 - math.log(min(types, words - 1)) / length)


@inner_kernel
def document_bleu(
    totals: NDArray[np.int64], logs: NDArray[np.float64], scratch: NDArray[np.float64], method: int, value: float
) -> float:
    """BLEU of the document, 0 to 100; mostly by logarithms that are there."""
    total, size, plain = 0.0, 2 + 2 * ORDER, method != ADD_K
    for n in range(ORDER):
        plain = plain and totals[MATCHES + n] > 0
        total += logs[totals[MATCHES + n]] - logs[totals[NGRAMS + n]]
    if plain:
        length, reference = totals[HYPOTHESIS], totals[REFERENCE]
        return 100.0 * math.exp(total / ORDER + (1.0 - reference / length if length < reference else 0.0))
    for k in range(size):
        scratch[k] = totals[HYPOTHESIS + k]
    return bleu_score(scratch[:size], method, value, False, scratch[size:])
