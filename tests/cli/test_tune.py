"""`toledo tune` from the outside."""

import gzip
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import small_models
from toledo.cli.tune.outputs import print_runs, summarise
from toledo.cli.tune.tuners import ObjectiveName, TunerOptions, named_tuner
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.errors import InputError, ToledoError
from toledo.model import PhraseModel
from toledo.runs.history import History, Round
from toledo.tuning.initial import Initial
from toledo.tuning.maximise import Annealing
from toledo.weights import Weights

SOURCE = "das haus ist klein\nklein ist das haus\ndas ist klein\ndas haus\nklein ist das neu\n"
TARGET = "that house is small\nsmall is that house\nthat is small\nthat house\nsmall is that neu\n"
LISTS = """0 ||| the house is small ||| LM0= -1 TM0= -1 -2 ||| -4
0 ||| that house is small ||| LM0= -2 TM0= -2 -1 ||| -1
1 ||| yes it is so ||| LM0= -1 TM0= 0 -1 ||| 0
1 ||| no it is so ||| LM0= 0 TM0= 0 -2 ||| 0
"""


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


def run(*arguments: object, text: tuple[str, ...] = ("--source", "val.de", "--reference", "val.en")) -> str:
    words = ["tune", "--output", "tuned.toml", "--quiet", *text, *map(str, arguments)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*arguments: object, text: tuple[str, ...] = ("--source", "val.de", "--reference", "val.en")) -> str:
    with pytest.raises(ToledoError) as caught:
        run(*arguments, text=text)
    assert caught.value.remedy
    return str(caught.value)


def test_a_model_is_tuned(model: Path, folder: Path) -> None:
    printed = run(model, "--objective", "pro", "--seeds", 2, "--report", "report.html", "--rounds", 3)
    assert "σ" in printed
    weights = Weights.load("tuned.toml")
    assert weights["oov"] == 1.0
    histories = [json.loads((folder / f"tuned.tuning/seed-{seed}/history.json").read_text()) for seed in (1, 2)]
    assert histories[0]["tuner"] == "pro"
    best = max(histories, key=lambda history: history["best_score"])
    chosen = best["rounds"][best["best"] - 1]["weights"] if best["best"] else best["start"]["weights"]
    assert dict(weights) == chosen
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 3
    assert "word.penalty" in page
    summary = json.loads((folder / "tuned.tuning/summary.json").read_text())
    assert summary["spread"]["tuning"]["runs"] == 2


def test_threads_seeds_and_repetition(model: Path, folder: Path) -> None:
    files = []
    for threads in (1, 2):
        run(model, "--objective", "mert", "--threads", threads, "--work", f"work{threads}", "--n-best-size", 10)
        files.append(Path("tuned.toml").read_bytes())
    run(model, "--objective", "mert", "--work", "work1", "--n-best-size", 10)  # an ended run may be replaced
    assert files[0] == files[1] == Path("tuned.toml").read_bytes()
    run(model, "--objective", "mert", "--work", "work1", "--n-best-size", 10, "--resume")  # or looked at again
    assert files[0] == Path("tuned.toml").read_bytes()


@pytest.mark.parametrize("name", ObjectiveName)
def test_every_objective(model: Path, name: ObjectiveName) -> None:
    result = json.loads(run(model, "--objective", name.value, "--rounds", 2, "--initial", "default", "--json"))
    assert result["tuner"] == name.value
    assert result["runs"][0]["tuning"] >= result["runs"][0]["start"]


def test_consensus_training_as_in_the_paper(model: Path) -> None:
    """From zero, a few steps for each search, judged by consensus decoding; the path of these steps is kept."""
    steps = ("--search", "itg", "--objective", "cobleu", "--optimiser", "ascent", "--initial", "zero", "--steps", 3)
    result = json.loads(run(model, *steps, "--rounds", 3, "--decide", "consensus", "--scale", 2, "--json"))
    assert result["runs"][0]["tuning"] > result["runs"][0]["start"]
    rounds = json.loads(Path("tuned.tuning/seed-1/history.json").read_text())["rounds"]
    assert all(2 <= len(one["path"]) <= 6 for one in rounds)  # up to 3 with a gentle penalty, up to 3 with the true one
    run(model, "--objective", "cobleu", "--batch", 2, "--steps", 2, "--rounds", 1, "--work", "batches")
    assert "mert has no option --batch" in refusal(model, "--batch", 2)
    assert "scale" in refusal(model, "--decide", "mbr", "--scale", 0)


def test_the_density_is_that_of_the_tuner_too() -> None:
    assert "density=300.0" in repr(named_tuner(ObjectiveName.cobleu, TunerOptions(density=300.0)))
    assert "density=30.0" in repr(named_tuner(ObjectiveName.xbleu, TunerOptions()))
    assert "density" not in repr(named_tuner(ObjectiveName.mert, TunerOptions(density=300.0)))


def test_held_out_data(model: Path) -> None:
    held_out = ("--held-out-source", "val.de", "--held-out-reference", "val.en")
    result = json.loads(run(model, *held_out, "--objective", "pro", "--json", "--rounds", 2))
    row = result["runs"][0]
    assert row["held_out"] == row["tuning"]
    assert "held out BLEU" in run(model, *held_out, "--objective", "pro", "--rounds", 2)
    assert "no reference of the held-out set" in refusal(model, "--held-out-source", "val.de", "--objective", "pro")


@pytest.mark.parametrize("objective", ["mert", "pro", "xbleu"])
def test_lists_of_another_system(objective: str) -> None:
    text = ("--n-best-lists", "lists.gz", "--reference", "lists.en")
    result = json.loads(run("--objective", objective, "--json", "--initial", "zero", "--frozen", "", text=text))
    assert (result["runs"][0]["rounds"], result["runs"][0]["tuning"]) == (1, 100.0)
    assert set(Weights.load("tuned.toml")) == {"LM0", "TM0_1", "TM0_2"}


@pytest.mark.parametrize("objective", ["mert", "expected-bleu"])
def test_tuning_to_ter(model: Path, objective: str) -> None:
    lists = ("--n-best-lists", "lists.gz", "--reference", "lists.en")
    options = ("--objective", objective, "--metric", "ter", "--json")
    of_lists, of_model = run(*options, text=lists), run(model, *options, "--initial", "zero", "--work", "model.tuning")
    assert json.loads(of_lists)["runs"][0]["tuning"] == 0.0
    row = json.loads(of_model)["runs"][0]
    assert row["tuning"] < row["start"]


def test_where_it_begins_and_what_is_frozen(model: Path, folder: Path) -> None:
    own = PhraseModel.load(model).weights
    (folder / "start.toml").write_text("[weights]\n" + "".join(f'"{name}" = 0.25\n' for name in own))
    run(model, "--objective", "pro", "--initial", "start.toml", "--frozen", "lm,distortion", "--rounds", 1)
    weights = Weights.load("tuned.toml")
    assert (weights["lm"], weights["distortion"]) == (0.25, 0.25)
    assert weights.frozen == {"lm", "distortion"}
    run(model, "--objective", "pro", "--initial", "zero", "--rounds", 1, "--work", "zero")
    history = json.loads((folder / "zero/seed-1/history.json").read_text())
    assert {name for name, value in history["start"]["weights"].items() if value} == {"oov"}


def test_a_file_of_some_weights_takes_the_others_from_the_model(
    model: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = PhraseModel.load(model).weights
    text = 'frozen = ["lm"]\n[weights]\nlm = 0.7\n"itg.inverted" = -1\n"word.penalty" = -0.5\n'
    (folder / "start.toml").write_text(text + '[bounds]\n"word.penalty" = [-0.6, -0.5]\n')
    caplog.set_level(logging.INFO)
    start = Initial("start.toml").weights(PhraseModel.load(model).feature_names, own)
    assert {**start} == {**own, "lm": 0.7, "word.penalty": -0.5, "itg.inverted": -1.0}
    assert (start.frozen, start.bounds) == ({"lm", "oov"}, {"word.penalty": (-0.6, -0.5)})
    assert "distortion" in caplog.text
    assert "taken from the model" in caplog.text
    run(model, "--objective", "pro", "--initial", "start.toml", "--rounds", 1)
    assert Weights.load("tuned.toml")["lm"] == 0.7
    (folder / "start.toml").write_text('[weights]\nlm = 1\n"word.penlty" = -1\n')
    message = refusal(model, "--initial", "start.toml")
    assert "start.toml: the model has no feature 'word.penlty'" in message
    assert "did you mean word.penalty" in message
    assert not list(folder.glob("*.tuning/*/round*"))
    lists = ("--n-best-lists", "lists.gz", "--reference", "lists.en")
    assert "start.toml: no weight for LM0" in refusal("--initial", "start.toml", text=lists)


def test_features_of_the_search_may_be_frozen(model: Path) -> None:
    options = ("--search", "itg", "--objective", "pro", "--rounds", 1)
    run(model, *options, "--frozen", "oov,itg.inverted")
    weights = Weights.load("tuned.toml")
    assert weights.frozen == {"oov", "itg.inverted"}
    assert weights["itg.inverted"] == -8 * PhraseModel.load(model).weights["distortion"]
    assert "no weight is named itg.inverted" in refusal(model, "--objective", "pro", "--frozen", "itg.inverted")


def test_sparse_features_and_the_tuned_model(model: Path) -> None:
    run(model, "--objective", "pro", "--sparse", "pair", "--sparse-features", 4, "--output-model", "new", "--rounds", 1)
    tuned = PhraseModel.load("new")
    assert dict(tuned.weights) == dict(Weights.load("tuned.toml"))
    assert tuned.sparse is not None
    assert len(tuned.sparse.names) == 4
    assert "no sparse features 'colour'" in refusal(model, "--sparse", "colour")


def test_weights_of_sparse_features_need_the_model_that_has_them(model: Path) -> None:
    sparse = ["--sparse", "pair", "--sparse-features", "4", "--objective", "pro", "--rounds", "1"]
    command = ["tune", str(model), "--source", "val.de", "-r", "val.en", "--output", "tuned.toml", *sparse]
    result = CliRunner().invoke(app, command)
    assert "--resume --output-model DIRECTORY" in result.stderr
    refused = CliRunner().invoke(app, ["translate", str(model), "val.de", "--weights", "tuned.toml"]).exception
    assert isinstance(refused, InputError)
    assert "tuned.toml: the model has no feature 'pair:" in str(refused)
    assert "translate with the model that was tuned" in refused.remedy
    result = CliRunner().invoke(app, [*command, "--resume", "--output-model", "new"])
    assert "--resume" not in result.stderr
    again = CliRunner().invoke(app, ["translate", "new", "val.de", "--weights", "tuned.toml"])
    assert again.exit_code == 0
    assert again.stdout == CliRunner().invoke(app, ["translate", "new", "val.de"]).stdout


def test_scores_are_rounded_once(capsys: pytest.CaptureFixture[str]) -> None:
    """By way of four digits, the score would become 36.80."""
    history = History("tuning", "mert", "BLEU", True, 1, Round(0, {"lm": 1.0}, 36.79498), stopped="it was enough")
    print_runs(summarise([history]), 1, as_json=False)
    assert capsys.readouterr().out.count("36.79") == 2
    print_runs(summarise([history]), 1, as_json=True)
    assert json.loads(capsys.readouterr().out)["runs"][0]["start"] == 36.795


def test_training_by_samples_tells_how_far_it_is(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toledo.cli.common.SECONDS_OF_SILENCE", 0.0)
    sampling = ["--search", "gibbs", "--objective", "expected-bleu", "--iterations", "5", "--burn-in", "5"]
    command = ["tune", str(model), "--source", "val.de", "-r", "val.en", "--output", "tuned.toml", *sampling]
    result = CliRunner().invoke(app, [*command, "--batch", "2", "--steps", "8", "--rounds", "1"])
    assert result.exit_code == 0, result.output
    told = [line for line in result.stderr.splitlines() if "steps" in line]
    assert told == [f"round 1: steps: {number} of 8" for number in (2, 4, 6)]


def test_what_cannot_be_done_is_said(model: Path, folder: Path) -> None:
    assert "nothing to tune" in refusal(text=())
    assert "nothing to tune" in refusal(model, text=())
    assert "no reference" in refusal(model, text=("--source", "val.de"))
    assert "differ in their number of lines" in refusal(model, text=("--source", "val.de", "-r", "lists.en"))
    assert "without a model" in refusal(model, "--n-best-lists", "lists.gz")
    assert "no reference" in refusal("--n-best-lists", "lists.gz", text=())
    assert "5 lines for 2 segments" in refusal("--n-best-lists", "lists.gz", "-r", "val.en", text=())
    (folder / "plain").write_text("0 ||| a house\n")
    message = refusal("--n-best-lists", "plain", "-r", "val.en", text=())
    assert "plain: the lists have no features" in message
    assert "write: 0 ||| text ||| lm= -3.5" in message
    assert "pro has no option --restarts" in refusal(model, "--objective", "pro", "--restarts", 3)
    assert "cannot use metric 'ter'" in refusal(model, "--objective", "xbleu", "--metric", "ter")
    assert "two results would go to one place" in refusal(model, "--report", "tuned.toml")
    assert "no such directory" in refusal(model, "--report", "nowhere/report.html")
    message = refusal(model, "--frozen", "oov,lmm", "--objective", "pro")
    assert "no weight is named lmm" in message
    assert "check the name; did you mean lm?" in message
    assert "no such file" in refusal(model, "--initial", "missing.toml")
    assert "without its text" in refusal(model, "--held-out-reference", "val.en")
    assert not (folder / "tuned.toml").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "pro", "--density", 20), "--density: this objective looks at lists"),
        (("--objective", "xbleu", "--n-best-size", 20), "--n-best-size: this objective looks at lattices"),
        (
            ("--objective", "mert", "--on", "forests", "--n-best-size", 20),
            "--n-best-size: this objective looks at lattices",
        ),
        (("--search", "itg", "--pop-limit", 20), "--pop-limit: not for --search itg"),
        (("--beam", 20), "--beam: not for --search beam"),
        (("--sparse-features", 20), "--sparse-features: there is no --sparse"),
        (
            ("--objective", "mira", "--on", "forests", "--metric", "ter"),
            "objective 'mira:on=forests' cannot use metric 'ter'",
        ),
    ],
)
def test_options_that_would_do_nothing_are_refused(model: Path, options: tuple[object, ...], message: str) -> None:
    assert message in refusal(model, *options)


@pytest.mark.parametrize("line", ['{"id": 0, "text": "a house"}', '{"hypotheses": ["a house", "a home"]}'])
def test_lists_of_json_without_features(folder: Path, line: str) -> None:
    (folder / "samples.jsonl").write_text(line + "\n")
    message = refusal("--n-best-lists", "samples.jsonl", "-r", "val.en", text=())
    assert "samples.jsonl: the lists have no features" in message
    assert 'write: {"id": 0, "text": "text", "features": {"lm": -3.5}}' in message


def test_lists_are_not_searched() -> None:
    text = ("--n-best-lists", "lists.gz", "--reference", "lists.en")
    assert "--rounds, --search: nothing is searched for" in refusal("--rounds", 3, "--search", "itg", text=text)
    assert "without a model" in refusal("--held-out-reference", "lists.en", text=text)


def test_results_have_places_of_their_own(model: Path, folder: Path) -> None:
    (folder / "there").mkdir()
    assert "is a directory" in refusal(model, "--output", "there")
    assert "is a directory" in refusal(model, "--report", "there")
    assert "two results would go to one place" in refusal(model, "--output", "weights.tuning")
    assert "two results would go to one place" in refusal(model, "--work", "./tuned.toml")
    assert "weights to a file" in refusal(model, "--output", "-")
    assert not list(folder.glob("*.tuning"))


def test_libraries_add_up_in_one_thread() -> None:
    program = "import os, sys; from toledo.cli.app import main; assert 'numpy' not in sys.modules\n"
    program += "sys.argv[1:] = ['--version']\n"
    program += "try: main()\nfinally: print(os.environ['OPENBLAS_NUM_THREADS'])"
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_THREADS")}
    done = subprocess.run([sys.executable, "-c", program], env=clean, capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "1"


def test_a_run_that_has_ended_is_replaced_with_a_word(model: Path) -> None:
    words = f"tune {model} --source val.de --reference val.en --objective pro --rounds 1 --output tuned.toml".split()
    told = [CliRunner().invoke(app, [*words, *more]).stderr for more in ((), ("--resume",), ())]
    assert ["replacing a finished run" in text for text in told] == [False, False, True]


def test_an_interrupted_run_goes_on(model: Path, folder: Path) -> None:
    """What Ctrl-C leaves behind is a history without an end: cut one short, by hand."""
    options = (model, "--objective", "pro", "--initial", "default", "--n-best-size", 20)
    run(*options, "--rounds", 4, "--work", "whole")
    whole = Path("tuned.toml").read_bytes()
    run(*options, "--rounds", 1, "--work", "parts")
    history = folder / "parts/seed-1/history.json"
    content = json.loads(history.read_text())
    history.write_text(json.dumps({**content, "rounds": [], "stopped": ""}))
    assert "unfinished run" in refusal(*options, "--rounds", 4, "--work", "parts")
    assert "nbest was 20, is 10" in refusal(*options, "--n-best-size", 10, "--work", "parts", "--resume")
    told = refusal(model, "--objective", "cobleu", "--initial", "default", "--work", "parts", "--resume")
    assert "objective was pro, is cobleu" in told
    told = refusal(model, "--search", "gibbs", "--objective", "expected-bleu", "--work", "parts", "--resume")
    assert "search was beam, is gibbs" in told
    other = small_models.small_model(order=2)
    other.save("other")
    assert "settings differ: model changed" in refusal(
        "other", *options[1:], "--rounds", 4, "--work", "parts", "--resume"
    )
    (folder / "val.en").write_text(TARGET.lower().replace("neu", "new"))
    told = refusal(*options, "--rounds", 4, "--work", "parts", "--resume")
    assert "settings differ: references changed" in told
    (folder / "val.en").write_text(TARGET)
    run(*options, "--rounds", 4, "--work", "parts", "--resume")
    assert Path("tuned.toml").read_bytes() == whole


@pytest.mark.parametrize("objective", ["expected-bleu", "corpus-expected-bleu"])
def test_training_by_samples(model: Path, folder: Path, objective: str) -> None:
    sampling = ("--search", "gibbs", "--chains", 1, "--iterations", 30, "--burn-in", 5)
    options = (model, "--objective", objective, *sampling, "--batch", 3, "--steps", 3, "--initial", "default")
    held_out = ("--held-out-source", "val.de", "--held-out-reference", "val.en", "--decide", "max-translation")
    files = []
    for threads in (1, 2):
        printed = run(*options, *held_out, "--rounds", 3, "--threads", threads, "--work", f"work{threads}")
        files.append(Path("tuned.toml").read_bytes())
    assert files[0] == files[1]
    assert "held out BLEU" in printed
    history = folder / "work1/seed-1/history.json"
    content = json.loads(history.read_text())
    assert content["tuner"] == objective
    assert [len(one["path"]) for one in content["rounds"]] == [3, 3, 3]
    assert "this run has ended" in refusal(*options, *held_out, "--rounds", 9, "--work", "work1", "--resume")
    assert "search: iterations was 30, is 31" in refusal(
        *options, *held_out, "--iterations", 31, "--rounds", 3, "--work", "work1", "--resume"
    )


def test_annealing_by_samples_ends_when_annealing_has_finished(
    model: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toledo.cli.tune.runs.COOLING", Annealing(0.05, 0.5, 0.02, steps=2))
    sampling = ("--search", "gibbs", "--objective", "corpus-expected-bleu", "--iterations", 20, "--burn-in", 5)
    printed = run(model, *sampling, "--annealing", "--steps", 3, "--seeds", 2, "--report", "report.html")
    assert "annealing finished" in printed
    assert "σ" in printed
    content = json.loads((folder / "tuned.tuning/seed-1/history.json").read_text())
    assert [one["details"]["temperature"] for one in content["rounds"]] == [0.025, 0.025]
    assert [one["details"]["steps"] for one in content["rounds"]] == [3.0, 4.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "mert"), "mert does not work by samples"),
        ((), "mert does not work by samples"),
        (("--objective", "expected-bleu", "--optimiser", "lbfgs"), "--optimiser"),
        (("--objective", "expected-bleu", "--n-best-size", 10), "--n-best-size"),
        (("--objective", "expected-bleu", "--pop-limit", 10), "--pop-limit"),
        (("--objective", "expected-bleu", "--scale", 2), "--scale"),
        (("--objective", "expected-bleu", "--restarts", 2), "--restarts"),
        (("--objective", "expected-bleu", "--annealing", "--patience", 2), "--patience"),
    ],
)
def test_options_that_do_nothing_for_samples_are_refused(
    model: Path, options: tuple[object, ...], message: str
) -> None:
    assert message in refusal(model, "--search", "gibbs", *options)


def test_options_of_the_sampler_belong_to_it(model: Path) -> None:
    assert "only for --search gibbs" in refusal(model, "--iterations", 10)


def test_an_interruption_says_how_to_go_on(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("toledo.cli.tune.runs.tune", stop)
    command = ["tune", str(model), "--source", "val.de", "--reference", "val.en", "--output", "tuned.toml"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code != 0
    assert "with --resume" in result.stderr
