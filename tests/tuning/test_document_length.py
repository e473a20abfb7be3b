"""The word penalty is matched by decoding."""

import math

import numpy as np
import pytest

from toledo.metrics.bleu import BLEU
from toledo.tuning.documents.tune import _next, match_length
from toledo.weights import Weights


class Texts:
    """Texts whose length falls with the word penalty, against references of 1000 words; remembers what was asked."""

    def __init__(self, slope: float, best: float = -1.0) -> None:
        self.slope, self.best, self.asked = slope, best, list[float]()

    def __call__(self, weights: Weights) -> np.ndarray:
        point = weights["word.penalty"]
        self.asked.append(point)
        words = round(1000 * math.exp(self.slope * (point - self.best)))
        return np.array([words, 1000, *(0.5 * words - 10 * n for n in range(4)), *(words - 20 * n for n in range(4))])


@pytest.mark.parametrize("start", [-0.8, -1.3, -1.0])
def test_texts_get_the_length_of_references(start: float) -> None:
    decode, weights = Texts(-0.2), Weights({"lm": 0.5, "word.penalty": start})
    found = match_length(decode, weights)
    assert found["word.penalty"] == pytest.approx(-1.0, abs=0.01)
    assert found["lm"] == 0.5
    assert len(decode.asked) <= 4


def test_the_best_that_was_tried_is_taken() -> None:
    decode = Texts(-3.0, best=-5.0)  # far away
    weights = Weights({"word.penalty": -0.5})
    found = match_length(decode, weights, tries=3)
    tried = list(decode.asked)
    scores = [
        BLEU(smooth_method="none").score(decode(weights.updated(["word.penalty"], np.array([point]))))
        for point in tried
    ]
    assert found["word.penalty"] == tried[int(np.argmax(scores))]
    assert len(tried) == 3


def test_weights_that_do_nothing_are_left_when_nothing_is_better() -> None:
    found = match_length(Texts(0.0), Weights({"word.penalty": 0.0}))
    assert found["word.penalty"] == 0.0
    wrong_way = match_length(Texts(0.5), Weights({"word.penalty": -0.9}), tries=2)
    assert abs(wrong_way["word.penalty"]) < 1.1


def test_the_secant_goes_on_from_0() -> None:
    assert _next([(30.0, 0.1, 0.1), (31.0, 0.0, 0.2)], change=0.3) == pytest.approx(0.2)
    assert _next([(30.0, 0.1, 0.1), (31.0, 0.0, 0.2)], change=0.05) == pytest.approx(0.05)
