"""Beam search against enumeration of all derivations of short sentences."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from beam_twin import derivations, features_of, models, score, small_model
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.consensus.decide import Viterbi, decide
from toledo.forest.derivations import viterbi
from toledo.forest.kbest import k_best
from toledo.model import PhraseModel, SearchSettings, default_weights
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.weights import Weights

ALL = Beam(pop_limit=100_000)


@settings(max_examples=60)
@given(models, st.lists(st.sampled_from("abcd"), min_size=1, max_size=4))
def test_an_unlimited_search_is_exact_and_its_lattice_complete(model: PhraseModel, words: list[str]) -> None:
    expected = sorted(score(model, features_of(model, words, steps)) for steps in derivations(model, words))
    search = BeamSearch(model, ALL)
    (translation,) = search.translate([words], threads=1)
    (forest,) = search.forests([words], threads=1)
    assert expected  # whatever the limit, the first gap can be reached, and its word is translated or copied
    assert translation.score == pytest.approx(expected[-1], abs=1e-4)
    steps = tuple((step.begin, step.end, step.pair) for step in translation.steps)
    assert score(model, features_of(model, words, steps)) == pytest.approx(translation.score, abs=1e-4)
    found = sorted(one.score for one in k_best(forest, forest.scores(model.weights)))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@settings(max_examples=30)
@given(models, st.lists(st.sampled_from("abcd"), min_size=1, max_size=6), st.integers(1, 5))
def test_a_narrow_beam_gives_true_derivations(model: PhraseModel, words: list[str], pops: int) -> None:
    search = BeamSearch(model, Beam(pops))
    (translation,) = search.translate([words], threads=1)
    steps = tuple((step.begin, step.end, step.pair) for step in translation.steps)
    assert sorted(position for b, e, _ in steps for position in range(b, e)) == list(range(len(words)))
    features = features_of(model, words, steps)
    assert score(model, features) == pytest.approx(translation.score, abs=1e-4)
    (forest,) = search.forests([words], threads=1)
    best = viterbi(forest, forest.scores(model.weights))[0]
    assert best is not None
    assert best.score == pytest.approx(translation.score, abs=1e-4)
    assert best.words == translation.words
    assert score(model, best.features) == pytest.approx(translation.score, abs=1e-4)


def test_of_derivations_that_score_the_same_but_for_rounding_everything_takes_the_same_one() -> None:
    rng = np.random.default_rng(5)
    content = {}
    for source in ("a", "b", "c", "ab", "bc", "abc"):  # scores of phrases are sums of those of their words
        worth = sum({"a": -0.1, "b": -0.7, "c": -0.33}[word] for word in source)
        for target in (source.upper(), source.upper()[::-1]):
            content[tuple(source), tuple(target)] = (worth, 3 * worth, 0.7 * worth, 1.3 * worth)
    model = small_model(content, (1,), 6, False, [0.29, 0.41, 0.53, 0.17, 0.23, 0.0, 0.1, 0.0, 1.0])
    sentences = [list(rng.choice(["a", "b", "c"], 7)) for _ in range(20)]
    search = BeamSearch(model, Beam(50))
    plain = [" ".join(one.words) for one in search.translate(sentences, threads=1)]
    forests = search.forests(sentences, threads=1)
    scores = [forest.scores(model.weights) for forest in forests]
    assert plain == [str(one.translation) for one in search.results(sentences, threads=1)]
    assert plain == [str(next(k_best(*one))) for one in zip(forests, scores, strict=True)]
    assert plain == [str(next(k_best(*one, distinct=True))) for one in zip(forests, scores, strict=True)]
    chosen = [decide(Viterbi(), forests, model.weights, scale) for scale in (1.0, 0.1, 0.7, 3.0)]
    texts = [[" ".join(forests[0].vocabulary.words(one.words.tolist())) for one in some] for some in chosen]
    assert texts == [plain] * 4


def test_long_sentences_empty_ones_and_threads() -> None:
    content = {(("a",), ("x",)): (-0.1, -0.1, -0.1, -0.1), (("b",), ("y",)): (-1.0, 0.0, 0.0, 0.0)}
    content |= {(("a", "b"), ("x", "y")): (-0.2, -0.2, 0.0, 0.0), (("a",), ("z",)): (-0.2, 0.0, 0.0, 0.0)}
    model = small_model(content, (3,), 6, False, [0.5] * 16)
    model = model.with_weights(default_weights(model.feature_names))
    rng = np.random.default_rng(3)
    sentences = [list(rng.choice(["a", "b", "c"], size)) for size in (500, 1, 0, 70, 12)] * 5
    search = BeamSearch(model, Beam(20))
    one, two = (search.translate(sentences, threads=threads) for threads in (1, 2))
    assert one == two
    assert one[2].words == ()
    covered = sorted(position for step in one[0].steps for position in range(step.begin, step.end))
    assert covered == list(range(500))


def test_a_narrow_window_stands_for_no_limit_in_long_sentences() -> None:
    model = small_model({(("a",), ("x",)): (0.0, 0.0, 0.0, 0.0)}, (1,), None, False, [0.1] * 16)
    (translation,) = BeamSearch(model, Beam(30)).translate([["a"] * 150], threads=1)
    assert len(translation.words) == 150


def test_a_pop_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Beam(0)


def test_the_table_limit_keeps_the_best_options() -> None:
    content = {(("a",), (word,)): (value, 0.0, 0.0, 0.0) for word, value in (("x", -3.0), ("y", -1.0), ("z", -2.0))}
    model = small_model(content, (1,), 6, False, [0.0] * 16)
    weights = Weights({**model.weights, "phrase.backward": 1.0})
    model = replace(model.with_weights(weights), settings=SearchSettings(6, table_limit=2))
    (forest,) = BeamSearch(model, ALL).forests([["a"]], threads=1)
    assert [str(one) for one in islice(k_best(forest, forest.scores(weights)), 5)] == ["y", "z"]
