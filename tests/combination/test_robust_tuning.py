"""Tuning that does not pad and does not trust its own segments: lengths, cross-validation, what it falls back to."""

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_outputs import (
    NAMES,
    REFERENCES,
    SEGMENTS,
    Texts,
    changed,
    closest,
    combined,
    lattice_of,
    noisy_outputs,
    outputs,
    tuned,
)

from toledo.combination.alignment import Matcher
from toledo.combination.combiner import Combiner
from toledo.combination.goals import Goal, consensus_choice, metrics_of
from toledo.combination.selection import CHOICE, EQUAL, RESULT, Selection, choose, deal, tuned_at
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuning import CombinationTuning, Expander
from toledo.consensus.decide import Viterbi
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER
from toledo.text.vocabulary import Vocabulary

QUICK = CombinationSettings(steps=4, entropy=(1.0,))


@given(outputs)
def test_the_consensus_is_the_output_closest_to_all(own: Texts) -> None:
    vocabulary = Vocabulary()
    (found,) = consensus_choice([lattice_of(own, vocabulary)])
    assert vocabulary.words(found.words.tolist()) == (closest(own) if any(own) else [])


def test_a_goal_is_a_sum_of_metrics_and_asks_for_the_length_that_is_given() -> None:
    vocabulary = Vocabulary()
    said = [own[0] for own in SEGMENTS]
    ids = [np.array([vocabulary.add(word) for word in text], np.int32) for text in said]
    sums = {
        metric.name: metric.score(metric.corpus_statistics(said, REFERENCES).sum(axis=0))
        for metric in (BLEU(smooth_method="none"), TER(), CHRF())
    }
    goal = metrics_of(("bleu", "0.5*ter", "2*chrf"))
    expected = sums["BLEU"] - 0.5 * sums["TER"] + 2.0 * sums["chrF2"]
    assert Goal(REFERENCES, goal).prepare(vocabulary).value(ids) == pytest.approx(expected)
    own = np.array([len(text) for text in said], np.float64)
    free = Goal(REFERENCES, lengths=own).prepare(vocabulary).value(ids)
    rows = BLEU(smooth_method="none").corpus_statistics(said, REFERENCES).sum(axis=0)
    assert rows[0] < rows[1]
    rows[1] = rows[0]
    assert free == pytest.approx(BLEU(smooth_method="none").score(rows))
    assert free > sums["BLEU"]


def test_tuning_asks_for_the_length_of_the_consensus_unless_references_are_several() -> None:
    said, references = noisy_outputs(12, 3)
    quick = replace(QUICK, steps=1)
    assert tuned(said, references, quick).settings.length == "consensus"
    assert tuned(said, [own * 2 for own in references], quick).settings.length == "reference"
    vocabulary = Vocabulary()
    lattices = [lattice_of(own, vocabulary) for own in said]
    lengths = np.array([float(len(closest(own))) for own in said])
    tuning = CombinationTuning(lattices, references, NAMES, Expander(quick, None), lengths)
    assert np.array_equal(tuning.bigrams.matched.reference_lengths, lengths[:, None])
    assert np.array_equal(tuning.part(np.array([5, 2])).bigrams.matched.reference_lengths, lengths[[5, 2], None])


def short_outputs(segments: int, systems: int) -> tuple[list[Texts], list[Texts]]:
    """References with words that hardly any system has, and systems that now and then say one more, often wrong."""
    random = np.random.default_rng(2)
    references, said = [], []
    for _ in range(segments):
        text = [f"w{word}" for word in random.zipf(1.4, 9).clip(max=60)]
        own = [changed(text, 0.0, 0.1, random) for _ in range(systems)]
        for one in own:
            if random.random() < 0.4:
                one.append("the" if random.random() < 0.4 else f"y{random.integers(30)}")
        references.append([[*text, "at", "the", "end"]])
        said.append(own)
    return said, references


def test_the_length_of_the_reference_pads_and_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    said, references = short_outputs(60, 5)
    settings = replace(QUICK, steps=15, folds=0)
    plain = tuned(said, references, settings).report.scores
    assert "longer than the outputs" not in caplog.text
    padded = tuned(said, references, replace(settings, length="reference")).report.scores
    assert "longer than the outputs are on average: tuning asked for the length of the reference" in caplog.text
    mean = np.mean([plain[f"S{number}"].length for number in range(5)])
    assert abs(plain[RESULT].length / mean - 1.0) < abs(padded[RESULT].length / mean - 1.0)
    assert padded[RESULT].length > 1.03 * mean


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(2, 4))
def test_documents_stay_whole(ids: list[int], folds: int) -> None:
    parts = deal([str(one) for one in ids], folds)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(ids)))
    place = {segment: number for number, part in enumerate(parts) for segment in part.tolist()}
    longest = 0
    for document in set(ids):
        own = [segment for segment, one in enumerate(ids) if one == document]
        longest = max(longest, len(own))
        assert len({place[segment] for segment in own}) == 1
    sizes = [part.size for part in parts]
    assert max(sizes) - min(sizes) <= longest


def test_no_segment_is_combined_with_weights_tuned_on_its_reference() -> None:
    said, references = noisy_outputs(40, 3)
    others = [[own[0][::-1]] if number % 20 < 10 else own for number, own in enumerate(references)]
    found = []
    for known in (references, others):
        vocabulary = Vocabulary()
        lattices = [lattice_of(own, vocabulary) for own in said]
        choice = [one.words for one in consensus_choice(lattices)]
        tuning = CombinationTuning(lattices, known, NAMES, Expander(QUICK, None))
        selection = Selection(tuning, choice, Matcher())
        parts = selection.parts()
        assert parts[0].tolist() == [number for number in range(40) if number % 20 < 10]
        texts = selection.validated_texts(parts, [1.0])[tuned_at(1.0)]
        found.append([text.tolist() for text in texts])
        trained = [tuning.part(parts[1 - number]).tune(1.0) for number in range(2)]
        for part, stages in zip(parts[::-1], trained, strict=True):  # as if there were nothing but this part
            own, wanted = ([some[segment] for segment in part] for some in (lattices, known))
            alone = CombinationTuning(own, wanted, NAMES, Expander(QUICK, None)).tune(1.0)
            assert alone.second.to_table() == stages.second.to_table()
        for number, part in enumerate(parts):
            own = tuning.part(part).texts(trained[number])
            assert [texts[segment].tolist() for segment in part] == [text.tolist() for text in own]
    first, second = parts
    assert [found[0][segment] for segment in first] == [found[1][segment] for segment in first]
    assert [found[0][segment] for segment in second] != [found[1][segment] for segment in second]


def test_candidates_are_compared_and_the_best_is_kept(tmp_path: Path) -> None:
    said, references = noisy_outputs(60, 4)
    settings = replace(QUICK, entropy=(0.5, 1.5), steps=10)
    documents = [str(number // 7) for number in range(60)]
    found = tuned(said, references, settings, documents=documents)
    report = found.report
    assert [*report.values] == [CHOICE, EQUAL, tuned_at(0.5), tuned_at(1.5)]
    for name in (CHOICE, EQUAL):
        assert report.values[name] == pytest.approx(report.validated[name].bleu - report.validated[name].ter)
    assert report.chosen in (tuned_at(0.5), tuned_at(1.5))
    assert report.values[report.chosen] == max(report.values[tuned_at(0.5)], report.values[tuned_at(1.5)])
    both = [report.validated[report.chosen], report.scores[RESULT]]
    assert report.values[report.chosen] == pytest.approx(np.mean([one.bleu - one.ter for one in both]))
    assert report.validated[CHOICE] == report.scores[CHOICE]
    again = tuned(said, references, settings, documents=documents, threads=2)
    assert again.report == report
    assert again.second.to_table() == found.second.to_table()
    found.save(tmp_path / "combination")
    loaded = Combiner.load(tmp_path / "combination")
    assert loaded.report == report
    assert combined(loaded, said) == combined(found, said)


@pytest.mark.parametrize(("choice", "equal", "weights", "chosen"), [
    (1.0, 0.0, 1.1, "tuned"), (1.0, 2.0, 1.1, "tuned"), (1.0, 2.2, 1.1, EQUAL), (1.0, 0.0, 1.0, CHOICE),
    (1.0, 1.1, 0.9, EQUAL), (1.0, 1.0, 0.9, CHOICE), (1.0, 0.5, 0.4, CHOICE),
])  # fmt: skip
def test_tuned_weights_must_beat_the_consensus_and_others_must_beat_noise(
    choice: float, equal: float, weights: float, chosen: str
) -> None:
    assert choose({CHOICE: choice, EQUAL: equal, "tuned": weights}, "tuned", noise=0.5) == chosen


def test_noise_is_the_spread_over_sets_of_documents() -> None:
    """The jackknife's standard error beside that of many sets of the same kind."""
    vocabulary = Vocabulary()
    gaps, errors = [], []
    for seed in range(30):
        said, references = noisy_outputs(60, 2, seed=seed)
        one, other = (
            [np.array([vocabulary.add(word) for word in own[place]], np.int32) for own in said] for place in (0, 1)
        )
        goal = Goal(references, metrics_of(("bleu", "ter"))).prepare(vocabulary)
        gaps.append(goal.value(one) - goal.value(other))
        errors.append(goal.noise(one, other, [str(number // 3) for number in range(60)]))
        assert goal.noise(one, one, ["a"] * 30 + ["b"] * 30) == 0.0
    assert np.mean(errors) == pytest.approx(np.std(gaps), rel=0.4)


def test_it_falls_back_to_the_consensus_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    said, references = noisy_outputs(60, 4)
    said = [[own[0], *known, *known, *own[2:]] for own, known in zip(said, references, strict=True)]  # most are right
    found = tuned(said, references, QUICK)
    assert found.report.chosen == CHOICE
    assert found.report.scores[RESULT] == found.report.scores[CHOICE]
    assert "no better than the MBR choice of the outputs by cross-validation" in caplog.text
    found.save(tmp_path / "combination")
    loaded = Combiner.load(tmp_path / "combination")
    choice = [closest(own) for own in said]
    assert combined(loaded, said) == combined(found, said) == choice
    assert [*found.second.weights.shares.values()] == pytest.approx([0.2] * 5)
    other = replace(found, report=replace(found.report, chosen=EQUAL))
    said, _ = noisy_outputs(20, 5, seed=2)
    assert combined(found, said) == [closest(own) for own in said] != combined(other, said)
    assert combined(found, said, rule=Viterbi()) == combined(other, said, rule=Viterbi())


def test_small_sets_are_not_cross_validated(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    said, references = noisy_outputs(20, 3)
    found = tuned(said, references, QUICK)
    assert found.report.validated == {}
    assert found.report.chosen == tuned_at(1.0)
    assert "too few segments or documents" in caplog.text


def test_a_tuning_that_was_cross_validated_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, references = noisy_outputs(40, 3)
    whole = tuned(said, references, QUICK)
    tuned(said, references, QUICK, directory=tmp_path / "run")
    names = Counter(folder.name for folder in (tmp_path / "run").iterdir())
    assert {"entropy-1-without-part-1", "entropy-1-without-part-2"} <= names.keys()
    monkeypatch.setattr("toledo.combination.tuners.Ascent.tune", None)
    again = tuned(said, references, QUICK, directory=tmp_path / "run", resume=True)
    assert again.report == whole.report
    assert again.second.to_table() == whole.second.to_table()


def test_a_document_that_comes_back_stays_in_one_part() -> None:
    parts = deal(list("abcacb"), 2)
    assert [one.tolist() for one in parts] == [[0, 2, 3, 4], [1, 5]]
