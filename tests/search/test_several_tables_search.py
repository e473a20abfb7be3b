"""Each search with several phrase tables and language models, against all derivations that Moses' rules allow."""

from itertools import pairwise

import numpy as np
import pytest
from beam_twin import contents
from hypothesis import given, settings
from hypothesis import strategies as st
from several_twin import Content, plain_derivations, plain_features, plain_options, plain_score, united_model
from small_documents import document_of

from toledo.forest.kbest import k_best
from toledo.model import PhraseModel, SearchSettings
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.beam.search import BeamSearch
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.itg import ITGSearch
from toledo.search.settings import ITG, Beam, Gibbs
from toledo.weights import Weights

ALL = 1_000_000
ORDERS = (2, 3)
values = st.lists(st.floats(-0.5, 1.0), min_size=17, max_size=17)
words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3)
back_offs = st.sampled_from([(0, 0), (0, 1), (0, 2), (0, 255)])
FIRST: Content = {
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
}
SECOND: Content = {
    (("a",), ("x",)): (-0.3, -0.1, -0.9, -0.2),
    (("c",), ("z",)): (-0.3, -0.2, -0.1, -0.1),
    (("a", "b"), ("z", "x")): (-0.1, -0.2, -0.3, -0.4),
}
VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4, 0.1]


def expected_scores(
    model: PhraseModel, tables: list[Content], back_off: tuple[int, ...], words: list[str]
) -> list[float]:
    found = plain_derivations(plain_options(tables, back_off, words), len(words))
    return sorted(plain_score(model, plain_features(model, steps)) for steps in found)


@settings(max_examples=60)
@given(contents, contents, back_offs, values, words)
def test_beam_search_finds_every_derivation(
    first: Content, second: Content, back_off: tuple[int, ...], weights: list[float], sentence: list[str]
) -> None:
    model = united_model([first, second], back_off, ORDERS, weights)
    search = BeamSearch(model, Beam(ALL))
    (forest,) = search.forests([sentence], threads=1)
    found = sorted(one.score for one in k_best(forest, forest.scores(model.weights)))
    expected = expected_scores(model, [first, second], back_off, sentence)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    (best,) = search.translate([sentence], threads=1)
    assert best.score == pytest.approx(expected[-1], abs=1e-4)


@settings(max_examples=40)
@given(contents, contents, back_offs, values, words)
def test_itg_search_finds_every_derivation(
    first: Content, second: Content, back_off: tuple[int, ...], weights: list[float], sentence: list[str]
) -> None:
    """Joins reach every order of up to three phrases; jumps are not scored, nor are joins here."""
    model = united_model([first, second], back_off, ORDERS, weights)
    model = model.with_weights(Weights({**model.weights, "distortion": 0.0, "itg.monotone": 0.0, "itg.inverted": 0.0}))
    search = ITGSearch(model, ITG(ALL))
    (forest,) = search.forests([sentence], threads=1)
    found = sorted(one.score for one in k_best(forest, forest.scores(search.model.weights)))
    np.testing.assert_allclose(found, expected_scores(model, [first, second], back_off, sentence), atol=1e-4)
    assert forest.feature_names[-2:] == ("lm", "lm.1")


@pytest.mark.parametrize("back_off", [(0, 0), (0, 1)])
def test_samples_follow_the_posterior(back_off: tuple[int, ...]) -> None:
    """Two options of the same words are two states, and are drawn as often as their scores say."""
    sentence = list("abca")
    model = united_model([FIRST, SECOND], back_off, ORDERS, VALUES)
    states = list(plain_derivations(plain_options([FIRST, SECOND], back_off, sentence), len(sentence)))
    scores = np.array([plain_score(model, plain_features(model, steps)) for steps in states])
    posterior = np.exp(scores - scores.max())
    posterior /= posterior.sum()
    (samples,) = GibbsSearch(model, Gibbs(1, 20_000, 100, scale=1.0), 3).samples([sentence], threads=1)
    features = samples.derivations.features()
    shares = samples.counts / samples.counts.sum()
    drawn = features @ model.weights.array(model.feature_names)
    assert shares @ drawn == pytest.approx(float(posterior @ scores), abs=0.02)
    of_second = features[:, model.feature_names.index("phrase.forward.1")]
    exact = [sum(one.scores.get("phrase.forward.1", 0.0) for one in steps) for steps in states]
    assert shares @ of_second == pytest.approx(float(posterior @ np.array(exact)), abs=0.02)
    assert len(samples.counts) > 0.9 * len(states)


def test_document_search_climbs_to_the_best_derivation() -> None:
    sentences = [list("abc"), list("cab")]
    model = united_model([FIRST, SECOND], (0, 0), ORDERS, VALUES)
    best = sum(expected_scores(model, [FIRST, SECOND], (0, 0), one)[-1] for one in sentences)
    search = DocumentSearch(model, DocumentSettings(steps=20_000, start="random"))
    (result,) = search.search([document_of(sentences)])
    assert result.best.score == pytest.approx(best, abs=1e-3)


def test_forced_decoding_knows_both_options() -> None:
    model = united_model([FIRST, SECOND], (0, 0), ORDERS, VALUES)
    options = plain_options([FIRST, SECOND], (0, 0), ["a", "b"])
    steps = [one for one in plain_derivations(options, 2) if [w for s in one for w in s.target] == ["x", "y"]]
    expected = sorted(plain_score(model, plain_features(model, one)) for one in steps)
    (forest,) = ForcedDecoder(model).forests([["a", "b"]], [["x", "y"]])
    found = sorted(one.score for one in k_best(forest, forest.scores(model.weights)))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_table_limit_is_that_of_each_table() -> None:
    tables: list[Content] = [
        {(("a",), (word,)): (value, 0.0, 0.0, 0.0) for word, value in zip("xyz", order, strict=True)}
        for order in ((-3.0, -1.0, -2.0), (-9.0, -8.0, -7.0))
    ]
    model = united_model(tables, (0, 0), (2,), [0.0])
    weights = Weights({**model.weights, "phrase.backward": 1.0, "phrase.backward.1": 1.0, "oov": 1.0})
    for limit, expected in ((0, [-1, -2, -3, -7, -8, -9]), (2, [-1, -2, -7, -8]), (1, [-1, -7])):
        limited = PhraseModel(model.table, model.language_models, weights, SearchSettings(6, limit))
        (forest,) = BeamSearch(limited, Beam(ALL)).forests([["a"]], threads=1)
        found = [one.score for one in k_best(forest, forest.scores(weights))]
        assert found == pytest.approx(expected)
        assert all(one >= other for one, other in pairwise(found))
