"""Small models for tests of searches, and all derivations of a short sentence with their features, by definition."""

import logging
import math
from collections.abc import Iterator

import numpy as np
import small_tables
from hypothesis import strategies as st

from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.model import PhraseModel, SearchSettings, feature_names
from toledo.phrases.table import PhraseTable
from toledo.text.corpus import Sentences
from toledo.weights import Weights

Steps = tuple[tuple[int, int, int], ...]  # (begin, end, pair), −1 for a copied word


def language_model(table: PhraseTable, order: int) -> LanguageModel:
    """A model of random text over the table's words; the test words are copied words that it does not know."""
    logging.disable(logging.WARNING)  # so little text has no good discounts
    rng = np.random.default_rng(order)
    lengths = rng.integers(1, 7, 40)
    words = rng.integers(3, max(len(table.target_vocabulary), 4), int(lengths.sum())).astype(np.int32)
    table.target_vocabulary.add("w")  # at least one word
    found = LanguageModel(estimate(Sentences.from_lengths(words, lengths), order))
    logging.disable(logging.NOTSET)
    return found


def small_model(
    content: dict, orders: tuple[int, ...], limit: int | None, reordering: bool, weights: list[float]
) -> PhraseModel:
    table = small_tables.make_table(content, reordering)
    names = feature_names(table, len(orders))
    values = dict(zip(names, weights[: len(names)], strict=True)) | {"oov": 1.0}
    models = tuple(language_model(table, order) for order in orders)
    return PhraseModel(table, models, Weights(values), SearchSettings(limit, table_limit=0))


def derivations(model: PhraseModel, words: list[str]) -> Iterator[Steps]:
    """All ways to translate a sentence under Moses' distortion rule."""
    table, limit = model.table, model.settings.distortion_limit
    by_span: dict[tuple[int, int], list[int]] = {}
    for index, pair in enumerate(table):
        for b in range(len(words)):
            if tuple(words[b : b + len(pair.source)]) == pair.source:
                by_span.setdefault((b, b + len(pair.source)), []).append(index)
    for b in range(len(words)):
        by_span.setdefault((b, b + 1), [-1])
    reach = 10**9 if limit is None else limit

    def extend(done: frozenset[int], last: int, steps: Steps) -> Iterator[Steps]:
        if len(done) == len(words):
            yield steps
            return
        gap = min(set(range(len(words))) - done)
        for (b, e), pairs in by_span.items():
            if done & set(range(b, e)) or abs(b - last) > reach or (b > gap and e - gap > reach):
                continue
            for pair in pairs:
                yield from extend(done | set(range(b, e)), e, (*steps, (b, e, pair)))

    yield from extend(frozenset(), 0, ())


def features_of(model: PhraseModel, words: list[str], steps: Steps) -> dict[str, float]:
    """The features of a derivation from their definitions."""
    table, total = model.table, dict.fromkeys(model.feature_names, 0.0)
    text: list[str] = []
    last_begin, last_end, last_pair = 0, 0, -1
    for begin, end, pair in steps:
        target = [words[begin]] if pair < 0 else list(table[pair].target)
        text += target
        total["distortion"] -= abs(begin - last_end)
        total["word.penalty"] -= len(target)
        total["phrase.penalty"] += 1
        total["oov"] -= 100 if pair < 0 else 0
        if pair >= 0:
            for name in table.feature_names:
                total[name] += table[pair].scores[name]
            for name, value in sparse_of(model, pair):
                total[name] = total.get(name, 0.0) + value
        if table.reordering is not None:
            kind = "monotone" if begin == last_end else "swap" if end == last_begin else "discontinuous"
            if pair >= 0:
                total[f"reordering.previous.{kind}"] += table[pair].scores[f"reordering.previous.{kind}"]
            if last_pair >= 0:
                total[f"reordering.following.{kind}"] += table[last_pair].scores[f"reordering.following.{kind}"]
        last_begin, last_end, last_pair = begin, end, pair
    ids = model.target_vocabulary.ids(text)
    for number, lm in enumerate(model.language_models):
        scored = lm.score_sentences(Sentences.from_lengths(ids, np.array([ids.size])))[0] * math.log(10)
        total[model.feature_names[number]] = float(scored)
    return total


def score(model: PhraseModel, features: dict[str, float]) -> float:
    return sum(model.weights.get(name, 0.0) * value for name, value in features.items())


def sparse_of(model: PhraseModel, pair: int) -> list[tuple[str, float]]:
    sparse = model.sparse
    if sparse is None:
        return []
    places = range(int(sparse.offsets[pair]), int(sparse.offsets[pair + 1]))
    return [(sparse.names[sparse.ids[place]], float(sparse.values[place])) for place in places]


contents = st.dictionaries(
    st.tuples(small_tables.phrases, st.lists(st.sampled_from("xyz"), min_size=1, max_size=2).map(tuple)),
    small_tables.scores.map(lambda values: tuple(value / 3 for value in values)),
    max_size=8,
)
models = st.builds(
    small_model,
    contents,
    st.sampled_from([(2,), (3,), (1, 2)]),
    st.sampled_from([0, 1, 2, 4, None]),
    st.booleans(),
    st.lists(st.floats(-0.5, 1.0), min_size=16, max_size=16),
)
