"""`toledo consensus` from the outside."""

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.cli.rules import PRECISION, RATIO
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.errors import InputError

SAMPLES = """the cat sat on the mat
a cat sat on the mat
the cat is here
hello there
hello there
hi
"""
MOSES = """0 ||| the house ||| LM0= -1 TM0= -1 -2 ||| -4
0 ||| a house ||| LM0= -2 TM0= -2 -1 ||| -1
2 ||| yes ||| LM0= 0 TM0= 0 0 ||| 0
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "samples.txt").write_text(SAMPLES)
    (tmp_path / "moses.nbest").write_text(MOSES)
    return tmp_path


def run(*arguments: object, text: str | None = None) -> list[str]:
    result = CliRunner().invoke(app, ["consensus", *map(str, arguments)], input=text, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def refusal(*arguments: object, text: str | None = None) -> str:
    with pytest.raises(InputError) as caught:
        CliRunner().invoke(app, ["consensus", *map(str, arguments)], input=text, catch_exceptions=False)
    assert caught.value.remedy
    return str(caught.value)


@pytest.mark.parametrize("gain", ["bleu", "bleu+1", "chrf", "ter"])
def test_samples_of_one_system(gain: str) -> None:
    assert run("--n", 3, "--gain", gain, "samples.txt") == ["the cat sat on the mat", "hello there"]
    assert run("--n", 3, "--gain", gain, text=SAMPLES) == ["the cat sat on the mat", "hello there"]


@pytest.mark.parametrize("rule", ["viterbi", "max-translation", "mbr", "consensus", "lattice-mbr"])
def test_every_rule(rule: str) -> None:
    assert run("--n", 3, "--decide", rule, "samples.txt")[0] == "the cat sat on the mat"


def test_no_input_is_overwritten(folder: Path) -> None:
    assert "the output is a file that is read, too" in refusal(
        "--n", 3, "samples.txt", "--output", folder / "samples.txt"
    )
    assert (folder / "samples.txt").read_text() == SAMPLES


def test_outputs_of_several_systems(folder: Path) -> None:
    for number, lines in enumerate(("a b c d\nx", "a b c e\n", "q\nx")):
        (folder / f"system{number}").write_text(lines + "\n")
    with gzip.open("system3.gz", "wt") as stream:
        stream.write("a b c f\ny\n")
    assert run("system0", "system1", "system2", "system3.gz") == ["a b c d", "x"]
    assert run("system0", "system1", "-", text="q\ny y y y\n")[0] == "a b c d"


def test_scores_scale_and_uniform() -> None:
    """A segment without a hypothesis gives an empty line."""
    assert run("moses.nbest", "--decide", "viterbi", "-q") == ["a house", "", "yes"]
    assert run("moses.nbest", "-q") == ["a house", "", "yes"]
    assert run("moses.nbest", "-q", "--uniform") == ["the house", "", "yes"]
    assert run("-q", text=MOSES) == ["a house", "", "yes"]
    assert run("moses.nbest", "-q", "--scale", 0.0001, "--json")[0].count('"score"') == 1


def test_weights(folder: Path) -> None:
    (folder / "w.toml").write_text("[weights]\nLM0 = 1\nTM0_1 = 1\nTM0_2 = 0\n")
    assert run("moses.nbest", "-q", "--weights", "w.toml") == ["the house", "", "yes"]
    assert "choose one" in refusal("moses.nbest", "--weights", "w.toml", "--uniform")
    assert "no features" in refusal("samples.txt", "--n", 3, "--weights", "w.toml")
    (folder / "w.toml").write_text("[weights]\nLM0 = 1\n")
    assert "no weight for TM0_1, TM0_2" in refusal("moses.nbest", "-q", "--weights", "w.toml")


def test_jsonl_with_lists_of_any_length() -> None:
    lines = [
        {"id": 0, "hypotheses": [{"text": "a b", "score": -1.0}, {"text": "c d", "score": -3.0}]},
        {"id": 1, "hypotheses": []},
        {"id": 2, "hypotheses": ["x y z", "x y w", "x y v", "q"]},
    ]
    assert run("-q", text="\n".join(map(json.dumps, lines))) == ["a b", "", "x y z"]


def test_lists_without_hypotheses_and_features_without_weights_are_told() -> None:
    lines = '{"hypotheses": ["a b", "a b c"]}\n{"hypotheses": []}\n{"hypotheses": []}\n'
    result = CliRunner().invoke(app, ["consensus", "-"], input=lines, catch_exceptions=False)
    assert result.stdout == "a b\n\n\n" or result.stdout == "a b c\n\n\n"
    assert "2 segments have no hypothesis, and an empty line: the first is segment 1" in result.stderr
    assert "features are not looked at" not in result.stderr
    weighed = '{"hypotheses": [{"text": "a", "features": {"judge": 3}}, {"text": "b c", "features": {"judge": 1}}]}\n'
    assert "features are not looked at" in CliRunner().invoke(app, ["consensus", "-"], input=weighed).stderr
    assert "not looked at" not in CliRunner().invoke(app, ["consensus", "-", "--uniform"], input=weighed).stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], True),
        (["--choose-scale", "--reference", "raw.txt"], True),
        (["--tokenise", "13a"], False),
        (["--gain", "chrf"], False),
        (["--decide", "max-translation"], False),
    ],
)
def test_raw_text_is_told_of(options: list[str], told: bool) -> None:
    Path("raw.txt").write_text("The cat sat.\nIs it so?\n")
    Path("split.txt").write_text("The cat sat .\nIt is as in the U.S. 3.5 . . .\n")
    hint = "look raw, with words such as 'sat.': --tokenize 13a"
    result = CliRunner().invoke(app, ["consensus", "raw.txt", "raw.txt", *options], catch_exceptions=False)
    assert (hint in result.stderr) == told
    assert "look raw" not in CliRunner().invoke(app, ["consensus", "split.txt", "split.txt"]).stderr


def test_rankings() -> None:
    found = [line.split(" ||| ") for line in run("samples.txt", "--n", 3, "--n-best-size", 2)]
    assert [(row[0], row[1]) for row in found] == [
        ("0", "the cat sat on the mat"),
        ("0", "a cat sat on the mat"),
        ("1", "hello there"),
        ("1", "hi"),
    ]
    assert float(found[0][3]) > float(found[1][3])
    objects = [json.loads(line) for line in run("samples.txt", "--n", 3, "--n-best-size", 3, "--json")]
    assert [len(item["hypotheses"]) for item in objects] == [3, 2]
    assert objects[1]["hypotheses"][0]["text"] == "hello there"
    assert len(json.loads(run("samples.txt", "--n", 3, "--json")[0])["hypotheses"]) == 1
    assert "no ranking" in refusal("samples.txt", "--n", 3, "--n-best-size", 2, "--decide", "viterbi")


def test_evidence_of_its_own(folder: Path) -> None:
    (folder / "evidence").write_text("the cat is not here\nhi\n")
    chosen = run("samples.txt", "--n", 3, "--evidence", "evidence", "--evidence-n", 1)
    assert chosen == ["the cat is here", "hi"]
    (folder / "evidence").write_text("the cat is not here\n")
    assert "ends at segment 1" in refusal("samples.txt", "--n", 3, "--evidence", "evidence", "--evidence-n", 1)
    (folder / "evidence").write_text("a\nb\nc\n")
    assert "more segments" in refusal("samples.txt", "--n", 3, "--evidence", "evidence", "--evidence-n", 1)


def test_raw_text_is_tokenised_for_the_choice_only(folder: Path) -> None:
    (folder / "raw").write_text("Oh\nWell, yes.\nWell, no!\nWell , yes .\nOh dear.\n")
    assert run("raw", "--n", 5, "--tokenize", "13a") == ["Well, yes."]
    assert run("raw", "--n", 5, "--tokenize", "13a", "--decide", "max-translation") == ["Well, yes."]
    assert run("raw", "--n", 5, "--decide", "max-translation") == ["Oh"]
    assert len(run("raw", "--n", 5, "--tokenize", "13a", "--n-best-size", 9)) == 4


def test_hypotheses_limits_the_choice() -> None:
    assert run("samples.txt", "--n", 3, "--hypotheses", 1) == ["the cat sat on the mat", "hello there"]
    assert len(run("samples.txt", "--n", 3, "--hypotheses", 1, "--n-best-size", 9)) == 2


def test_choosing_the_scale(folder: Path) -> None:
    (folder / "reference").write_text("the house\n\nyes\n")
    command = ["moses.nbest", "-q", "--choose-scale", "--reference", "reference", "--scales", "0.5,2"]
    output = run(*command)
    assert output[0].split() == ["scale", "BLEU"]
    assert [line.split()[0] for line in output[1:3]] == ["0.5", "2"]
    assert output[3].startswith("best: --scale ")
    found = json.loads(run(*command, "--json")[0])
    assert (found["rule"], [row["scale"] for row in found["rows"]]) == ("mbr", [0.5, 2.0])
    run(*command, "--output", "table")
    assert (folder / "table").read_text().splitlines() == output
    assert "there are none" in refusal("moses.nbest", "-q", "--choose-scale")
    assert "2 lines for 3" in refusal(*command[:-3], "-", *command[-2:], text="a\nb\n")
    assert "no list of scales" in refusal(*command[:-1], "1,x")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--reference", "r"), "--reference: only for --choose-scale"),
        (("--scales", "1"), "--scales: only for --choose-scale"),
        (("--choose-scale", "--reference", "r", "--evidence", "e"), "--evidence: a scale is chosen by references"),
        (("--choose-scale", "--reference", "r", "--n-best-size", 2), "--n-best-size: a scale is chosen by references"),
        (("--evidence-n", 2), "--evidence-n: there is no --evidence"),
        (("--decide", "lattice-mbr", "--ratio", 0), "--ratio 0"),
        (("--decide", "lattice-mbr", "--precision", "nan"), "--precision nan"),
    ],
)
def test_options_that_would_be_ignored_are_refused(options: tuple[object, ...], message: str) -> None:
    assert message in refusal("moses.nbest", "-q", *options)


def test_settings_of_lattice_mbr() -> None:
    """A small precision pays for words: the longest text wins. A ratio of 1 does not."""
    text = "0 ||| a ||| ||| 0\n0 ||| a b c ||| ||| -0.5\n"
    command = ("-q", "--decide", "lattice-mbr")
    assert run(*command, "--precision", 1, "--ratio", 1, text=text) == ["a"]
    assert run(*command, "--precision", 0.1, "--ratio", 0.3, text=text) == ["a b c"]
    assert (LatticeMBR().precision, LatticeMBR().ratio) == (PRECISION, RATIO)


def test_output_file(folder: Path) -> None:
    run("samples.txt", "--n", 3, "--output", "out.gz")
    assert gzip.decompress((folder / "out.gz").read_bytes()) == b"the cat sat on the mat\nhello there\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", ["--from", "nbest"], "<stdin>: the file is empty"),
        ("", [], "<stdin>: the file is empty"),
        ("a\nb\n", [], "how many lines belong to a segment"),
        ("a\nb\nc\n", ["--n", 2], "3 lines cannot be shared out in lists of 2"),
        ("0 ||| a ||| x= nan ||| 1\n", [], "<stdin>:1: 'nan' is not a number"),
        ("0 ||| a ||| x= 1 ||| 1\n0 ||| b ||| x= 1 ||| nan\n", [], "<stdin>:2: 'nan' is not a number"),
        ('{"id": 0, "text": "a", "score": NaN}\n', [], "<stdin>:1: not valid JSON"),
        ("1 ||| a\n0 ||| b\n", [], "<stdin>:2: segment 0 follows segment 1"),
        ("0 ||| a ||| ||| 1\nhello\n", [], "<stdin>:2: 'hello' is not the number of a segment"),
        ("0 ||| a ||| ||| 1\n0 ||| b\n", [], "segment 0: hypothesis 2 has no score"),
        ("0 ||| a ||| ||| 1\n", ["--n", 2], "no plain text"),
        ("a\n", ["--n", 1, "--scale", -1], "the scale is -1"),
    ],
)
def test_bad_input(text: str, options: list[object], message: str) -> None:
    assert message in refusal("-q", *options, text=text)


def test_files_that_do_not_fit(folder: Path) -> None:
    (folder / "short").write_text("a\n")
    assert "short: 1 segments, but samples.txt has more" in refusal("samples.txt", "short")
    assert "only once" in refusal("-", "-", text="a\n")
    assert "no such file" in refusal("missing", "samples.txt")
