"""The indented Python on the page on phrase tables, which goes on with what its session has, runs as printed."""

import re
from pathlib import Path

import numpy as np
import pytest
from page_commands import programs

from toledo.files import write_lines
from toledo.formats.alignments import read_alignments
from toledo.formats.moses_table import read_phrase_table, read_reordering_table
from toledo.text.corpus import read_parallel
from toledo.text.vocabulary import Vocabulary

TEXT = (Path(__file__).parents[2] / "docs" / "phrase-tables.md").read_text(encoding="utf-8")


def test_a_default_for_pairs_without_reordering(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["ein ||| a ||| 0.5 0.5 0.8 0.7", "haus ||| house ||| 0.5 0.5 0.8 0.7"]
    write_lines("phrase-table.gz", lines)
    write_lines("reordering-table.gz", ["ein ||| a ||| 0.6 0.2 0.2 0.6 0.2 0.2"])
    table = read_phrase_table("phrase-table.gz", Vocabulary(), Vocabulary())
    (line,) = re.findall(r"^    (read_reordering_table\(.*default.*)", TEXT, re.MULTILINE)
    table = eval(line, {"read_reordering_table": read_reordering_table, "table": table})
    assert np.exp(table[1].scores["reordering.previous.monotone"]) == pytest.approx(0.6)


def test_a_table_from_an_aligned_corpus(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_lines("train.de", ["ein haus", "ein hund", "das haus"] * 5)
    write_lines("train.en", ["a house", "a dog", "the house"] * 5)
    write_lines("links", ["0-0 1-1"] * 15)
    names = {"alignments": read_alignments("links", read_parallel("train.de", "train.en"))}
    (program,) = programs(TEXT)
    exec(compile(program, "phrase-tables.md", "exec"), names)
    assert {" ".join(option.pair.target) for option in names["table"].options(["das", "haus"])} >= {"the house"}
