"""`toledo document tune`: each objective end to end, a run that goes on, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import fail, succeed
from small_models import small_model

from toledo.model import PhraseModel
from toledo.search.document.models.semantic import SemanticSpace
from toledo.weights import Weights

SOURCE = ["das haus ist klein", "das haus", "ist das klein", "klein das haus"]
REFERENCE = ["the house is small", "that house", "is that small", "small the house"]
QUICK = ["--rounds", "2", "--gradient-steps", "2", "--batch", "1", "--num-samples", "4", "--threads", "1", "--quiet"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    small_model().save(tmp_path / "model")
    (tmp_path / "tune.de").write_text("".join(f"{line}\n" for line in SOURCE))
    (tmp_path / "tune.en").write_text("".join(f"{line}\n" for line in REFERENCE))
    (tmp_path / "tune.docids").write_text("a\na\nb\nb\n")
    return tmp_path


def tune(files: Path, *options: object, output: str = "tuned", code: int = 0) -> str:
    text = ("--source", files / "tune.de", "--document-ids", files / "tune.docids", "-r", files / "tune.en")
    given = ("document", "tune", files / "model", *text, "-o", files / output, *options)
    return " ".join(fail(*given, code=code).split()) if code else succeed(*given)


def history_of(model: Path) -> Any:
    return json.loads((model / "run" / "seed-1" / "history.json").read_text())


def weights_of(model: Path) -> Weights:
    return PhraseModel.load(model).weights


@pytest.mark.parametrize("objective", ["expected-bleu", "corpus-expected-bleu"])
def test_expected_bleu(files: Path, objective: str) -> None:
    trace, report = files / "trace.jsonl", files / "report.html"
    given = ("--objective", objective, "--document-model", "parity=0", *QUICK)
    found = json.loads(tune(files, *given, "--write-trace", trace, "--write-report", report, "--json"))["result"]
    assert [one["number"] for one in found["rounds"]] == [0, 1, 2]
    assert found["averaged"] == [2, 2]
    assert found["matched"]
    weights = weights_of(files / "tuned")
    assert "document.parity" in weights
    assert weights["oov"] == 1.0
    rounds = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [one["number"] for one in rounds] == [1, 2]
    last = rounds[-1]["weights"]
    assert {**weights, "word.penalty": 0.0} == {**last, "word.penalty": 0.0}  # that was matched by searching
    tune(files, *given, "--no-match-length", output="plain")
    assert dict(weights_of(files / "plain")) == last
    assert "<svg" in report.read_text()


def test_it_says_what_it_has_written(files: Path) -> None:
    said = tune(files, "--rounds", 4, *QUICK[2:], "--write-trace", files / "trace.jsonl", "--no-match-length")
    rounds = [json.loads(line) for line in (files / "trace.jsonl").read_text().splitlines()]
    last = rounds[2:]
    for name, value in weights_of(files / "tuned").items():
        assert value == pytest.approx(sum(one["weights"][name] for one in last) / 2)
    expected = sum(one["score"] for one in last) / 2
    assert f"weights: the mean of rounds 3 to 4 (expected BLEU {expected:.2f})\n" in said
    matched = tune(files, "--rounds", 1, *QUICK[2:], output="matched")
    assert "weights: round 1 (expected BLEU" in matched
    assert "with the word penalty that gives texts the length of the references\n" in matched


def test_a_tuned_model_translates_with_its_document_models(files: Path) -> None:
    tune(files, "--document-model", "parity=0", *QUICK)
    command = ("document", "translate", files / "tuned", files / "tune.de", "--steps", 100, "--json", "-q")
    assert "document.parity" in json.loads(succeed(*command))["result"]["features"]


def test_words_need_a_model_that_has_them(files: Path) -> None:
    tune(files, "--feature", "target", *QUICK)
    model = PhraseModel.load(files / "tuned")
    assert model.sparse is not None
    assert any(model.weights.get(name, 0.0) for name in model.sparse.names)


@pytest.mark.parametrize(
    "variant",
    [
        ["--pairs", "consecutive", "--no-positive"],
        ["--decoding", "bleu", "--record", "20"],
        ["--start", "beam", "--rounds", "2", "--no-positive"],
        ["--decoding", "model+bleu", "--bleu-weight", "0.5", "--record", "20"],
        ["--record", "10", "--max-states", "6", "--falling-share", "0.3", "--rounds", "2"],
    ],
)
def test_ranking(files: Path, variant: list[str]) -> None:
    given = ["--objective", "pro", "--steps", "300", "--threads", "1", "--quiet", *variant]
    first = tune(files, *given)
    assert "document pro, seed 1" in first
    tune(files, *given, output="again")
    assert weights_of(files / "tuned") == weights_of(files / "again")


def test_a_ranking_continues_with_the_same_draws(files: Path) -> None:
    drawn = ("--decoding", "model+bleu", "--record", 10, "--max-states", 6, "--falling-share", 0.3, "--no-positive")
    given = ("--objective", "pro", "--steps", 300, "--rounds", 3, "--threads", 1, "--quiet", *drawn)
    tune(files, *given)
    whole, path = history_of(files / "tuned"), files / "tuned" / "run" / "seed-1" / "history.json"
    assert len({json.dumps(one["weights"]) for one in whole["rounds"]}) == 3
    path.write_text(json.dumps({**whole, "rounds": whole["rounds"][:1], "stopped": ""}))
    assert "objective: bleu weight was 10.0, is 3.0" in tune(files, *given, "--bleu-weight", 3, "--resume", code=3)
    tune(files, *given, "--resume")
    again = history_of(files / "tuned")
    assert [one["weights"] for one in again["rounds"]] == [one["weights"] for one in whole["rounds"]]


def test_initial_weights_of_docent(files: Path) -> None:
    tune(files, "--objective", "pro", "--steps", 10, "--quiet", "--initial", "docent")
    found = history_of(files / "tuned")["start"]["weights"]
    expected = {name: 0.2 for name in found if name.startswith(("phrase.", "lexicon."))}
    assert found == {**expected, "lm": 0.5, "distortion": 0.6, "word.penalty": -1.0, "oov": 1.0}


def test_zero_leaves_the_weights_that_are_frozen(files: Path) -> None:
    given = ("--objective", "pro", "--steps", 10, "--quiet", "--initial", "zero", "--frozen", "lm")
    tune(files, *given)
    found = history_of(files / "tuned")["start"]["weights"]
    assert {name for name, value in found.items() if value} == {"lm"}


def test_documents_are_cut_into_pieces(files: Path) -> None:
    given = ("--objective", "pro", "--steps", 300, "--no-positive", "--threads", 1, "--quiet")
    tune(files, *given, "--document-size", 1, output="cut")
    assert "document ids changed" in tune(files, *given, "--rounds", 2, "--resume", output="cut", code=3)
    (files / "tune.docids").write_text("p\nq\nr\ns\n")
    tune(files, *given, output="named")
    cut, named = history_of(files / "cut")["rounds"][0], history_of(files / "named")["rounds"][0]
    assert (cut["weights"], cut["details"]) == (named["weights"], named["details"])
    tune(files, *given, "--document-size", 2, output="pieces")  # none is longer
    assert history_of(files / "pieces")["rounds"][0]["weights"] == cut["weights"]
    assert "document_size is 0" in tune(files, "--document-size", 0, *QUICK, output="none", code=2)


def test_dev_documents_choose_the_round(files: Path) -> None:
    dev = ("--dev-source", files / "tune.de", "--dev-reference", files / "tune.en")
    found = json.loads(tune(files, *dev, "--dev-document-ids", files / "tune.docids", "--json", *QUICK))["result"]
    history = json.loads((files / "tuned" / "run" / "seed-1" / "history.json").read_text())
    assert history["selected_by"] == "development set"
    assert found["score"] == pytest.approx(history["best_score"], abs=1e-6)
    assert found["best_round"] == history["best"]


def test_a_run_continues_with_the_same_options_and_files(files: Path) -> None:
    """What Ctrl-C leaves behind is a history without an end: cut one short, by hand."""
    space = SemanticSpace(("the", "house", "small"), np.eye(3, dtype=np.int32), np.ones(2))
    space.save(files / "space")
    given = ("--document-model", "semantic=0.1", "--semantic-space", files / "space", *QUICK)
    tune(files, *given)
    whole, history = weights_of(files / "tuned"), files / "tuned" / "run" / "seed-1" / "history.json"
    history.write_text(json.dumps({**json.loads(history.read_text()), "rounds": [], "stopped": ""}))
    assert "holds an unfinished run" in tune(files, *given, code=3)
    assert "objective: every was 1.0, is 2.0" in tune(files, *given, "--every", 2, "--resume", code=3)
    replace(space, vectors=np.eye(3, dtype=np.int32)[::-1].copy()).save(files / "space")
    assert "semantic space changed" in tune(files, *given, "--resume", code=3)
    space.save(files / "space")
    other = [str(one).replace("semantic=", "semantic:context=2=") for one in given]
    assert "document models changed" in tune(files, *other, "--resume", code=3)
    tune(files, *given, "--resume")
    assert weights_of(files / "tuned") == whole


def test_wrong_options_are_refused(files: Path) -> None:
    for wrong in (["--record", "often"], ["--dev-source", "x"], ["--document-model", "parity"],
                  ["--document-model", "nothing=1"]):  # fmt: skip
        assert tune(files, *wrong, *QUICK, code=2)
    assert "no document model uses" in tune(files, "--semantic-space", "nowhere", *QUICK, code=2)
    (files / "tune.docids").write_text("a\n")
    assert tune(files, *QUICK, code=2)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--dev-document-ids", "nowhere"], "the development set is incomplete"),
        (["--burn-in", "inf"], "burn_in of document objective"),
        (["--every", "inf"], "every of document objective"),
        (["--initial-factor", "inf"], "initial_factor of document objective"),
        (["--l2", "inf"], "l2 of document objective"),
        (["--objective", "mmi"], "no document objective 'mmi'"),
        (["--search-steps", "10"], "there is no option --search-steps: it is --steps now"),
        (["--objective", "pro", "--batch", "2"], "'pro' 'batch'"),
        (["--objective", "pro", "--no-match-length"], "'pro' 'match_length'"),
        (["--pairs", "consecutive"], "'corpus-expected-bleu' 'pairs'"),
        (["--steps", "10"], "'corpus-expected-bleu' 'steps'"),
        (["--max-features", "10"], "--max-features has no effect"),
        (["--objective", "pro", "--record", "0"], "record of document objective 'pro' is 0"),
    ],
)
def test_before_any_work(files: Path, wrong: list[str], said: str) -> None:
    shutil.rmtree(files / "model")  # it is not even read
    assert said in tune(files, *wrong, "--threads", "1", "--quiet", code=2)
    assert not (files / "tuned").exists()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--document-model", "bleu=0"], "BLEU is not a feature"),
        (["--objective", "pro", "--document-model", "bleu=1"], "BLEU is not a feature"),
        (["--document-model", "parity=inf"], "the weight of document.parity is inf"),
    ],
)
def test_document_models_that_cannot_be_tuned(files: Path, wrong: list[str], said: str) -> None:
    assert said in tune(files, *wrong, "--threads", "1", "--quiet", code=2)
    assert not (files / "tuned").exists()
