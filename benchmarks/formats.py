"""Lines per CPU second of reading and writing n-best lists, JSONL and hypergraphs.

    python benchmarks/formats.py
    python benchmarks/formats.py nbest.gz

Without a file, lists are made up: 200 segments, 100 hypotheses each, eight features. One thread.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from toledo.formats.hypergraph import hypergraph_text, read_hypergraphs
from toledo.formats.hypotheses import Entry, NBestList, feature_names, to_forest
from toledo.formats.jsonl import read_jsonl, write_jsonl
from toledo.formats.nbest import read_nbest, write_nbest
from toledo.sample.corpus import pairs
from toledo.text.vocabulary import Vocabulary

SEGMENTS, SIZE = 200, 100
Result = TypeVar("Result")


def main() -> None:
    lists = list(read_nbest(sys.argv[1])) if len(sys.argv) > 1 else made_up()
    total = sum(len(some.entries) for some in lists)
    print(f"{len(lists)} segments, {total} hypotheses; thousands of them per CPU second")
    names, words = feature_names(lists), Vocabulary()
    to_forest(lists[0].entries, names, words)  # compiled now
    with tempfile.TemporaryDirectory() as folder:
        for form, write, read in (("n-best", write_nbest, read_nbest), ("jsonl", write_jsonl, read_jsonl)):
            path = Path(folder) / form
            report(f"write {form}", total, lambda write=write, path=path: write(lists, path))
            report(f"read {form}", total, lambda read=read, path=path: list(read(path)))
        forests = report("to forests", total, lambda: [to_forest(some.entries, names, words) for some in lists])
        path = Path(folder) / "graphs"
        report("write hypergraph", total, lambda: path.write_text("".join(map(hypergraph_text, forests))))
        report("read hypergraph", total, lambda: list(read_hypergraphs(path, Vocabulary(), names)))


def made_up() -> list[NBestList]:
    generator = random.Random(1)
    targets = [pair.target.split() for pair in pairs(1, "test", SEGMENTS)]

    def entry(words: list[str]) -> Entry:
        features = {f"feature_{k}": round(generator.uniform(-20, 0), 4) for k in range(1, 9)}
        return Entry([word for word in words if generator.random() < 0.9], features, score=sum(features.values()))

    return [NBestList(segment, tuple(entry(words) for _ in range(SIZE))) for segment, words in enumerate(targets)]


def report(name: str, total: int, work: Callable[[], Result]) -> Result:
    start = time.process_time()
    result = work()
    print(f"{name:18s} {total / (time.process_time() - start) / 1000:8.1f}")
    return result


if __name__ == "__main__":
    main()
