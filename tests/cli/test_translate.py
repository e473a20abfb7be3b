"""`toledo translate` from the outside."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fail, run, succeed
from small_models import small_model

from toledo.api.model import load
from toledo.consensus.scale import norm_of
from toledo.search.itg import itg_weights

TEXT = "das haus ist klein\n\nunbekannt das haus\n"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    small_model().save(tmp_path / "model")
    return tmp_path / "model"


def test_one_line_in_is_one_line_out_in_order(model: Path) -> None:
    text = "das haus ist klein\n\nklein\tist  das\nunbekannt ☃ das\n"
    lines = succeed("translate", model, "--quiet", input=text).split("\n")
    assert lines[0] == "the house is small"
    assert lines[1] == ""
    assert "unbekannt ☃" in lines[3]
    assert len(lines) == 5


def test_a_text_of_another_language_is_noticed(model: Path) -> None:
    wrong = run("translate", model, input="the house is small\n" * 10)
    assert "40 of 40 words are unknown to the model: is this its source language" in wrong.stderr
    right = run("translate", model, input="das haus ist klein\n" * 10)
    assert "unknown to the model" not in right.stderr


@pytest.mark.parametrize("rule", ["viterbi", "consensus", "lattice-mbr"])
def test_itg_search_with_decision_rules(model: Path, tmp_path: Path, rule: str) -> None:
    lists = tmp_path / "lists"
    command = ["translate", model, "--search", "itg", "--rule", rule, "--write-nbest", lists, "--quiet"]
    assert succeed(*command, input=TEXT) == "the house is small\n\nunbekannt the house\n"
    assert "itg.inverted= " in lists.read_text()


@pytest.mark.parametrize("rule", ["viterbi", "max-derivation", "max-translation", "mbr", "consensus", "lattice-mbr"])
def test_samples_with_decision_rules(model: Path, tmp_path: Path, rule: str) -> None:
    lists, notes = tmp_path / "lists", tmp_path / "notes.json"
    search = "gibbs:iterations=300,burn_in=10"
    command = ["translate", model, "--search", search, "--rule", rule, "--write-nbest", lists, "--quiet"]
    command += ["--write-diagnostics", notes, *(["--metric", "bleu+0.01"] if rule == "mbr" else [])]
    first = succeed(*command, input=TEXT)
    assert first == "the house is small\n\nunbekannt the house\n"
    assert "distortion= " in lists.read_text()
    found = json.loads(notes.read_text())
    assert len(found["segments"]) == found["summary"]["segments"] == 3
    assert found["segments"][0]["samples"] == 600
    assert 0 < found["summary"]["move_rates"]["retrans"] < 1
    assert succeed(*command, "--threads", "1", input=TEXT) == first
    assert json.loads(notes.read_text()) == found


def test_the_page_about_samples_and_what_the_sampler_cannot_do(model: Path, tmp_path: Path) -> None:
    command = ["translate", model, "--search", "gibbs:iterations=50"]
    text = "das haus\n\nist das haus klein\n"
    page = tmp_path / "samples.html"
    succeed(*command, "-q", "--write-diagnostics", page, input=text)
    assert "R-hat" in page.read_text()
    for wrong, message in (
        (["--write-diagnostics", tmp_path / "notes.txt"], "not a name for diagnostics"),
        (["--write-trace", "-"], "do not know the phrases"),
        (["--write-nbest", tmp_path / "list.jsonl"], "do not know the phrases"),
    ):
        assert message in fail(*command, *wrong, input=text)
    short = run("translate", model, "--search", "gibbs:iterations=1", input=text)
    longer = "try --search gibbs:iterations=5"
    assert f"no R-hat: chains are too short to compare; {longer}" in short.stderr
    assert "0 of 3 segments" not in short.stderr


def test_files_weights_and_threads(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("das haus\n" * 40)
    small_model().weights.save(tmp_path / "w.toml")
    command = ["translate", model, tmp_path / "in", "--output", tmp_path / "out", "--threads", "2"]
    result = run(*command, "--weights", tmp_path / "w.toml", "--search", "beam:pop_limit=5")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out").read_text() == "the house\n" * 40
    assert "sentences: 40" in result.stderr


def test_a_directory_that_is_no_model_is_refused(tmp_path: Path) -> None:
    assert "model.toml" in fail("translate", tmp_path, input="das\n")


@pytest.mark.parametrize("rule", ["viterbi", "mbr"])
def test_reserved_words_in_the_input_are_copied(model: Path, tmp_path: Path, rule: str) -> None:
    """They stay what they are; in lists and forests, where <s> begins a sentence, they are escaped."""
    command = ["translate", model, "--quiet", "--rule", rule, "--write-nbest", tmp_path / "list"]
    first, second = succeed(*command, input="das <s> haus </s>\ndas &lt;s&gt;\n").splitlines()
    assert sorted(first.split()) == ["</s>", "<s>", "house", "the"]
    assert sorted(second.split()) == ["&lt;s&gt;", "the"]
    assert "&lt;/s&gt;" in (tmp_path / "list").read_text().splitlines()[0]


def test_the_default_scale_of_samples_follows_the_norm_of_the_weights(model: Path, tmp_path: Path) -> None:
    weights = small_model().weights
    command = ["translate", model, "--search", "gibbs:iterations=20", "--rule", "max-derivation"]
    found = []
    for factor in (1.0, 8.0):
        larger = {name: value if name == "oov" else factor * value for name, value in weights.items()}
        replace(weights, values_by_name=larger).save(tmp_path / "w.toml")
        lists = tmp_path / f"lists{factor:g}"
        options = ["--weights", tmp_path / "w.toml", "--write-nbest", lists]
        result = run(*command, *options, input="das haus ist klein\n")
        norm = norm_of(replace(weights, values_by_name=larger), list(weights))
        assert f"sampling at scale {4 / norm:.3g}" in result.stderr
        assert "R-hat above 1.05: " in result.stderr
        found.append([line.split(" ||| ")[1:3] for line in lists.read_text().splitlines()])
    for (text, features), (same_text, larger_features) in zip(*found, strict=True):
        shared, base = features.split(" base= ")
        same_shared, larger_base = larger_features.split(" base= ")
        assert (text, shared) == (same_text, same_shared)
        assert float(larger_base) == pytest.approx(8 * float(base), rel=1e-5)  # what makes scores those of the samples


def test_weights_of_itg_search_are_reported_with_other_searches(model: Path, tmp_path: Path) -> None:
    itg_weights(small_model()).save(tmp_path / "w.toml")
    for search, times in (("beam", 1), ("gibbs", 1), ("itg", 0)):
        command = ["translate", model, "--search", search, "--weights", tmp_path / "w.toml"]
        result = run(*command, input="das haus\n" * 3)
        assert result.exit_code == 0, result.output
        message = f"--search {search} has no itg.monotone, itg.inverted: these weights are dropped"
        assert result.stderr.count(message) == times
        assert result.stderr.count("ITG search has no distortion") == times


def test_the_rule_of_a_model_is_its_own(model: Path, tmp_path: Path) -> None:
    load(model).with_rule("consensus:order=2", 2.0).save(tmp_path / "ruled")
    both = [json.loads(line) for line in succeed("translate", tmp_path / "ruled", "--json", input=TEXT).splitlines()]
    assert [one["segment"] for one in both] == [0, 1, 2]
    assert both[0]["choice"]["signature"].startswith("rule:consensus|scale:2|")
    named = succeed("translate", model, "--json", "--rule", "consensus:order=2", "--scale", "2", input=TEXT)
    assert [json.loads(line)["choice"]["score"] for line in named.splitlines()] == [
        one["choice"]["score"] for one in both
    ]
    plain = json.loads(succeed("translate", tmp_path / "ruled", "--rule", "viterbi", "--json", input="das haus\n"))
    assert plain["choice"] is None
    assert plain["alignment"] == [[0, 0], [1, 1]]
    assert plain["hypothesis"]["features"]["word.penalty"] == -2.0


def test_tuning_a_rule(model: Path, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("das haus ist klein\ndas haus\n")
    (tmp_path / "reference").write_text("the house is small\nthe house\n")
    command = ["tune-rule", model, "-s", tmp_path / "in", "-r", tmp_path / "reference", "--rule", "lattice-mbr"]
    table = succeed(*command, "--scale", "0.5", "--scale", "2", "-o", tmp_path / "tuned", "-q")
    assert [line.split()[:2] for line in table.splitlines()[1:3]] == [["lattice-mbr", "0.5"], ["lattice-mbr", "2"]]
    assert "best: lattice-mbr at scale " in table
    tuned = load(tmp_path / "tuned")
    assert tuned.rule == "lattice-mbr"
    assert tuned.scale in (0.5, 2.0)
    assert "lattice-mbr:ratio=0.5" in succeed(*command, "--settings", "--scale", "2", "-q")
    found = json.loads(succeed(*command, "--json", "-q"))["result"]
    assert len(found["rows"]) == 12
    assert found["metric"] == "BLEU"
    assert "--reference" in fail("tune-rule", model, "-s", tmp_path / "in")
    assert "--source" in fail("tune-rule", model, "-r", tmp_path / "reference")
    assert "--lists" in fail("tune-rule", "-r", tmp_path / "reference")
    assert "scale is 1e+200" in fail(*command, "--scale", "1e200")


def test_tuning_a_rule_for_lists_writes_options_of_choose(tmp_path: Path) -> None:
    lists, reference = tmp_path / "lists.jsonl", tmp_path / "reference"
    lists.write_text('{"hypotheses": ["a b c d e", "a b c d f", "x y z"]}\n')
    reference.write_text("a b c d e\n")
    command = ["tune-rule", "--lists", lists, "-r", reference, "--rule", "mbr:metric=chrf", "--scale", "1"]
    succeed(*command, "-o", tmp_path / "rule.toml")
    assert (tmp_path / "rule.toml").read_text() == '[choose]\nrule = "mbr:metric=chrf"\nscale = 1.0\n'
    assert succeed("choose", lists, "--config", tmp_path / "rule.toml") == "a b c d e\n"
    assert "--search" in fail(*command, "--search", "beam")


@pytest.mark.parametrize("command", ["translate", "tune-rule"])
def test_help_has_examples_and_is_quick(command: str) -> None:
    code = (
        "import sys; from toledo.cli.app import run\n"
        f"try: run(['{command}', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'numba', 'scipy') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.endswith("[]\n")
    assert f"toledo {command} model" in found
