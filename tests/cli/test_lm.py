"""`toledo lm` from the outside."""

import gzip
import json
import subprocess
import sys

import pytest
from command_line import fail, succeed

TEXT = "the house is small\nthe house is large\na small house\n\nthe small house is old\n" * 3


def run(*arguments: object, text: str = "") -> str:
    return succeed("lm", *arguments, input=text)


@pytest.fixture
def model(tmp_path):
    run("train", "--order", 2, "--output", tmp_path / "lm.arpa", "--quiet", text=TEXT)
    return tmp_path / "lm.arpa"


def test_all_kinds_of_output_hold_the_same_model(tmp_path, model):
    (tmp_path / "text").write_text(TEXT)
    for name in ("packed.arpa.gz", "directory"):
        run("train", tmp_path / "text", "--order", 2, "-o", tmp_path / name)
    assert gzip.decompress((tmp_path / "packed.arpa.gz").read_bytes()) == model.read_bytes()
    assert run("train", "--order", 2, "--output", "-", text=TEXT) == model.read_text()
    scores = {run("score", tmp_path / name, text=TEXT) for name in ("lm.arpa", "packed.arpa.gz", "directory")}
    assert len(scores) == 1


def test_one_line_in_is_one_line_out(model):
    lines = run("score", model, text="the house\n\nunseen words\n").splitlines()
    assert len(lines) == 3
    assert all(float(line) < 0 for line in lines)
    rows = [json.loads(line) for line in run("score", model, "--json", text="the house\n\nunseen house\n").splitlines()]
    assert [(row["segment"], row["words"], row["unknown"]) for row in rows] == [(0, 2, 0), (1, 0, 0), (2, 2, 1)]
    assert f"{rows[0]['log10']:.6f}" == lines[0]
    assert run("score", model, text="") == ""


def test_perplexity(model):
    output = run("score", model, "--perplexity", text="the house\nunseen words\n")
    rows = dict(line.split("\t") for line in output.splitlines())
    assert (rows["tokens"], rows["unknown"]) == ("6", "2")
    content = json.loads(run("score", model, "--perplexity", "--json", text="the house\nunseen words\n"))["result"]
    assert content["value"] == pytest.approx(float(rows["perplexity"]))
    assert content["value"] == pytest.approx(10 ** (-content["log10"] / 6), abs=1e-4)
    assert content["without_unknown"] < content["value"]


def test_pruning(tmp_path):
    result = run("train", "--prune", 0, "--prune", 8, "--order", 2, "-o", tmp_path / "a.arpa", "--json", text=TEXT)
    assert "ngram 2=2\n" in (tmp_path / "a.arpa").read_text()
    assert json.loads(result)["result"]["ngrams"][1] == 2


def test_mixing(tmp_path, model):
    run("train", "--order", 3, "-o", tmp_path / "other", text="an old house\nthe old tree\n" * 4)
    (tmp_path / "dev").write_text("the old house is small\n")
    output = run("mix", model, tmp_path / "other", "--dev", tmp_path / "dev", "-o", tmp_path / "mixed.arpa")
    rows = [line.split("\t") for line in output.splitlines()]
    assert [row[0] for row in rows] == [str(model), str(tmp_path / "other"), str(tmp_path / "mixed.arpa")]
    assert float(rows[0][1]) + float(rows[1][1]) == pytest.approx(1)
    content = run(*("mix", model, tmp_path / "other", "--dev", tmp_path / "dev", "-o", tmp_path / "mixed", "--json"))
    assert json.loads(content)["result"][0]["weight"] == float(rows[0][1])
    assert run("score", tmp_path / "mixed", text=TEXT) == run("score", tmp_path / "mixed.arpa", text=TEXT)
    mixture = json.loads(run("score", tmp_path / "mixed", "--perplexity", "--json", text="the old house is small\n"))[
        "result"
    ]
    assert mixture["value"] == pytest.approx(float(rows[2][2]), rel=1e-4)
    assert mixture["unknown"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--prune", "one", "-o", "x.arpa"], "one"),
        (["train", "--order", "7", "-o", "x.arpa"], "order 7 of a language model"),
        (["train", "--prune", "1", "-o", "x.arpa"], "pruning thresholds 1"),
        (["score", "missing.arpa"], "no such file"),
        (["score", "MODEL", "--perplexity"], "no text to score"),
        (["mix", "MODEL", "--dev", "dev", "-o", "x.arpa"], "1 model to mix"),
    ],
)
def test_bad_calls(model, monkeypatch, arguments, message):
    monkeypatch.chdir(model.parent)
    arguments = [str(model) if argument == "MODEL" else argument for argument in arguments]
    text = "a b\n" if arguments[0] == "train" else ""
    assert message in fail("lm", *arguments, input=text)
    assert {path.name for path in model.parent.iterdir()} == {"lm.arpa"}


def test_an_input_is_not_overwritten(model):
    before = model.read_text()
    assert "also an input" in fail("lm", "train", model, "-o", model)
    assert "also an input" in fail("lm", "mix", model, model, "--dev", model, "-o", model)
    assert model.read_text() == before


@pytest.mark.parametrize("command", ["train", "score", "mix"])
def test_help_shows_examples(command):
    assert "Examples" in run(command, "--help")


@pytest.mark.parametrize("command", [["lm", "score", "MODEL"], ["text", "lowercase"]])
def test_each_line_is_answered_at_once(model, command):
    words = [str(model) if word == "MODEL" else word for word in command]
    program = [sys.executable, "-m", "toledo", *words]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for _ in range(2):
            process.stdin.write("the house\n")
            process.stdin.flush()
            assert process.stdout.readline().strip()
        process.stdin.close()
        assert process.wait(timeout=60) == 0
