"""TER of all outputs of a language pair against sacreBLEU, in one run: CPU seconds, ratio, and whether edits are equal.

    python benchmarks/ter.py ../shared/data/wmt22-syscomb/cs-en/tune ../shared/data/wmt22-syscomb/cs-en/test

Each folder has tokenized files `sys.*` and `ref.*`. One thread; times include splitting lines into words. The edits of
every segment are compared, with all references together.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu.metrics as peers
from numpy.typing import NDArray

from toledo.metrics.ter import TER

Statistics = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    total = np.zeros(4)
    for folder in parser.parse_args().folders:
        references = [read(path) for path in sorted(folder.glob("ref.*"))]
        ours(references[0][:10], [some[:10] for some in references])  # compiled now
        for path in sorted(folder.glob("sys.*")):
            row = compare(read(path), references)
            report(f"{folder.name}/{path.name}", row)
            total += row
    report("all", total)


def compare(lines: list[str], references: list[list[str]]) -> NDArray[np.float64]:
    """Segments, segments that differ, and the CPU seconds of both."""
    seconds, counted = timed(lambda: ours(lines, references))
    peer_seconds, expected = timed(lambda: theirs(lines, references))
    different = np.count_nonzero((counted != expected).any(axis=1))
    return np.array([len(lines), different, seconds, peer_seconds])


def ours(lines: list[str], references: list[list[str]]) -> Statistics:
    groups = [[text.lower().split() for text in group] for group in zip(*references, strict=True)]
    return TER().corpus_statistics([line.lower().split() for line in lines], groups, threads=1)


def theirs(lines: list[str], references: list[list[str]]) -> Statistics:
    return np.array(peers.TER()._extract_corpus_statistics(lines, references), float)


def timed(work: Callable[[], Statistics]) -> tuple[float, Statistics]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def report(name: str, row: NDArray[np.float64]) -> None:
    segments, different, seconds, peer_seconds = row.tolist()
    times = f"toledo {seconds:7.3f}   sacreBLEU {peer_seconds:8.3f}   ratio {peer_seconds / seconds:6.1f}"
    print(f"{name:36s} {segments:6.0f} segments, {different:.0f} differ   {times}", flush=True)


def read(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


if __name__ == "__main__":
    main()
