"""Values against enumeration of all derivations; gradients against central differences."""

import math
from collections import Counter

import numpy as np
import oracle
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.assemble import join
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import distribution
from toledo.forest.ngrams import localize
from toledo.objectives.cobleu import CoBLEU, ConsensusPrecision
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.gleu import ConsensusGLEU
from toledo.objectives.linear_bleu import LinearBLEU
from toledo.objectives.lists import Entropy
from toledo.objectives.objective import MatchedForest, Objective, WeightedSum, closest_lengths, match
from toledo.objectives.precision import clip
from toledo.objectives.xbleu import XBLEU, smooth_brevity
from toledo.text.vocabulary import Vocabulary

ORDER = 3
references = st.lists(
    st.lists(st.sampled_from([*oracle.WORDS, "unseen"]), min_size=1, max_size=6), min_size=2, max_size=2
)


@st.composite
def matched_forests(draw: st.DrawFn) -> MatchedForest:
    vocabulary = Vocabulary(oracle.WORDS)
    parts = [draw(oracle.forests(max_nodes=3)) for _ in range(2)]
    parts = [Forest(part.shape, part.yields, part.features, part.feature_names, vocabulary) for part in parts]
    corpus = join(parts)
    split = localize(corpus, np.zeros(corpus.edges), ORDER)
    return match(split, [draw(references) for _ in parts])


weights = st.fixed_dictionaries({"f0": st.floats(-1, 1), "f1": st.floats(-1, 1)})
OBJECTIVES = [
    CoBLEU(ORDER),
    CoBLEU(2),
    CoBLEU(ORDER, steepness=30.0),
    XBLEU(ORDER),
    XBLEU(ORDER, steepness=30.0),
    LinearBLEU(ORDER),
    ConsensusGLEU(ORDER),
    ConsensusPrecision(2),
]


def value(objective: Objective, matched: MatchedForest, at: dict[str, float]) -> float:
    return objective.value_and_gradient(matched, at)[0]


def expected_counts(matched: MatchedForest, at: dict[str, float]) -> np.ndarray:
    forest = matched.ngrams.forest
    return matched.ngrams.expected_counts(distribution(forest.shape, forest.scores(at)))


def near_a_kink(matched: MatchedForest, at: dict[str, float]) -> bool:
    """Where an expected count or length is just at its limit, central differences mean nothing."""
    counts = expected_counts(matched, at)
    length, closest = matched.lengths(counts)
    single = matched.ngrams.orders == 1
    each = np.bincount(matched.sentence_of[single], counts[single], len(matched.ngrams.forest))
    distances = np.abs(matched.reference_lengths - each[:, None])
    tie = np.abs(distances[:, 0] - distances[:, 1])
    equal = matched.reference_lengths[:, 0] == matched.reference_lengths[:, 1]
    ngram_totals = abs(sum(np.maximum(closest - n, 0).sum() for n in range(ORDER)) - counts.sum())
    return bool(
        np.any(np.abs(counts - matched.reference_counts)[matched.reference_counts > 0] < 0.02)
        or abs(length - closest.sum()) < 0.02
        or np.any((tie < 0.02) & ~equal)
        or ngram_totals < 0.02
    )


@pytest.mark.parametrize("objective", OBJECTIVES, ids=repr)
@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.data())
def test_gradients_equal_central_differences(objective: Objective, data: st.DataObject) -> None:
    matched, at = data.draw(matched_forests()), data.draw(weights)
    found, gradient = objective.value_and_gradient(matched, at)
    assume(math.isfinite(found) and not near_a_kink(matched, at))
    step = 1e-6
    for name in at:
        up, down = (value(objective, matched, {**at, name: at[name] + sign * step}) for sign in (1, -1))
        assert gradient[name] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=2e-8 * max(1.0, abs(found)))


@settings(max_examples=60)
@given(matched_forests(), weights, st.floats(0.1, 3))
def test_entropy_and_sums_of_objectives(matched: MatchedForest, at: dict[str, float], temperature: float) -> None:
    objective = WeightedSum([(1.0, LinearBLEU(ORDER)), (temperature, Entropy())])
    found, gradient = objective.value_and_gradient(matched, at)
    forest = matched.ngrams.forest
    entropy = distribution(forest.shape, forest.scores(at)).entropy().sum()
    assert found == pytest.approx(value(LinearBLEU(ORDER), matched, at) + temperature * entropy)
    step = 1e-6
    for name in at:
        up, down = (value(objective, matched, {**at, name: at[name] + sign * step}) for sign in (1, -1))
        assert gradient[name] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-7)


def counted(matched: MatchedForest, at: dict[str, float]) -> list[tuple[Counter, list[tuple[int, ...]], int]]:
    """Expected n-gram counts by enumeration, per segment."""
    from toledo.forest.assemble import split

    result = []
    for part, _, _ in split(matched.ngrams.forest):
        trees = oracle.derivations(part)
        counts: Counter = Counter()
        for tree, probability in zip(trees, oracle.probabilities(trees, part.scores(at)), strict=True):
            for ngram, count in oracle.ngrams(tree.words, ORDER).items():
                counts[ngram] += probability * count
        result.append(counts)
    return result


@settings(max_examples=60)
@given(st.data())
def test_cobleu_equals_its_formula_by_enumeration(data: st.DataObject) -> None:
    vocabulary = Vocabulary(oracle.WORDS)
    part = data.draw(oracle.forests(max_nodes=3))
    part = Forest(part.shape, part.yields, part.features, part.feature_names, vocabulary)
    refs, at = data.draw(references), data.draw(weights)
    matched = match(localize(part, np.zeros(part.edges), ORDER), [refs])
    (counts,) = counted(matched, at)
    limits: Counter = Counter()
    for reference in refs:
        ids = tuple(vocabulary.id(word) if word in vocabulary else -1 for word in reference)
        limits |= oracle.ngrams(ids, ORDER)
    length = sum(count for ngram, count in counts.items() if len(ngram) == 1)
    if length <= 0:
        return
    target = min((abs(len(reference) - length), len(reference)) for reference in refs)[1]
    expected = min(0.0, 1 - target / length)
    for n in range(1, ORDER + 1):
        total = sum(count for ngram, count in counts.items() if len(ngram) == n)
        clipped = sum(min(count, limits[ngram]) for ngram, count in counts.items() if len(ngram) == n)
        if total > 0:
            expected += math.log(max(clipped, 1e-9) / total) / ORDER
    assert value(CoBLEU(ORDER), matched, at) == pytest.approx(expected, abs=1e-6)


def test_smooth_clip_and_brevity_do_not_overflow_and_have_their_limits() -> None:
    values, slopes = np.transpose([clip(count, 1.0, True) for count in (0.0, 0.5, 1.0, 50.0, 1e6)])
    np.testing.assert_allclose(values, [0.0, 0.5, 1.0, 1.0, 1.0], atol=1e-3)
    np.testing.assert_allclose(slopes, [1.0, 1.0, 0.5, 0.0, 0.0], atol=1e-3)
    assert smooth_brevity(-1.0) == pytest.approx((math.exp(-1.0), math.exp(-1.0)))
    assert smooth_brevity(800.0) == pytest.approx((1.0, 0.0))


def test_matches_are_summed_over_reference_ngrams_only() -> None:
    """Read literally, ψ(E, 0) would give matches to n-grams that no reference has."""
    forest = oracle.chain(depth=3, ways=40)
    matched = match(localize(forest, np.zeros(forest.edges), 1), [[["nothing", "of", "this"]]])
    assert value(XBLEU(1), matched, {}) == pytest.approx(1e-9 / 3.0)


def test_ties_between_reference_lengths_go_to_the_shorter() -> None:
    assert closest_lengths(np.array([[3.0, 5.0], [5.0, 3.0], [9.0, 2.0]]), np.array([4.0, 4.0, 7.0])).tolist() == [
        3,
        3,
        9,
    ]


def test_references_of_the_wrong_shape_are_refused() -> None:
    from toledo.errors import InputError

    forest = oracle.chain(depth=1, ways=2)
    split = localize(forest, np.zeros(forest.edges), 2)
    with pytest.raises(InputError, match="2 segments, but 1"):
        match(split, [[["a"]], [["b"]]])
    with pytest.raises(InputError, match="number of references"):
        match(split, [[]])


def test_a_forest_split_for_too_low_an_order_is_refused() -> None:
    forest = oracle.chain(depth=1, ways=2)
    matched = match(localize(forest, np.zeros(forest.edges), 2), [[["a"]]])
    with pytest.raises(ValueError, match="order 4 needs"):
        CoBLEU().value_and_gradient(matched, {})


class ExpectedLength(ExpectedCounts):
    """An objective that a user might write in a minute."""

    def value_and_derivatives(
        self, matched: MatchedForest, expected: np.ndarray, threads: int | None = None
    ) -> tuple[float, np.ndarray]:
        single = (matched.ngrams.orders == 1).astype(float)
        return float(single @ expected), single


@settings(max_examples=30)
@given(matched_forests(), weights)
def test_an_objective_of_ones_own_has_the_right_gradient(matched: MatchedForest, at: dict[str, float]) -> None:
    gradient = ExpectedLength().value_and_gradient(matched, at)[1]
    step = 1e-6
    for name in at:
        up, down = (value(ExpectedLength(), matched, {**at, name: at[name] + sign * step}) for sign in (1, -1))
        assert gradient[name] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-7)


@settings(max_examples=40)
@given(matched_forests(), weights)
def test_two_sweeps_over_pieces_give_what_single_steps_give(matched: MatchedForest, at: dict[str, float]) -> None:
    for objective in OBJECTIVES:
        value, gradient = objective.value_and_gradient(matched, at, 2)
        expected_value, expected = Objective.value_and_gradient(objective, matched, at, 1)
        assert value == pytest.approx(expected_value, rel=1e-12)
        assert gradient == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_weights_that_are_too_large_are_refused() -> None:
    forest = from_nbest([ListEntry(["a"], {"x": 1e30}), ListEntry(["b"], {"x": -1.0})], ["x"], Vocabulary())
    matched = match(localize(forest, np.zeros(forest.edges), 4), [[["a"]]])
    with pytest.raises(InputError, match=r"the weight of x is 1e\+300"):
        CoBLEU().value_and_gradient(matched, {"x": 1e300})
