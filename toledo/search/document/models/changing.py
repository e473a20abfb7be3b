"""Document models before and after a change: count it, and take it back if it is not made."""

from __future__ import annotations

from toledo.kernels import inlined, inner_kernel, kernel
from toledo.search.beam.options import SentenceOptions
from toledo.search.document.arrays import State, Text, chain_at
from toledo.search.document.models.matches import Words, count_lengths, count_ngrams, forget_ngrams
from toledo.search.document.models.measures import (
    BLEU,
    CONSISTENCY,
    LIX,
    ODD,
    OVIX,
    SEMANTIC,
    TYPE_TOKEN,
    Measures,
)
from toledo.search.document.models.reach import update_reach
from toledo.search.document.models.values import document_score
from toledo.search.document.models.vectors import score_contents, score_document
from toledo.search.document.models.words import exchange_translations, exchange_words
from toledo.search.gibbs.state import Chain


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
