"""`toledo forest` from the outside."""

import json
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from command_line import fail, succeed

from toledo.formats.forest_files import FORMATS

GOLDEN = Path(__file__).parents[1] / "formats" / "golden"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the golden files to work in."""
    shutil.copytree(GOLDEN, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def run(*arguments: object, text: str = "") -> str:
    return succeed("forest", *arguments, input=text)


def test_show_all_segments(folder: Path) -> None:
    output = run("show", "moses.nbest", "-q").splitlines()
    assert output[0].split() == ["segment", "nodes", "edges", "derivations", "entropy", "score", "best", "translation"]
    assert output[1].split() == ["0", "1", "2", "2", "0.00", "-4.5000", "the", "house"]
    assert output[2].split()[-1] == "(none)"
    assert "4 segments, 1 without a derivation; on average 1.0 edges" in output[5]


def test_show_one_segment(folder: Path) -> None:
    output = run("show", "moses.hg", "--nbest", 2)
    assert "Segment 0: 4 nodes, 6 edges, 3 derivations, 4 dense features" in output
    assert "all 0, there are no weights" in output
    (folder / "w.toml").write_text('[weights]\nLM0 = 1\nTM0_1 = 1\nTM0_2 = 1\n"pair=haus-house" = 0\n')
    output = run("show", "moses.hg", "--nbest", 2, "--weights", "w.toml")
    assert "features times the given weights" in output
    assert ["1", "-3.1250", "0.4531", "the", "house"] in [line.split() for line in output.splitlines()]
    assert ["LM0", "1", "-3", "-2.5"] in [line.split() for line in output.splitlines()]


def test_show_as_json(folder: Path) -> None:
    found = json.loads(run("show", "speech.slf", "--json", "--nbest", 1))["result"]
    assert (found["best"], found["nodes"], found["nbest"][0]["features"]["words"]) == ("the häuser", 6, 2.0)
    assert found["score"] == -19.2
    assert len(json.loads(run("show", "lattices.plf", "--json"))["result"]["segments"]) == 3


def test_pictures(folder: Path) -> None:
    run("show", "lattices.plf", "--segment", 0, "--svg", "a.svg", "--dot", "a.dot", "--prune-below", 0.01)
    root = ElementTree.parse("a.svg").getroot()
    assert root.tag.endswith("svg")
    assert "small" in (folder / "a.dot").read_text()


def test_standard_input_and_output(folder: Path) -> None:
    text = (folder / "moses.nbest").read_text()
    output = run("convert", "-", "-", "--from", "nbest", "--to", "jsonl", "-q", text=text)
    assert json.loads(output.splitlines()[0])["text"] == "the house"
    assert run("show", "-", "--from", "nbest", "--segment", 3, "-q", text=text).startswith("Segment 3")


def test_words_are_not_markup(folder: Path) -> None:
    (folder / "odd.nbest").write_text("0 ||| [bold] x [/bold] ||| [red]= 1 ||| -1\n")
    output = run("show", "odd.nbest")
    assert "[bold] x [/bold]" in output
    assert "[red]" in output


def test_conversion_in_a_circle(folder: Path) -> None:
    assert json.loads(run("convert", "old.nbest", "a.hg", "--json"))["result"]["segments"] == 2
    run("convert", "a.hg", "forests")
    run("convert", "forests", "graphs/", "--to", "hypergraph")
    (folder / "w.toml").write_text("[weights]\nd = 1\nlm = 1\ntm_1 = 1\ntm_2 = 1\ntm_3 = 1\nw = 1\n")
    run("convert", "graphs", "b.nbest", "--weights", "w.toml", "--nbest", 3)
    assert (folder / "b.nbest").read_text().splitlines() == [
        "0 ||| the house ||| d= 0 lm= -1.5 tm= -1 -2.25 -3 w= -2 ||| -9.75",
        "1 ||| a house ||| d= -1 lm= -2.5 tm= -1 -2.5 -3 w= -2 ||| -12",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "absent"], "absent: no such file"),
        (["show", "moses.nbest", "--segment", "9"], "no segment 9: there are 4, from 0 to 3"),
        (["show", "/dev/null", "--from", "nbest", "--segment", "9"], "there are no segments"),
        (["show", "-"], "name the format: jsonl, json, csv, "),
        (["show", "moses.hg", "--weights", "w.toml"], "no weight for LM0"),
        (["convert", "moses.nbest", "out.txt"], "name the format: jsonl, json, csv, "),
        (["convert", "chart.hg", "out.plf"], "not a lattice"),
        (["convert", "moses.hg", "no/such/dir.jsonl"], "no such directory"),
        (["convert", "moses.nbest", "x.jsonl", "--from", "jsonl"], "moses.nbest:1: not valid JSON"),
        (["convert", "moses.nbest", "x.jsonl", "--from", "n-best"], "no format 'n-best': did you mean 'nbest'?"),
        (["convert", "moses.nbest", "moses.nbest"], "the output is also an input"),
        (
            ["show", "lattices.plf", "--svg", "x.svg", "--prune-below", "2"],
            "prune_below is 2.0: expected a probability",
        ),
        (["show", "lattices.plf", "--nbest", "-1"], "nbest is -1"),
    ],
)
def test_bad_input_is_named(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "w.toml").write_text("[weights]\nx = 1\n")
    before = sorted(path.name for path in folder.iterdir())
    assert message in fail("forest", *arguments)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("command", ["show", "convert"])
def test_help_shows_examples_and_formats(command: str) -> None:
    text = " ".join(run(command, "--help").replace("│", " ").split())
    assert "Examples" in text
    assert all(name in text for name in FORMATS)
