"""Choosing scales and rules on held-out data."""

import numpy as np
import oracle
import pytest

from toledo.consensus.decide import MaxTranslation, Viterbi, decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.mbr import MBR
from toledo.consensus.rule import Rule
from toledo.consensus.scale import (
    SCALES,
    SHARPNESS,
    Candidate,
    Row,
    ScaleTable,
    choose_rule,
    decide_candidates,
    scales_for,
)
from toledo.errors import InputError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.metric import Metric
from toledo.metrics.ter import TER
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

RULES: list[Rule] = [
    Viterbi(),
    MaxTranslation(5),
    MBR("bleu", 5, 8),
    MBR("bleu", 5, 8, num_samples=20),
    Consensus(size=5),
    Consensus(size=5, from_list=True),
    LatticeMBR(),
    LatticeMBR(precision=0.4, density=None),
]


def lattices(count: int) -> list[Forest]:
    return [oracle.chain(2 + i % 3, 3) for i in range(count)]


def test_shared_work_gives_what_each_rule_decides_alone() -> None:
    forests = [
        from_nbest([ListEntry(f"a w{i % 3} b w{j}".split(), base=-0.3 * j) for j in range(6)], (), Vocabulary())
        for i in range(5)
    ]
    candidates = [Candidate(rule, scale) for scale in (0.3, 1.0, 4.0) for rule in RULES]
    for segments in (forests, lattices(5)):
        found = decide_candidates(candidates, segments, {})
        for candidate, decisions in zip(candidates, found, strict=True):
            alone = decide(candidate.rule, segments, {}, candidate.scale)
            assert [one.words.tolist() for one in decisions] == [one.words.tolist() for one in alone]
            np.testing.assert_allclose([one.value for one in decisions], [one.value for one in alone], atol=1e-9)


def merging_list() -> Forest:
    """At small scales the two entries of "b b" win together."""
    entries = [ListEntry(["a", "a"]), ListEntry(["b", "b"], base=-0.5), ListEntry(["b", "b"], base=-0.5)]
    return from_nbest(entries, (), Vocabulary())


@pytest.mark.parametrize("metric", [BLEU(max_ngram_order=2, smooth_method="none"), CHRF(), TER()], ids=str)
def test_the_best_scale(metric: Metric) -> None:
    forests = [merging_list()]
    candidates = [Candidate(MaxTranslation(), scale) for scale in (0.1, 0.5, 1.0, 5.0, 9.0)]
    small = choose_rule(candidates, forests, {}, [[["b", "b"]]], metric)
    large = choose_rule(candidates, forests, {}, [[["a", "a"]]], metric)
    assert [row.scale for row in small.rows] == [0.1, 0.5, 1.0, 5.0, 9.0]
    assert (small.best.scale, large.best.scale) == (1.0, 5.0)  # of equal ones the nearest to 1
    assert small.best.score == pytest.approx(100.0 if metric.higher_is_better else 0.0)
    assert large.best.score == pytest.approx(small.best.score)


def test_rules_compete() -> None:
    candidates = [Candidate(Viterbi()), Candidate(MaxTranslation())]
    table = choose_rule(candidates, [merging_list()], {}, [[["b", "b"]]], BLEU(max_ngram_order=2, smooth_method="none"))
    assert isinstance(table.best.rule, MaxTranslation)


def test_of_equal_rows_the_nearest_to_one_then_the_first() -> None:
    rows = tuple(Row(Viterbi(), scale, score) for scale, score in ((4.0, 2.0), (0.5, 2.0), (2.0, 2.0), (1.0, 1.0)))
    assert ScaleTable(rows).best is rows[1]
    assert ScaleTable(rows, higher_is_better=False).best is rows[3]


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="nothing to choose"):
        choose_rule([], [merging_list()], {}, [[["a"]]])
    with pytest.raises(InputError, match="references for 2"):
        choose_rule([Candidate(Viterbi())], [merging_list()], {}, [[["a"]], [["b"]]])
    with pytest.raises(ValueError, match="positive"):
        Candidate(Viterbi(), 0.0)


def test_scales_go_by_the_norm_of_the_weights() -> None:
    weights = Weights({"tm": -30.0, "oov": 100.0, "sparse": 7.0}, frozen=frozenset({"oov"}))
    assert list(scales_for(weights, ("tm", "oov"))) == [float(f"{one / 30:.3g}") for one in SHARPNESS]
    assert list(scales_for(Weights({"tm": 2.0}, frozen=frozenset({"tm"})), ("tm",)))[3] == 0.5  # nothing else is there
    assert list(scales_for({"tm": 0.0}, ("tm",))) == list(scales_for({}, ())) == list(SCALES)
