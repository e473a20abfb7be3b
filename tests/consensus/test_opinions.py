"""Selections that cover the samples, groups of samples that agree, and the expected score of a text."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import toledo
from toledo.consensus.opinions import merge_groups
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER

CATS = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat"]
DOGS = ["dogs bark loudly", "dogs barked loudly"]
SAMPLES = [CATS[0], DOGS[0], CATS[1], "no idea", CATS[2], DOGS[1], CATS[0]]
Floats = NDArray[np.float64]


def expected_best(matrix: Floats, shares: Floats, chosen: tuple[int, ...]) -> float:
    return float(matrix[list(chosen)].max(axis=0) @ shares)


def test_the_first_is_the_choice_and_others_cover_the_rest() -> None:
    found = toledo.select(SAMPLES, 3)
    assert found.texts[0] == toledo.choose(SAMPLES).text
    assert set(found.texts[1:]) <= {*DOGS, "no idea"}
    assert found[0].score == pytest.approx(toledo.choose(SAMPLES).score)
    assert sum(one.share for one in found) == pytest.approx(1)
    assert sorted(index for one in found for index in one.members) == [0, 1, 2, 3, 4, 5]
    assert found[0].members == (0, 2, 4)
    assert found.signature.startswith("rule:select|metric:chrF2|nsamples:7")
    assert str(found).splitlines()[0].split() == ["index", "share", "expected", "chrF2", "text"]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_greedy_selection_by_brute_force(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    matrix, weights = generator.random((7, 7)), generator.random(7)
    found = toledo.select([f"t{place}" for place in range(7)], size, matrix=matrix, weights=weights)
    chosen: tuple[int, ...] = ()
    for one in found:
        scores = {
            place: expected_best(matrix, weights / weights.sum(), (*chosen, place))
            for place in range(7)
            if place not in chosen
        }
        assert one.score == pytest.approx(max(scores.values()))
        assert scores[one.index] == pytest.approx(one.score)
        chosen += (one.index,)
    best = max(expected_best(matrix, weights / weights.sum(), some) for some in combinations(range(7), size))
    assert found[-1].score >= (1 - 1 / np.e) * best


def test_more_than_there_are() -> None:
    assert toledo.select(["a", "b", "a"], 5).texts == ["a", "b"]


def test_groups_of_samples_that_agree() -> None:
    found = toledo.cluster(SAMPLES)
    assert [one.members for one in found] == [(0, 2, 4), (1, 5), (3,)]
    assert [one.share for one in found] == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert found.texts[0] == CATS[0]
    assert [one.text for one in toledo.cluster(SAMPLES, 1)] == [toledo.choose(SAMPLES).text]
    assert len(toledo.cluster(SAMPLES, similarity=101)) == 6
    assert len(toledo.cluster(SAMPLES, 2)) == 2
    by_ter = toledo.cluster(SAMPLES, metric="ter", similarity=60)
    assert [one.members for one in by_ter] == [(0, 2, 4), (1, 5), (3,)]
    assert all(0 <= one.score < 60 for one in by_ter)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_merging_by_brute_force(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    similar, shares = generator.random((8, 8)), generator.random(8)
    similar = similar + similar.T
    groups = [[place] for place in range(8)]
    while len(groups) > size:

        def average(pair: tuple[list[int], list[int]]) -> float:
            one, other = pair
            weights = np.outer(shares[one], shares[other])
            return float((weights * similar[np.ix_(one, other)]).sum() / weights.sum())

        one, other = max(combinations(groups, 2), key=average)
        groups = [some for some in groups if some not in (one, other)] + [one + other]
    found = merge_groups(similar, shares, size, 0.0)
    assert sorted(sorted(some) for some in groups) == sorted(some.tolist() for some in found)


@pytest.mark.parametrize("metric", [CHRF(), BLEU(effective_order=True), TER()])
def test_the_expected_score_of_a_text(metric: toledo.Metric) -> None:
    weights = np.array([1, 2, 1, 0.5, 1, 1, 1])
    scores = np.array([metric.sentence_score("the cat sat on mats", one).score for one in SAMPLES])
    scores = scores if metric.higher_is_better else np.minimum(scores, 100)
    found = toledo.expected_score("the cat sat on mats", SAMPLES, metric=metric, weights=weights)
    assert found == pytest.approx(scores @ weights / weights.sum())


def test_functions_and_error_rates() -> None:
    calls: list[int] = []

    def same(hypotheses: list[str], references: list[str], sources: object) -> list[float]:
        calls.append(len(hypotheses))
        return [float(one == other) for one, other in zip(hypotheses, references, strict=True)]

    assert toledo.select(SAMPLES, 2, metric=same).texts[0] == CATS[0]
    assert calls == [36]
    assert toledo.expected_score(CATS[0], SAMPLES, metric=same) == pytest.approx(2 / 7)


def test_refusals() -> None:
    with pytest.raises(toledo.InputError, match="k is 0"):
        toledo.select(SAMPLES, 0)
    with pytest.raises(toledo.InputError, match="k is -1"):
        toledo.cluster(SAMPLES, -1)
    with pytest.raises(toledo.InputError, match="samples is empty"):
        toledo.cluster([])
    with pytest.raises(TypeError, match="text is a list"):
        toledo.expected_score(["a"], SAMPLES)  # type: ignore[arg-type]
