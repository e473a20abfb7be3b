"""How much document models can gain by a change at most: most proposals are hopeless, and need not be counted.

Bounds hold for any change of so many words, so a search takes the same way with them and without.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import inlined, inner_kernel
from toledo.search.beam.options import SentenceOptions
from toledo.search.document.models.measures import (
    BLEU,
    CONSISTENCY,
    HYPOTHESIS,
    MATCHES,
    NGRAMS,
    ORDER,
    PARITY,
    REFERENCE,
    TYPE_TOKEN,
    Measures,
)
from toledo.search.gibbs.state import Chain

HIGHEST_BLEU = 100.0
FEW = 4  # words that most changes do not exceed
ANY, BY_FEW = range(2)  # of `Measures.reach`: all but BLEU; and BLEU if few words change


@inner_kernel
def update_reach(measures: Measures) -> None:
    """After a change was made: its values are the present ones. Those without bounds can gain anything."""
    reach = 0.0
    for k in range(measures.present.size):
        value, weight = measures.values[k], measures.weights[k]
        measures.present[k] = value
        low, high = 0.0, 1.0
        if k == PARITY:
            low, high = math.log(0.5), 0.0
        elif k == BLEU:
            low, high = 0.0, value  # how much it can rise depends on the change
        elif k not in (TYPE_TOKEN, CONSISTENCY):
            low, high = -math.inf, math.inf
        if weight != 0.0:
            reach += max(weight * (low - value), weight * (high - value))
    measures.reach[ANY] = reach
    if measures.weights[BLEU] > 0.0:
        bleu, totals = measures.present[BLEU], measures.totals
        most = max(
            bleu_rise(measures.logs, totals, bleu, FEW, 0, True),
            bleu_rise(measures.logs, totals, bleu, FEW, 2 * FEW, True),
        )
        measures.reach[BY_FEW] = measures.weights[BLEU] * most


@inlined
def most_gain(
    measures: Measures, options: SentenceOptions, chain: Chain, s: int, first: int, old: int, new: int, enough: float
) -> float:
    """What all document models together gain at most by a change; less precisely if that is not `enough`."""
    most, weight = measures.reach[ANY], measures.weights[BLEU]
    if weight > 0.0 and most < math.inf:
        added = removed = 0
        for k in range(new):
            added += options.lengths[chain.new[k]]
        for place in range(first, first + old):
            removed += options.lengths[chain.chosen[place]]
        known = measures.references
        single = known.length_offsets[s + 1] - known.length_offsets[s] == 1
        few = single and added <= FEW and removed - added <= FEW
        if few and most + measures.reach[BY_FEW] < enough:
            most += measures.reach[BY_FEW]
        else:
            most += weight * bleu_rise(measures.logs, measures.totals, measures.present[BLEU], added, removed, single)
    return float(most)


@inner_kernel
def bleu_rise(
    logs: NDArray[np.float64], totals: NDArray[np.int64], bleu: float, added: int, removed: int, single: bool
) -> float:
    """How much BLEU rises at most if some words take the place of others in a sentence.

    There are at most added + n − 1 new n-grams, all of which might match. With x the most that the logarithm of BLEU
    rises, BLEU · (eˣ − 1) ≤ BLEU · x / (1 − x).
    """
    rise, lost = 0.0, max(removed - added, 0)
    length, reference = totals[HYPOTHESIS], totals[REFERENCE]
    for n in range(ORDER):
        matches, ngrams = totals[MATCHES + n], totals[NGRAMS + n]
        if matches == 0 or ngrams <= lost:
            return HIGHEST_BLEU - bleu
        rise += logs[matches + added + n] - logs[matches] + logs[ngrams] - logs[ngrams - lost]
    rise /= ORDER
    if length < reference:  # with several references, a closer one might end all brevity
        longer = min(length + max(added - removed, 0), reference) if single else reference
        rise += reference / length - reference / longer
    return HIGHEST_BLEU - bleu if rise >= 1.0 else min(HIGHEST_BLEU - bleu, bleu * rise / (1.0 - rise))
