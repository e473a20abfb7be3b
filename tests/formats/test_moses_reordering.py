"""Moses' reordering tables, joined to phrase tables."""

import logging
from pathlib import Path

import numpy as np
import pytest
from small_tables import make_table

from toledo.errors import InputError
from toledo.formats.moses_table import read_reordering_table, write_reordering_table
from toledo.phrases.pruning import filter_for
from toledo.phrases.table import REORDERING_FEATURES, PhraseTable
from toledo.text.corpus import Sentences

ZEROS = (0, 0, 0, 0)
SIX = "0.5 0.25 0.25 1 0 0"


@pytest.fixture
def table() -> PhraseTable:
    return make_table({(("a",), ("x",)): ZEROS, (("a",), ("y",)): ZEROS, (("a", "b"), ("x", "y")): ZEROS})


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "reordering"
    path.write_text("".join(line + "\n" for line in lines))
    return path


COMPLETE = (f"a b ||| x y ||| {SIX}", "a ||| x ||| 1 1 1 1 1 1", "a ||| y ||| 1 1 1 1 1 0.5")


def test_probabilities_join_their_pairs_in_any_order(tmp_path: Path, table: PhraseTable) -> None:
    joined = read_reordering_table(write(tmp_path, *COMPLETE), table)
    scores = {pair.target: pair.scores for pair in joined}
    assert scores["x", "y"]["reordering.previous.swap"] == pytest.approx(np.log(0.25))
    assert scores["x", "y"]["reordering.following.swap"] == -100
    assert scores["y",]["reordering.following.discontinuous"] == pytest.approx(np.log(0.5))
    assert table.reordering is None


def test_lines_without_a_pair_are_left_out(
    tmp_path: Path, table: PhraseTable, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    others = (f"a ||| x y ||| {SIX}", f"neu ||| x ||| {SIX}", f"a b a ||| new ||| {SIX}")
    joined = read_reordering_table(write(tmp_path, *others, *COMPLETE), table)
    assert joined.reordering is not None
    assert "3 pairs are not in the phrase table" in caplog.text
    assert "neu" not in table.source_vocabulary


def test_a_missing_pair_is_named_or_gets_the_default(tmp_path: Path, table: PhraseTable) -> None:
    path = write(tmp_path, *COMPLETE[:2])
    with pytest.raises(InputError, match=r"no line for 1 of 3 phrase pairs, among them: a \|\|\| y"):
        read_reordering_table(path, table)
    joined = read_reordering_table(path, table, default=(0.5, 0.5, 0, 0.5, 0.5, 0))
    scores = {pair.target: pair.scores for pair in joined}
    assert scores["y",]["reordering.previous.swap"] == pytest.approx(np.log(0.5))
    assert scores["y",]["reordering.previous.discontinuous"] == -100
    for default in ((1.0,) * 5, (1.0, 1, 1, 1, 1, -1), (float("nan"),) * 6):
        with pytest.raises(InputError, match="six probabilities"):
            read_reordering_table(path, table, default=default)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a ||| x", "2 fields instead of 3"),
        (f"a ||| x ||| {SIX} ||| 0-0", "4 fields instead of 3"),
        ("a ||| x ||| 1 1 1", "3 scores instead of 6"),
        ("a ||| x ||| 1 1 1 1 1 -1", "is negative"),
        (f" ||| x ||| {SIX}", "source phrase is empty"),
        (f"a b ||| x  y ||| {SIX}", "comes a second time"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, table: PhraseTable, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_reordering_table(write(tmp_path, COMPLETE[0], line), table)
    assert caught.value.line == 2


def test_a_written_table_is_read_back(tmp_path: Path, table: PhraseTable) -> None:
    path = write(tmp_path, *COMPLETE)
    joined = read_reordering_table(path, table)
    write_reordering_table(tmp_path / "again.gz", joined)
    again = read_reordering_table(tmp_path / "again.gz", table)
    assert list(again) == list(joined)
    write_reordering_table(tmp_path / "plain", joined)
    assert sorted((tmp_path / "plain").read_text().splitlines()) == sorted(COMPLETE)
    with pytest.raises(InputError, match="no reordering scores"):
        write_reordering_table(tmp_path / "nothing", table)


def test_moses_own_table(moses_table: PhraseTable, moses_files: Path) -> None:
    words = moses_table.source_vocabulary.ids(["ein", "mann", "mit", "hut", "steht", "auf", "der", "straße", "."])
    part = filter_for(moses_table, Sentences.from_lengths(words, np.array([words.size])))
    joined = read_reordering_table(moses_files / "reordering-table.gz", part)
    assert joined.reordering is not None
    np.testing.assert_allclose(np.exp(joined.reordering).reshape(-1, 2, 3).sum(axis=2), 1, atol=3e-6)
    (pair,) = (pair for pair in joined if (pair.source, pair.target) == (("ein",), ("a",)))
    probabilities = (0.926121, 0.00589596, 0.0679827, 0.923385, 0.00433239, 0.0722825)
    np.testing.assert_allclose([pair.scores[name] for name in REORDERING_FEATURES], np.log(probabilities), rtol=1e-6)
