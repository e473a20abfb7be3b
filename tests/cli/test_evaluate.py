"""`toledo evaluate` from the outside."""

import gzip
import json
from pathlib import Path

import pytest
import sacrebleu.metrics as peers
from typer.testing import CliRunner

from toledo.cli.app import app, main

REFERENCES = ["The cat sat on the mat.", "Hello, world!", "", "It is a Test, isn't it?"]
OTHERS = ["A cat was sitting on the mat.", "Hi, world!", "", "This is a test, is it not?"]
GOOD = ["The cat sat on a mat.", "Hello, World!", "", "It is a test."]
BAD = ["cat mat", "", "something", "It was a Test"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in (("ref.0", REFERENCES), ("ref.1", OTHERS), ("good", GOOD), ("bad", BAD)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    return tmp_path


def run(*arguments: object, text: str = "") -> str:
    result = CliRunner().invoke(app, ["evaluate", *map(str, arguments)], input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_and_signatures_are_those_of_sacrebleu(folder, tokenize, lowercase):
    options = ["--lowercase"] if lowercase else []
    output = run(
        *("-r", folder / "ref.0", "-r", folder / "ref.1", folder / "good", folder / "bad", "--json", *options),
        *("--test", "none", "--tokenize", tokenize, "--metrics", "bleu,chrf,chrf++,ter"),
    )
    result = json.loads(output)
    metrics = [
        peers.BLEU(tokenize=tokenize, lowercase=lowercase, force=True),
        peers.CHRF(lowercase=lowercase),
        peers.CHRF(lowercase=lowercase, word_order=2),
        peers.TER(),
    ]
    for system, lines in zip(result["systems"], (GOOD, BAD), strict=True):
        for metric in metrics:
            expected = metric.corpus_score(lines, [REFERENCES, OTHERS])
            assert system["scores"][expected.name] == {"score": round(expected.score, 4)}
            assert result["signatures"][expected.name] == metric.get_signature().format()


def test_perfect_scores_are_round(folder):
    result = json.loads(run("-r", folder / "ref.0", folder / "ref.0", "--json"))
    (system,) = result["systems"]
    assert {name: score["score"] for name, score in system["scores"].items()} == {"BLEU": 100, "chrF2": 100, "TER": 0}
    assert system["length_ratio"] == 1
    assert system["brevity_penalty"] == 1


@pytest.mark.parametrize(("test", "key"), [("bootstrap", "bs:50"), ("randomisation", "ar:50")])
def test_the_table_compares_with_the_first_system(folder, test, key):
    output = run("-r", folder / "ref.0", folder / "good", folder / "bad", "--test", test, "--samples", 50, "--seed", 7)
    head, good, bad, *_ = output.splitlines()
    assert head.split() == ["System", "BLEU", "chrF2", "TER", "length", "brevity"]
    assert good.startswith("good")
    assert "p =" not in good
    assert bad.count("p = ") == 3
    assert "against good" in output
    assert f"{key}" in output
    assert "seed:7" in output


def test_packed_files_and_standard_input(folder):
    (folder / "packed.gz").write_bytes(gzip.compress((folder / "ref.0").read_bytes()))
    output = run("-r", folder / "packed.gz", "-", "--test", "none", text=(folder / "good").read_text("utf-8"))
    assert "<stdin>" in output
    assert (
        output.splitlines()[1].split()[1:]
        == run("-r", folder / "ref.0", folder / "good", "--test", "none").splitlines()[1].split()[1:]
    )


def test_tokenised_text_beside_raw_text_is_noticed(folder):
    (folder / "tokenised").write_text("a cat .\n" * 4)
    (folder / "raw").write_text("a cat.\n" * 4)
    for files in (("raw", "tokenised"), ("tokenised", "raw")):
        arguments = ["evaluate", "--tokenize", "none", "-r", *(str(folder / name) for name in files)]
        told = CliRunner().invoke(app, arguments).stderr
        assert f"{folder / 'tokenised'} looks tokenised, {folder / 'raw'} does not" in told


def test_the_same_text_is_not_different(folder):
    (folder / "copy").write_text((folder / "bad").read_text("utf-8"), "utf-8")
    for test in ("bootstrap", "randomisation"):
        result = json.loads(run("-r", folder / "ref.0", folder / "bad", folder / "copy", "--json", "--test", test))
        assert {score["p_value"] for score in result["systems"][1]["scores"].values()} == {1.0}


def test_tokenised_text_is_noticed(folder):
    (folder / "tokenised").write_text("a cat .\n" * 4)
    result = CliRunner().invoke(app, ["evaluate", "-r", str(folder / "tokenised"), str(folder / "tokenised")])
    assert "--tokenize none" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-r", "ref.0", "short"], "short: 1 lines, but ref.0 has 4"),
        (["-r", "ref.0", "-r", "short", "good"], "short: 1 lines, but ref.0 has 4"),
        (["-r", "ref.0", "empty"], "the file is empty"),
        (["-r", "ref.0", "absent"], "no such file"),
        (["-r", "ref.0", "latin"], "latin:1: not valid UTF-8"),
        (["-r", "-", "-"], "standard input can be read only once"),
        (["-r", "ref.0", "good", "good"], "the same file is given twice"),
        (["-r", "ref.0", "good", "--metrics", "bleurt"], "no metric 'bleurt'"),
        (["-r", "ref.0", "good", "--metrics", ","], "no metric is named"),
        (["-r", "ref.0", "good", "--tokenize", "14b"], "no tokenizer '14b'"),
        (["-r", "ref.0", "good", "--test", "wilcoxon"], "no significance test 'wilcoxon'"),
    ],
)
def test_bad_input_is_named(folder, monkeypatch, capsys, arguments, message):
    (folder / "short").write_text("one line\n")
    (folder / "empty").write_text("")
    (folder / "latin").write_bytes("é\n".encode("latin1"))
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["toledo", "evaluate", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_brackets_in_a_name_are_no_markup(folder):
    (folder / "good[bold].en").write_bytes((folder / "good").read_bytes())
    result = CliRunner().invoke(app, ["evaluate", "-q", "-r", str(folder / "ref.0"), str(folder / "good[bold].en")])
    assert "good[bold].en" in result.output
