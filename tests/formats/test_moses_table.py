"""Moses' phrase tables: what may vary, what is refused, and the same table back."""

import gzip
import logging
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import entries, make_table

from toledo import files
from toledo.errors import InputError
from toledo.formats.moses_table import read_phrase_table, write_phrase_table
from toledo.formats.moses_writing import line_order
from toledo.phrases.pruning import select_pairs
from toledo.phrases.table import SCORE_FEATURES, PhraseTable
from toledo.text.vocabulary import Vocabulary

LINE = "das haus ||| the house ||| 0.5 0.25 1 1e-3 ||| 0-0 1-1 ||| 4 3 2 ||| |||"


def read(tmp_path: Path, text: str | bytes, **options: Any) -> PhraseTable:
    path = tmp_path / "table"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_phrase_table(path, Vocabulary(), Vocabulary(), **options)


def test_a_line_is_read_in_full(tmp_path: Path) -> None:
    (pair,) = read(tmp_path, LINE)
    assert (pair.source, pair.target) == (("das", "haus"), ("the", "house"))
    assert tuple(pair.scores) == SCORE_FEATURES
    np.testing.assert_allclose(list(pair.scores.values()), np.log([0.5, 0.25, 1, 0.001]), rtol=1e-6)
    assert pair.alignment == ((0, 0), (1, 1))
    assert (pair.target_count, pair.source_count, pair.joint_count) == (4, 3, 2)


@pytest.mark.parametrize(
    "line",
    [
        "das haus ||| the house ||| 0.5 0.25 1 0.001",
        "das haus ||| the house ||| 0.5 0.25 1 0.001 |||",
        "das haus ||| the house ||| 0.5 0.25 1 0.001 ||| ||| ||| |||",
        "  das   haus |||\tthe house|||".replace("house|||", "house  |||") + "  5E-1  .25 1.0 +1.e-03  ||| \r",
    ],
)
def test_fields_may_be_missing_and_spaces_several(tmp_path: Path, line: str) -> None:
    (pair,) = read(tmp_path, line)
    assert (pair.source, pair.target) == (("das", "haus"), ("the", "house"))
    np.testing.assert_allclose(list(pair.scores.values()), np.log([0.5, 0.25, 1, 0.001]), rtol=1e-6)
    assert (pair.alignment, pair.target_count, pair.source_count, pair.joint_count) == ((), 0, 0, 0)


def test_a_probability_of_zero_is_minus_100(tmp_path: Path) -> None:
    table = read(tmp_path, "a ||| b ||| 0 0.0 1e-50 1e-43")
    np.testing.assert_allclose(table.scores, [[-100, -100, -100, np.log(1e-43)]], rtol=1e-6)


def test_more_columns_have_names_too(tmp_path: Path) -> None:
    table = read(tmp_path, "a ||| b ||| .1 .1 .1 .1 2.718 .5")
    assert table.feature_names == (*SCORE_FEATURES, "phrase.extra.1", "phrase.extra.2")
    assert table.scores[0, 4] == pytest.approx(1, abs=1e-3)
    assert read(tmp_path, "a ||| b ||| .1", feature_names=["only"]).feature_names == ("only",)


def test_two_counts_are_target_and_source(tmp_path: Path) -> None:
    (pair,) = read(tmp_path, "a ||| b ||| 1 1 1 1 ||| ||| 7 8")
    assert (pair.target_count, pair.source_count, pair.joint_count) == (7, 8, 0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "1 fields instead of 3 to 7"),
        ("a ||| b", "2 fields instead of 3 to 7"),
        ("a ||| b ||| 1 1 1 1 ||| ||| ||| ||| ||| 1", "8 fields instead of 3 to 7"),
        ("a|||b ||| c ||| 1 1 1 1", r"'a\|\|\|b' has \|\|\| inside a word"),
        ("a ||| b ||| 1 1 1", "3 scores instead of 4"),
        ("a ||| b ||| 1 1 1 1 1", "5 scores instead of 4"),
        ("a ||| b ||| 1 1 one 1", "'one' is not a number"),
        ("a ||| b ||| 1 1 nan 1", "'nan' is not a number"),
        ("a ||| b ||| 1 1 -0.5 1", "'-0.5' is negative"),
        ("a ||| b ||| 1 1 1e999 1", "'1e999' is too large"),
        (" ||| b ||| 1 1 1 1", "the source phrase is empty"),
        ("a ||| ||| 1 1 1 1", "the target phrase is empty"),
        ("a " * 256 + "||| b ||| 1 1 1 1", "more than 255 words"),
        ("a ||| b <s> ||| 1 1 1 1", "'<s>' is a reserved word"),
        ("a ||| b ||| 1 1 1 1 ||| 0-1", "'0-1' links a word outside"),
        ("a ||| b ||| 1 1 1 1 ||| 1-0", "'1-0' links a word outside"),
        ("a ||| b ||| 1 1 1 1 ||| 0:0", "'0:0' is not a link"),
        ("a ||| b ||| 1 1 1 1 ||| ||| 1", "1 counts"),
        ("a ||| b ||| 1 1 1 1 ||| ||| 1 x 1", "'x' is not a number"),
        ("a ||| b ||| 1 1 1 1 ||| ||| 1 1e39 1", "'1e39' is too large"),
        ("das  haus ||| the house ||| 1 1 1 1", "the phrase pair of line 1 comes again"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, f"{LINE}\n{line}\n{LINE.replace('das', 'ein')}\n")
    assert caught.value.line == 2
    assert caught.value.remedy


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no phrase pairs"):
        read(tmp_path, "")
    with pytest.raises(InputError, match="1 scores, but 4 are usual"):
        read(tmp_path, "a ||| b ||| 1")
    with pytest.raises(InputError, match=r"not valid UTF-8 \(byte 7 of the line\)") as caught:
        read(tmp_path, LINE.encode() + b"\nsch\xc3\xb6n\xf6n")
    assert caught.value.line == 2
    with pytest.raises(InputError, match="damaged gzip"):
        read(tmp_path, gzip.compress(LINE.encode())[:-9])


def test_line_numbers_count_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.read_blocks, "__defaults__", (files.silent, 50))
    good = "".join(f"{LINE.replace('das', str(number))}\n" for number in range(20))
    assert len(read(tmp_path, good)) == 20
    with pytest.raises(InputError, match="is negative") as caught:
        read(tmp_path, good + "a ||| b ||| 1 1 1 -1")
    assert caught.value.line == 21
    with pytest.raises(InputError, match="not valid UTF-8") as caught:
        read(tmp_path, good.encode() + b"\xff")
    assert caught.value.line == 21


def test_what_is_lost_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    table = read(
        tmp_path, "a ||| b ||| 1 1 1 1 ||| ||| 1 1 1 ||| dom 1\na ||| c ||| 1 1 1 1 ||| ||| 1 5 1 ||| ||| {{x}}"
    )
    assert "sparse features in 1 lines" in caplog.text
    assert "1 lines have a smaller count of their source phrase" in caplog.text
    assert table.source_counts.tolist() == [5]


def same_content(table: PhraseTable, other: PhraseTable) -> None:
    def by_words(of: PhraseTable) -> dict[Any, Any]:
        return {(pair.source, pair.target): pair for pair in of}

    first, second = by_words(table), by_words(other)
    assert first.keys() == second.keys()
    for key, pair in first.items():
        assert list(second[key].scores.values()) == pytest.approx(list(pair.scores.values()), rel=1e-6, abs=1e-9)
        assert second[key].alignment == pair.alignment
        assert second[key].joint_count == pytest.approx(pair.joint_count, rel=1e-6)


@given(entries.filter(bool), st.randoms())
def test_a_written_table_is_sorted_and_read_back(
    tmp_path_factory: pytest.TempPathFactory, content: dict[Any, Any], random: Any
) -> None:
    shifted = {pair: tuple(score * random.random() for score in scores) for pair, scores in content.items()}
    table, path = make_table(shifted), tmp_path_factory.mktemp("table") / "table.gz"
    write_phrase_table(path, table)
    lines = gzip.decompress(path.read_bytes()).splitlines()
    assert lines == sorted(lines)
    same_content(table, read_phrase_table(path, Vocabulary(), Vocabulary()))


def test_the_order_is_that_of_sort(tmp_path: Path) -> None:
    words = ["a", "a\x01", "z", "|", "||", "~", "é", "日", "A", "!", "{"]
    phrases = [(word,) for word in words] + [(first, second) for first in words for second in words]
    table = make_table({(phrase, (words[i % 11],)): (0, 0, 0, 0) for i, phrase in enumerate(phrases)})
    write_phrase_table(tmp_path / "table", table)
    content = (tmp_path / "table").read_bytes()
    assert subprocess.run(["sort"], input=content, env={"LC_ALL": "C"}, capture_output=True).stdout == content
    assert sorted(line_order(table).tolist()) == list(range(len(table)))


def test_unusual_numbers_are_written_so_that_they_come_back(tmp_path: Path) -> None:
    scores = np.array([-100, 0, -0.5, -1e-7, -3.0000002, -99.99999, -17.3, 1], np.float32)
    table = make_table({(("a",), ("b",)): tuple(scores[:4]), (("a",), ("c",)): tuple(scores[4:])})
    write_phrase_table(tmp_path / "table", table)
    assert " 0 1 " in (tmp_path / "table").read_text().replace("|||", "")
    again = {pair.target: pair.scores for pair in read_phrase_table(tmp_path / "table", Vocabulary(), Vocabulary())}
    read_back = [*again["b",].values(), *again["c",].values()]
    np.testing.assert_allclose(read_back, scores, rtol=2e-7, atol=1e-9)


def test_moses_own_table(moses_table: PhraseTable) -> None:
    assert len(moses_table) == 538_276
    counts, pairs = moses_table.source_counts[moses_table.pairs.source], moses_table.pairs
    # Unsmoothed relative frequencies: p(e|f) = n(f, e) / n(f).
    np.testing.assert_allclose(np.exp(moses_table.scores[:, 2]), pairs.joint_counts / counts, rtol=1e-5)


def test_moses_own_table_is_written_as_moses_did(moses_table: PhraseTable, moses_files: Path, tmp_path: Path) -> None:
    part = select_pairs(moses_table, np.arange(len(moses_table)) % 20 == 0)
    write_phrase_table(tmp_path / "table", part)
    written = (tmp_path / "table").read_bytes().splitlines()
    with gzip.open(moses_files / "phrase-table.gz", "rb") as stream:
        theirs = {line: number for number, line in enumerate(stream.read().splitlines())}
    same = [theirs[line] for line in written if line in theirs]
    assert same == sorted(same)
    # The others differ by one in the sixth digit of a very small probability: single precision.
    assert len(written) == len(part)
    assert len(same) > 0.99 * len(written)


@pytest.mark.parametrize("word", ["|||", "a|||b"])
def test_a_word_that_would_separate_fields_is_refused(tmp_path: Path, word: str) -> None:
    table = make_table({(("a", word), ("b",)): (0, 0, 0, 0)})
    with pytest.raises(InputError, match="cannot hold the phrase"):
        write_phrase_table(tmp_path / "table", table)
    assert not list(tmp_path.iterdir())
