"""Time and memory of the whole training, by corpus size: is it linear, does it fit?

    python benchmarks/training.py --sizes 100000 300000 1000000

Generated sentence pairs of 20 words are written to files; `toledo train` then runs as a user would run it, in a process
of its own. CPU seconds are user and system time of all threads.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from phrases import generate

from toledo.files import write_lines
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary


def write_text(path: Path, sentences: Sentences, vocabulary: Vocabulary) -> None:
    write_lines(path, (" ".join(vocabulary.words(words.tolist())) for words in sentences))


def measure(size: int, folder: Path) -> None:
    """In a process of its own: the memory of a waited-for child is the largest of all so far."""
    corpus, _ = generate(size, 1)
    write_text(folder / "source", corpus.source, corpus.source_vocabulary)
    write_text(folder / "target", corpus.target, corpus.target_vocabulary)
    del corpus
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [
        sys.executable,
        "-m",
        "toledo",
        "train",
        "--tokenized",
        "--source",
        folder / "source",
        "--target",
        folder / "target",
    ]
    subprocess.run([*map(str, command), "--output", str(folder / "model"), "--quiet"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    disk = sum(file.stat().st_size for file in (folder / "model").iterdir())
    print(
        f"| {size:,} | {cpu:.0f} | {size / cpu:,.0f} | {after.ru_maxrss / 2**20:.2f} | {disk / 2**30:.2f} |", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 30_000])
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        with tempfile.TemporaryDirectory() as folder:
            measure(options.only, Path(folder))
        return
    print("| sentence pairs | CPU s | pairs per CPU s | peak GiB | model GiB |\n|---|---|---|---|---|", flush=True)
    for size in options.sizes:
        subprocess.run([sys.executable, __file__, "--only", str(size)], check=True, env=os.environ)


if __name__ == "__main__":
    main()
