"""`toledo translate`, `import` and `export` from the outside."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_models import small_model
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.cli.speed import Speed
from toledo.consensus.scale import norm_of
from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.search.itg import itg_weights

runner = CliRunner()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    small_model().save(tmp_path / "model")
    return tmp_path / "model"


def test_one_line_in_is_one_line_out_in_order(model: Path) -> None:
    text = "das haus ist klein\n\nklein\tist  das\nunbekannt ☃ das\n"
    result = runner.invoke(app, ["translate", str(model), "--quiet"], input=text)
    assert result.exit_code == 0
    lines = result.stdout.split("\n")
    assert lines[0] == "the house is small"
    assert lines[1] == ""
    assert "unbekannt ☃" in lines[3]
    assert len(lines) == 5


def test_a_text_of_another_language_is_noticed(model: Path) -> None:
    wrong = runner.invoke(app, ["translate", str(model)], input="the house is small\n" * 10)
    assert "40 of 40 words are unknown to the model: is this its source language" in wrong.stderr
    right = runner.invoke(app, ["translate", str(model)], input="das haus ist klein\n" * 10)
    assert "unknown to the model" not in right.stderr


@pytest.mark.parametrize("rule", ["viterbi", "consensus", "lattice-mbr"])
def test_itg_search_with_decision_rules(model: Path, tmp_path: Path, rule: str) -> None:
    lists = tmp_path / "lists"
    command = ["translate", str(model), "--search", "itg", "--decide", rule, "--n-best", str(lists), "--quiet"]
    result = runner.invoke(app, command, input="das haus ist klein\n\nunbekannt das haus\n")
    assert result.exit_code == 0, result.exception
    assert result.stdout == "the house is small\n\nunbekannt the house\n"
    assert "itg.inverted= " in lists.read_text()


@pytest.mark.parametrize("rule", ["viterbi", "max-derivation", "max-translation", "mbr", "consensus", "lattice-mbr"])
def test_samples_with_decision_rules(model: Path, tmp_path: Path, rule: str) -> None:
    lists, notes = tmp_path / "lists", tmp_path / "notes.json"
    command = ["translate", str(model), "--search", "gibbs", "--decide", rule, "--n-best", str(lists), "--quiet"]
    command += ["--iterations", "300", "--burn-in", "10", "--diagnostics", str(notes)]
    command += ["--gain", "bleu+0.01"] if rule == "mbr" else []
    text = "das haus ist klein\n\nunbekannt das haus\n"
    result = runner.invoke(app, command, input=text)
    assert result.exit_code == 0, result.exception
    assert result.stdout == "the house is small\n\nunbekannt the house\n"
    assert "distortion= " in lists.read_text()
    found = json.loads(notes.read_text())
    assert len(found["segments"]) == found["summary"]["segments"] == 3
    assert found["segments"][0]["samples"] == 600
    assert 0 < found["summary"]["move_rates"]["retrans"] < 1
    again = runner.invoke(app, [*command, "--threads", "1"], input=text)
    assert again.stdout == result.stdout
    assert json.loads(notes.read_text()) == found


def test_the_page_about_samples_and_what_the_sampler_cannot_do(model: Path, tmp_path: Path) -> None:
    command = ["translate", str(model), "--search", "gibbs", "--iterations", "50", "--quiet"]
    text = "das haus\n\nist das haus klein\n"
    page = tmp_path / "samples.html"
    assert runner.invoke(app, [*command, "--diagnostics", str(page)], input=text).exit_code == 0
    assert "R-hat" in page.read_text()
    for wrong, message in (
        (["--diagnostics", str(tmp_path / "notes.txt")], "no name for diagnostics"),
        (["--trace", "-"], "do not know the phrases"),
        (["--n-best", str(tmp_path / "list.jsonl")], "do not know the phrases"),
    ):
        result = runner.invoke(app, [*command, *wrong], input=text)
        assert isinstance(result.exception, InputError)
        assert message in str(result.exception)
    result = runner.invoke(app, ["translate", str(model), "--chains", "3"], input=text)
    assert "only for --search gibbs" in str(result.exception)
    short = ["translate", str(model), "--search", "gibbs", "--iterations", "1"]
    result = runner.invoke(app, short, input=text)
    assert "no R-hat: chains are too short to tell whether they agree; try --iterations 5" in result.stderr
    assert "0 of 3 segments" not in result.stderr


def test_forced_decoding_follows_beam_search(model: Path, tmp_path: Path) -> None:
    (tmp_path / "targets").write_text("the house\n")
    command = ["translate", str(model), "--search", "itg", "--force", str(tmp_path / "targets")]
    result = runner.invoke(app, command, input="das haus\n")
    assert isinstance(result.exception, InputError)
    assert "beam search" in str(result.exception)


def test_files_weights_and_threads(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("das haus\n" * 40)
    weights = small_model().weights
    weights.save(tmp_path / "w.toml")
    command = ["translate", str(model), str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--threads", "2"]
    result = runner.invoke(app, [*command, "--weights", str(tmp_path / "w.toml"), "--pop-limit", "5"])
    assert result.exit_code == 0
    assert (tmp_path / "out").read_text() == "the house\n" * 40
    assert "sentences: 40" in result.stderr


def test_speed_is_not_told_where_kernels_were_compiled() -> None:
    before = Speed(start=time.process_time() - 20.0)
    assert before.told(400, 5000).startswith("sentences: 400, per CPU second 20; words per CPU second 2")
    assert "per CPU second 0.4;" in before.told(8, 50)
    compiling = replace(before, compiled=before.compiled - 1)
    assert compiling.told(400, 5000) == "sentences: 400 (no speed: kernels were compiled meanwhile)"


def test_a_model_that_is_none_is_refused(tmp_path: Path) -> None:
    result = runner.invoke(app, ["translate", str(tmp_path)], input="das\n")
    assert isinstance(result.exception, InputError)
    assert "model.toml" in str(result.exception)


def test_export_and_import(model: Path, tmp_path: Path) -> None:
    assert runner.invoke(app, ["export", str(model), "--output", str(tmp_path / "moses"), "-q"]).exit_code == 0
    assert (tmp_path / "moses" / "moses.ini").is_file()
    arguments = [
        "import",
        "--moses-ini",
        str(tmp_path / "moses" / "moses.ini"),
        "--output",
        str(tmp_path / "again"),
        "-q",
    ]
    assert runner.invoke(app, arguments).exit_code == 0
    result = runner.invoke(app, ["translate", str(tmp_path / "again"), "-q"], input="das haus ist klein\n")
    assert result.stdout == "the house is small\n"


def test_exporting_single_files(model: Path, tmp_path: Path) -> None:
    command = [
        "export",
        str(model),
        "--phrase-table",
        str(tmp_path / "pt"),
        "--language-model",
        str(tmp_path / "lm.arpa"),
    ]
    assert runner.invoke(app, command).exit_code == 0
    assert len((tmp_path / "pt").read_text().splitlines()) == 6
    assert (tmp_path / "lm.arpa").read_text().startswith("\\data\\")
    result = runner.invoke(app, ["export", str(model)])
    assert isinstance(result.exception, InputError)


def test_exporting_what_a_text_needs(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("haus\n")
    command = ["export", str(model), "--phrase-table", str(tmp_path / "pt"), "--filter", str(tmp_path / "in")]
    assert runner.invoke(app, command).exit_code == 0
    assert [line.split(" ||| ")[:2] for line in (tmp_path / "pt").read_text().splitlines()] == [["haus", "house"]]


@pytest.mark.parametrize("decide", ["viterbi", "mbr"])
def test_reserved_words_in_the_input_are_copied(model: Path, tmp_path: Path, decide: str) -> None:
    """They stay what they are; in lists and forests, where <s> begins a sentence, they are escaped."""
    command = ["translate", str(model), "--quiet", "--decide", decide, "--n-best", str(tmp_path / "list")]
    result = runner.invoke(app, command, input="das <s> haus </s>\ndas &lt;s&gt;\n")
    first, second = result.stdout.splitlines()
    assert sorted(first.split()) == ["</s>", "<s>", "house", "the"]
    assert sorted(second.split()) == ["&lt;s&gt;", "the"]
    assert "&lt;/s&gt;" in (tmp_path / "list").read_text().splitlines()[0]


def test_the_scale_of_a_rule_is_chosen_by_one_command(model: Path, tmp_path: Path) -> None:
    (tmp_path / "reference").write_text("the house is small\nthe house\n")
    command = ["translate", str(model), "--decide", "lattice-mbr", "--choose-scale", "--scales", "0.5,2", "--quiet"]
    text = "das haus ist klein\ndas haus\n"
    result = runner.invoke(app, [*command, "--reference", str(tmp_path / "reference")], input=text)
    assert result.exit_code == 0, result.exception
    assert [line.split("\t")[0] for line in result.stdout.splitlines()[:3]] == ["scale", "0.5", "2"]
    assert result.stdout.splitlines()[3].startswith("best: --scale ")
    assert "--reference" in str(runner.invoke(app, command, input=text).exception)
    refused = runner.invoke(app, ["translate", str(model), "--scales", "1,2"], input=text)
    assert "only for --choose-scale" in str(refused.exception)
    refused = runner.invoke(app, [*command, "--scale", "2"], input=text)
    assert "--scale: --choose-scale tries scales" in str(refused.exception)


@pytest.mark.parametrize("rule", ["viterbi", "max-derivation", "mbr", "consensus"])
def test_scales_of_samples_have_the_scores_of_what_they_translate(model: Path, tmp_path: Path, rule: str) -> None:
    """Samples drawn at one scale and weighed anew would look too good at a flat one."""
    text, target = "das haus ist klein\nklein ist das haus\n", "the house is small\nsmall is the house\n"
    (tmp_path / "in").write_text(text)
    (tmp_path / "reference").write_text(target)
    command = ["translate", str(model), str(tmp_path / "in"), "--search", "gibbs", "--decide", rule, "--quiet"]
    command += ["--iterations", "5", "--burn-in", "5", "--seed", "3"]
    choosing = ["--choose-scale", "--scales", "0.01,4", "--reference", str(tmp_path / "reference")]
    result = runner.invoke(app, [*command, *choosing])
    assert result.exit_code == 0, result.exception
    rows = dict(line.rstrip(" *").split("\t") for line in result.stdout.splitlines()[1:3])
    references = [[line.split()] for line in target.splitlines()]
    for scale, score in rows.items():
        lines = runner.invoke(app, [*command, "--scale", scale]).stdout.splitlines()
        statistics = BLEU(smooth_method="none").corpus_statistics([line.split() for line in lines], references)
        assert f"{BLEU(smooth_method='none').score(statistics.sum(axis=0)):.2f}" == score


def test_the_default_scale_of_samples_goes_by_the_norm_of_the_weights(model: Path, tmp_path: Path) -> None:
    weights = small_model().weights
    command = ["translate", str(model), "--search", "gibbs", "--decide", "max-derivation", "--iterations", "20"]
    found = []
    for factor in (1.0, 8.0):
        larger = {name: value if name == "oov" else factor * value for name, value in weights.items()}
        replace(weights, values_by_name=larger).save(tmp_path / "w.toml")
        lists = tmp_path / f"lists{factor:g}"
        options = ["--weights", str(tmp_path / "w.toml"), "--n-best", str(lists)]
        result = runner.invoke(app, [*command, *options], input="das haus ist klein\n")
        norm = norm_of(replace(weights, values_by_name=larger), list(weights))
        assert f"sampling at scale {4 / norm:.3g}" in result.stderr
        assert "R-hat above 1.05: " in result.stderr
        found.append([line.split(" ||| ")[:3] for line in lists.read_text().splitlines()])
    assert found[0] == found[1]


def test_weights_of_itg_search_are_told_to_other_searches(model: Path, tmp_path: Path) -> None:
    weights = itg_weights(small_model())
    weights.save(tmp_path / "w.toml")
    for search, told in (("beam", 1), ("gibbs", 1), ("itg", 0)):
        command = ["translate", str(model), "--search", search, "--weights", str(tmp_path / "w.toml")]
        result = runner.invoke(app, command, input="das haus\n" * 3)
        assert result.exit_code == 0, result.exception
        message = f"--search {search} has no itg.monotone, itg.inverted: these weights are dropped"
        assert result.stderr.count(message) == told
        assert result.stderr.count("ITG search has no distortion") == told
