"""`toledo refine` from the outside."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.errors import InputError, RunError, ToledoError
from toledo.model import PhraseModel
from toledo.refinement.procedure import _text_digest
from toledo.runs.checkpoint import digest_arrays
from toledo.sample.corpus import write_sample
from toledo.text.corpus import read_sentences
from toledo.text.vocabulary import Vocabulary

SMALL = shlex.split(
    "--folds 2 --n-best-size 20 --pop-limit 20 --rounds 1 --rounds-again 1 --iterations 2 --objective mira"
)
TEXTS = shlex.split(
    "--source s/train.src --target s/train.trg --tune-source s/tune.src --tune-reference s/tune.trg.0 "
    "--tune-reference s/tune.trg.1 --validate-source s/own.src --validate-reference s/own.trg"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refine")
    write_sample(folder / "s", 1, train=300, tune=20, test=20)
    for side in ("src", "trg"):  # lines of the training text, on which training is sure to find something better
        lines = (folder / f"s/train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"s/own.{side}").write_text("".join(lines[:60]), encoding="utf-8")
    train = ["train", "--source", str(folder / "s/train.src"), "--target", str(folder / "s/train.trg"), "--quiet"]
    result = CliRunner().invoke(app, [*train, "--max-phrase-length", "3", "--output", str(folder / "model")])
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(autouse=True)
def there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def run(*arguments: object) -> str:
    words = ["refine", "model", *TEXTS, *SMALL, "--quiet", "--threads", "1", *map(str, arguments)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*arguments: object) -> str:
    with pytest.raises(ToledoError) as caught:
        run(*arguments)
    return str(caught.value)


def test_a_model_is_refined_and_lists_are_used_again(home: Path) -> None:
    found = json.loads(run("--output", "first", "--json"))
    assert [one["stage"] for one in found["rounds"]] == [0, 0, 1, 1]
    assert all(one["objective"] >= one["details"]["objective_before"] for one in found["rounds"])
    model, old = PhraseModel.load("first"), PhraseModel.load("model")
    assert len(model.table) == len(old.table)
    assert found["best"] > 0
    assert not np.array_equal(model.table.scores, old.table.scores)
    lists = home / "first.refining" / "lists"
    times = [path.stat().st_mtime_ns for path in sorted(lists.iterdir())]
    again = ("--work", "first.refining", "--resume", "--train", "both")
    text = run("--output", "second", *again, "--tau", "1e-3", "--lexicon-tau", "0.5", "--distance", "kl")
    assert "baseline" in text
    assert "* this model was written; τ = 0.001 and 0.5" in text
    assert "* this model was written; τ = 1e-05, " in run("--output", "third", *again, "--method", "growth")
    lexicon = ("--output", "fourth", *again, "--train", "lexicon", "--iterations", 1)
    assert "τ = 0.05, " in run(*lexicon, "--tau", 0.5)
    assert "τ = 0, " in run(*lexicon, "--lexicon-tau", 0)
    assert [path.stat().st_mtime_ns for path in sorted(lists.iterdir())] == times


def history(output: str) -> dict[str, object]:
    """All but times."""
    (file,) = Path(f"{output}.refining").glob("refinement-*/history.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    for one in found["rounds"]:
        del one["search_seconds"], one["tuning_seconds"]
    return found


def assert_same(one: str, other: str) -> None:
    """Model, history and states; descriptions have the digests of all arrays."""
    assert history(one) == history(other)
    assert history(one)["best"] != 0
    assert Path(one, "model.toml").read_bytes() == Path(other, "model.toml").read_bytes()
    states, others = (sorted(Path(f"{name}.refining").glob("refinement-*/round-*/state.toml")) for name in (one, other))
    assert [path.parts[1:] for path in states] == [path.parts[1:] for path in others]
    assert [path.read_bytes() for path in states] == [path.read_bytes() for path in others]
    assert states


def test_the_same_again_gives_the_same_bytes() -> None:
    run("--output", "one")
    run("--output", "two", "--threads", "2")
    assert_same("one", "two")
    run("--output", "three", "--work", "one.refining", "--resume")  # all is done: only the model is written again
    assert Path("one/model.toml").read_bytes() == Path("three/model.toml").read_bytes()


def test_lattices_and_lbfgs() -> None:
    words = [word for word in SMALL if word not in ("--n-best-size",)]
    words.remove("20")  # of the lists
    arguments = ["refine", "model", *TEXTS, *words, "--quiet", "--threads", "1", "--output", "lattices", "--json"]
    arguments += ["--on", "lattices", "--density", "5", "--method", "lbfgs", "--steps", "2", "--train", "phrase"]
    arguments += ["--utility", "corpus"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["rounds"][0]["objective"] > found["rounds"][0]["details"]["objective_before"]


def test_samples_of_document_chains() -> None:
    words = [word for word in SMALL if word not in ("--n-best-size",)]
    words.remove("20")  # of the lists
    arguments = ["refine", "model", *TEXTS, *words, "--quiet", "--threads", "1", "--output", "sampled", "--json"]
    arguments += ["--on", "samples", "--samples", "5", "--steps", "2"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["rounds"][0]["objective"] > found["rounds"][0]["details"]["objective_before"]
    with pytest.raises(RunError, match="samples: seed was 1, is 2"):
        CliRunner().invoke(app, [*arguments, "--resume", "--seed", "2"], catch_exceptions=False)


def test_what_does_not_fit_is_refused(home: Path) -> None:
    run("--output", "kept", "--train", "phrase", "--iterations", 1)
    assert "holds the steps of an earlier run" in refusal("--output", "kept")
    assert "folds was 2, is 3" in refusal("--output", "kept", "--resume", "--train", "phrase", "--folds", 3)
    assert "only for --method lbfgs" in refusal("--output", "x", "--method", "growth", "--steps", 3)
    assert "only for --method lbfgs" in refusal("--output", "x", "--method", "growth", "--distance", "kl")
    assert "only for --on lattices" in refusal("--output", "x", "--density", 3)
    assert "only for --on samples" in refusal("--output", "x", "--samples", 3)
    assert "the scale is 0" in refusal("--output", "x", "--scale", 0)
    assert "differ in their number of lines" in refusal("--output", "x", "--target", "s/tune.src")
    assert not Path("x.refining").exists()


def test_what_is_not_looked_at_is_refused() -> None:
    assert "--lexicon-tau: --train phrase" in refusal("--output", "x", "--train", "phrase", "--lexicon-tau", 1)
    both = ("--tau", 1, "--lexicon-tau", 1)
    assert "--tau: --train lexicon" in refusal("--output", "x", "--train", "lexicon", *both)
    assert "--rounds: with --keep-weights" in refusal("--output", "x", "--keep-weights")
    assert "--rounds-again: with --tune-every 0" in refusal("--output", "x", "--tune-every", 0)
    assert "--alignments: with --folds 1" in refusal("--output", "x", "--folds", 1, "--alignments", "a")
    assert "--n-best-size: only for --on lists" in refusal("--output", "x", "--on", "lattices")


def test_lattices_have_no_bleu_of_sentences() -> None:
    words = ["refine", "model", *TEXTS, "--quiet", "--threads", "1", "--output", "x", "--on", "lattices"]
    with pytest.raises(InputError, match="BLEU of the corpus only"):
        CliRunner().invoke(app, [*words, "--utility", "sentence"], catch_exceptions=False)


def test_numbers_are_finite() -> None:
    for name in ("--tau", "--lexicon-tau", "--scale"):
        assert f"{name} inf" in refusal("--output", "x", name, "inf")
    assert "--scale nan" in refusal("--output", "x", "--scale", "nan")


def test_places_that_would_replace_one_another_are_refused(home: Path) -> None:
    before = sorted(home.rglob("*"))
    assert "one in the other" in refusal("--output", "x", "--work", "x")
    assert "one in the other" in refusal("--output", "x", "--work", "x/y/../z/steps")
    assert "one in the other" in refusal("--output", "s/../x", "--work", ".")
    assert "replace the given model" in refusal("--output", "model")
    assert "is the given model" in refusal("--output", "x", "--work", "model", "--resume")
    assert "is a file" in refusal("--output", "x", "--work", "s/train.src")
    (home / "link").symlink_to("model")
    assert "replace the given model" in refusal("--output", "link")
    (home / "link").unlink()
    assert sorted(home.rglob("*")) == before


def test_digests_are_those_of_contents() -> None:
    def marks(name: str) -> str:
        vocabulary = Vocabulary()
        return _text_digest(read_sentences(name, vocabulary), vocabulary)

    assert marks("s/train.src") == marks("s/train.src")
    # Two texts whose words have the same numbers, and two that differ in the ends of their lines.
    texts = {"a": "one two\nthree\n", "b": "one two\nfour\n", "c": "one\ntwo three\n"}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    assert len({marks(name) for name in texts}) == 3
    links = np.arange(6, dtype=np.int32).reshape(3, 2)
    assert digest_arrays(links) == digest_arrays(np.asfortranarray(links))
    assert len({digest_arrays(one) for one in (links, links + 1, links.reshape(2, 3), links[:0])}) == 4


def test_killed_and_resumed_gives_the_same_bytes(home: Path) -> None:
    """Killed at several moments, whatever it was doing; the next one goes on."""
    run("--output", "whole")
    words = ["refine", "model", *TEXTS, *SMALL, "--quiet", "--threads", "1", "--output", "parts"]
    command = [sys.executable, "-m", "toledo", *words, "--resume"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for marks in ("history.json", "folds/1-rows", "lists/*1-0", "refinement-*/history.json"):
        process = subprocess.Popen(command, cwd=home, env=environment)
        began = time.monotonic()
        while process.poll() is None and not list((home / "parts.refining").glob(marks)):
            assert time.monotonic() - began < 600
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)
    assert_same("parts", "whole")
