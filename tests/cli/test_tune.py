"""`toledo tune` from the outside."""

import gzip
import json
from pathlib import Path

import pytest
import small_models
from command_line import fail, run, succeed

from toledo.model import PhraseModel
from toledo.tuning.settings import TUNERS
from toledo.weights import Weights

SOURCE = "das haus ist klein\nklein ist das haus\ndas ist klein\ndas haus\nklein ist das neu\n"
TARGET = "that house is small\nsmall is that house\nthat is small\nthat house\nsmall is that neu\n"
LISTS = """0 ||| the house is small ||| LM0= -1 TM0= -1 -2 ||| -4
0 ||| that house is small ||| LM0= -2 TM0= -2 -1 ||| -1
1 ||| yes it is so ||| LM0= -1 TM0= 0 -1 ||| 0
1 ||| no it is so ||| LM0= 0 TM0= 0 -2 ||| 0
"""
TEXT = ("-s", "val.de", "-r", "val.en")
OF_LISTS = ("--lists", "lists.gz", "-r", "lists.en")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("models") / "model"
    small_models.small_model().save(directory)
    return directory


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "val.de").write_text(SOURCE)
    (tmp_path / "val.en").write_text(TARGET)
    (tmp_path / "lists.gz").write_bytes(gzip.compress(LISTS.encode()))
    (tmp_path / "lists.en").write_text("that house is small\nyes it is so\n")
    return tmp_path


def tune(*arguments: object, output: str = "tuned") -> str:
    return succeed("tune", "--quiet", "--output", output, *arguments)


def result(*arguments: object, output: str = "tuned") -> dict:
    return json.loads(tune(*arguments, "--json", output=output))["result"]


def refused(*arguments: object, code: int = 2, output: str = "tuned") -> str:
    return fail("tune", "--quiet", "--output", output, *arguments, code=code)


def history(output: str = "tuned", seed: int = 1) -> dict:
    return json.loads(Path(output, "run", f"seed-{seed}", "history.json").read_text())


def test_a_model_is_tuned(model: Path, folder: Path) -> None:
    files = ("--write-report", "report.html", "--weights-only", "tuned.toml")
    printed = tune(model, *TEXT, "--objective", "pro", "--runs", 2, "--rounds", 3, *files)
    assert printed.split()[:5] == ["round", "objective", "BLEU", "hypotheses", "start"]
    assert "2 runs: BLEU" in printed
    weights = Weights.load("tuned.toml")
    assert weights["oov"] == 1.0
    assert dict(PhraseModel.load("tuned").weights) == dict(weights)
    best = max((history(seed=1), history(seed=2)), key=lambda one: one["best_score"])
    assert dict(weights) == [best["start"], *best["rounds"]][best["best"]]["weights"]
    page = (folder / "report.html").read_text()
    assert page.count("<figure>") == 3
    assert "word.penalty" in page


def test_threads_and_repetition(model: Path) -> None:
    options = (model, *TEXT, "--nbest", 10, "--weights-only", "weights.toml")
    files = []
    for threads in (1, 2, 2):  # the last one replaces a finished run
        tune(*options, "--threads", threads, output=f"tuned{threads}")
        files.append(Path("weights.toml").read_bytes())
    tune(*options, "--resume", output="tuned1")
    assert {*files, Path("weights.toml").read_bytes()} == {files[0]}
    told = run("tune", *options, "-o", "tuned1").stderr
    assert "replacing a finished run" in told


@pytest.mark.parametrize("name", [name for name in TUNERS.names() if name != "gradient"])
def test_every_objective(model: Path, name: str) -> None:
    found = result(model, *TEXT, "--objective", name, "--rounds", 2, "--initial", "default")
    assert history()["tuner"] == name
    assert found["runs"][0]["score"] >= found["runs"][0]["start"]


def test_consensus_training_as_in_the_paper(model: Path) -> None:
    """From zero, a few steps for each search, judged by consensus decoding; the path of these steps is kept."""
    steps = ("--search", "itg", "--objective", "cobleu:optimizer=ascent,steps=3", "--initial", "zero", "--rounds", 3)
    found = result(model, *TEXT, *steps, "--rule", "consensus", "--scale", 2)
    assert found["runs"][0]["score"] > found["runs"][0]["start"]
    assert all(2 <= len(one["path"]) <= 6 for one in history()["rounds"])
    tune(model, *TEXT, "--objective", "cobleu:batch=2,steps=2", "--rounds", 1, output="batches")
    assert "scale is 0" in refused(model, *TEXT, "--rule", "mbr", "--scale", 0)


def test_a_development_set(model: Path) -> None:
    dev = ("--dev-source", "val.de", "--dev-reference", "val.en")
    found = result(model, *TEXT, *dev, "--objective", "pro", "--rounds", 2)
    assert found["runs"][0]["dev_score"] == found["runs"][0]["score"]
    assert "dev BLEU" in tune(model, *TEXT, *dev, "--objective", "pro", "--rounds", 2)
    assert "the development set is incomplete" in refused(model, *TEXT, *dev[:2])
    assert "the development set is incomplete" in refused(model, *TEXT, *dev[2:])


@pytest.mark.parametrize("objective", ["mert", "pro", "xbleu"])
def test_lists_of_another_system(objective: str) -> None:
    options = ("--initial", "zero", "--frozen", "", "--weights-only", "weights.toml")
    found = result(*OF_LISTS, "--objective", objective, *options)
    assert (found["runs"][0]["rounds"], found["runs"][0]["score"]) == (1, 100.0)
    assert set(Weights.load("weights.toml")) == {"LM0", "TM0_1", "TM0_2"}
    assert Path("weights.toml").read_bytes() == Path("tuned/weights.toml").read_bytes()


@pytest.mark.parametrize("objective", ["mert", "expected-bleu"])
def test_tuning_to_ter(model: Path, objective: str) -> None:
    options = ("--objective", objective, "--metric", "ter")
    assert result(*OF_LISTS, *options, output="of-lists")["runs"][0]["score"] == 0.0
    row = result(model, *TEXT, *options, "--initial", "zero")["runs"][0]
    assert row["score"] < row["start"]


def test_where_it_begins_and_what_is_frozen(model: Path, folder: Path) -> None:
    own = PhraseModel.load(model).weights
    (folder / "start.toml").write_text("[weights]\n" + "".join(f'"{name}" = 0.25\n' for name in own))
    options = ("--objective", "pro", "--rounds", 1)
    tune(model, *TEXT, *options, "--initial", "start.toml", "--frozen", "lm", "--frozen", "distortion")
    weights = PhraseModel.load("tuned").weights
    assert (weights["lm"], weights["distortion"]) == (0.25, 0.25)
    assert weights.frozen == {"lm", "distortion"}
    tune(model, *TEXT, *options, "--initial", "zero", output="zero")
    assert {name for name, value in history("zero")["start"]["weights"].items() if value} == {"oov"}
    (folder / "start.toml").write_text('[weights]\nlm = 1\n"word.penlty" = -1\n')
    message = refused(model, *TEXT, "--initial", "start.toml", output="new")
    assert "start.toml: the model has no feature 'word.penlty'" in message
    assert "did you mean word.penalty" in message
    assert "start.toml: no weight for LM0" in refused(*OF_LISTS, "--initial", "start.toml", output="new")
    assert "no weight is named lmm" in refused(model, *TEXT, "--frozen", "lmm", output="new")
    assert not Path("new").exists()


def test_features_of_the_search_may_be_frozen(model: Path) -> None:
    options = ("--objective", "pro", "--rounds", 1)
    tune(model, *TEXT, "--search", "itg", *options, "--frozen", "oov", "--frozen", "itg.inverted")
    weights = PhraseModel.load("tuned").weights
    assert weights.frozen == {"oov", "itg.inverted"}
    assert weights["itg.inverted"] == -8 * PhraseModel.load(model).weights["distortion"]
    assert "no weight is named itg.inverted" in refused(model, *TEXT, *options, "--frozen", "itg.inverted", output="x")


def test_sparse_features(model: Path) -> None:
    new = ("--feature", "pair", "--max-features", 4, "--objective", "pro", "--rounds", 1)
    tune(model, *TEXT, *new)
    sparse = PhraseModel.load("tuned").sparse
    assert sparse is not None
    assert len(sparse.names) == 4
    assert "no sparse feature 'color'" in refused(model, *TEXT, "--feature", "color")
    told = fail("tune", model, *TEXT, *new, "--weights-only", "weights.toml")
    assert "need the model that has them" in told


def test_training_by_samples(model: Path) -> None:
    for objective in ("expected-bleu", "corpus-expected-bleu"):
        sampling = ("--search", "gibbs:iterations=30,burn_in=5", "--objective", f"{objective}:batch=3,steps=3")
        dev = ("--dev-source", "val.de", "--dev-reference", "val.en", "--rule", "max-translation")
        options = (model, *TEXT, *sampling, *dev, "--initial", "default", "--weights-only", "weights.toml")
        files = []
        for threads in (1, 2):
            tune(*options, "--rounds", 3, "--threads", threads, output=f"{objective}{threads}")
            files.append(Path("weights.toml").read_bytes())
        assert files[0] == files[1]
        found = history(f"{objective}1")
        assert found["tuner"] == objective
        assert [len(one["path"]) for one in found["rounds"]] == [3, 3, 3]
        ended = refused(*options, "--rounds", 9, "--resume", output=f"{objective}1", code=3)
        assert "this run has ended" in ended
        other = [str(word).replace("iterations=30", "iterations=31") for word in options]
        assert "search: iterations was 30, is 31" in refused(
            *other, "--rounds", 3, "--resume", output=f"{objective}1", code=3
        )


def test_annealing_by_samples_ends_when_annealing_has_finished(model: Path) -> None:
    cooling = "start_temperature=0.05,cooling=0.5,end_temperature=0.02,steps_per_temperature=2"
    sampling = ("--search", "gibbs:iterations=20,burn_in=5", "--objective")
    printed = tune(model, *TEXT, *sampling, f"corpus-expected-bleu:{cooling},steps=3", "--runs", 2)
    assert "annealing finished" in printed
    assert [one["details"]["temperature"] for one in history()["rounds"]] == [0.025, 0.025]
    assert [one["details"]["steps"] for one in history()["rounds"]] == [3.0, 4.0]


def test_options_of_the_sampler_and_of_its_training(model: Path) -> None:
    operators = "operators=[retrans,merge-split,reorder,resegment,retrans]"
    search = f"gibbs:iterations=20,burn_in=5,thinning=2,start=random,reheating=[2,1.5],{operators}"
    objective = "expected-bleu:steps=2,two_step=true,scale_temperature=0,sgd=published,smoothing=0.01"
    tune(model, *TEXT, "--search", search, "--objective", objective, "--rounds", 2)
    assert [one["details"]["steps"] for one in history()["rounds"]] == [2.0, 4.0]
    for wrong, message in (
        ("two_step=true,steps=1", "at least two steps"),
        ("annealing=false,cooling=0.5", "need annealing=true"),
        ("cooling=2", "between 0 and 1"),
        ("sgd=mine", "sgd"),
        ("temperature=1", "no setting of objective"),
    ):
        assert message in refused(model, *TEXT, "--search", search, "--objective", f"expected-bleu:{wrong}")


def test_training_by_samples_tells_how_far_it_is(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toledo.cli.messages.QUIET_SECONDS", 0.0)
    sampling = ("--search", "gibbs:iterations=5,burn_in=5", "--objective", "expected-bleu:batch=2,steps=8")
    told = run("tune", model, *TEXT, *sampling, "--rounds", 1, "-o", "tuned").stderr
    assert [line for line in told.splitlines() if line.startswith("round 1: steps")] == [
        f"round 1: steps: {number} of 8" for number in (2, 4, 6)
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "pro", "--density", 20), "--density: objective 'pro' looks at lists"),
        (("--objective", "xbleu", "--nbest", 20), "--nbest: objective 'xbleu' looks at lattices"),
        (("--on", "forests", "--nbest", 20), "--nbest: objective 'mert' looks at lattices"),
        (("--objective", "pro", "--on", "forests"), "no setting of objective 'pro' 'on'"),
        (("--objective", "pro:restarts=3"), "choose from l2, draws, threshold, keep, extra_length"),
        (("--objective", "mrt"), "did you mean 'mert'?"),
        (("--search", "itg:pop_limit=20"), "no setting of search 'itg' 'pop_limit'"),
        (("--rule", "viterbi:size=3"), "setting of rule"),
        (("--scale", 2), "--scale: rule 'viterbi' has no scale"),
        (("--max-features", 20), "--max-features: there are no"),
        (("--rounds", 0), "rounds is 0: expected int of at least 1"),
        (("--objective", "xbleu", "--metric", "ter"), "objective 'xbleu' cannot use metric 'ter'"),
        (("--objective", "mira", "--on", "forests", "--metric", "ter"), "cannot use metric 'ter'"),
        (("--search", "gibbs"), "objective 'mert' does not work by samples"),
        (("--search", "gibbs", "--objective", "expected-bleu:optimizer=lbfgs"), "choose from batch, steps"),
        (("--search", "gibbs", "--objective", "expected-bleu", "--nbest", 10), "--nbest: not for --search gibbs"),
        (("--search", "gibbs", "--objective", "expected-bleu", "--scale", 2), "have the scale 1"),
        (("--search", "gibbs:scale=2", "--objective", "expected-bleu"), "have the scale 1"),
        (("--search", "gibbs", "--objective", "expected-bleu:annealing=true", "--patience", 2), "--patience: training"),
        (("--initial", "missing.toml"), "no such file"),
        (("--write-report", "nowhere/report.html"), "no such directory"),
        (("--write-report", "x", "--weights-only", "x"), "two results would go to x"),
        (("--weights-only", "val.en"), "also an input"),
        (("--lists", "lists.gz"), "without a model"),
        (("--resume", "--seeds", 2), "--seeds: it is --runs now"),
    ],
)
def test_what_would_do_nothing_is_refused(model: Path, options: tuple[object, ...], message: str) -> None:
    assert message in " ".join(refused(model, *TEXT, *options).split())
    assert not Path("tuned").exists()


def test_what_cannot_be_done_is_said(model: Path, folder: Path) -> None:
    assert "nothing to tune" in refused("-r", "val.en")
    assert "no reference" in refused(model, "-s", "val.de")
    assert "val.de has 5 lines, lists.en has 2 lines" in refused(model, "-s", "val.de", "-r", "lists.en")
    assert "lists has 2 segments, val.en has 5 lines" in refused("--lists", "lists.gz", "-r", "val.en")
    assert "no output for the result" in fail("tune", model, *TEXT)
    assert "no run to continue" in fail("tune", model, *TEXT, "--weights-only", "w.toml", "--resume")
    assert "replace the given model" in refused(model, *TEXT, output=str(model))
    told = refused(*OF_LISTS, "--rounds", 3, "--search", "itg")
    assert "--search, --rounds: no search takes place" in told
    for name, line in (("plain", "0 ||| a house\n"), ("samples.jsonl", '{"hypotheses": ["a house", "a home"]}\n')):
        (folder / name).write_text(line)
        assert f"{name}: the lists have no features" in refused("--lists", name, "-r", "val.en")
    (folder / "there").mkdir()
    (folder / "there/file").write_text("")
    assert "holds other files" in refused(model, *TEXT, output="there")
    assert "is a directory" in refused(model, *TEXT, "--weights-only", "there")
    (folder / "empty").write_text("\n" * 5)
    assert "empty reference" in refused(model, "-s", "val.de", "-r", "empty")
    (folder / "wrong").write_text("x y z x\n" * 5)
    assert "collapsed" in refused(model, "-s", "val.de", "-r", "wrong", "--objective", "pro", code=3)


def test_an_interrupted_run_continues(model: Path, folder: Path) -> None:
    """What Ctrl-C leaves behind is a history without an end: cut one short, by hand."""
    options = (model, *TEXT, "--objective", "pro", "--initial", "default", "--nbest", 20)
    tune(*options, "--rounds", 4, output="whole")
    tune(*options, "--rounds", 1, output="parts")
    file = folder / "parts/run/seed-1/history.json"
    file.write_text(json.dumps({**history("parts"), "rounds": [], "stopped": ""}))
    again = {"output": "parts", "code": 3}
    assert "unfinished run" in refused(*options, "--rounds", 4, **again)
    assert "nbest was 20, is 10" in refused(*options[:-1], 10, "--resume", **again)
    start = (model, *TEXT, "--initial", "default", "--resume")
    assert "objective was pro, is cobleu" in refused(*start, "--objective", "cobleu", **again)
    gibbs = ("--search", "gibbs", "--objective", "expected-bleu")
    assert "search was beam, is gibbs" in refused(*start, *gibbs, **again)
    small_models.small_model(order=2).save("other")
    assert "model changed" in refused("other", *options[1:], "--rounds", 4, "--resume", **again)
    (folder / "val.en").write_text(TARGET.replace("neu", "new"))
    assert "references changed" in refused(*options, "--rounds", 4, "--resume", **again)
    (folder / "val.en").write_text(TARGET)
    tune(*options, "--rounds", 4, "--resume", output="parts")
    assert Path("parts/model.toml").read_bytes() == Path("whole/model.toml").read_bytes()


def test_an_interruption_says_how_to_continue(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise SystemExit(143)

    monkeypatch.setattr("toledo.api.tune.tune_weights", stop)
    finished = run("tune", model, *TEXT, "-o", "tuned")
    assert finished.exit_code == 143
    assert "with --resume" in finished.stderr
