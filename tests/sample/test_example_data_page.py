"""What docs/example-data.md shows is so."""

import re
from collections import Counter
from pathlib import Path

from command_line import fail, succeed
from page_commands import run_page

from toledo.metrics.bleu import BLEU
from toledo.sample.corpus import generate

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "example-data.md").read_text("utf-8")


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(PAGE.replace("--train 1000000", "--train 40 --tune 3 --test 3"))
    listed = set(re.findall(r"`((?:train|tune|test)\.[a-z0-9.]+)`", PAGE))
    assert {path.name for path in Path("data").iterdir()} == listed


def test_the_words_of_the_examples_exist():
    corpus = generate(train=20_000, tune=0, test=0)
    known = {word for line in corpus.train.sources for word in line.split()}
    examples = re.search(r"\| \| Talvan.*?\n\n", PAGE, re.DOTALL).group(0)
    shown = {word for text in re.findall(r"`([^`]*)`", examples) for word in text.split()}
    assert len(shown) > 15
    assert shown <= known


def test_the_numbers_are_true():
    corpus, text = generate(), PAGE.replace("\n", " ")
    source, target = (
        [word for line in lines for word in line.split()]
        for lines in (corpus.train.sources, corpus.train.references[0])
    )
    assert f"{len(source) / 10_000:.1f} source and {len(target) / 10_000:.1f} target words" in text
    assert f"{round(len(set(source)), -2):,} different source words and {round(len(set(target)), -2):,} target" in text
    known = set(source)
    words = Counter(word for line in corpus.test.sources for word in line.split())
    unknown = sum(count for word, count in words.items() if word not in known)
    assert f"{100 * unknown / words.total():.1f} % of the source words" in text
    first, second = ([line.split() for line in lines] for lines in corpus.test.references)
    score = BLEU(smooth_method="none").score(
        BLEU(smooth_method="none").corpus_statistics(second, [[line] for line in first]).sum(axis=0)
    )
    assert "one reference has a high BLEU against the other, far from 100" in text
    assert 70 < score < 90


def test_bad_options_are_refused():
    assert "train" in fail("example-data", "unused", "--train", 0)
    assert not Path("unused").exists()


def test_help_shows_examples():
    assert "Examples" in succeed("example-data", "--help")
