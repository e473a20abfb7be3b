"""All document models together: count a change, take it back if it is not made, and bound what it can gain.

A new model needs a file, a line in `MODELS` (in `model.py`) and one in each function here that asks models. Bounds hold
for any change of as many words, so a search takes the same path with and without them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.errors import InputError
from toledo.search.chain import Chain
from toledo.search.document.arrays import State, Text, chain_at
from toledo.search.document.models.bleu import (
    FEW,
    SIZE,
    BLEUModel,
    ReferenceCounts,
    bleu_rise,
    count_lengths,
    count_ngrams,
    document_bleu,
    forget_ngrams,
    prepare_references,
    rise_by_few,
    word_change,
)
from toledo.search.document.models.cache import CacheModel, WordCache, cache_share, exchange_repeated, prepare_cache
from toledo.search.document.models.consistency import (
    LexicalConsistency,
    TranslationClusters,
    TranslationCounts,
    consistency,
    exchange_translations,
    prepare_translations,
)
from toledo.search.document.models.context import (
    ContextModel,
    ReadText,
    forget_change,
    prepare_reading,
    read_change,
    read_document,
)
from toledo.search.document.models.model import FRACTION, DocumentModel, Known, Words
from toledo.search.document.models.readability import (
    LIX,
    OVIX,
    LengthParity,
    TypeTokenRatio,
    WordCounts,
    exchange_words,
    lix,
    ovix,
    parity,
    prepare_words,
    type_token,
)
from toledo.search.document.models.semantic import (
    PRESENT,
    SAVED,
    SemanticModel,
    WordVectors,
    prepare_vectors,
    score_contents,
    score_document,
)
from toledo.search.document.models.topic import TopicModel, TopicSum, exchange_vectors, prepare_topic, topic_share
from toledo.search.options import SentenceOptions

COUNTED: tuple[type[DocumentModel], ...] = (
    LengthParity, TypeTokenRatio, OVIX, LIX, LexicalConsistency, TranslationClusters, CacheModel, TopicModel,
    SemanticModel, ContextModel, BLEUModel,
)  # fmt: skip
FEATURES = tuple(model.name for model in COUNTED)
PARITY, TYPE_TOKEN, OVIX_INDEX, LIX_INDEX, CONSISTENCY, CLUSTERS, CACHE, TOPIC, SEMANTIC, CONTEXT, BLEU = range(11)
ANY, BY_FEW = range(2)  # of `Measures.reach`: all but BLEU; and BLEU if few words change


class Measures(NamedTuple):
    """Everything about document models: which are `active` (the last one: any of them), their `weights`, and counts.

    `values` and `present` are the values of models with a proposal and without it, `bounds` their lowest and highest
    values, `reach` what they can gain at most. `lengths[s]` is the number of target words of sentence s, `odd[0]` how
    many of these are odd.
    """

    active: NDArray[np.bool_]
    weights: NDArray[np.float64]
    values: NDArray[np.float64]
    present: NDArray[np.float64]
    bounds: NDArray[np.float64]
    reach: NDArray[np.float64]
    lengths: NDArray[np.int64]
    odd: NDArray[np.int64]
    clusters: TranslationCounts
    cache: WordCache
    topic: TopicSum
    read: ReadText
    words: WordCounts
    translations: TranslationCounts
    vectors: WordVectors
    references: ReferenceCounts


def build_measures(known: Known, models: Sequence[DocumentModel], weights: Mapping[str, float]) -> Measures:
    """Return counts of nothing; models that are not given are not active."""
    by_name = {model.name: model for model in models}
    if len(by_name) != len(models):
        raise InputError("a document model is given twice", argument="models", remedy="give each model once")
    return Measures(
        np.array([*(name in by_name for name in FEATURES), bool(by_name)]),
        np.array([weights[name] if name in by_name else 0.0 for name in FEATURES]),
        np.zeros(len(FEATURES)),
        np.zeros(len(FEATURES)),
        np.array([model.bounds for model in COUNTED]),
        np.zeros(2),
        np.zeros(len(known.sources), np.int64),
        np.zeros(1, np.int64),
        prepare_translations(known, _given(models, TranslationClusters)),
        prepare_cache(known, _given(models, CacheModel)),
        prepare_topic(known, _given(models, TopicModel)),
        prepare_reading(known, _given(models, ContextModel)),
        prepare_words(known),
        prepare_translations(known, _given(models, LexicalConsistency)),
        prepare_vectors(known, _given(models, SemanticModel)),
        prepare_references(known, _given(models, BLEUModel)),
    )


Kind = TypeVar("Kind", bound=DocumentModel)


def _given(models: Sequence[DocumentModel], kind: type[Kind]) -> Kind | None:
    return next((model for model in models if isinstance(model, kind)), None)


@inner_kernel
def document_score(measures: Measures) -> float:
    """Return the weighted sum of the values of all active models."""
    values, active, sentences = measures.values, measures.active, measures.lengths.size
    if active[PARITY]:
        values[PARITY] = parity(measures.odd[0], sentences)
    if active[TYPE_TOKEN]:
        values[TYPE_TOKEN] = type_token(measures.words.totals)
    if active[OVIX_INDEX]:
        values[OVIX_INDEX] = ovix(measures.words.totals)
    if active[LIX_INDEX]:
        values[LIX_INDEX] = lix(measures.words.totals, sentences)
    if active[CONSISTENCY]:
        values[CONSISTENCY] = consistency(measures.translations)
    if active[CLUSTERS]:
        values[CLUSTERS] = consistency(measures.clusters)
    if active[CACHE]:
        values[CACHE] = cache_share(measures.cache)
    if active[TOPIC]:
        values[TOPIC] = topic_share(measures.topic)
    if active[CONTEXT]:
        values[CONTEXT] = measures.read.totals[PRESENT] / FRACTION
    if active[SEMANTIC]:
        values[SEMANTIC] = measures.vectors.totals[PRESENT] / FRACTION
    if active[BLEU]:
        values[BLEU] = document_bleu(measures.references)
    total = 0.0
    for k in range(values.size):
        total += measures.weights[k] * values[k]
    return total


@inner_kernel
def update_reach(measures: Measures) -> None:
    """Make the values of a change the present ones, and update what models can gain: anything without bounds."""
    reach = 0.0
    for k in range(measures.present.size):
        value, weight = measures.values[k], measures.weights[k]
        measures.present[k] = value
        low, high = measures.bounds[k]
        if k == BLEU:
            low, high = 0.0, value  # how much it can rise depends on the change
        if weight != 0.0:
            reach += max(weight * (low - value), weight * (high - value))
    measures.reach[ANY] = reach
    if measures.weights[BLEU] > 0.0:
        measures.reach[BY_FEW] = measures.weights[BLEU] * rise_by_few(measures.references, measures.present[BLEU])


@inlined
def most_gain(
    measures: Measures, options: SentenceOptions, chain: Chain, s: int, first: int, old: int, new: int, enough: float
) -> float:
    """Return what all document models together gain at most by a change; less precisely if that is not `enough`."""
    most, weight = measures.reach[ANY], measures.weights[BLEU]
    if weight > 0.0 and most < math.inf:
        known = measures.references
        added = removed = 0
        for k in range(new):
            added += options.lengths[chain.new[k]]
        for place in range(first, first + old):
            removed += options.lengths[chain.chosen[place]]
        single = known.length_offsets[s + 1] - known.length_offsets[s] == 1
        few = single and added <= FEW and removed - added <= FEW
        if few and most + measures.reach[BY_FEW] < enough:
            most += measures.reach[BY_FEW]
        else:
            words = Words(options.word_begin, options.lengths, chain.chosen, chain.new)
            change = word_change(known, words, chain.size[0], first, old, new)
            most += weight * bleu_rise(known, measures.present[BLEU], change, single)
    return float(most)


@inlined
def any_active(measures: Measures) -> bool:
    """Return whether there is any document model."""
    return bool(measures.active[-1])


@inlined
def consider(
    measures: Measures, text: Text, state: State, chain: Chain, s: int, first: int, old: int, new: int
) -> float:
    """Count a change of sentence s as if it were made, and return the weighted sum of all models then."""
    if measures.active[SEMANTIC]:
        measures.vectors.totals[SAVED] = measures.vectors.totals[PRESENT]
        score_contents(measures.vectors, text, state, s, first, old, new)
    if measures.active[CONTEXT]:
        read_change(measures.read, text, state, s, first, old, new)
    _exchange(measures, text.options, chain, first, old, new, 1)
    length = measures.lengths[s] + _added(text.options, chain, first, old, new)
    measures.odd[0] += (length & 1) - (measures.lengths[s] & 1)
    if measures.active[BLEU]:
        known = measures.references
        for k in range(SIZE):
            known.saved[k] = known.totals[k]
        words = Words(text.options.word_begin, text.options.lengths, chain.chosen, chain.new)
        count_ngrams(known, words, chain.size[0], first, old, new)
        if length != measures.lengths[s]:
            count_lengths(known, s, measures.lengths[s], -1)
            count_lengths(known, s, length, 1)
    measures.lengths[s] = length
    return document_score(measures)


@inlined
def reconsider(
    measures: Measures, options: SentenceOptions, chain: Chain, s: int, first: int, old: int, new: int
) -> None:
    """Take a change back that `consider` counted."""
    if measures.active[SEMANTIC]:
        measures.vectors.totals[PRESENT] = measures.vectors.totals[SAVED]
    if measures.active[CONTEXT]:
        forget_change(measures.read)
    if measures.active[BLEU]:
        forget_ngrams(measures.references)
    _exchange(measures, options, chain, first, old, new, -1)
    length = measures.lengths[s] - _added(options, chain, first, old, new)
    measures.odd[0] += (length & 1) - (measures.lengths[s] & 1)
    measures.lengths[s] = length


@inlined
def _added(options: SentenceOptions, chain: Chain, first: int, old: int, new: int) -> int:
    """Return how many words a change adds."""
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
    words = Words(options.word_begin, options.lengths, chain.chosen, chain.new)
    if measures.active[TYPE_TOKEN] or measures.active[OVIX_INDEX] or measures.active[LIX_INDEX]:
        exchange_words(measures.words, words, first, old, new, sign)
    if measures.active[CONSISTENCY]:
        exchange_translations(measures.translations, words, first, old, new, sign)
    if measures.active[CLUSTERS]:
        exchange_translations(measures.clusters, words, first, old, new, sign)
    if measures.active[CACHE]:
        exchange_repeated(measures.cache, words, first, old, new, sign)
    if measures.active[TOPIC]:
        exchange_vectors(measures.topic, words, first, old, new, sign)


@kernel
def count_document(measures: Measures, text: Text, state: State) -> float:
    """Count the whole document, and return the weighted sum of all models."""
    measures.lengths[:] = 0
    measures.odd[:] = 0
    measures.words.counts[:] = 0
    measures.words.totals[:] = 0
    measures.translations.counts[:] = 0
    measures.translations.total[:] = 0
    measures.clusters.counts[:] = 0
    measures.clusters.total[:] = 0
    measures.cache.counts[:] = 0
    measures.cache.totals[:] = 0
    measures.topic.total[:] = 0
    measures.topic.length[:] = 0
    measures.vectors.totals[:] = 0
    measures.references.counts[:] = 0
    measures.references.totals[:] = 0
    for s in range(text.words.size - 1):
        count_sentence(measures, text, state, s)
    if measures.active[SEMANTIC]:
        score_document(measures.vectors, text, state)
    if measures.active[CONTEXT]:
        read_document(measures.read, text, state)
    score = document_score(measures)
    update_reach(measures)
    return score


@inner_kernel
def count_sentence(measures: Measures, text: Text, state: State, s: int) -> None:
    """Add the phrases of a sentence to one that is empty so far."""
    chain, options = chain_at(text, state, s), text.options
    size = chain.size[0]
    for k in range(size):
        chain.new[k] = chain.chosen[1 + k]
    nothing = size - size
    _exchange(measures, options, chain, 1, nothing, size, 1)
    measures.lengths[s] = _added(options, chain, 1, nothing, size)
    measures.odd[0] += measures.lengths[s] & 1
    if measures.active[BLEU]:
        words = Words(options.word_begin, options.lengths, chain.chosen, chain.new)
        count_ngrams(measures.references, words, nothing, 1, nothing, size)
        count_lengths(measures.references, s, measures.lengths[s], 1)
