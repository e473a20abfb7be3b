"""Beam search against enumeration of all derivations of short sentences."""

import logging
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import small_tables
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.corpus import sentences_from
from toledo.forest import k_best, viterbi
from toledo.language_model.estimate import estimate
from toledo.language_model.query import LanguageModel
from toledo.model import Model, SearchSettings, default_weights, feature_names
from toledo.phrases.table import PhraseTable
from toledo.search.beam import BeamSearch, BeamSettings
from toledo.weights import Weights

ALL = BeamSettings(pop_limit=100_000)
Steps = tuple[tuple[int, int, int], ...]  # (begin, end, pair), −1 for a copied word


def language_model(table: PhraseTable, order: int) -> LanguageModel:
    """A model of random text over the table's words; the test words are copied words that it does not know."""
    logging.disable(logging.WARNING)  # so little text has no good discounts
    rng = np.random.default_rng(order)
    lengths = rng.integers(1, 7, 40)
    words = rng.integers(3, max(len(table.target_vocabulary), 4), int(lengths.sum())).astype(np.int32)
    table.target_vocabulary.add("w")  # at least one word
    found = LanguageModel(estimate(sentences_from(words, lengths), order))
    logging.disable(logging.NOTSET)
    return found


def small_model(
    content: dict, orders: tuple[int, ...], limit: int | None, reordering: bool, weights: list[float]
) -> Model:
    table = small_tables.make_table(content, reordering)
    names = feature_names(table, len(orders))
    values = dict(zip(names, weights[: len(names)], strict=True)) | {"oov": 1.0}
    models = tuple(language_model(table, order) for order in orders)
    return Model(table, models, Weights(values), SearchSettings(limit, table_limit=0))


def derivations(model: Model, words: list[str]) -> Iterator[Steps]:
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


def features_of(model: Model, words: list[str], steps: Steps) -> dict[str, float]:
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
        if table.reordering is not None:
            kind = "monotone" if begin == last_end else "swap" if end == last_begin else "discontinuous"
            if pair >= 0:
                total[f"reordering.previous.{kind}"] += table[pair].scores[f"reordering.previous.{kind}"]
            if last_pair >= 0:
                total[f"reordering.following.{kind}"] += table[last_pair].scores[f"reordering.following.{kind}"]
        last_begin, last_end, last_pair = begin, end, pair
    ids = model.target_vocabulary.ids(text)
    for number, lm in enumerate(model.language_models):
        scored = lm.score(sentences_from(ids, np.array([ids.size])))[0] * math.log(10)
        total[model.feature_names[number]] = float(scored)
    return total


def score(model: Model, features: dict[str, float]) -> float:
    return sum(model.weights[name] * value for name, value in features.items())


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


@settings(max_examples=60)
@given(models, st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
def test_an_unlimited_search_is_exact_and_its_lattice_complete(model: Model, words: list[str]) -> None:
    expected = sorted(score(model, features_of(model, words, steps)) for steps in derivations(model, words))
    search = BeamSearch(model, ALL)
    (translation,) = search.translate([words], threads=1)
    (forest,) = search.forests([words], threads=1)
    if not expected:  # a distortion limit can leave no way to finish
        assert translation.steps == ()
        assert viterbi(forest, forest.scores(model.weights)) == [None]
        return
    assert translation.score == pytest.approx(expected[-1], abs=1e-4)
    steps = tuple((step.begin, step.end, step.pair) for step in translation.steps)
    assert score(model, features_of(model, words, steps)) == pytest.approx(translation.score, abs=1e-4)
    found = sorted(one.score for one in k_best(forest, forest.scores(model.weights)))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@settings(max_examples=30)
@given(models, st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), st.integers(1, 5))
def test_a_narrow_beam_gives_true_derivations(model: Model, words: list[str], pops: int) -> None:
    search = BeamSearch(model, BeamSettings(pops))
    (translation,) = search.translate([words], threads=1)
    if translation.steps:
        steps = tuple((step.begin, step.end, step.pair) for step in translation.steps)
        assert sorted(position for b, e, _ in steps for position in range(b, e)) == list(range(len(words)))
        features = features_of(model, words, steps)
        assert score(model, features) == pytest.approx(translation.score, abs=1e-4)
        (forest,) = search.forests([words], threads=1)
        best = viterbi(forest, forest.scores(model.weights))[0]
        assert best is not None
        assert best.words == translation.words
        assert best.features == pytest.approx(features, abs=1e-4)


def test_long_sentences_empty_ones_and_threads() -> None:
    content = {(("a",), ("x",)): (-0.1, -0.1, -0.1, -0.1), (("b",), ("y",)): (-1.0, 0.0, 0.0, 0.0)}
    content |= {(("a", "b"), ("x", "y")): (-0.2, -0.2, 0.0, 0.0), (("a",), ("z",)): (-0.2, 0.0, 0.0, 0.0)}
    model = small_model(content, (3,), 6, False, [0.5] * 16)
    model = model.with_weights(default_weights(model.feature_names))
    rng = np.random.default_rng(3)
    sentences = [list(rng.choice(["a", "b", "c"], size)) for size in (500, 1, 0, 70, 12)] * 5
    search = BeamSearch(model, BeamSettings(20))
    one, two = (search.translate(sentences, threads=threads) for threads in (1, 2))
    assert one == two
    assert one[2].words == ()
    covered = sorted(position for step in one[0].steps for position in range(step.begin, step.end))
    assert covered == list(range(500))


def test_a_narrow_window_stands_for_no_limit_in_long_sentences() -> None:
    model = small_model({(("a",), ("x",)): (0.0, 0.0, 0.0, 0.0)}, (1,), None, False, [0.1] * 16)
    (translation,) = BeamSearch(model, BeamSettings(30)).translate([["a"] * 150], threads=1)
    assert len(translation.words) == 150


def test_a_pop_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        BeamSettings(0)


def test_the_table_limit_keeps_the_best_options() -> None:
    content = {(("a",), (word,)): (value, 0.0, 0.0, 0.0) for word, value in (("x", -3.0), ("y", -1.0), ("z", -2.0))}
    model = small_model(content, (1,), 6, False, [0.0] * 16)
    weights = Weights({**model.weights, "phrase.backward": 1.0})
    model = replace(model.with_weights(weights), settings=SearchSettings(6, table_limit=2))
    (forest,) = BeamSearch(model, ALL).forests([["a"]], threads=1)
    assert [str(one) for one in islice(k_best(forest, forest.scores(weights)), 5)] == ["y", "z"]
