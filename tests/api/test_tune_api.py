"""Tuning as functions of texts."""

import json
import logging
from pathlib import Path

import pytest
from small_models import small_model

import toledo
from toledo.errors import InputError, RunError, UnknownNameError
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.tuning.tuners.pro import PRO

SOURCES = ["das haus ist klein", "klein ist das haus", "das ist klein", "das haus", "klein ist das neu"]
TARGETS = ["that house is small", "small is that house", "that is small", "that house", "small is that neu"]
LISTS = [
    [
        {"text": "the house is small", "features": {"lm": -1, "tm": -1}},
        toledo.Hypothesis("that house is small", features={"lm": -2.0, "tm": -2.0}),
    ],
    [{"text": "yes it is so", "features": {"lm": -1}}, {"text": "no it is so", "features": {"lm": 0, "tm": -1}}],
]
REFERENCES = ["that house is small", "yes it is so"]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "toledo")


@pytest.fixture(scope="module")
def model() -> PhraseModel:
    return small_model()


def test_names_objects_and_files_give_the_same_weights(model: PhraseModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    for name, lines in (("src", SOURCES), ("trg", TARGETS)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines))
    found = [
        toledo.tune(model, SOURCES, TARGETS, objective="pro:l2=2", rounds=2),
        toledo.tune(model, iter(SOURCES), [[one] for one in TARGETS], objective=PRO(l2=2.0), rounds=2),
        toledo.tune(tmp_path / "model", tmp_path / "src", [tmp_path / "trg"], objective="PRO:l2=2.0", rounds=2),
        toledo.tune(
            model, SOURCES, TARGETS, objective="pro:l2=2", metric=BLEU(smooth_method="none"), rounds=2, threads=1
        ),
    ]
    assert len({json.dumps(dict(one.weights)) for one in found}) == 1
    assert found[0].model is not None
    assert dict(found[0].model.weights) == dict(found[0].weights)


def test_the_result(model: PhraseModel, tmp_path: Path) -> None:
    tuning = toledo.tune(
        model, SOURCES, TARGETS, dev=(SOURCES, TARGETS), objective="mira", rounds=2, runs=2, output=tmp_path / "tuned"
    )
    assert [one.number for one in tuning.rounds] == list(range(len(tuning.rounds)))
    assert tuning.rounds[tuning.best_round].dev_score == tuning.best.best_score
    assert dict(tuning.rounds[tuning.best_round].weights) == dict(tuning.weights)
    assert [one.seed for one in tuning.runs] == [1, 2]
    assert tuning.mean == pytest.approx(sum(one.best_score for one in tuning.runs) / 2)
    assert tuning.deviation >= 0
    assert tuning.converged == ("all rounds done" not in tuning.reason)
    lines = str(tuning).splitlines()
    assert lines[0].split() == ["round", "objective", "BLEU", "dev", "BLEU", "hypotheses"]
    assert [line[6] for line in lines[1 : len(tuning.rounds) + 1]].count("*") == 1
    assert lines[tuning.best_round + 1][6] == "*"
    assert repr(tuning).startswith("Tuning('mira', BLEU=")
    content = json.loads(json.dumps(tuning.to_dict()))
    assert {"weights", "rounds", "runs", "best_round", "converged", "reason", "mean", "deviation"} <= set(content)
    assert tuning.signature.startswith("objective:mira|metric:BLEU|runs:2|seed:")
    made = tuning.model.info().training["tuning"]
    assert (made["by"], made["metric"], made["round"]) == ("mira", "BLEU", tuning.best.best)
    assert dict(PhraseModel.load(tmp_path / "tuned").weights) == dict(tuning.weights)
    assert sorted(path.name for path in (tmp_path / "tuned/run").iterdir()) == ["seed-1", "seed-2"]


def test_a_metric_and_an_objective_of_your_own(model: PhraseModel) -> None:
    def same_words(hypotheses: list[str], references: list[str], sources: list[str] | None) -> list[float]:
        pairs = zip(hypotheses, references, strict=True)
        return [100.0 * len({*a.split()} & {*b.split()}) / max(len({*b.split()}), 1) for a, b in pairs]

    tuning = toledo.tune(model, SOURCES, TARGETS, objective="expected", metric=same_words, rounds=2)
    assert tuning.best.metric == "same_words"
    assert tuning.best.best_score > tuning.rounds[0].score
    with pytest.raises(InputError, match="objective 'xbleu' cannot use metric 'same_words'"):
        toledo.tune(model, SOURCES, TARGETS, objective="xbleu", metric=same_words)


def test_weights_to_start_from(model: PhraseModel) -> None:
    given = dict.fromkeys(model.weights, 0.25)
    tuning = toledo.tune(model, SOURCES, TARGETS, objective="pro", rounds=1, initial=given, frozen=["lm"])
    assert tuning.weights["lm"] == 0.25
    assert set(tuning.rounds[0].weights.values()) == {0.25}
    with pytest.raises(InputError, match="the model has no feature 'lmm'"):
        toledo.tune(model, SOURCES, TARGETS, initial={**given, "lmm": 1.0})


def test_lists(tmp_path: Path) -> None:
    tuning = toledo.tune_lists(LISTS, REFERENCES, objective="mert", initial={"lm": 0.0, "tm": 0.0}, output=tmp_path)
    assert tuning.best.best_score == pytest.approx(100.0)
    assert (tuning.model, set(tuning.weights)) == (None, {"lm", "tm"})
    assert dict(toledo.tune_lists(LISTS, [[one] for one in REFERENCES], initial="zero").weights) == dict(tuning.weights)
    assert (tmp_path / "weights.toml").exists()
    with pytest.raises(InputError, match="lists has 2 segments, references 1"):
        toledo.tune_lists(LISTS, REFERENCES[:1])
    with pytest.raises(InputError, match="the lists have no features"):
        toledo.tune_lists([["a", "b"]], ["a"])


def test_errors(model: PhraseModel, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sources has 5 segments, references 4"):
        toledo.tune(model, SOURCES, TARGETS[:4])
    with pytest.raises(InputError, match="dev sources has 5 segments, dev references 4"):
        toledo.tune(model, SOURCES, TARGETS, dev=(SOURCES, TARGETS[:4]))
    with pytest.raises(InputError, match="sources is empty"):
        toledo.tune(model, [], [])
    with pytest.raises(UnknownNameError, match="no objective 'mrt': did you mean 'mert'"):
        toledo.tune(model, SOURCES, TARGETS, objective="mrt")
    with pytest.raises(InputError, match="rule 'viterbi' has no scale"):
        toledo.tune(model, SOURCES, TARGETS, scale=2.0)
    with pytest.raises(InputError, match="no run to continue"):
        toledo.tune(model, SOURCES, TARGETS, resume=True)
    with pytest.raises(RunError, match="collapsed"):
        toledo.tune(model, SOURCES, ["x y z x"] * 5, objective="pro", output=tmp_path / "tuned")
    assert not (tmp_path / "tuned/model.toml").exists()
