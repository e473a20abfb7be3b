"""TER against sacreBLEU, on real data and on random words."""

import random

import numpy as np
import pytest
import sacrebleu.metrics as peers
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate

from toledo.metrics.ter import TER, TERLimits

WORDS = st.lists(st.sampled_from("abcde"), max_size=14)


def test_statistics_and_score_equal_those_of_sacrebleu_on_real_data(translations):
    metric, peer = TER(), peers.TER()
    ours = metric.corpus_statistics(
        [text.lower().split() for text in translations.second],
        [[text.lower().split() for text in group] for group in translations.by_segment],
    )
    theirs = np.array(peer._extract_corpus_statistics(translations.second, translations.references), float)
    assert np.array_equal(ours, theirs)
    assert metric.score(ours.sum(axis=0)) == pytest.approx(peer._compute_score_from_stats(theirs.sum(axis=0)).score)


@pytest.mark.parametrize("half", ["tune", "test"])
def test_edits_of_every_system_of_a_pair_equal_those_of_sacrebleu(shared_folder, half):
    """Of each Czech-English output every tenth segment, each system beginning elsewhere.

    `benchmarks/ter.py` compares all segments.
    """
    folder = shared_folder / "data" / "wmt22-syscomb" / "cs-en" / half
    reference = (folder / "ref.C.en").read_text("utf-8").splitlines()
    systems = sorted(folder.glob("sys.*.en"))
    assert len(systems) == 11
    for number, path in enumerate(systems):
        part = slice(number % 10, None, 10)
        said, meant = path.read_text("utf-8").splitlines()[part], reference[part]
        ours = TER().corpus_statistics([line.split() for line in said], [[line.split()] for line in meant])
        theirs = peers.TER()._extract_corpus_statistics(said, [meant])
        assert ours.tolist() == theirs, path.name


@settings(max_examples=300, deadline=None)
@given(WORDS, WORDS)
def test_random_segments(hypothesis, reference):
    edits, length = translation_edit_rate(hypothesis, reference)
    assert TER().statistics(hypothesis, [reference]).tolist() == [edits, length]


@pytest.mark.parametrize("seed", range(12))
def test_long_segments_reach_the_limits_of_beam_distance_and_candidates(seed):
    rng = random.Random(seed)
    vocabulary = "abcdefghijklmnopqrstuvwxyz"[: rng.choice([4, 10, 26])]
    reference = [rng.choice(vocabulary) for _ in range(rng.randint(60, 100))]
    hypothesis = reference[rng.randint(20, 55) :] + reference[: rng.randint(5, 40)]
    hypothesis = [word for word in hypothesis if rng.random() < 0.9]
    edits, _ = translation_edit_rate(hypothesis, reference)
    assert TER().statistics(hypothesis, [reference])[0] == edits


@pytest.mark.parametrize(("said", "meant"), [(1, 130), (2, 130), (130, 1), (3, 200), (70, 200)])
def test_very_different_lengths_widen_the_beam(said, meant):
    rng = random.Random(said)
    hypothesis = [rng.choice("abcdefgh") for _ in range(said)]
    reference = [rng.choice("abcdefgh") for _ in range(meant)]
    edits, _ = translation_edit_rate(hypothesis, reference)
    assert TER().statistics(hypothesis, [reference])[0] == edits


def test_a_shift_is_one_edit():
    statistics = TER().statistics(["c", "d", "a", "b"], [["a", "b", "c", "d"]])
    assert statistics.tolist() == [1, 4]


def test_without_shifts_it_is_the_word_error_rate():
    statistics = TER(limits=TERLimits(shift_size=0)).statistics(["c", "d", "a", "b"], [["a", "b", "c", "d"]])
    assert statistics.tolist() == [4, 4]


def test_several_references_count_the_fewest_edits_and_the_mean_length():
    assert TER().statistics(["a", "b"], [["a", "c"], ["a", "b", "c", "d"], ["a", "b", "c"]]).tolist() == [1, 3]


def test_empty_sides():
    metric = TER()
    assert metric.statistics([], [["a", "b"]]).tolist() == [2, 2]
    assert metric.statistics(["a"], [[]]).tolist() == [1, 0]
    assert metric.score(np.array([1.0, 0.0])) == 100
    assert metric.score(np.array([0.0, 0.0])) == 0


def test_gradient_is_that_of_finite_differences():
    statistics = np.array([7.0, 20.0])
    step = 1e-6 * np.eye(2)
    differences = [(TER().score(statistics + h) - TER().score(statistics - h)) / 2e-6 for h in step]
    assert TER().gradient(statistics) == pytest.approx(np.array(differences), rel=1e-6)
    assert not TER().gradient(np.array([1.0, 0.0])).any()
