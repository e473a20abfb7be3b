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

from toledo.cli import app
from toledo.errors import InputError
from toledo.model import Model
from toledo.sample import write_sample

SMALL = shlex.split("--folds 2 --n-best 20 --pop-limit 20 --rounds 1 --rounds-again 1 --iterations 2 --objective mira")
TEXTS = shlex.split(
    "--source s/train.src --target s/train.trg --tune-source s/tune.src --tune-reference s/tune.trg.0 "
    "--tune-reference s/tune.trg.1 --validate-source s/test.src --validate-reference s/test.trg.0"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refine")
    write_sample(folder / "s", 1, train=300, tune=20, test=20)
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
    with pytest.raises(InputError) as caught:
        run(*arguments)
    return str(caught.value)


def test_a_model_is_refined_and_lists_are_used_again(home: Path) -> None:
    found = json.loads(run("--output", "first", "--json"))
    assert [one["stage"] for one in found["iterations"]] == [-1, 0, 0, 1, 1]
    assert all(one["objective"][1] >= one["objective"][0] for one in found["iterations"][1:])
    model, old = Model.load("first"), Model.load("model")
    assert len(model.table) == len(old.table)
    if found["best"]:
        assert not np.array_equal(model.table.scores, old.table.scores)
    lists = home / "first.refining" / "lists"
    times = [path.stat().st_mtime_ns for path in sorted(lists.iterdir())]
    again = ("--work", "first.refining", "--resume", "--train", "both")
    text = run("--output", "second", *again, "--tau", "1e-3", "--lexicon-tau", "0.5", "--distance", "kl")
    assert "baseline" in text
    assert "* this model was written; τ = 0.001 and 0.5" in text
    assert "* this model was written; τ = 1e-05, " in run("--output", "third", *again, "--method", "growth")
    assert [path.stat().st_mtime_ns for path in sorted(lists.iterdir())] == times


def test_the_same_again_gives_the_same_bytes() -> None:
    run("--output", "one", "--train", "phrase")
    run("--output", "two", "--train", "phrase", "--threads", "2")
    assert Path("one/model.toml").read_bytes() == Path("two/model.toml").read_bytes()


def test_lattices_and_lbfgs() -> None:
    words = [word for word in SMALL if word not in ("--n-best",)]
    words.remove("20")  # of the lists
    arguments = ["refine", "model", *TEXTS, *words, "--quiet", "--threads", "1", "--output", "lattices", "--json"]
    arguments += ["--on", "lattices", "--density", "5", "--method", "lbfgs", "--steps", "2", "--train", "phrase"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["iterations"][1]["objective"][1] > found["iterations"][1]["objective"][0]


def test_what_does_not_fit_is_refused(home: Path) -> None:
    run("--output", "kept", "--train", "phrase", "--iterations", 1)
    assert "holds the steps of an earlier run" in refusal("--output", "kept")
    assert "folds was 2 and is now 3" in refusal("--output", "kept", "--resume", "--train", "phrase", "--folds", 3)
    assert "only for --method lbfgs" in refusal("--output", "x", "--method", "growth", "--steps", 3)
    assert "only for --method lbfgs" in refusal("--output", "x", "--method", "growth", "--distance", "kl")
    assert "only for --on lattices" in refusal("--output", "x", "--density", 3)
    assert "--scale" in refusal("--output", "x", "--scale", 0)
    assert "one place" in refusal("--output", "x", "--work", "x")
    assert "differ in their number of lines" in refusal("--output", "x", "--target", "s/tune.src")


def test_killed_and_resumed_gives_the_same_bytes(home: Path) -> None:
    """Killed at several moments, whatever it was doing; the next one goes on."""
    run("--output", "whole", "--train", "phrase")
    words = ["refine", "model", *TEXTS, *SMALL, "--quiet", "--threads", "1", "--train", "phrase", "--output", "parts"]
    command = [sys.executable, "-m", "toledo", *words, "--resume"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for marks in ("configuration.json", "folds/1-rows", "lists/*1-0"):
        process = subprocess.Popen(command, cwd=home, env=environment)
        began = time.monotonic()
        while process.poll() is None and not list((home / "parts.refining").glob(marks)):
            assert time.monotonic() - began < 120
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)
    assert Path("parts/model.toml").read_bytes() == Path("whole/model.toml").read_bytes()
