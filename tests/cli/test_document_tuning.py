"""`toledo document tune`: each objective end to end, a run that goes on, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_models import small_model
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.model import PhraseModel
from toledo.search.document.models.semantic import SemanticSpace
from toledo.weights import Weights

SOURCE = ["das haus ist klein", "das haus", "ist das klein", "klein das haus"]
REFERENCE = ["the house is small", "that house", "is that small", "small the house"]
QUICK = ["--rounds", "2", "--steps", "2", "--batch", "1", "--samples", "4", "--threads", "1", "--quiet"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    small_model().save(tmp_path / "model")
    (tmp_path / "tune.de").write_text("".join(f"{line}\n" for line in SOURCE))
    (tmp_path / "tune.en").write_text("".join(f"{line}\n" for line in REFERENCE))
    (tmp_path / "tune.docids").write_text("a\na\nb\nb\n")
    return tmp_path


def tune(files: Path, *options: str, output: str = "w.toml", ok: bool = True) -> str:
    text = ["--source", str(files / "tune.de"), "--docids", str(files / "tune.docids"), "-r", str(files / "tune.en")]
    given = ["document", "tune", str(files / "model"), *text, "-o", str(files / output), *options]
    result = CliRunner().invoke(app, given)
    if ok:
        assert result.exit_code == 0, result.output
    else:
        assert result.exit_code != 0
    return result.output if ok else str(result.exception or result.output)


@pytest.mark.parametrize("objective", ["expected-bleu", "corpus-expected-bleu"])
def test_expected_bleu(files: Path, objective: str) -> None:
    trace, report = files / "trace.jsonl", files / "report.html"
    out = tune(
        files, "--objective", objective, "--model", "parity=0", "--trace", str(trace), "--report", str(report),
        "--json", *QUICK,
    )  # fmt: skip
    found = json.loads(out)
    assert found["tuner"] == f"document {objective}"
    assert found["rounds"] == 2
    assert found["mean_of_rounds"] == [2, 2]
    assert found["length_matched"]
    assert "best" not in found
    weights = Weights.load(files / "w.toml")
    assert "document.parity" in weights
    assert weights["oov"] == 1.0
    rounds = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [one["number"] for one in rounds] == [1, 2]
    last = rounds[-1]["weights"]
    assert {**weights, "word.penalty": 0.0} == {**last, "word.penalty": 0.0}  # that was matched by searching
    tune(files, "--objective", objective, "--model", "parity=0", "--any-length", *QUICK, output="plain.toml")
    assert dict(Weights.load(files / "plain.toml")) == last
    assert "<svg" in report.read_text()


def test_it_says_what_it_has_written(files: Path) -> None:
    given = ["--rounds", "4", *QUICK[2:], "--trace", str(files / "trace.jsonl"), "--any-length"]
    said = tune(files, *given)
    rounds = [json.loads(line) for line in (files / "trace.jsonl").read_text().splitlines()]
    last = rounds[2:]
    weights = Weights.load(files / "w.toml")
    for name, value in weights.items():
        assert value == pytest.approx(sum(one["weights"][name] for one in last) / 2)
    expected = sum(one["score"] for one in last) / 2
    assert f"{expected:.2f} on average in the last 2 rounds; " in said
    assert "written: the weights of rounds 3 to 4, averaged\n" in said
    assert "expected BLEU" in said
    matched = tune(files, "--rounds", "1", *QUICK[2:], output="matched.toml")
    assert " in round 1 of 1; " in matched
    assert "of round 1, with the word penalty that gives texts the length of references\n" in matched


def test_words_need_a_model_that_has_them(files: Path) -> None:
    tune(files, "--sparse", "target", "--output-model", str(files / "tuned"), *QUICK)
    model = PhraseModel.load(files / "tuned")
    assert model.sparse is not None
    assert any(model.weights.get(name, 0.0) for name in model.sparse.names)


@pytest.mark.parametrize(
    "variant",
    [
        ["--pairs", "consecutive", "--negative"],
        ["--decoding", "bleu", "--record", "20"],
        ["--start", "beam", "--rounds", "2", "--negative"],
    ],
)
def test_ranking(files: Path, variant: list[str]) -> None:
    given = ["--objective", "pro", "--search-steps", "300", "--threads", "1", "--quiet", *variant]
    first = tune(files, *given)
    assert "document pro: BLEU" in first
    tune(files, *given, output="again.toml")
    assert Weights.load(files / "w.toml") == Weights.load(files / "again.toml")


def test_held_out_documents_choose_the_round(files: Path) -> None:
    held_out = ["--held-out-source", str(files / "tune.de"), "--held-out-reference", str(files / "tune.en")]
    out = tune(files, *held_out, "--held-out-docids", str(files / "tune.docids"), "--json", *QUICK)
    history = json.loads((files / "w.tuning" / "seed-1" / "history.json").read_text())
    assert history["selected_by"] == "development set"
    assert json.loads(out)["best"] == history["best_score"]
    assert json.loads(out)["best_round"] == history["best"]


def test_a_run_goes_on_with_the_same_options_and_files(files: Path) -> None:
    """What Ctrl-C leaves behind is a history without an end: cut one short, by hand."""
    space = SemanticSpace(("the", "house", "small"), np.eye(3, dtype=np.int32), np.ones(2))
    space.save(files / "space")
    given = ("--model", "semantic=0.1", "--semantic-space", str(files / "space"), *QUICK)
    tune(files, *given)
    whole, history = (files / "w.toml").read_bytes(), files / "w.tuning" / "seed-1" / "history.json"
    history.write_text(json.dumps({**json.loads(history.read_text()), "rounds": [], "stopped": ""}))
    assert "objective: num samples was 4, is 5" in tune(files, *given, "--samples", "5", "--resume", ok=False)
    replace(space, vectors=np.eye(3, dtype=np.int32)[::-1].copy()).save(files / "space")
    assert "semantic space changed" in tune(files, *given, "--resume", ok=False)
    space.save(files / "space")
    tune(files, *given, "--resume")
    assert (files / "w.toml").read_bytes() == whole


def test_wrong_options_are_refused(files: Path) -> None:
    for wrong in (["--record", "often"], ["--held-out-source", "x"], ["--model", "parity"], ["--model", "nothing=1"]):
        assert tune(files, *wrong, *QUICK, ok=False)
    assert "no model uses" in tune(files, "--semantic-space", "nowhere", *QUICK, ok=False)
    (files / "tune.docids").write_text("a\n")
    assert tune(files, *QUICK, ok=False)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["--model", "bleu=0"], "BLEU is no feature"),
        (["--objective", "pro", "--model", "bleu=1"], "BLEU is no feature"),
        (["--held-out-docids", "nowhere"], "half of a held-out set"),
        (["--burn-in", "inf"], "--burn-in inf"),
        (["--every", "inf"], "--every inf"),
        (["--sharper", "inf"], "--sharper inf"),
        (["--l2", "inf"], "--l2 inf"),
        (["--model", "parity=inf"], "--model parity inf"),
    ],
)
def test_before_any_work(files: Path, wrong: list[str], said: str) -> None:
    shutil.rmtree(files / "model")  # it is not even read
    assert said in tune(files, *wrong, "--threads", "1", "--quiet", ok=False)
    assert not (files / "w.tuning").exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--objective", "pro", "--batch", "2"],
        ["--objective", "pro", "--any-length"],
        ["--pairs", "consecutive"],
        ["--search-steps", "10"],
        ["--sparse-features", "10"],
        ["--objective", "pro", "--record", "0"],
    ],
)
def test_options_without_effect_are_refused(files: Path, options: list[str]) -> None:
    said = tune(files, *options, "--threads", "1", "--quiet", ok=False)
    assert options[-1 if options[-1].startswith("--") else -2].replace("any-length", "match-length") in said
    assert not (files / "w.toml").exists()
