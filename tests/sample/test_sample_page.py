"""What docs/sample.md shows is so."""

import re
import shlex
from collections import Counter
from pathlib import Path

from typer.testing import CliRunner

from toledo.cli.app import app
from toledo.metrics.bleu import BLEU
from toledo.sample.corpus import generate

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "sample.md").read_text("utf-8")


def test_the_commands_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line) for line in re.findall(r"^toledo .*", PAGE, re.MULTILINE)]
    assert len(commands) == 3
    for command in commands:
        small = ["--train", "40", "--tune", "3", "--test", "3"]  # the last option of its kind counts
        result = CliRunner().invoke(app, [*command[1:], *small], catch_exceptions=False)
        assert result.exit_code == 0
    listed = set(re.findall(r"`((?:train|tune|test)\.[a-z0-9.]+)`", PAGE))
    assert {path.name for path in Path("sample").iterdir()} == listed


def test_the_session_runs(capsys):
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL).group(1), {})
    assert len(capsys.readouterr().out.splitlines()) == 4


def test_the_words_of_the_examples_exist():
    corpus = generate(train=20_000, tune=0, test=0)
    known = {word for line in corpus.train.sources for word in line.split()}
    examples = re.search(r"\| \| Talvan.*?\n\n", PAGE, re.DOTALL).group(0)
    shown = {word for text in re.findall(r"`([^`]*)`", examples) for word in text.split()}
    assert shown - known <= {"skolinomu", "the", "king", "'s", "house", "of"}


def test_the_numbers_are_true():
    corpus = generate()
    source, target = (
        [word for line in lines for word in line.split()] for lines in (corpus.train.sources, corpus.train.references[0])
    )
    assert f"{len(source) / 10_000:.1f} source and {len(target) / 10_000:.1f} target words" in PAGE
    assert f"{round(len(set(source)), -2):,} different source words and {round(len(set(target)), -2):,} target" in PAGE
    known = set(source)
    words = Counter(word for line in corpus.test.sources for word in line.split())
    unknown = sum(count for word, count in words.items() if word not in known)
    text = PAGE.replace("\n", " ")
    assert f"{100 * unknown / words.total():.1f} % of the source words" in text
    first, second = ([line.split() for line in lines] for lines in corpus.test.references)
    score = BLEU(smooth_method="none").score(
        BLEU(smooth_method="none").corpus_statistics(second, [[line] for line in first]).sum(axis=0)
    )
    assert f"one reference scores {score:.0f} BLEU against the other" in text


def test_bad_options_are_refused():
    result = CliRunner().invoke(app, ["sample", "--output", "unused", "--train", "0"])
    assert result.exit_code == 2


def test_help_shows_examples():
    assert "Examples" in CliRunner().invoke(app, ["sample", "--help"]).stdout
