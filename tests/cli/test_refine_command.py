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
from command_line import fail, succeed

from toledo.model import PhraseModel
from toledo.refinement.procedure import _text_digest
from toledo.runs.checkpoint import digest_arrays
from toledo.sample.corpus import generate
from toledo.text.corpus import read_sentences
from toledo.text.vocabulary import Vocabulary

SMALL = shlex.split(
    "--folds 2 --nbest 20 --search beam:pop_limit=20 --rounds 1 --rounds-again 1 --iterations 2 --objective mira"
)
TEXTS = shlex.split(
    "--source s/train.src --target s/train.trg --tune-source s/tune.src --tune-reference s/tune.trg.0 "
    "--tune-reference s/tune.trg.1 --dev-source s/own.src --dev-reference s/own.trg"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refine")
    generate(train=300, tune=20, test=20).save(folder / "s")
    for side in ("src", "trg"):  # lines of the training text, on which training is sure to find something better
        lines = (folder / f"s/train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"s/own.{side}").write_text("".join(lines[:60]), encoding="utf-8")
    texts = ("-s", folder / "s/train.src", "-t", folder / "s/train.trg")
    succeed("train", "--tokenized", *texts, "--quiet", "--max-phrase-length", "3", "--output", folder / "model")
    return folder


@pytest.fixture(autouse=True)
def there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)


def run(*arguments: object, small: list[str] = SMALL) -> str:
    return succeed("refine", "model", *TEXTS, *small, "--quiet", "--threads", "1", *arguments)


def result(*arguments: object, small: list[str] = SMALL) -> dict:
    return json.loads(run(*arguments, "--json", small=small))["result"]


def refused(*arguments: object, code: int = 2, small: list[str] = SMALL) -> str:
    message = fail("refine", "model", *TEXTS, *small, "--quiet", "--threads", "1", *arguments, code=code)
    return " ".join(message.split())


def test_a_model_is_refined_and_lists_are_used_again(home: Path) -> None:
    found = result("--output", "first")
    iterations = found["iterations"][1:]
    assert [one["stage"] for one in iterations] == [0, 0, 1, 1]
    assert all(one["objective"] >= one["details"]["objective_before"] for one in iterations)
    model, old = PhraseModel.load("first"), PhraseModel.load("model")
    assert len(model.table) == len(old.table)
    assert found["best"] > 0
    assert not np.array_equal(model.table.scores, old.table.scores)
    lists = home / "first/run/lists"
    times = [path.stat().st_mtime_ns for path in sorted(lists.iterdir())]
    again = ("--output", "first", "--resume", "--parameters", "both")
    text = run(*again, "--tau", "1e-3", "--lexicon-tau", "0.5", "--distance", "kl")
    assert "baseline" in text
    assert "* the refined model; τ = 0.001 and 0.5" in text
    assert "* the refined model; τ = 1e-05, " in run(*again, "--method", "growth")
    lexicon = ("--output", "first", "--resume", "--parameters", "lexicon", "--iterations", 1)
    small = [word for place, word in enumerate(SMALL) if word != "--iterations" and SMALL[place - 1] != "--iterations"]
    assert "τ = 0.05, " in run(*lexicon, "--tau", 0.5, small=small)
    assert "τ = 0, " in run(*lexicon, "--lexicon-tau", 0, small=small)
    assert [path.stat().st_mtime_ns for path in sorted(lists.iterdir())] == times
    assert "folds was 2, is 3" in refused("--output", "first", "--resume", small=["--folds", "3"], code=3)


def test_the_procedure_of_the_paper_by_its_name() -> None:
    small = ["--rounds", "1", "--rounds-again", "1", "--iterations", "1", "--nbest", "10", "--parameters", "phrase"]
    found = result("--output", "paper", "--method", "he-deng", small=small)
    assert [one["stage"] for one in found["iterations"][1:]] == [0]
    settings = json.loads(next(Path("paper/run").glob("refinement-*/history.json")).read_text())["configuration"]
    own = settings["settings"]
    assert (own["method"], own["folds"], own["sharpness"], own["objective"]) == ("he-deng", 1, 1.0, "mert")
    assert not Path("paper/run/folds").exists()  # the model translates its own text
    assert "--steps: only for" in refused("--output", "other", "--method", "he-deng", "--steps", 3, small=small)


def history(output: str) -> dict[str, object]:
    """All but times."""
    (file,) = Path(output, "run").glob("refinement-*/history.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    for one in found["rounds"]:
        del one["search_seconds"], one["tuning_seconds"]
    return found


def assert_same(one: str, other: str) -> None:
    """Model, history and states; descriptions have the digests of all arrays."""
    assert history(one) == history(other)
    assert history(one)["best"] != 0
    assert Path(one, "model.toml").read_bytes() == Path(other, "model.toml").read_bytes()
    states, others = (sorted(Path(name, "run").glob("refinement-*/round-*/state.toml")) for name in (one, other))
    assert [path.parts[1:] for path in states] == [path.parts[1:] for path in others]
    assert [path.read_bytes() for path in states] == [path.read_bytes() for path in others]
    assert states


def test_the_same_again_gives_the_same_bytes() -> None:
    run("--output", "one")
    before = Path("one/model.toml").read_bytes()
    succeed("refine", "model", *TEXTS, *SMALL, "--quiet", "--threads", "2", "--output", "two")
    assert_same("one", "two")
    run("--output", "one", "--resume")  # all is done: only the model is written again
    assert Path("one/model.toml").read_bytes() == before
    (file,) = Path("one/run").glob("refinement-*/history.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), "stopped": ""}))
    assert "holds an unfinished run remedy: continue it with --resume" in refused("--output", "one", code=3)


WITHOUT_LISTS = [word for place, word in enumerate(SMALL) if place not in (2, 3)]


def test_lattices_and_lbfgs() -> None:
    options = shlex.split("--on forests --density 5 --method lbfgs --steps 2 --parameters phrase --level corpus")
    first = result("--output", "lattices", *options, small=WITHOUT_LISTS)["iterations"][1]
    assert first["objective"] > first["details"]["objective_before"]


def test_samples_of_document_chains() -> None:
    options = ("--output", "sampled", "--on", "samples", "--num-samples", 5, "--steps", 2)
    first = result(*options, small=WITHOUT_LISTS)["iterations"][1]
    assert first["objective"] > first["details"]["objective_before"]
    assert "samples: seed was 1, is 2" in refused(*options, "--resume", "--seed", 2, small=WITHOUT_LISTS, code=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--method growth --steps 3", "--steps: only for --method lbfgs"),
        ("--method growth --distance kl", "--distance: only for --method lbfgs"),
        ("--density 3", "--density: only for --on forests"),
        ("--num-samples 3", "--num-samples: only for --on samples"),
        ("--on forests", "--nbest: only for --on lists"),
        ("--sharpness 0", "sharpness is 0"),
        ("--parameters phrase --lexicon-tau 1", "--lexicon-tau: --parameters phrase"),
        ("--parameters lexicon --tau 1 --lexicon-tau 1", "--tau: --parameters lexicon"),
        ("--keep-weights", "--rounds: with --keep-weights"),
        ("--tune-every 0", "--rounds-again: with --tune-every 0"),
        ("--tau inf", "tau is inf"),
        ("--sharpness nan", "sharpness is nan"),
        ("--alignment nowhere", "no such file"),
    ],
)
def test_what_does_not_fit_is_refused(options: str, message: str) -> None:
    assert message in refused("--output", "x", *options.split())
    assert not Path("x").exists()


def test_texts_that_do_not_fit_are_refused() -> None:
    words = ["s/tune.src" if word == "s/train.trg" else word for word in TEXTS]
    assert "differ in their number of lines" in fail("refine", "model", *words, "--output", "x")
    words = ["s/own.trg" if word == "s/tune.trg.0" else word for word in TEXTS]
    assert "tune" in fail("refine", "model", *words, "--output", "x")
    assert "--alignment: with --folds 1" in refused("--output", "x", "--alignment", "a", small=["--folds", "1"])
    on_sentences = ["--on", "forests", "--level", "sentence"]
    assert "BLEU of the corpus only" in refused("--output", "x", small=on_sentences)
    assert not Path("x").exists()


def test_places_that_would_replace_one_another_are_refused(home: Path) -> None:
    (home / "link").symlink_to("model")
    before = sorted(home.rglob("*"))
    for place in ("model", "link", "model/refined", "."):
        assert "replace the given model" in refused("--output", place)
    assert "is a file" in refused("--output", "s/train.src")
    assert sorted(home.rglob("*")) == before
    (home / "link").unlink()


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
        while process.poll() is None and not list((home / "parts/run").glob(marks)):
            assert time.monotonic() - began < 600
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True)
    assert_same("parts", "whole")
