"""`toledo evaluate` and `toledo compare` from the outside."""

import gzip
import json
from pathlib import Path

import pytest
import sacrebleu.metrics as peers
from command_line import fail, run, succeed

REFERENCES = ["The cat sat on the mat.", "Hello, world!", "", "It is a Test, isn't it?"]
OTHERS = ["A cat was sitting on the mat.", "Hi, world!", "", "This is a test, is it not?"]
GOOD = ["The cat sat on a mat.", "Hello, World!", "", "It is a test."]
BAD = ["cat mat", "", "something", "It was a Test"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, lines in (("ref.0", REFERENCES), ("ref.1", OTHERS), ("good", GOOD), ("bad", BAD)):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    return tmp_path


def both(folder: Path) -> tuple[object, ...]:
    return ("-r", folder / "ref.0", "-r", folder / "ref.1")


@pytest.mark.parametrize("tokenize", ["13a", "none", "intl", "char"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_scores_and_signatures_are_those_of_sacrebleu(folder: Path, tokenize: str, lowercase: bool) -> None:
    options = ["--interval", 0, "--tokenize", tokenize, *(["--lowercase"] if lowercase else [])]
    names = [part for name in ("bleu", "chrf", "chrf++", "ter") for part in ("--metric", name)]
    metrics = [
        peers.BLEU(tokenize=tokenize, lowercase=lowercase, force=True),
        peers.CHRF(lowercase=lowercase),
        peers.CHRF(lowercase=lowercase, word_order=2),
        peers.TER(),
    ]
    for name, lines in (("good", GOOD), ("bad", BAD)):
        content = json.loads(succeed("evaluate", folder / name, *both(folder), *options, *names, "--json"))
        for key, metric in zip(("bleu", "chrf", "chrf++", "ter"), metrics, strict=True):
            expected = metric.corpus_score(lines, [REFERENCES, OTHERS])
            score = content["result"]["scores"][key]
            assert score["score"] == pytest.approx(expected.score, abs=1e-6)
            assert score["signature"] == metric.get_signature().format()


def test_perfect_scores_are_round(folder: Path) -> None:
    result = json.loads(succeed("evaluate", folder / "ref.0", "-r", folder / "ref.0", "--json"))["result"]
    assert {name: score["score"] for name, score in result["scores"].items()} == {"bleu": 100, "chrf": 100, "ter": 0}
    assert result["length_ratio"] == 1


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_several_files_are_compared_with_the_first(folder: Path, command: str) -> None:
    out = succeed(command, folder / "good", folder / "bad", *both(folder))
    assert "p (Holm)" in out
    assert "against 'good'" in out
    assert len(out.splitlines()) >= 4


def test_named_systems_and_runs(folder: Path) -> None:
    out = succeed("compare", f"one={folder / 'good'}", f"two={folder / 'bad'}", *both(folder), "--baseline", "two")
    assert "against 'two'" in out
    runs = (f"one={folder / 'good'}", f"one={folder / 'ref.1'}", f"two={folder / 'bad'}")
    content = json.loads(succeed("compare", *runs, *both(folder), "--json", "-m", "bleu"))
    assert list(content["result"]["systems"]) == ["one", "two"]


def test_packed_files_and_standard_input(folder: Path) -> None:
    plain = succeed("evaluate", folder / "good", "-r", folder / "ref.0")
    with gzip.open(folder / "good.gz", "wt", encoding="utf-8") as stream:
        stream.write((folder / "good").read_text())
    assert succeed("evaluate", folder / "good.gz", "-r", folder / "ref.0") == plain
    assert succeed("evaluate", "-", "-r", folder / "ref.0", input=(folder / "good").read_text()) == plain
    assert succeed("evaluate", "-r", folder / "ref.0", input=(folder / "good").read_text()) == plain


def test_tokenized_text_beside_raw_text_is_noticed(folder: Path) -> None:
    (folder / "tokens").write_text("".join(f"{line.replace('.', ' .')}\n" for line in [REFERENCES[0]] * 4))
    (folder / "raw").write_text(f"{REFERENCES[0]}\n" * 4)
    assert "tokenized" in run("evaluate", folder / "tokens", "-r", folder / "raw").stderr
    assert "tokenize" in run("evaluate", folder / "tokens", "-r", folder / "tokens").stderr
    assert not run("evaluate", folder / "raw", "-r", folder / "raw").stderr.count("tokenized")


def test_the_same_text_is_not_different(folder: Path) -> None:
    (folder / "again").write_text((folder / "good").read_text())
    content = json.loads(succeed("compare", folder / "good", folder / "again", *both(folder), "--json"))
    assert {test["p"] for test in content["result"]["tests"]} == {1.0}
    content = json.loads(succeed("evaluate", folder / "good", folder / "good", *both(folder), "--json"))
    assert list(content["result"]["systems"]) == ["good", "good (2)"]
    assert {test["p"] for test in content["result"]["tests"]} == {1.0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good"], "needs references"),
        (["good", "-r", "short"], "good has 4 lines, short has 1 line\n"),
        (["empty", "-r", "ref.0"], "the file is empty"),
        (["good", "-r", "ref.0", "-m", "blue"], "no metric 'blue': did you mean 'bleu'?"),
        (["good", "-r", "ref.0", "--resamples", "0"], "resamples"),
        (["good", "-r", "absent"], "absent"),
        (["-", "-r", "-"], "standard input can be read only once"),
    ],
)
def test_bad_input_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str) -> None:
    monkeypatch.chdir(folder)
    Path("short").write_text("one line\n")
    Path("empty").write_text("")
    assert message in fail("evaluate", *arguments, input="a\n")
