"""Tests and intervals against slow twins in plain Python, hand computations, and sacreBLEU."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
import sacrebleu.metrics as peers
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.significance import PairedTest
from scipy import stats

from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.significance.paired import (
    Measured,
    holm,
    jackknife_t,
    measure,
    randomization_test,
    standard_error,
    studentized_bootstrap,
    t_estimate,
    t_quantile,
    t_tail,
)
from toledo.metrics.significance.resampling import bootstrap_sums, counts, exact, product, swapped_sums
from toledo.metrics.significance.runs import Variances, detectable, difference_of_runs, runs_needed, units_needed
from toledo.metrics.significance.sacrebleu import SEED, bootstrap_p, percentile_interval, resampled_scores
from toledo.metrics.ter import TER
from toledo.metrics.utility import utility

SAMPLES = 300
MEAN = utility(lambda said, meant, sources: [0.0] * len(said), name="mean")


@pytest.fixture(scope="module")
def statistics(translations):
    """Metric, statistics of the system and of the baseline."""
    words = [[text.lower().split() for text in texts] for texts in (translations.second, translations.first)]
    references = [[text.lower().split() for text in group] for group in translations.by_segment]
    bleu, ter, chrf = BLEU(smooth_method="exp"), TER(), CHRF()
    return {
        "BLEU": (bleu, *(bleu.corpus_statistics(text, references) for text in words)),
        "TER": (ter, *(ter.corpus_statistics(text, references) for text in words)),
        "chrF2": (
            chrf,
            *(chrf.corpus_statistics(t, translations.by_segment) for t in (translations.second, translations.first)),
        ),
    }


@pytest.fixture(scope="module", params=["bs", "ar"])
def peer(request, translations):
    test = PairedTest(
        [("baseline", translations.first), ("system", translations.second)],
        {"BLEU": peers.BLEU(tokenize="none", force=True), "chrF": peers.CHRF(), "TER": peers.TER()},
        translations.references,
        test_type=request.param,
        n_samples=SAMPLES,
        n_ar_confidence=SAMPLES,
    )
    return request.param, test()[1]


@pytest.mark.parametrize("name", ["BLEU", "chrF2", "TER"])
def test_same_numbers_as_sacrebleu(statistics, peer, name):
    """sacreBLEU sums in single precision: a sample at the border may fall on the other side."""
    kind, expected = peer
    metric, system, baseline = statistics[name]
    if kind == "bs":
        ours, theirs = resampled_scores(metric, [system, baseline], SAMPLES, SEED)
        p = bootstrap_p(metric.score(system.sum(axis=0)) - metric.score(baseline.sum(axis=0)), ours - theirs)
        interval = percentile_interval(theirs, 0.95)
        assert interval.mean == pytest.approx(expected[name][0].mean, rel=1e-5)
        assert interval.half_width == pytest.approx(expected[name][0].ci, rel=1e-4)
    else:
        measured = measure(metric, system), measure(metric, baseline)
        p = randomization_test(metric, *measured, shuffles=SAMPLES, seed=SEED).p
        assert measured[0].score == pytest.approx(expected[name][1].score)
    assert p == pytest.approx(expected[name][1].p_value, abs=1.5 / SAMPLES)


def leave_one_out(metric, rows):
    """Effects by the definition."""
    without = [metric.score(np.delete(rows, place, axis=0).sum(axis=0)) for place in range(len(rows))]
    mean = sum(without) / len(rows)
    return [(len(rows) - 1) / len(rows) * (mean - one) for one in without]


def slow_bootstrap(metric, system, baseline, drawn):
    """|t*| of each list of drawn units, and the observed t."""
    effects = [a - b for a, b in zip(leave_one_out(metric, system), leave_one_out(metric, baseline), strict=True)]
    n = len(effects)
    difference = metric.score(system.sum(axis=0)) - metric.score(baseline.sum(axis=0))
    error = math.sqrt(n / (n - 1) * sum(one * one for one in effects))
    found = []
    for units in drawn:
        value = metric.score(system[units].sum(axis=0)) - metric.score(baseline[units].sum(axis=0))
        own = [effects[unit] for unit in units]
        spread = sum(one * one for one in own) - sum(own) ** 2 / n
        found.append(abs(value - difference) / math.sqrt(n / (n - 1) * spread) if spread > 1e-18 else math.inf)
    return found, difference, error


def drawn_units(units, resamples, seed):
    """The units of each resample, from their counts."""
    weights = bootstrap_sums(np.eye(units), resamples, seed)
    return [np.repeat(np.arange(units), row.astype(int)) for row in weights]


@pytest.mark.parametrize("name", ["BLEU", "chrF2", "TER"])
def test_the_bootstrap_is_that_of_plain_python(statistics, name):
    metric, system, baseline = statistics[name]
    measured = [measure(metric, system), measure(metric, baseline)]
    assert measured[0].effects == pytest.approx(leave_one_out(metric, system), abs=1e-9)
    found = studentized_bootstrap(metric, measured, [(0, 1)], resamples=199, seed=3)
    chance, difference, error = slow_bootstrap(metric, system, baseline, drawn_units(len(system), 199, 3))
    estimate = found.differences[0]
    assert estimate.value == pytest.approx(difference)
    assert estimate.standard_error == pytest.approx(error)
    assert estimate.p == (sum(one >= abs(difference) / error for one in chance) + 1) / 200
    assert estimate.margin == pytest.approx(sorted(chance)[199 - 9] * error)  # 9 of 199 are larger: p = 0.05
    assert found.scores[0].value == pytest.approx(metric.score(system.sum(axis=0)))


def test_effects_are_near_the_derivatives(statistics):
    for metric, rows, _ in statistics.values():
        assert standard_error(measure(metric, rows).effects) == pytest.approx(
            standard_error(rows @ metric.gradient(rows.sum(axis=0))), rel=0.03
        )


def test_randomization_is_that_of_plain_python(statistics):
    metric, system, baseline = statistics["BLEU"]
    kept = swapped_sums(np.eye(len(system)), 150, 4)
    assert set(kept.ravel()) == {0.0, 1.0}
    observed = abs(metric.score(system.sum(axis=0)) - metric.score(baseline.sum(axis=0)))
    larger = 0
    for row in kept.astype(bool)[:, :, None]:
        first, second = np.where(row, system, baseline), np.where(row, baseline, system)
        larger += abs(metric.score(first.sum(axis=0)) - metric.score(second.sum(axis=0))) >= observed - 1e-9
    found = randomization_test(metric, measure(metric, system), measure(metric, baseline), shuffles=150, seed=4)
    assert found.p == (larger + 1) / 151


def test_the_jackknife_of_a_mean_is_the_t_test():
    values = np.random.default_rng(1).normal(0.3, 1.0, 25)
    rows = np.column_stack([values, np.ones(25)])
    one = measure(MEAN, rows)
    found = jackknife_t(one.score, one.effects)
    expected = stats.ttest_1samp(values, 0.0)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(expected.confidence_interval(0.95)))


def test_the_t_distribution():
    for degrees in (1.0, 2.5, 7.4, 100.0, math.inf):
        t = t_quantile(0.05, degrees)
        assert t == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-8)
        assert t_tail(t, degrees) >= 0.05 > t_tail(math.nextafter(t, math.inf), degrees)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=6))
def test_holm(p_values):
    """Reject the smallest of m at α/m, the next at α/(m−1), …, until one is not rejected."""
    corrected = holm(p_values)
    for alpha in (0.05, 0.3):
        order = sorted(range(len(p_values)), key=p_values.__getitem__)
        rejected = set()
        for rank, place in enumerate(order):
            if Fraction(p_values[place]) * (len(order) - rank) >= Fraction(alpha):
                break
            rejected.add(place)
        assert {place for place, p in enumerate(corrected) if p < alpha} == rejected


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_satterthwaite_by_hand():
    """Three runs against two, four units; all numbers by the formulas of the module."""
    system = [Measured(np.zeros((4, 1)), s, np.array(e)) for s, e in (
        (30.0, [0.3, -0.1, -0.2, 0.0]), (31.0, [0.1, 0.1, -0.2, 0.0]), (32.0, [0.2, 0.0, -0.5, 0.3]))]  # fmt: skip
    baseline = [Measured(np.zeros((4, 1)), s, np.array(e)) for s, e in (
        (28.0, [0.1, -0.1, 0.1, -0.1]), (29.0, [0.3, -0.1, -0.1, -0.1]))]  # fmt: skip
    estimate, variances = difference_of_runs(system, baseline)
    # means of effects: system 0.2, 0, −0.3, 0.1; baseline 0.2, −0.1, 0, −0.1; differences 0, 0.1, −0.3, 0.2
    assert variances.units == pytest.approx(4 / 3 * (0.01 + 0.09 + 0.04))
    assert variances.runs == pytest.approx(1.0 / 3 + 0.5 / 2)
    # squares around the means: system 0.02 + 0.02 + 0.06 + 0.06, baseline 0.02 + 0 + 0.02 + 0
    assert variances.both == pytest.approx(4 / 3 * (0.16 / 6 + 0.04 / 2))
    total = variances.units + variances.runs - variances.both
    assert variances.total == pytest.approx(total)
    degrees = total**2 / (variances.units**2 / 3 + (1.0 / 3) ** 2 / 2 + (0.5 / 2) ** 2 / 1)
    assert estimate.degrees == pytest.approx(degrees)
    assert estimate.value == pytest.approx(2.5)
    assert estimate.p == pytest.approx(2 * stats.t.sf(2.5 / math.sqrt(total), degrees))
    alone, shared = difference_of_runs(system, baseline[:1])
    assert shared.runs == pytest.approx(1.0 * (1 + 1 / 3))  # the variance of the three runs for both
    assert shared.both == pytest.approx(4 / 3 * 0.16 / 2 * (1 + 1 / 3))
    assert alone.value == pytest.approx(3.0)


def test_the_variance_is_never_below_that_of_units_or_of_runs():
    assert Variances(0.2, 0.1, 0.25).total == 0.2
    assert Variances(0.1, 0.2, 0.25).total == 0.2


def random_runs(seed, units, rates=(0.4, 0.45)):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(3, 30, units)
    rows = [np.column_stack([generator.binomial(lengths, rate), lengths]).astype(float) for rate in rates]
    return [measure(TER(), one) for one in rows]


@pytest.mark.parametrize("test", ["bootstrap", "randomization", "jackknife", "runs"])
def test_zero_is_outside_the_interval_exactly_if_p_is_small(test):
    """For many data sets, whose p are on both sides of 0.05, and for three levels."""
    decided = set()
    for seed in range(60):
        pair, runs = random_runs(seed, 12 + seed), random_runs(seed, 12 + seed, (0.4,) * 3 + (0.44,) * 4)
        for level in (0.9, 0.95, 0.99):
            if test == "bootstrap":
                one = studentized_bootstrap(TER(), pair, [(0, 1)], resamples=499, seed=seed, level=level).differences[0]
            elif test == "randomization":
                one = randomization_test(TER(), *pair, shuffles=499, seed=seed, level=level)
            elif test == "jackknife":
                one = jackknife_t(pair[0].score - pair[1].score, pair[0].effects - pair[1].effects, level)
            else:
                one, _ = difference_of_runs(runs[:3], runs[3:], level)
            inside = one.interval.low <= 0.0 <= one.interval.high
            assert (one.p < round(1 - level, 2)) == (not inside)
            decided.add(inside)
    assert decided == {True, False}


def test_the_smallest_significant_value_is_outside_by_one_bit():
    q = t_quantile(0.05, 7.0)
    for value, inside in ((q, True), (math.nextafter(q, 9.0), False)):
        one = t_estimate(value, 1.0, 7.0, 0.95)
        assert (one.interval.low <= 0.0) == inside
        assert (one.p >= 0.05) == inside


def test_nothing_is_found_where_nothing_varies(statistics):
    metric, system, baseline = statistics["BLEU"]
    one, other = measure(metric, system[:1]), measure(metric, baseline[:1])
    found = studentized_bootstrap(metric, [one, other], [(0, 1)], resamples=100, seed=1)
    assert found.differences[0].value != 0.0
    assert found.differences[0].p == 1.0
    assert found.differences[0].interval is None
    assert found.scores[0].interval is None
    repeated = [measure(metric, np.repeat(rows[:1], 50, axis=0)) for rows in (system, baseline)]
    same = studentized_bootstrap(metric, repeated, [(0, 1)], resamples=100, seed=1)
    assert (same.differences[0].p, same.differences[0].interval) == (1.0, None)
    itself = [measure(metric, system)] * 2
    assert studentized_bootstrap(metric, itself, [(0, 1)], resamples=50, seed=1).differences[0].p == 1.0
    assert randomization_test(metric, *itself, shuffles=50, seed=1).p == 1.0
    few = studentized_bootstrap(metric, [measure(metric, system)], [], resamples=10, seed=1)
    assert few.scores[0].interval is None  # 10 resamples cannot tell 5 %


def test_seeds_matter_and_threads_do_not(statistics):
    metric, system, baseline = statistics["chrF2"]
    measured = [measure(metric, np.tile(rows, (30, 1))) for rows in (system, baseline)]
    first, again, other = (
        studentized_bootstrap(metric, measured, [(0, 1)], resamples=100, seed=seed, threads=threads)
        for seed, threads in ((1, 1), (1, 3), (2, 1))
    )
    assert first == again
    assert first != other


@given(st.integers(1, 60), st.integers(0, 10))
def test_sums_are_exact_in_any_order(units, seed):
    generator = np.random.default_rng(seed)
    columns = exact(np.column_stack([generator.normal(size=units) * 10.0**power for power in (-9, 0, 7)]))
    drawn = generator.integers(units, size=(3, units))
    sums = product(counts(drawn.copy(), units), columns)
    for row, places in zip(sums, drawn.tolist(), strict=True):
        random.Random(seed).shuffle(places)
        assert row.tolist() == [sum((Fraction(columns[p, c]) for p in places), Fraction(0)) for c in range(3)]
    whole = generator.integers(0, 1000, (units, 2)).astype(float)
    assert np.array_equal(exact(whole), whole)


def test_units_are_drawn_equally_often():
    weights = bootstrap_sums(np.eye(30), 20_000, 1)
    assert set(weights.sum(axis=1)) == {30.0}
    assert stats.chisquare(weights.sum(axis=0)).pvalue > 0.001
    assert weights.var() == pytest.approx(1 - 1 / 30, rel=0.02)


def test_how_many_segments_and_runs_a_difference_needs():
    """As in a simulation of 80 % power with a normal model of the test."""
    assert units_needed(0.3, Variances(0.45**2, 0.0, 0.0), 1000) == 18_000
    assert units_needed(0.3, Variances(0.1**2, 0.2**2, 0.0), 1000) is None  # runs alone vary too much
    spread = {sigma: Variances(0.05**2 + sigma**2 / 5, 2 * sigma**2 / 5, sigma**2 / 5) for sigma in (0.1, 0.2, 0.3)}
    assert [runs_needed(0.3, one, 5) for one in spread.values()] == [4, 10, 21]
    assert runs_needed(0.3, Variances(0.15**2, 0.0001, 0.0), 5) is None
    assert detectable(1.0, math.inf) == pytest.approx(1.96 + 0.8416, abs=1e-3)


def test_the_size_that_is_needed_is_enough():
    """Simulate a mean with as many units as were said to be needed: about 80 % of the tests find it."""
    generator = np.random.default_rng(5)
    units = units_needed(0.25, Variances(1.0 / 50, 0.0, 0.0), 50)
    values = generator.normal(0.25, 1.0, (4000, units))
    found = np.mean(stats.ttest_1samp(values, 0.0, axis=1).pvalue < 0.05)
    assert 0.78 < found < 0.84


def test_statistics_of_different_shapes_are_refused():
    one, other = measure(TER(), np.ones((3, 2))), measure(TER(), np.ones((4, 2)))
    with pytest.raises(ValueError, match="different shapes"):
        studentized_bootstrap(TER(), [one, other], [(0, 1)], resamples=10, seed=1)
    with pytest.raises(ValueError, match="at least one resample"):
        bootstrap_sums(np.ones((0, 2)), 10, 1)
