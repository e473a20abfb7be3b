"""Mixtures: weights by expectation maximization, and one model out of several."""

import numpy as np
import pytest
from backoff_twin import encoded, models, score, texts, to_arrays, to_dictionary
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.language_model.estimate import estimate
from toledo.language_model.interpolate import interpolate, tune_weights
from toledo.language_model.model import LanguageModel
from toledo.text.vocabulary import BEGIN


def mixed(parts, weights, context, word):
    """The definition: unknown words of a part have no probability there."""
    return sum(
        weight * 10 ** score(part, order, context, word)
        for (part, order), weight in zip(parts, weights, strict=True)
        if (word,) in part
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(texts, st.integers(1, 4)), min_size=2, max_size=3), st.integers(1, 9))
def test_a_mixture_is_one_normalized_model(sources, share):
    estimated = [LanguageModel(estimate(encoded(text), order)) for text, order in sources]
    parts = [(to_dictionary(model.ngrams), model.order) for model in estimated]
    weights = np.array([share / 10, *[(1 - share / 10) / (len(parts) - 1)] * (len(parts) - 1)])
    result = interpolate(estimated, weights)
    result.ngrams.check(20)
    content = to_dictionary(result.ngrams)
    assert content.keys() == {ngram for part, _ in parts for ngram in part}
    for ngram, (found, _) in content.items():
        if ngram != (BEGIN,):
            assert 10**found == pytest.approx(mixed(parts, weights, ngram[:-1], ngram[-1]), rel=1e-4)
    words = [ngram[0] for ngram in content if len(ngram) == 1 and ngram[0] != BEGIN]
    for context in {ngram for ngram in content if len(ngram) < result.order} | {()}:
        assert sum(10 ** score(content, result.order, context, word) for word in words) == pytest.approx(1, abs=1e-4)


@settings(max_examples=30, deadline=None)
@given(models(), models())
def test_any_models_can_be_mixed(one, other):
    parts = [LanguageModel(to_arrays(*content)) for content in (one, other)]
    result = interpolate(parts, [0.25, 0.75])
    result.ngrams.check(20)
    assert to_dictionary(result.ngrams).keys() == one[0].keys() | other[0].keys()


def test_weights_make_the_text_most_likely():
    rng = np.random.default_rng(3)
    one, other = (LanguageModel(estimate(encoded(rng.integers(3, top, (40, 6))), 2)) for top in (9, 15))
    text = encoded(rng.integers(3, 11, (60, 5)))
    weights = tune_weights([one, other], text)
    assert weights.sum() == pytest.approx(1)

    def log_likelihood(weight: float) -> float:
        known = [np.where(words == 0, 0, 10**scores) for words, scores in (m.word_scores(text) for m in (one, other))]
        mixture = weight * known[0] + (1 - weight) * known[1]
        return float(np.log(mixture[mixture > 0]).sum())

    grid = [log_likelihood(weight) for weight in np.linspace(0.001, 0.999, 999)]
    assert log_likelihood(weights[0]) >= max(grid) - 1e-6
    assert 0.01 < weights[0] < 0.99


def test_a_useless_model_keeps_a_little_weight():
    good, bad = (LanguageModel(estimate(encoded(text), 2)) for text in ([[3, 4, 5]] * 9, [[6, 7, 8, 9]] * 9))
    weights = tune_weights([good, bad], encoded([[3, 4, 5]] * 4))
    assert 0 < weights[1] < 1e-3
    interpolate([good, bad], weights).ngrams.check(20)


def test_bad_calls_are_refused():
    model = LanguageModel(estimate(encoded([[3]]), 2))
    for weights in ([1.0], [0.5, 0.6], [0.0, 1.0]):
        with pytest.raises(ValueError, match="positive weight"):
            interpolate([model, model], weights)
    with pytest.raises(InputError, match="knows a word"):
        tune_weights([model, model], encoded([]))
