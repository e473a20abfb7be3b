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


def test_segments_are_shown_with_marks(folder: Path) -> None:
    out = succeed("compare", folder / "good", folder / "bad", *both(folder), "--segments", 1, "--tokenize", "none")
    assert "bad against good, chrF2 of segments: better in 0, equal in 1, worse in 3" in out
    assert "bad loses most\n  line 2:" in out
    assert "good       [-Hello,*-] [-World-][-!*-]\n" in out
    assert "n-grams that bad gets right less often" in out
    assert "chrF2 by length of the reference" in out
    assert "\x1b[" not in out
    without = succeed("compare", folder / "good", folder / "bad", *both(folder), "--segments", 0)
    assert "loses most" not in without


def test_colors_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from toledo.cli import evaluate

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", type("Terminal", (), {"isatty": lambda self: True})())
    assert evaluate._has_colors()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not evaluate._has_colors()


def test_a_pair_another_metric_and_json(folder: Path) -> None:
    systems = [f"{name}={folder / name}" for name in ("good", "bad", "ref.1")]
    (folder / "train").write_text("The cat\nThe dog\n")
    options = (
        "--pair",
        "bad",
        "ref.1",
        "--segments",
        2,
        "--segment-metric",
        "ter",
        "--frequency-text",
        folder / "train",
    )
    content = json.loads(succeed("compare", *systems, "-r", folder / "ref.0", *options, "--json"))["result"]
    (pair,) = content["analysis"]["pairs"]
    assert (pair["system"], pair["baseline"], content["analysis"]["metric"]) == ("ref.1", "bad", "ter")
    assert pair["wins"] + pair["ties"] + pair["losses"] == 4
    assert [one["label"] for one in content["analysis"]["by_frequency"]] == ["0", "1", "2"]
    assert list(content["systems"]) == ["good", "bad", "ref.1"]


def test_scores_of_segments_and_the_page_are_written(folder: Path) -> None:
    systems = (folder / "good", folder / "bad")
    table, page = folder / "scores.tsv", folder / "page.html"
    out = succeed("compare", *systems, *both(folder), "--write-segments", table, "--write-report", page)
    assert "better in" not in out
    lines = table.read_text("utf-8").splitlines()
    assert lines[0].split("\t") == ["segment", "system", "bleu", "chrf", "ter", "text"]
    assert len(lines) == 1 + 2 * len(GOOD)
    assert lines[1].split("\t")[::5] == ["0", GOOD[0]]
    assert 'id="line-4"' in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--write-segments", "scores.xls"], "end the name in .tsv, .json, .jsonl"),
        (["--write-report", "good"], "the output is also an input"),
        (["--write-report", "absent/page.html"], "absent"),
        (["--segments", "3", "--pair", "good", "nobody"], "no system 'nobody'"),
        (["--segments", "-1"], "Must be >= 0"),
        (["--segments", "3", "--frequency-text", "nothing"], "nothing"),
        (["--segments", "3", "--segment-metric", "comet"], "no metric 'comet'"),
    ],
)
def test_wrong_options_for_segments(
    folder: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(folder)
    assert message in fail("compare", "good", "bad", "-r", "ref.0", *options)


def test_systems_of_different_lengths_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("short").write_text("one line\n")
    assert "good has 4 lines, short has 1 line\n" in fail("compare", "good", "short", "-r", "ref.0")
    assert "good has 4 lines, short has 1 line\n" in fail("compare", "good", "bad", "-r", "ref.0", "-r", "short")
