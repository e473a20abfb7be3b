"""Document models before and after a change: count it, and take it back if it is not made.

The arrays of document models for one document.

How much document models can gain by a change at most: most proposals are hopeless, and need not be counted.

Bounds hold for any change of so many words, so a search takes the same way with them and without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.search.chain import Chain
from toledo.search.document.arrays import State, Text, chain_at
from toledo.search.document.models.bleu import Words, build_references, count_lengths, count_ngrams, forget_ngrams
from toledo.search.document.models.consistency import number_translations
from toledo.search.document.models.counts import (
    BLEU,
    CONSISTENCY,
    FEATURES,
    FRACTION,
    HYPOTHESIS,
    IS_LONG,
    IS_WORD,
    LIX,
    MATCHES,
    NGRAMS,
    NOTHING,
    ODD,
    ORDER,
    OVIX,
    PARITY,
    REFERENCE,
    SEMANTIC,
    SIZE,
    TYPE_TOKEN,
    Known,
    Measures,
    Vectors,
)
from toledo.search.document.models.kinds import BLEUModel, DocumentModel, LexicalConsistency, SemanticModel
from toledo.search.document.models.readability import document_score, exchange_translations, exchange_words
from toledo.search.document.models.semantic import score_contents, score_document
from toledo.search.options import SentenceOptions

LONG_WORD = 7  # letters, for LIX


def build_measures(known: Known, models: Sequence[DocumentModel], weights: Mapping[str, float]) -> Measures:
    """Counts of nothing; models that are not given are not active."""
    by_name = {model.name: model for model in models}
    if len(by_name) != len(models):
        raise ValueError("a document model is given twice")
    words, types = np.unique(known.text.options.words, return_inverse=True)
    spelled = known.model.target_vocabulary.words(words.tolist())
    room = _longest_change(known.text)
    consistency, semantic, bleu = (by_name.get(name) for name in FEATURES[4:])
    return Measures(
        np.array([*(name in by_name for name in FEATURES), bool(by_name)]),
        np.array([weights[name] if name in by_name else 0.0 for name in FEATURES]),
        types.astype(np.int32),
        np.array([_kind(word) for word in spelled], np.uint8),
        np.zeros(words.size, np.int32),
        np.zeros(len(known.sources), np.int64),
        np.zeros(SIZE, np.int64),
        np.zeros(SIZE, np.int64),
        np.zeros(len(FEATURES)),
        np.zeros(len(FEATURES)),
        np.zeros(2),
        _logarithms(known.text, room),
        np.zeros(2 + 3 * ORDER),
        number_translations(known, consistency if isinstance(consistency, LexicalConsistency) else None),
        _vectors(spelled, semantic if isinstance(semantic, SemanticModel) else None, room),
        build_references(known, spelled, types, bleu if isinstance(bleu, BLEUModel) else None, room),
    )


def _kind(word: str) -> int:
    is_word = any(map(str.isalnum, word))
    return IS_WORD * is_word | IS_LONG * (is_word and sum(map(str.isalpha, word)) >= LONG_WORD)


def _longest_change(text: Text) -> int:
    """No change has more target words."""
    longest_sentence = int(np.diff(text.words).max(initial=0))
    return longest_sentence * int(text.options.lengths.max(initial=1))


def _logarithms(text: Text, room: int) -> NDArray[np.float64]:
    """Of all numbers of words that there can be, and some more; that of 0 is not used."""
    most = int(text.words[-1]) * int(text.options.lengths.max(initial=1)) + room + 2 * ORDER
    return np.log(np.maximum(np.arange(most + 1), 1).astype(np.float64))


def _vectors(spelled: Sequence[str], wanted: SemanticModel | None, room: int) -> Vectors:
    if wanted is None:
        return Vectors(
            np.full(len(spelled), NOTHING, np.int32), np.zeros((0, 1), np.int32), np.zeros(0), np.zeros(1, np.int64),
            1, np.zeros(1, np.int64), np.zeros(1, np.int32),
        )  # fmt: skip
    space, context = wanted.space, wanted.context
    rows = {word: row for row, word in enumerate(space.words)}
    return Vectors(
        np.array([rows.get(word, NOTHING) for word in spelled], np.int32),
        np.ascontiguousarray(space.vectors, np.int32),
        np.linalg.norm(space.vectors.astype(np.float64), axis=1),
        np.round(space.worth * FRACTION).astype(np.int64),
        context,
        np.zeros(space.vectors.shape[1], np.int64),
        np.zeros(2 * context + 2 * room + 1, np.int32),
    )


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


@inlined
def any_active(measures: Measures) -> bool:
    """Whether there is any document model."""
    return bool(measures.active[-1])


@inlined
def consider(
    measures: Measures, text: Text, state: State, chain: Chain, s: int, first: int, old: int, new: int
) -> float:
    """Count a change of sentence s as if it were made; gives the weighted sum of all models then."""
    for k in range(measures.totals.size):
        measures.saved[k] = measures.totals[k]
    if measures.active[SEMANTIC]:
        score_contents(measures, text, state, s, first, old, new)
    _exchange(measures, text.options, chain, first, old, new, 1)
    length = measures.lengths[s] + _added(text.options, chain, first, old, new)
    measures.totals[ODD] += (length & 1) - (measures.lengths[s] & 1)
    if measures.active[BLEU]:
        known, totals = measures.references, measures.totals
        words = Words(text.options.word_begin, text.options.lengths, chain.chosen, chain.new)
        count_ngrams(known, measures.types, totals, words, chain.size[0], first, old, new)
        if length != measures.lengths[s]:
            count_lengths(known.length_offsets, known.lengths, totals, s, measures.lengths[s], -1)
            count_lengths(known.length_offsets, known.lengths, totals, s, length, 1)
    measures.lengths[s] = length
    return document_score(measures)


@inlined
def reconsider(
    measures: Measures, options: SentenceOptions, chain: Chain, s: int, first: int, old: int, new: int
) -> None:
    """Take a change back that `consider` counted."""
    known = measures.references
    if measures.active[BLEU]:
        forget_ngrams(known.undo, known.undo_count, known.counts)
    _exchange(measures, options, chain, first, old, new, -1)
    measures.lengths[s] -= _added(options, chain, first, old, new)
    for k in range(measures.totals.size):
        measures.totals[k] = measures.saved[k]


@inlined
def _added(options: SentenceOptions, chain: Chain, first: int, old: int, new: int) -> int:
    """How many words a change adds."""
    added = 0
    for k in range(new):
        added += options.lengths[chain.new[k]]
    for place in range(first, first + old):
        added -= options.lengths[chain.chosen[place]]
    return added


@inlined
def _exchange(
    measures: Measures, options: SentenceOptions, chain: Chain, first: int, old: int, new: int, sign: int
) -> None:
    """Exchange the words and translations of old phrases for those of new ones; with sign −1 the other way round."""
    if measures.active[TYPE_TOKEN] or measures.active[OVIX] or measures.active[LIX]:
        words = Words(options.word_begin, options.lengths, chain.chosen, chain.new)
        exchange_words(
            measures.types, measures.kinds, measures.counts, measures.totals, words, first, old, new, sign
        )  # fmt: skip
    if measures.active[CONSISTENCY]:
        exchange_translations(measures.consistency, measures.totals, chain.chosen, chain.new, first, old, new, sign)


@kernel
def count_document(measures: Measures, text: Text, state: State) -> float:
    """Count everything anew; gives the weighted sum of all models."""
    measures.totals[:] = 0
    measures.counts[:] = 0
    measures.lengths[:] = 0
    measures.consistency.counts[:] = 0
    measures.references.counts[:] = 0
    for s in range(text.words.size - 1):
        count_sentence(measures, text, state, s)
    if measures.active[SEMANTIC]:
        score_document(measures, text, state)
    score = document_score(measures)
    update_reach(measures)
    return score


@inner_kernel
def count_sentence(measures: Measures, text: Text, state: State, s: int) -> None:
    """Add the phrases of a sentence to one that is empty so far."""
    chain, options, known = chain_at(text, state, s), text.options, measures.references
    size = chain.size[0]
    for k in range(size):
        chain.new[k] = chain.chosen[1 + k]
    nothing = size - size
    _exchange(measures, options, chain, 1, nothing, size, 1)
    measures.lengths[s] = _added(options, chain, 1, nothing, size)
    measures.totals[ODD] += measures.lengths[s] & 1
    if measures.active[BLEU]:
        words = Words(options.word_begin, options.lengths, chain.chosen, chain.new)
        count_ngrams(known, measures.types, measures.totals, words, nothing, 1, nothing, size)
        count_lengths(known.length_offsets, known.lengths, measures.totals, s, measures.lengths[s], 1)
