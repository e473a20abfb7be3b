"""Tests at 0.05 reject in 5 % of the cases without a difference, and 95 % intervals hold the truth in 95 %.

Test sets are drawn from populations of segments with known scores. Bounds are 3.3 standard errors of a share.
"""

from pathlib import Path

import numpy as np
import pytest

from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.significance.paired import holm, jackknife_t, measure, randomization_test, studentized_bootstrap
from toledo.metrics.significance.runs import difference_of_runs
from toledo.metrics.significance.sacrebleu import bootstrap_p, resampled_scores
from toledo.metrics.ter import TER

METRIC = BLEU()
RESAMPLES = 399
REPETITIONS = 1500
MOST = 0.05 + 3.3 * (0.05 * 0.95 / REPETITIONS) ** 0.5
LEAST = 0.025  # the bootstrap errs on the safe side where few units differ


def bleu_rows(generator, rates):
    """BLEU statistics of segments whose words are right with given probabilities: a random mask in place of words."""
    lengths = np.random.default_rng(0).integers(5, 40, len(rates))
    right = generator.random((len(rates), 40)) < rates[:, None]
    right &= np.arange(40) < lengths[:, None]
    rows = np.zeros((len(rates), 10))
    rows[:, :2] = lengths[:, None]
    windows = right
    for order in range(4):
        rows[:, 2 + order] = windows.sum(axis=1)
        rows[:, 6 + order] = np.maximum(lengths - order, 0)
        windows = windows[:, 1:] & right[:, : windows.shape[1] - 1]
    return rows


class Population:
    """Systems on 3,000 segments that are easy or hard for all of them."""

    def __init__(self, seed=1, segments=3000):
        self.generator = np.random.default_rng(seed)
        self.ease = self.generator.beta(6, 3, segments)
        self.better, self.middle, self.worse = (bleu_rows(self.generator, self.ease * rate) for rate in (1, 0.97, 0.8))

    def mixed(self, blocks=None, seed=3):
        """The better system mixed with the worse one, so that it is as good as the one between."""
        blocks = np.arange(len(self.ease)) if blocks is None else blocks
        order = np.random.default_rng(seed).permutation(blocks.max() + 1)[blocks]
        wanted, low, high = METRIC.score(self.middle.sum(axis=0)), 0, order.max() + 1
        while low < high:
            some = (low + high) // 2
            rows = np.where((order <= some)[:, None], self.worse, self.better)
            low, high = (some + 1, high) if METRIC.score(rows.sum(axis=0)) > wanted else (low, some)
        assert METRIC.score(rows.sum(axis=0)) == pytest.approx(wanted, abs=0.1)
        return rows


@pytest.fixture(scope="module")
def population():
    return Population()


def p_of(test, metric, first, second, seed):
    if test == "sacrebleu":
        difference = metric.score(first.sum(axis=0)) - metric.score(second.sum(axis=0))
        return bootstrap_p(difference, np.subtract(*resampled_scores(metric, [first, second], RESAMPLES, seed)))
    one, other = measure(metric, first), measure(metric, second)
    if test == "randomization":
        return randomization_test(metric, one, other, shuffles=RESAMPLES, seed=seed).p
    if test == "jackknife":
        return jackknife_t(one.score - other.score, one.effects - other.effects).p
    return studentized_bootstrap(metric, [one, other], [(0, 1)], resamples=RESAMPLES, seed=seed).differences[0].p


def rejections(sample, p_value, repetitions=REPETITIONS):
    """Share of test sets on which a test rejects at 0.05."""
    found = [p_value(*sample(np.random.default_rng([7, seed])), seed) for seed in range(repetitions)]
    return float(np.mean(np.array(found) <= 0.05))


def swapped(first, second, size):
    def sample(generator):
        places, mask = generator.integers(len(first), size=size), generator.random(size) < 0.5
        one, other = first[places], second[places]
        return np.where(mask[:, None], one, other), np.where(mask[:, None], other, one)

    return sample


def drawn(first, second, size):
    def sample(generator):
        places = generator.integers(len(first), size=size)
        return first[places], second[places]

    return sample


@pytest.mark.parametrize("test", ["bootstrap", "randomization", "jackknife"])
def test_swapped_outputs(population, test):
    sample = swapped(population.better, population.worse, 100)
    assert LEAST <= rejections(sample, lambda *pair: p_of(test, METRIC, *pair)) <= MOST


@pytest.mark.parametrize("test", ["bootstrap", "randomization", "jackknife"])
def test_equal_systems_that_are_not_exchangeable(population, test):
    sample = drawn(population.mixed(), population.middle, 100)
    assert LEAST <= rejections(sample, lambda *pair: p_of(test, METRIC, *pair)) <= MOST


def test_the_bootstrap_of_sacrebleu_would_be_found_out(population):
    sample = swapped(population.better, population.worse, 100)
    assert rejections(sample, lambda *pair: p_of("sacrebleu", METRIC, *pair), 600) > 0.08


def test_documents(population):
    """Whole documents are better or worse; a test of segments takes eight equal votes for independent ones."""
    blocks = np.arange(len(population.ease)) // 8
    first, second = population.mixed(blocks), population.middle

    def sample(generator):
        chosen = generator.integers(blocks.max() + 1, size=30)
        places = (8 * chosen[:, None] + np.arange(8)).ravel()
        return first[places], second[places]

    def of_documents(one, other, seed):
        sums = (rows.reshape(30, 8, -1).sum(axis=1) for rows in (one, other))
        return p_of("bootstrap", METRIC, *sums, seed)

    assert LEAST <= rejections(sample, of_documents) <= MOST
    assert rejections(sample, lambda *pair: p_of("bootstrap", METRIC, *pair), 500) > 0.08


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("same", [True, False], ids=["one system", "two equal systems"])
def test_several_runs(population, runs, same):
    """A run takes a tenth of its segments, and a share that differs by run, from other systems."""
    own = [population.mixed(), population.middle]

    def run(generator, system, places):
        share = generator.random() * 0.08
        choice = generator.random(len(places))[:, None]
        rows = np.where(choice < share, population.worse[places], own[system][places])
        return np.where(choice > 0.9, population.better[places], rows)

    def sample(generator):
        places = generator.integers(len(population.ease), size=200)
        return [
            [measure(METRIC, run(generator, system, places)) for _ in range(runs)] for system in (0, 0 if same else 1)
        ]

    def p_value(one, other, seed):
        return difference_of_runs(one, other)[0].p

    def p_of_averages(one, other, seed):
        effects = np.mean([run.effects for run in one], axis=0) - np.mean([run.effects for run in other], axis=0)
        value = float(np.mean([run.score for run in one]) - np.mean([run.score for run in other]))
        return jackknife_t(value, effects).p

    assert rejections(sample, p_value) <= MOST
    if same:  # averaging runs forgets that other runs would differ
        assert rejections(sample, p_of_averages, 500) > 0.08


def test_holm_holds_for_all_tests_together(population):
    first, second = population.better, population.worse

    def sample(generator):
        places = generator.integers(len(first), size=100)
        masks = generator.random((5, 100, 1)) < 0.5
        return second[places], first[places], masks

    def least(rows, others, masks, seed, correct):
        """The smallest p of five mixtures of two systems against a sixth."""
        measured = [measure(METRIC, np.where(mask, rows, others)) for mask in (*masks, masks[0] ^ masks[1])]
        pairs = [(place, 5) for place in range(5)]
        found = studentized_bootstrap(METRIC, measured, pairs, resamples=RESAMPLES, seed=seed)
        values = [one.p for one in found.differences]
        return min(holm(values) if correct else values)

    assert rejections(sample, lambda *given: least(*given, True), 1000) <= 0.05 + 3.3 * (0.05 * 0.95 / 1000) ** 0.5
    assert rejections(sample, lambda *given: least(*given, False), 300) > 0.1


def test_intervals_hold_the_truth(population):
    first, second = population.better, population.middle
    truth = [METRIC.score(rows.sum(axis=0)) for rows in (first, second)]
    held = []
    for seed in range(REPETITIONS):
        pair = drawn(first, second, 100)(np.random.default_rng([8, seed]))
        measured = [measure(METRIC, rows) for rows in pair]
        found = studentized_bootstrap(METRIC, measured, [(0, 1)], resamples=RESAMPLES, seed=seed)
        boxes = [found.scores[0].interval, found.differences[0].interval]
        values = [truth[0], truth[0] - truth[1]]
        held.append([box.low <= value <= box.high for box, value in zip(boxes, values, strict=True)])
    assert np.mean(held, axis=0) == pytest.approx([0.95, 0.95], abs=3.3 * (0.05 * 0.95 / REPETITIONS) ** 0.5)


@pytest.mark.parametrize("metric", [BLEU(), CHRF(), TER()], ids=["BLEU", "chrF", "TER"])
def test_real_outputs(metric, shared_folder: Path):
    """Outputs of two systems of WMT22, swapped at random."""
    folder = shared_folder / "data" / "wmt22-syscomb" / "de-en" / "test" / "raw"
    first, second, references = (
        (folder / name).read_text("utf-8").splitlines() for name in ("sys.Online-B.en", "sys.LT22.en", "ref.A.en")
    )
    rows = [metric.corpus_statistics(text, [[one] for one in references]) for text in (first, second)]
    assert LEAST <= rejections(swapped(*rows, 100), lambda *pair: p_of("bootstrap", metric, *pair)) <= MOST
