"""Back-off models as dictionaries: slow and readable twins of the language models."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from math import log10

import numpy as np
from hypothesis import strategies as st

from toledo.language_model.backoff import BackoffModel, NGramTable
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import BEGIN, END, UNKNOWN

NGram = tuple[int, ...]
Model = dict[NGram, tuple[float, float]]  # n-gram → log10 probability, log10 back-off weight

FIRST_WORD = END + 1

words = st.one_of(st.just(UNKNOWN), st.integers(FIRST_WORD, FIRST_WORD + 4))
texts = st.lists(st.lists(words, max_size=7), min_size=1, max_size=12)


def encoded(text: Iterable[Sequence[int]]) -> Sentences:
    lines = list(text)
    words = np.array(list(chain.from_iterable(lines)), np.int32)
    return Sentences.from_lengths(words, np.array([len(line) for line in lines], np.int64))


def kneser_ney(text: Iterable[Sequence[int]], order: int, thresholds: Sequence[int]) -> Model:
    """Interpolated modified Kneser-Ney smoothing, straight from the formulas of Heafield et al. (2013)."""
    lines = [(BEGIN, *line, END) for line in text]
    counts = Counter(line[i : i + n] for n in range(1, order + 1) for line in lines for i in range(len(line) - n + 1))
    left = Counter(ngram[1:] for ngram in counts)
    adjusted = {g: counts[g] if len(g) == order or g[0] == BEGIN else left[g] for g in counts}
    adjusted[BEGIN,] = 0
    adjusted.setdefault((UNKNOWN,), 0)
    followers = defaultdict(list)
    for ngram in adjusted:
        followers[ngram[:-1]].append(ngram)
    discounts = {n: _discounts([a for g, a in adjusted.items() if len(g) == n]) for n in range(1, order + 1)}
    pruned = {g for g in adjusted if len(g) > 1 and counts[g] <= thresholds[len(g) - 1]}

    def discount(ngram: NGram) -> float:
        return discounts[len(ngram)][min(adjusted[ngram], 3)]

    def total(context: NGram) -> int:
        return sum(adjusted[g] for g in followers[context])

    def mass(context: NGram) -> float:
        return sum(adjusted[g] if g in pruned else discount(g) for g in followers[context]) / total(context)

    def probability(ngram: NGram) -> float:
        if not ngram:
            return 1 / (len(followers[()]) - 1)
        lower = probability(ngram[1:] if len(ngram) > 1 else ())
        return (adjusted[ngram] - discount(ngram)) / total(ngram[:-1]) + mass(ngram[:-1]) * lower

    return {
        g: (0.0 if g == (BEGIN,) else log10(probability(g)), log10(mass(g)) if g in followers else 0.0)
        for g in adjusted
        if g not in pruned
    }


def _discounts(adjusted: list[int]) -> list[float]:
    n = [adjusted.count(k) for k in range(5)]
    if min(n[1:4]) > 0:
        y = n[1] / (n[1] + 2 * n[2])
        found = [k - (k + 1) * y * n[k + 1] / n[k] for k in (1, 2, 3)]
        if all(0 < d <= k for k, d in enumerate(found, start=1)):
            return [0, *found]
    return [0, 0.5, 1, 1.5]


def score(model: Model, order: int, context: Sequence[int], word: int) -> float:
    """The log10 probability of a word by the definition of backing off."""
    known = [w if (w,) in model else UNKNOWN for w in (*context, word)]
    history, last = tuple(known[:-1]), known[-1]
    history = history[max(0, len(history) - order + 1) :]
    if (*history, last) in model:
        return model[(*history, last)][0]
    backoff = model[history][1] if history in model else 0.0
    return backoff + score(model, order, history[1:], last)


def sentence_score(model: Model, order: int, sentence: Sequence[int]) -> float:
    line = [BEGIN, *sentence, END]
    return sum(score(model, order, line[:i], line[i]) for i in range(1, len(line)))


def to_arrays(model: Model, order: int) -> BackoffModel:
    orders, places = [], {(): 0}
    for n in range(1, order + 1):
        ngrams = sorted((g for g in model if len(g) == n), key=lambda g: (places[g[:-1]], g[-1]))
        contexts = np.array([places[g[:-1]] for g in ngrams], np.int32)
        words = np.array([g[-1] for g in ngrams], np.int32)
        scores = np.array([model[g][0] for g in ngrams], np.float32)
        backoffs = np.array([model[g][1] for g in ngrams] if n < order else [], np.float32)
        orders.append(NGramTable(contexts, words, scores, backoffs))
        places = {g: i for i, g in enumerate(ngrams)}
    return BackoffModel(tuple(orders))


def to_dictionary(model: BackoffModel) -> Model:
    content: Model = {}
    for n, ngrams in enumerate(model.orders, start=1):
        backoffs = ngrams.backoffs.tolist() if n < model.order else [0.0] * len(ngrams)
        rows = model.words_of(n).tolist()
        content.update({tuple(g): (p, b) for g, p, b in zip(rows, ngrams.scores.tolist(), backoffs, strict=True)})
    return content


@st.composite
def models(draw: st.DrawFn) -> tuple[Model, int]:
    """Any model that an ARPA file may hold: suffixes may be missing, back-off weights exceed 1, ids have gaps."""
    order = draw(st.integers(1, 4))
    vocabulary = [UNKNOWN, BEGIN, END, *draw(st.sets(st.integers(FIRST_WORD, FIRST_WORD + 5), max_size=4))]
    longest = draw(st.sets(st.lists(st.sampled_from(vocabulary), min_size=1, max_size=order).map(tuple), max_size=20))
    ngrams = {g[:n] for g in longest for n in range(1, len(g) + 1)} | {(word,) for word in vocabulary}
    eighths = st.integers(-40, 0).map(lambda n: n / 8)
    backoffs = st.one_of(st.just(0.0), st.integers(-16, 8).map(lambda n: n / 8))
    return {g: (draw(eighths), draw(backoffs) if len(g) < order else 0.0) for g in sorted(ngrams)}, order
