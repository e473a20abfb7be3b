"""Minimum-risk training as a whole: what it finds, and that interruptions and threads change nothing."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_models

from toledo.consensus.mbr import MBR
from toledo.errors import InputError, RunError
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.sparse import sparse_features, target_words
from toledo.runs.checkpoint import Checkpoint
from toledo.search.gibbs.search import GibbsSearch
from toledo.search.settings import Gibbs
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet
from toledo.tuning.maximize import DeterministicAnnealing
from toledo.tuning.minimum_risk.trainer import GainAdaptation, MinimumRisk
from toledo.tuning.minimum_risk.training import SegmentSource, mean_weights, train
from toledo.weights import Weights

SOURCE = ["das haus ist klein", "klein ist das haus", "das ist klein", "das haus", "klein ist das neu"]
TARGET = ["that house is small", "small is that house", "that is small", "that house", "small is that neu"]
REFERENCES = [[line.split()] for line in TARGET]
COOLING = DeterministicAnnealing(start=0.05, cooling=0.5, end=0.02, steps=3)  # 6 steps
SENTENCE = MinimumRisk(batch=2, steps=4)
CORPUS = MinimumRisk("corpus-expected-bleu", batch=3, steps=4, lines=100)


@pytest.fixture(scope="module")
def model() -> PhraseModel:
    model = small_models.small_model()
    weights = model.weights
    zero = {name: value if name in weights.frozen else 0.0 for name, value in weights.items()}
    return model.with_weights(replace(weights, values_by_name=zero))


def search_of(model: PhraseModel, threads: int = 1) -> SegmentSource:
    sentences = [line.split() for line in SOURCE]

    def search(numbers: np.ndarray, weights: Weights, seed: int) -> list[Forest]:
        settings = Gibbs(iterations=40, chains=1, burn_in=10, scale=1.0)
        return GibbsSearch(model.with_weights(weights), settings, seed).forests(
            [sentences[i] for i in numbers], threads
        )

    return SegmentSource(search, REFERENCES)


def held_out(model: PhraseModel) -> TuningSet:
    tuning = search_of(model)
    return TuningSet(lambda weights: tuning.search(np.arange(3), weights, 9), REFERENCES[:3])


def trained(trainer: MinimumRisk, model: PhraseModel, threads: int = 1, **options: object) -> TuningResult:
    settings = LoopSettings(
        rounds=3, threads=threads, rule=MBR(likeliest=True), metric=BLEU(max_ngram_order=2, smooth_method="none")
    )
    source = replace(search_of(model, threads), held_out=options.pop("held_out", None))
    return train(trainer, model.weights, source, **{"settings": settings, **options})


@pytest.mark.parametrize(
    "trainer", [SENTENCE, CORPUS, replace(CORPUS, annealing=COOLING), replace(SENTENCE, two_step=True)]
)
def test_expected_bleu_grows_from_zero(model: PhraseModel, trainer: MinimumRisk) -> None:
    trainer = replace(trainer, batch=5, steps=15, adaptation=GainAdaptation(step=1.0))
    if trainer.annealing:
        trainer = replace(trainer, annealing=replace(COOLING, steps=20))
    result = trained(trainer, model)
    path = [value for one in result.history.rounds for value in one.path]
    assert path[-1] > path[0] + 0.1
    assert result.history.best_score > result.history.start.score
    assert result.weights["oov"] == model.weights["oov"]


@pytest.mark.parametrize(
    "trainer", [SENTENCE, replace(CORPUS, annealing=COOLING), replace(SENTENCE, two_step=True, sgd="published")]
)
@pytest.mark.parametrize("held", [False, True])
def test_interruptions_and_threads_change_nothing(
    model: PhraseModel, trainer: MinimumRisk, held: bool, tmp_path: Path
) -> None:
    options = {"held_out": held_out(model)} if held else {}
    whole = trained(trainer, model, checkpoint=Checkpoint(tmp_path / "whole", {}), **options)
    assert not list((tmp_path / "whole").glob("*round*"))
    assert whole.history.stopped == ("annealing finished" if trainer.annealing else whole.history.stopped)
    again = trained(trainer, model, threads=2, checkpoint=Checkpoint(tmp_path / "whole", {}, True), **options)
    assert again.weights == whole.weights  # an ended run is only looked at
    two = trained(trainer, model, threads=2, **options)
    calls = 0
    tuning = search_of(model)

    def interrupted(numbers: np.ndarray, weights: Weights, seed: int) -> list[Forest]:
        nonlocal calls
        calls += 1
        if calls == (7 if held else 7 + 2 * -(-5 // trainer.batch)):  # in the second round
            raise KeyboardInterrupt
        return tuning.search(numbers, weights, seed)

    parts = tmp_path / "parts"
    settings = LoopSettings(
        rounds=3, threads=1, rule=MBR(likeliest=True), metric=BLEU(max_ngram_order=2, smooth_method="none")
    )
    with pytest.raises(KeyboardInterrupt):
        train(
            trainer,
            model.weights,
            replace(tuning, search=interrupted, **options),
            settings,
            checkpoint=Checkpoint(parts, {}),
        )
    assert [path.name for path in parts.glob("round-*")] == ["round-1"]
    with pytest.raises(RunError, match="holds an unfinished run"):
        trained(trainer, model, checkpoint=Checkpoint(parts, {}), **options)
    resumed = trained(trainer, model, checkpoint=Checkpoint(parts, {}, True), **options)
    for other in (two, resumed):
        assert other.weights == whole.weights
        for one, same in zip(other.history.rounds, whole.history.rounds, strict=True):
            times = {"search_seconds": 0.0, "tuning_seconds": 0.0}
            assert replace(one, **times) == replace(same, **times)


def test_a_round_has_the_mean_weights_of_its_steps(model: PhraseModel) -> None:
    points = [Weights({"lm": 1.0, "oov": 1.0}, frozenset({"oov"})), Weights({"lm": 2.0, "oov": 1.0, "new": 3.0})]
    assert dict(mean_weights(points)) == {"lm": 1.5, "oov": 1.0, "new": 1.5}
    one, two = (trained(replace(SENTENCE, steps=steps), model).history for steps in (1, 3))
    first = [one.weights(number) for number in (1, 2, 3)]
    assert dict(two.weights(1)) == pytest.approx(dict(mean_weights(first)))


def test_as_published_a_round_has_the_weights_of_its_last_step(model: PhraseModel) -> None:
    one, long = (trained(replace(SENTENCE, steps=n, sgd="published"), model).history.rounds for n in (1, 3))
    assert long[0].weights == one[2].weights
    assert long[0].path == tuple(value for some in one for value in some.path)


def test_a_damaged_state_is_refused(model: PhraseModel, tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "run", {})
    result = trained(SENTENCE, model, checkpoint=checkpoint)
    history = checkpoint.directory / "history.json"
    content = json.loads(history.read_text())
    history.write_text(json.dumps({**content, "rounds": content["rounds"][:1], "stopped": ""}))
    with pytest.raises(RunError, match="no such file") as caught:
        trained(SENTENCE, model, checkpoint=Checkpoint(tmp_path / "run", {}, True))
    assert "another directory" in caught.value.remedy
    assert result.history.stopped.startswith("all rounds done (3)")


def test_an_ended_run_takes_no_more_rounds(model: PhraseModel, tmp_path: Path) -> None:
    trained(SENTENCE, model, checkpoint=Checkpoint(tmp_path, {}))
    with pytest.raises(RunError, match="has ended"):
        trained(SENTENCE, model, checkpoint=Checkpoint(tmp_path, {}, True), settings=LoopSettings(rounds=9))


def test_seeds_differ_and_bounds_hold(model: PhraseModel) -> None:
    values = {**small_models.small_model().weights, "lm": 0.02, "distortion": -0.005}
    bounds = {"lm": (0.0, 0.05), "distortion": (-0.01, 0.0)}
    bounded = model.with_weights(Weights(values, model.weights.frozen, bounds))
    one, two = (
        trained(
            SENTENCE,
            bounded,
            settings=LoopSettings(rounds=2, seed=seed, metric=BLEU(max_ngram_order=2, smooth_method="none")),
        )
        for seed in (1, 2)
    )
    assert one.history.rounds[-1].weights != two.history.rounds[-1].weights
    for result in (one, two):
        for done in result.history.rounds:
            assert 0.0 <= done.weights["lm"] <= 0.05
            assert -0.01 <= done.weights["distortion"] <= 0.0


def test_sparse_features_and_l2(model: PhraseModel) -> None:
    sparse = replace(small_models.small_model(), sparse=sparse_features(model.table, [target_words], 10))
    plain, small = (trained(replace(SENTENCE, l2=l2), sparse).history.rounds[-1] for l2 in (0.0, 1.0))
    assert any(name.startswith("target:") and value for name, value in plain.weights.items())
    assert small.euclidean_norm < plain.euclidean_norm


def test_what_cannot_be_trained_is_said(model: PhraseModel) -> None:
    frozen = model.with_weights(replace(model.weights, frozen=frozenset(model.feature_names)))
    with pytest.raises(InputError, match="frozen"):
        trained(SENTENCE, frozen)
    with pytest.raises(InputError, match="empty reference"):
        replace(search_of(model), references=[[[]]] * 5)
    wrong = replace(search_of(model), references=[[["q"]]] * 5)
    with pytest.raises(RunError, match="collapsed"):
        train(SENTENCE, model.weights, wrong, LoopSettings(rounds=1))
    few = SegmentSource(lambda numbers, weights, seed: [], REFERENCES)
    with pytest.raises(InputError, match="forests for"):
        train(SENTENCE, model.weights, few)


def test_patience_counts_without_annealing(model: PhraseModel) -> None:
    result = train(SENTENCE, model.weights, search_of(model), LoopSettings(rounds=40, patience=1))
    assert result.history.stopped == "no better score for 1 round"


def test_temperatures_fall_and_training_ends() -> None:
    trainer = replace(SENTENCE, annealing=DeterministicAnnealing(start=0.1, cooling=0.9, end=0.05, steps=10))
    assert trainer.last_step == 70
    assert [trainer.temperature(step) for step in (0, 9)] == [0.1, 0.1]
    assert trainer.temperature(69) == pytest.approx(0.1 * 0.9**6)
    half = replace(trainer, two_step=True, scale_temperature=0.5)
    assert [half.temperature(step) for step in (0, 4, 5, 9)] == [0.1, 0.1, 0.05, 0.05]
    for wrong in (
        {"scale_temperature": -1.0},
        {"two_step": True, "steps": 1},
        {"objective": "mert"},
        {"batch": 0},
        {"lines": 1},
        {"l2": -1.0},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            MinimumRisk(**wrong)
