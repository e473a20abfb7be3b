"""Beam search: model score, BLEU and speed by pop limit, threads, time by length, memory; beside Moses and moses2.

    python benchmarks/translation.py                      # on the built-in sample
    python benchmarks/translation.py MODEL SOURCE REFERENCE [--pop-limits 50 100 200 …] [--repeat 3]
    python benchmarks/translation.py MODEL SOURCE REFERENCE --moses moses.ini --moses-program bin/moses2
    python benchmarks/translation.py MODEL SOURCE REFERENCE --scores FILE     # with a line for each sentence

MODEL is a model directory; the texts are tokenized as for it. CPU seconds of one thread, loading and compilation not
counted; for a Moses program the time of a run with an empty input is taken off. FILE has model scores of another
search, to compare with those of the last pop limit.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from on_sample import make_model

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", help="without one, the built-in sample's")
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("reference", type=Path, nargs="?")
    parser.add_argument("--pop-limits", type=int, nargs="*", default=[10, 50, 100, 200, 230, 400, 1000, 2000, 5000])
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--moses", type=Path, help="a moses.ini with absolute paths")
    parser.add_argument("--moses-program", type=Path, help="moses or moses2")
    parser.add_argument("--scores", type=Path, help="model scores that another search has found")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            options.model, options.source, options.reference = make_model(Path(folder))
        measure(options)


def measure(options: argparse.Namespace) -> None:
    model = PhraseModel.load(options.model)
    source = [line.split() for line in options.source.read_text("utf-8").splitlines()]
    references = [[line.split()] for line in options.reference.read_text("utf-8").splitlines()]
    curve(model, source, references, options)
    threads(model, source, options.repeat)
    lengths(model, source, options.repeat)
    print(f"\nPeak memory of all this: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def curve(
    model: PhraseModel, source: list[list[str]], references: list[list[list[str]]], options: argparse.Namespace
) -> None:
    print(f"{len(source):,} sentences, {sum(map(len, source)):,} words\n")
    print("| pop limit | CPU s | sentences per CPU s | mean model score | BLEU |\n|---|---|---|---|---|")
    for limit in options.pop_limits:
        search = BeamSearch(model, Beam(limit))
        search.translate(source[:20], threads=1)
        best = float("inf")
        for _ in range(options.repeat):
            start = time.process_time()
            found = search.translate(source, threads=1)
            best = min(best, time.process_time() - start)
        row(f"{limit}", best, [one.score for one in found], [list(one.words) for one in found], references)
        if options.moses is not None:
            peer(options, limit, references)
    if options.scores:
        compare([one.score for one in found], options.scores)


def compare(found: list[float], file: Path) -> None:
    """Moses prints six digits: scores beyond -100 are rounded to 0.0005."""
    ours, theirs = np.array(found), np.loadtxt(file)
    differences, precise = abs(ours - theirs), theirs > -100
    means = ours[precise].mean() - theirs[precise].mean()
    print(f"\n{file.name}: the largest difference of scores is {differences.max():.6f}. Above -100 there are")
    print(f"{precise.sum()} scores: it is {differences[precise].max():.1e} there, and means differ by {means:.1e}.")


def row(name: str, seconds: float, scores: list[float], found: list[list[str]], references: list) -> None:
    metric = BLEU(smooth_method="none")
    bleu = metric.score(metric.corpus_statistics(found, references).sum(axis=0))
    print(f"| {name} | {seconds:.2f} | {len(found) / seconds:.0f} | {np.mean(scores):.6f} | {bleu:.2f} |", flush=True)


def peer(options: argparse.Namespace, limit: int, references: list) -> None:
    """A Moses program with cube pruning at the same pop limit."""
    with tempfile.TemporaryDirectory() as folder:
        empty, lists = Path(folder) / "empty", Path(folder) / "lists"
        empty.write_text("\n")
        common = ["-f", options.moses, "-search-algorithm", "1", "-cube-pruning-pop-limit", limit, "-s", limit]
        command = [str(part) for part in [options.moses_program, *common, "-threads", "1", "-v", "0"]]
        loading = min(child_seconds([*command, "-i", str(empty)]) for _ in range(options.repeat))
        best = min(child_seconds([*command, "-i", str(options.source)]) for _ in range(options.repeat))
        subprocess.run(
            [*command, "-i", str(options.source), "-n-best-list", str(lists), "1"], check=True, capture_output=True
        )
        lines = lists.read_text("utf-8").splitlines()
        fields = list({int(line.split("|||")[0]): line.split("|||") for line in reversed(lines)}.values())[::-1]
    texts, scores = [parts[1].split() for parts in fields], [float(parts[3]) for parts in fields]
    row(f"{limit}, {options.moses_program.name}", best - loading, scores, texts, references)


def child_seconds(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def threads(model: PhraseModel, source: list[list[str]], repeat: int) -> None:
    print("\nTwo threads beside one (wall time)")
    for limit in (200, 1000):
        search, wall = BeamSearch(model, Beam(limit)), {1: float("inf"), 2: float("inf")}
        for _ in range(repeat):
            for number in wall:
                start = time.perf_counter()
                search.translate(source, threads=number)
                wall[number] = min(wall[number], time.perf_counter() - start)
        print(f"  pop limit {limit}: {wall[1] / wall[2]:.2f} times as fast")


def lengths(model: PhraseModel, source: list[list[str]], repeat: int) -> None:
    print("\nTime by length, pop limit 200: sentences of the text put together")
    words = [word for sentence in source for word in sentence]
    search = BeamSearch(model, Beam(200))
    for length in (10, 20, 50, 100, 200, 500):
        sentences = [words[begin : begin + length] for begin in range(0, min(len(words), 10_000) - length, length)]
        best = float("inf")
        for _ in range(repeat):
            start = time.process_time()
            search.translate(sentences, threads=1)
            best = min(best, time.process_time() - start)
        print(f"  {length:>4} words: {best / (len(sentences) * length) * 1e6:6.1f} CPU µs per word")


if __name__ == "__main__":
    main()
