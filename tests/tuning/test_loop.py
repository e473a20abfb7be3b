"""The tuning loop: the same result however it comes about, and honest about failure."""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import small_models
from random_tuner import RandomTuner

from toledo.consensus.decide import Viterbi
from toledo.consensus.mbr import MBR
from toledo.errors import InputError, RunError, ToledoError
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.metrics.bleu import BLEU
from toledo.metrics.ter import TER
from toledo.model import PhraseModel
from toledo.phrases.sparse import pair_identity, sparse_features
from toledo.runs.checkpoint import RUN, Checkpoint
from toledo.runs.history import History, spread
from toledo.runs.rounds import round_seed
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import best_list, one_best
from toledo.tuning.loop import LoopSettings, TuningSet, tune
from toledo.tuning.tuner import Tuned
from toledo.weights import Weights

SOURCES = ["das haus ist klein", "klein ist das haus", "das ist klein", "das haus", "neu ist das"]
REFERENCES = ["that house is small", "small is the house that is small", "that is small", "that house", "neu is the"]
BIGRAMS = BLEU(max_ngram_order=2, smooth_method="add-k")
SETTINGS = LoopSettings(rounds=4, n_best=6, metric=BIGRAMS, threads=1)


@pytest.fixture(scope="module")
def model() -> PhraseModel:
    plain = small_models.small_model()
    return replace(plain, sparse=sparse_features(plain.table, [pair_identity]))


@pytest.fixture
def tuning(model: PhraseModel) -> TuningSet:
    return make_set(model)


def make_set(model: PhraseModel, threads: int = 1) -> TuningSet:
    def search(weights: Weights) -> list[Forest]:
        beam = BeamSearch(model.with_weights(weights), Beam(20))
        return beam.forests([line.split() for line in SOURCES], threads)

    return TuningSet(search, [[line.split()] for line in REFERENCES])


def lists_set(*segments: Sequence[tuple[str, float]], references: Sequence[str]) -> TuningSet:
    words = Vocabulary()
    forests = [from_nbest([ListEntry(t.split(), {"a": v}) for t, v in some], ["a"], words) for some in segments]
    return TuningSet(lambda _: forests, [[line.split()] for line in references])


class Sets:
    """A tuner that sets the weight `a` to one value after the other."""

    name, wants = "sets", "lists"

    def __init__(self, *values: float) -> None:
        self.values = iter(values)

    def tune(self, examples: object, start: Weights, **_: object) -> Tuned:
        return Tuned(start.updated(["a"], np.array([next(self.values)])), 0.0)


def test_it_improves_and_says_how(model: PhraseModel, tuning: TuningSet) -> None:
    result = tune(RandomTuner(30), model.weights, tuning, SETTINGS)
    history = result.history
    best = history.rounds[history.best - 1]
    assert best.score > history.start.score
    assert dict(result.weights) == best.weights
    assert result.weights["oov"] == model.weights["oov"]
    assert [one.details["seed"] for one in history.rounds] == [round_seed(1, one.number) for one in history.rounds]
    assert history.rounds[0].new == history.rounds[0].hypotheses
    again = one_best(tuning.search(result.weights), result.weights, tuning.references, BIGRAMS, Viterbi())
    assert again.score == best.score
    assert history.stopped


def test_rounds_are_judged_by_the_rule_that_will_translate() -> None:
    """Viterbi takes the first text, at any positive weight; with small weights the two alike texts outvote it."""
    texts = [("a b x", 3.0), ("c d y", 2.9), ("c d z", 2.9)]
    given = lists_set(texts, references=["c d y"])
    settings = replace(SETTINGS, rounds=2, n_best=3)
    history = tune(Sets(0.1, 90.0), Weights({"a": 50.0}), given, replace(settings, rule=MBR())).history
    assert [one.score > 50.0 for one in history.rounds] == [True, False]
    assert history.best == 1
    with pytest.raises(RunError, match="BLEU"):
        tune(Sets(0.1, 90.0), Weights({"a": 50.0}), given, settings)
    history = tune(Sets(0.1, 90.0), Weights({"a": 50.0}), given, replace(settings, rule=MBR(), scale=0.01)).history
    assert history.rounds[1].score > 50.0


@pytest.mark.parametrize("wants", ["lists", "forests"])
@pytest.mark.parametrize("interrupted", [1, 2, 3])
def test_resuming_changes_nothing(tmp_path: Path, wants: str, interrupted: int) -> None:
    """Each run has a model of its own, as another process would: also the vocabulary must grow as before."""

    def run(directory: Path, resume: bool, threads: int, interrupted: int | None = None) -> History:
        plain = small_models.small_model()
        model = replace(plain, sparse=sparse_features(plain.table, [pair_identity]))
        checkpoint = Checkpoint(directory, {"what": "test"}, resume)
        settings = replace(SETTINGS, threads=threads)
        tuner = RandomTuner(5, interrupted, wants, restless=0.1)
        result = tune(tuner, model.weights, make_set(model, threads), settings, checkpoint=checkpoint)
        result.weights.save(directory / "weights.toml")
        return result.history

    whole = run(tmp_path / "whole", False, 1)
    assert len(whole.rounds) >= interrupted
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", False, 2, interrupted)
    if interrupted > 1:
        with pytest.raises(RunError, match="holds an unfinished run"):
            run(tmp_path / "parts", False, 2)
    resumed = run(tmp_path / "parts", True, 2)
    assert (tmp_path / "parts/weights.toml").read_bytes() == (tmp_path / "whole/weights.toml").read_bytes()
    for one, other in zip(whole.rounds, resumed.rounds, strict=True):
        assert replace(one, search_seconds=0, tuning_seconds=0) == replace(other, search_seconds=0, tuning_seconds=0)
    assert resumed.stopped == whole.stopped
    assert {path.name for path in (tmp_path / "parts").iterdir()} == {RUN, "weights.toml"}
    assert run(tmp_path / "parts", True, 1) == History.load(tmp_path / "parts" / RUN)


def test_resuming_something_else_is_refused(tmp_path: Path, model: PhraseModel, tuning: TuningSet) -> None:
    with pytest.raises(KeyboardInterrupt):
        tune(RandomTuner(5, 2), model.weights, tuning, SETTINGS, checkpoint=Checkpoint(tmp_path, {"nbest": 6}))
    with pytest.raises(RunError, match="settings differ: nbest was 6, is 7"):
        tune(RandomTuner(), model.weights, tuning, SETTINGS, checkpoint=Checkpoint(tmp_path, {"nbest": 7}, True))
    shutil.rmtree(tmp_path / "round-1")
    with pytest.raises(RunError, match=r"round-1/forest.toml: no such file\n  remedy: start again"):
        tune(RandomTuner(), model.weights, tuning, SETTINGS, checkpoint=Checkpoint(tmp_path, {"nbest": 6}, True))


def test_lists_have_the_features_of_the_best_derivations(model: PhraseModel, tuning: TuningSet) -> None:
    for forest in tuning.search(model.weights):
        found = best_list(forest, model.weights, 6)
        expected = list(islice(k_best(forest, forest.scores(model.weights), distinct=True), 6))
        np.testing.assert_allclose(found.scores(model.weights), [one.score for one in expected], rtol=1e-5)
        entries = list(k_best(found, found.scores(model.weights)))
        assert {one.words for one in entries} == {one.words for one in expected}
        for one in entries:
            other = next(some for some in expected if some.words == one.words)
            assert one.features == pytest.approx(other.features, rel=1e-5)


def test_hypotheses_are_united_without_repetition(model: PhraseModel, tuning: TuningSet) -> None:
    result = tune(RandomTuner(3), model.weights, tuning, SETTINGS)
    seen: set[tuple[object, ...]] = set()
    for number, one in enumerate(result.history.rounds):
        weights = result.history.weights(number)
        before = len(seen)
        for segment, forest in enumerate(tuning.search(weights)):
            for entry in k_best(best_list(forest, weights, 6), np.zeros(best_list(forest, weights, 6).edges)):
                seen.add((segment, entry.words, tuple(sorted(entry.features.items()))))
        assert (one.hypotheses, one.new) == (len(seen), len(seen) - before)


def test_held_out_data_choose_the_round() -> None:
    tuning = lists_set([("x y", 1.0), ("u v", -1.0)], references=["x y"])
    held_out = lists_set([("x y", 1.0), ("u v", -1.0)], references=["u v"])
    settings = replace(SETTINGS, patience=2, rounds=10)
    result = tune(Sets(-1.0, 2.0, 3.0), Weights({"a": 1.0}), tuning, settings, held_out=held_out)
    assert (result.weights["a"], result.history.best) == (-1.0, 1)
    assert (len(result.history.rounds), result.history.stopped) == (2, "the search found nothing new")
    alone = tune(Sets(-1.0, 2.0), Weights({"a": 1.0}), tuning, settings)
    assert (alone.weights["a"], alone.history.best) == (1.0, 0)


def test_patience() -> None:
    vocabulary, texts = Vocabulary(), [("x y", 1.0), ("u v", -1.0)]

    def search(_: Weights) -> list[Forest]:
        texts.append(("w " * len(texts), 0.0))  # always something new
        return [from_nbest([ListEntry(text.split(), {"a": value}) for text, value in texts], ["a"], vocabulary)]

    settings = replace(SETTINGS, patience=3, rounds=20)
    result = tune(Sets(*range(2, 50)), Weights({"a": -1.0}), TuningSet(search, [[["x", "y"]]]), settings)
    assert result.history.best == 1
    assert len(result.history.rounds) == 4
    assert result.history.stopped == "no better score for 3 rounds"


def test_an_error_rate_is_made_small() -> None:
    tuning = lists_set([("x y", 1.0), ("u v", -1.0)], references=["x y"])
    result = tune(Sets(2.0), Weights({"a": -1.0}), tuning, replace(SETTINGS, metric=TER(), rounds=1))
    assert (result.history.start.score, result.history.best_score, result.weights["a"]) == (100.0, 0.0, 2.0)


@pytest.mark.parametrize(
    ("values", "start", "message"),
    [
        ((0.0,), 0.0, "no round is better than the start, where all weights are 0"),
        ((0.0,), -1.0, "collapsed: all weights are 0"),
        ((-2.0,), -1.0, "2 of 2 translations are empty"),  # the others may be
        ((float("nan"),), 1.0, "the weight of a is nan"),
    ],
)
def test_a_collapse_is_an_error(values: tuple[float, ...], start: float, message: str) -> None:
    some = [("x y", 1.0), ("", -1.0)]
    tuning = lists_set(some, some, some, some, some, references=["x y", "x y", "", "", ""])
    with pytest.raises(ToledoError, match=message) as caught:
        tune(Sets(*values), Weights({"a": start}), tuning, replace(SETTINGS, rounds=1))
    assert caught.value.remedy


def test_a_score_of_zero_is_no_success() -> None:
    with pytest.raises(RunError, match="BLEU is 0 at the start and after each round"):
        tune(
            Sets(2.0),
            Weights({"a": 1.0}),
            lists_set([("x", 1.0)], references=["y"]),
            replace(SETTINGS, metric=BLEU(smooth_method="none"), rounds=1),
        )
    with pytest.raises(InputError, match="each segment has an empty reference"):
        tune(Sets(2.0), Weights({"a": 1.0}), lists_set([("x", 1.0)], references=[""]), SETTINGS)


def test_weights_of_features_that_no_forest_has_do_not_hide_a_collapse() -> None:
    tuning = lists_set([("x", 1.0), ("y", 1.0)], references=["x"])
    with pytest.raises(RunError, match="all weights are 0"):
        tune(Sets(0.0), Weights({"a": 0.0, "distortion": 0.3}), tuning, SETTINGS)


def test_a_run_that_still_gets_better_at_its_end_says_so(caplog: pytest.LogCaptureFixture) -> None:
    vocabulary, found = Vocabulary(), [("u u", 9.0)]

    def search(weights: Weights) -> list[Forest]:
        found.append(("x y z"[: int(2 * weights["a"])], 10.0 + weights["a"]))  # a better one with each round
        return [from_nbest([ListEntry(text.split(), {"a": value}) for text, value in found], ["a"], vocabulary)]

    caplog.set_level(logging.INFO)
    tuning = TuningSet(search, [[["x", "y", "z"]]], "search by hand")
    history = tune(Sets(1.0, 2.0, 3.0), Weights({"a": 0.5}), tuning, replace(SETTINGS, rounds=3)).history
    assert (history.best, history.stopped) == (3, "all rounds done (3), not converged: allow more rounds")
    assert "at the start (search by hand)" in caplog.text


def test_something_must_be_free() -> None:
    with pytest.raises(InputError, match="all weights are frozen"):
        tune(Sets(2.0), Weights({"a": 1.0}, frozenset("a")), lists_set([("x", 1.0)], references=["x"]), SETTINGS)


def test_an_ended_run_is_tidied_and_takes_no_more_rounds(tmp_path: Path, model: PhraseModel, tuning: TuningSet) -> None:
    def run(rounds: int) -> History:
        checkpoint, settings = Checkpoint(tmp_path, {}, True), replace(SETTINGS, rounds=rounds)
        return tune(RandomTuner(5, restless=0.1), model.weights, tuning, settings, checkpoint=checkpoint).history

    ended = run(1)
    assert ended.stopped == "all rounds done (1)"
    for name in ("round-1", ".round-1.abc", ".round-1.old.abc"):  # what a killed process may leave behind
        (tmp_path / name).mkdir()
    (tmp_path / f".{RUN}.abc").touch()
    assert run(1) == ended
    assert [path.name for path in tmp_path.iterdir()] == [RUN]
    with pytest.raises(RunError, match=r"has ended, with seed 1: all rounds done \(1\)"):
        run(2)


def test_a_useless_objective_is_an_error() -> None:
    class Lost(Sets):
        def tune(self, examples: object, start: Weights, **_: object) -> Tuned:
            return Tuned(start, float("nan"))

    with pytest.raises(RunError, match="objective of sets became nan"):
        tune(Lost(), Weights({"a": 1.0}), lists_set([("x", 1.0)], references=["x"]), SETTINGS)


def test_searches_must_fit_references() -> None:
    tuning = replace(lists_set([("x", 1.0)], references=["x"]), references=[])
    with pytest.raises(InputError, match="1 segments, but references for 0"):
        tune(Sets(1.0), Weights({"a": 1.0}), tuning, SETTINGS)


def test_spread() -> None:
    one = spread([1.0, 2.0, 6.0])
    assert (one.minimum, one.maximum, one.mean) == (1.0, 6.0, 3.0)
    assert one.deviation == pytest.approx(np.std([1.0, 2.0, 6.0], ddof=1))
    assert spread([4.0]).deviation == 0.0


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LoopSettings(rounds=0)
