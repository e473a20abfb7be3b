"""Lists of samples: after many states they hold all derivations, each once, the best one first."""

import numpy as np
import pytest
from beam_twin import derivations, features_of
from document_twin import text_of
from small_documents import two_word_model

from toledo.metrics.bleu import BLEU
from toledo.refinement.training_lists import SampleSettings, sampled_lists

SOURCES = [["a", "b"], ["b"], ["a", "unknown", "b"]]
REFERENCES = [["x", "y"], ["z", "z"], ["y", "unknown"]]
MANY = SampleSettings(states=1500, scale=2.0, every=2.0, first=10.0)


def hypotheses(lists, sentence):
    """Pairs, features and statistics of each hypothesis of a sentence."""
    arrays = lists.arrays
    for h in range(arrays.hypotheses[sentence], arrays.hypotheses[sentence + 1]):
        pairs = arrays.pairs[arrays.pair_offsets[h] : arrays.pair_offsets[h + 1]]
        yield tuple(pairs.tolist()), arrays.features[h], tuple(arrays.statistics[h].tolist())


def test_all_derivations_are_found_and_the_best_is_first() -> None:
    model = two_word_model()
    rows = np.arange(len(model.table), dtype=np.int32)[::-1].copy()
    lists = sampled_lists(model, model.weights, SOURCES, REFERENCES, MANY, rows, len(model.table), threads=1)
    assert len(lists) == len(SOURCES)
    for s, (source, reference) in enumerate(zip(SOURCES, REFERENCES, strict=True)):
        expected, scores = [], {}
        for steps in derivations(model, source):
            pairs = tuple(int(rows[pair]) for _, _, pair in steps if pair >= 0)
            statistics = BLEU(smooth_method="none").statistics(text_of(model, source, steps), [reference])[:6]
            features = features_of(model, source, steps)
            key = (pairs, *np.round([features[name] for name in model.feature_names], 3), *statistics)
            expected.append(key)
            scores[key] = sum(model.weights[name] * value for name, value in features.items())
        found = [(pairs, *np.round(values, 3), *counts) for pairs, values, counts in hypotheses(lists, s)]
        assert len(found) == len(expected)
        for key in found:
            assert any(key[0] == other[0] and key[1:] == pytest.approx(other[1:], abs=2e-3) for other in expected)
        best = max(scores, key=scores.get)
        assert found[0][0] == best[0]
        assert found[0][1:] == pytest.approx(best[1:], abs=2e-3)


def test_sharp_samples_are_few_and_the_same_again_with_any_threads() -> None:
    model = two_word_model()
    sharp = SampleSettings(states=30, scale=200.0)
    one, two = (
        sampled_lists(model, model.weights, SOURCES * 40, REFERENCES * 40, sharp, None, len(model.table), threads)
        for threads in (1, 2)
    )
    for left, right in zip(one.arrays, two.arrays, strict=True):
        np.testing.assert_array_equal(left, right)
    flat = sampled_lists(model, model.weights, SOURCES, REFERENCES, MANY, None, len(model.table), threads=1)
    assert np.diff(one.arrays.hypotheses).mean() < np.diff(flat.arrays.hypotheses).mean()
    other = SampleSettings(states=30, scale=2.0, seed=2), SampleSettings(states=30, scale=2.0)
    seeds = [
        sampled_lists(model, model.weights, SOURCES * 9, REFERENCES * 9, how, None, len(model.table)) for how in other
    ]
    assert not np.array_equal(seeds[0].arrays.hypotheses, seeds[1].arrays.hypotheses)


def test_settings_that_cannot_be_are_refused() -> None:
    for wrong in ({"states": 1}, {"scale": 0.0}, {"every": 0.0}, {"first": -1.0}):
        with pytest.raises(ValueError, match=r"scale|chain"):
            SampleSettings(**wrong)
