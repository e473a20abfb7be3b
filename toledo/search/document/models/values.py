"""The values of document models from what they count.

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

from toledo.kernels import inner_kernel
from toledo.metrics.bleu_score import ADD_K, bleu_score
from toledo.search.document.models.measures import (
    ALIKE,
    BLEU,
    CONSISTENCY,
    FRACTION,
    HYPOTHESIS,
    LIKELY,
    LIX,
    LONG,
    MATCHES,
    NGRAMS,
    ODD,
    ORDER,
    OVIX,
    PARITY,
    REFERENCE,
    SEMANTIC,
    TYPE_TOKEN,
    TYPES,
    WORDS,
    Measures,
)


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
