"""Significance tests against those of sacreBLEU, with the same draws."""

import numpy as np
import pytest
import sacrebleu.metrics as peers
from sacrebleu.significance import PairedTest

from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.significance import SEED, approximate_randomization, confidence_interval, paired_bootstrap
from toledo.metrics.ter import TER

SAMPLES = 300
TESTS = {"bs": paired_bootstrap, "ar": approximate_randomization}


@pytest.fixture(scope="module")
def statistics(translations):
    """Metric, statistics of the system and of the baseline, and sacreBLEU's metric."""
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
    result = TESTS[kind](metric, system, baseline, SAMPLES, SEED)
    assert result.score == pytest.approx(expected[name][1].score)
    assert result.baseline == pytest.approx(expected[name][0].score)
    assert result.p_value == pytest.approx(expected[name][1].p_value, abs=1.5 / SAMPLES)
    interval = confidence_interval(metric, baseline, SAMPLES, SEED)
    assert interval.mean == pytest.approx(expected[name][0].mean, rel=1e-5)
    assert interval.half_width == pytest.approx(expected[name][0].ci, rel=1e-4)


def test_a_system_equals_itself(statistics):
    metric, system, _ = statistics["BLEU"]
    for test in TESTS.values():
        assert test(metric, system, system, 50, 1).p_value in (1 / 51, 1.0)


def test_seeds_matter_and_repeat(statistics):
    metric, system, _ = statistics["BLEU"]
    first, again, other = (confidence_interval(metric, system, 100, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_statistics_of_different_shapes_are_refused():
    with pytest.raises(ValueError, match="different shapes"):
        paired_bootstrap(TER(), np.ones((3, 2)), np.ones((4, 2)), 10, 1)
    with pytest.raises(ValueError, match="at least one sample"):
        confidence_interval(TER(), np.ones((0, 2)), 10, 1)
