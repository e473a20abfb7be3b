"""Phrase tables: reading and writing Moses' text, look-up of all phrases of a text, loading a stored table.

    python benchmarks/phrase_table.py [--table phrase-table.gz] [--text test2016.de]

All figures are work per CPU second (user and system time of all threads), compilation not counted.
"""

from __future__ import annotations

import argparse
import gzip
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from toledo import storage
from toledo.formats.moses_table import read_phrase_table, write_phrase_table
from toledo.phrases.pruning import filter_for
from toledo.phrases.table import PhraseTable
from toledo.text.corpus import Sentences, read_sentences
from toledo.text.vocabulary import Vocabulary

DATA = Path(__file__).resolve().parents[2] / "shared" / "peers" / "moses-de-en"
REPEATS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=DATA / "phrase-table.gz", help="a text table, packed")
    parser.add_argument("--text", type=Path, default=DATA / "test2016.de", help="tokenized as the table is")
    options = parser.parse_args()
    if not options.table.exists():
        print(f"{options.table} is not there: name a table with --table")
        return
    with tempfile.TemporaryDirectory() as folder:
        compile_kernels(options, Path(folder))
        measure(options, Path(folder))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def measure(options: argparse.Namespace, folder: Path) -> None:
    with timed("reading the text table", "lines") as work:
        table = read_phrase_table(options.table, Vocabulary(), Vocabulary())
        work.append(len(table))
    for name in ("table", "table.gz"):
        with timed(f"writing {name}", "lines") as work:
            write_phrase_table(folder / name, table)
            work.append(len(table))
    text = read_sentences(options.text, table.source_vocabulary, grow=False)
    with timed("look-up of all spans", "spans") as work:
        work.append(sum(look_up(table, text) for _ in range(REPEATS)))
    with timed("filtering for the text", "words") as work:
        print(f"  {len(filter_for(table, text))} of {len(table)} pairs, {text.words.size} words")
        work.append(text.words.size)
    storage.save(folder / "stored", "table.toml", {}, table.to_arrays())
    with timed("loading a stored table", "pairs") as work:
        load(folder, table)
        work.append(len(table))
    with timed("  the same, arrays checked again", "pairs") as work:
        PhraseTable.from_arrays(table.to_arrays(), table.source_vocabulary, table.target_vocabulary)
        work.append(len(table))


def look_up(table: PhraseTable, text: Sentences) -> int:
    """The number of spans asked for: every span up to the length of the longest source phrase."""
    for sentence in text:
        table.lookup(sentence)
    lengths = text.lengths
    return sum(int(np.maximum(lengths - shorter, 0).sum()) for shorter in range(table.longest_source))


def load(folder: Path, table: PhraseTable) -> PhraseTable:
    _, arrays = storage.load(folder / "stored", "table.toml")
    print(f"  {sum(array.nbytes for array in arrays.values()) / 2**20:.0f} MiB of arrays")
    return PhraseTable.from_arrays(arrays, table.source_vocabulary, table.target_vocabulary)


def compile_kernels(options: argparse.Namespace, folder: Path) -> None:
    with gzip.open(options.table, "rt", encoding="utf-8") as stream:
        (folder / "small").write_text("".join(islice(stream, 1000)), encoding="utf-8")
    table = read_phrase_table(folder / "small", Vocabulary(), Vocabulary())
    write_phrase_table(folder / "written", table)
    text = read_sentences(options.text, table.source_vocabulary, grow=False)
    look_up(table, text)
    filter_for(table, text)


@contextmanager
def timed(label: str, unit: str) -> Iterator[list[int]]:
    work: list[int] = []
    begin = time.process_time()
    yield work
    spent = time.process_time() - begin
    print(f"{label:32} {spent:7.3f} CPU s  {sum(work) / spent:14,.0f} {unit} per CPU s", flush=True)


if __name__ == "__main__":
    main()
