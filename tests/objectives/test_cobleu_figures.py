"""The worked example of Pauls, DeNero and Klein (2009): Figure 1 to its printed digits, Figure 2 along θ_LM."""

import math
from itertools import pairwise

import numpy as np
import pytest

from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import NGramForest, localize
from toledo.objectives.cobleu import ConsensusPrecision
from toledo.objectives.objective import match
from toledo.objectives.one_best import OneBestObjective
from toledo.text.vocabulary import Vocabulary

HYPOTHESES = {
    "H1": ("Once on a rhyme", -3.0, -7.0),
    "H2": ("Once upon a rhyme", -5.0, -6.0),
    "H3": ("Once upon a time", -9.0, -3.0),
}
REFERENCE = ["Once", "upon", "a", "rhyme"]


@pytest.fixture(scope="module")
def forest() -> Forest:
    entries = [ListEntry(text.split(), {"tm": tm, "lm": lm}) for text, tm, lm in HYPOTHESES.values()]
    return from_nbest(entries, ["tm", "lm"], Vocabulary())


@pytest.fixture(scope="module")
def bigrams(forest: Forest) -> NGramForest:
    return localize(forest, np.zeros(forest.edges), 2)


def expected(bigrams: NGramForest, lm: float) -> dict[str, float]:
    """The expected count of each bigram at θ_TM = 1."""
    counts = bigrams.expected_counts(distribution(bigrams.forest.shape, bigrams.forest.scores({"tm": 1.0, "lm": lm})))
    words = bigrams.forest.vocabulary
    return {" ".join(words.words(ngram)): counts[i] for i, ngram in enumerate(bigrams.ngrams(0)) if len(ngram) == 2}


def by_hand(lm: float) -> float:
    """CoBP from the definition: the share of the reference's bigrams, each hypothesis having three bigrams."""
    weights = np.exp([tm + lm * score for _, tm, score in HYPOTHESES.values()])
    posterior = weights / weights.sum()
    matches = np.array([1.0, 3.0, 2.0])  # bigrams of "Once upon a rhyme" in each
    return float(posterior @ matches) / 3.0


def consensus(bigrams: NGramForest, lm: float) -> str:
    """The hypothesis whose bigrams have the highest expected counts."""
    counts = expected(bigrams, lm)
    scores = {}
    for name, (text, _, _) in HYPOTHESES.items():
        words = text.split()
        scores[name] = sum(min(1.0, counts[f"{a} {b}"]) for a, b in pairwise(words))
    return max(scores, key=lambda name: scores[name])


def test_figure_1(forest: Forest, bigrams: NGramForest) -> None:
    posteriors = distribution(forest.shape, forest.scores({"tm": 1.0, "lm": 1.0})).posteriors
    assert [f"{p:.2f}" for p in posteriors] == ["0.67", "0.24", "0.09"]
    counts = expected(bigrams, 1.0)
    assert [f"{counts[name]:.2f}" for name in ("Once upon", "upon a", "a rhyme")] == ["0.33", "0.33", "0.91"]
    value = ConsensusPrecision().value_and_gradient(match(bigrams, [[REFERENCE]]), {"tm": 1.0, "lm": 1.0})[0]
    assert value == pytest.approx(0.526496, abs=1e-6)
    assert value == pytest.approx((0.33 + 0.33 + 0.91) / 3, abs=0.005)  # the paper adds rounded numbers


def test_viterbi_never_selects_h2(forest: Forest) -> None:
    """So MaxBP sees only the switch from H1 to H3, at θ_LM = 1.5."""
    chosen = {}
    for lm in np.linspace(-2.0, 6.0, 1601):
        best = viterbi(forest, forest.scores({"tm": 1.0, "lm": lm}))[0]
        assert best is not None
        chosen[round(float(lm), 6)] = str(best)
    assert set(chosen.values()) == {HYPOTHESES["H1"][0], HYPOTHESES["H3"][0]}
    assert all((text == HYPOTHESES["H3"][0]) == (lm > 1.5) for lm, text in chosen.items() if abs(lm - 1.5) > 1e-6)


def test_consensus_decoding_selects_h2_over_a_whole_range(bigrams: NGramForest) -> None:
    points = np.round(np.linspace(-2.0, 6.0, 1601), 6)
    chosen = [lm for lm in points if consensus(bigrams, lm) == "H2"]
    assert min(chosen) == pytest.approx(1.33, abs=0.01)
    assert max(chosen) == pytest.approx(1.63, abs=0.01)
    assert len(chosen) == round((max(chosen) - min(chosen)) / 0.005) + 1  # no gaps
    assert consensus(bigrams, 1.0) == "H1"
    assert consensus(bigrams, 2.0) == "H3"


def test_cobp_is_smooth_and_equals_the_value_by_hand(bigrams: NGramForest) -> None:
    matched = match(bigrams, [[REFERENCE]])
    points = np.linspace(-2.0, 6.0, 801)
    values, slopes = [], []
    for lm in points:
        value, gradient = ConsensusPrecision().value_and_gradient(matched, {"tm": 1.0, "lm": lm})
        assert value == pytest.approx(by_hand(lm), abs=1e-7)
        values.append(value)
        slopes.append(gradient["lm"])
    assert np.abs(np.diff(slopes)).max() < 0.02  # the derivative has no jumps
    peak = points[int(np.argmax(values))]
    # The caption suggests that CoBP is highest where H2 is likeliest. With these numbers it is not: H2 is likeliest at
    # θ_LM = 1.23, but CoBP rises until 2.31, because H3 shares two bigrams with the reference and H1 only one.
    assert peak == pytest.approx(2.31, abs=0.01)
    assert max(values) == pytest.approx(0.671, abs=5e-4)
    likeliest = max(points, key=lambda lm: _probability_of_h2(lm))
    assert likeliest == pytest.approx(1.23, abs=0.01)


def _probability_of_h2(lm: float) -> float:
    weights = [math.exp(tm + lm * score) for _, tm, score in HYPOTHESES.values()]
    return weights[1] / sum(weights)


def test_maxbp_has_the_steps_of_viterbi_and_no_slope(bigrams: NGramForest) -> None:
    matched = match(bigrams, [[REFERENCE]])
    for lm in np.linspace(-2.0, 6.0, 81):
        value, gradient = OneBestObjective(ConsensusPrecision()).value_and_gradient(matched, {"tm": 1.0, "lm": lm})
        if abs(lm - 1.5) > 1e-6:
            assert value == pytest.approx(2 / 3 if lm > 1.5 else 1 / 3)
        assert set(gradient.values()) == {0.0}
