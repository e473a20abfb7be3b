"""Metrics against sacreBLEU, in one run: CPU seconds of both, their ratio, and whether the numbers are equal.

    python benchmarks/metrics.py
    python benchmarks/metrics.py --reference ref.0 --reference ref.1 system

Without files, the second reference of the built-in sample is scored against the first. One thread; times include
splitting lines into words.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import sacrebleu.metrics as peers
from sacrebleu.significance import PairedTest

from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.significance.paired import measure, studentized_bootstrap
from toledo.metrics.significance.sacrebleu import SEED, bootstrap_p, resampled_scores
from toledo.metrics.ter import TER
from toledo.sample.corpus import pairs

SEGMENTS = 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", action="append", type=Path)
    parser.add_argument("system", nargs="?", type=Path)
    arguments = parser.parse_args()
    if arguments.system:
        lines, *references = (p.read_text("utf-8").splitlines() for p in (arguments.system, *arguments.reference))
    else:
        references = [[pair.target for pair in pairs(1, "test", SEGMENTS)]]
        lines = [pair.target for pair in pairs(1, "test", SEGMENTS, reference=1)]
    print(f"{len(lines)} segments, {len(references)} reference(s), CPU seconds")
    compare_metrics(lines, references)
    compare_bootstrap(lines, references)


def compare_metrics(lines: list[str], references: list[list[str]]) -> None:
    groups = list(zip(*references, strict=True))
    bleu, ter = peers.BLEU(tokenize="none", force=True, lowercase=True), peers.TER()
    for metric, peer in (
        (BLEU(smooth_method="none"), bleu),
        (TER(), ter),
        (CHRF(), peers.CHRF()),
        (CHRF(word_order=2), peers.CHRF(6, 2)),
    ):
        prepare = str if isinstance(metric, CHRF) else words

        def ours(metric=metric, prepare=prepare) -> object:
            prepared = [[prepare(line) for line in group] for group in groups]
            return metric.corpus_statistics([prepare(line) for line in lines], prepared, threads=1)

        def theirs(peer=peer) -> object:
            return np.array(peer._extract_corpus_statistics(lines, references), float)

        ours()  # compiled now
        (our_time, our_result), (their_time, their_result) = seconds(ours), seconds(theirs)
        report(metric.name, our_time, their_time, np.array_equal(our_result, their_result))


def compare_bootstrap(lines: list[str], references: list[list[str]]) -> None:
    """1000 resamples of the system against itself with every line reversed; counting is not timed.

    The default test has another p than sacreBLEU's, which may be equal by chance.
    """
    other = [" ".join(reversed(line.split())) for line in lines]
    metric, peer = BLEU(smooth_method="exp"), peers.BLEU(tokenize="none", force=True, lowercase=True)
    groups = [[words(line) for line in group] for group in zip(*references, strict=True)]
    first, second = (metric.corpus_statistics([words(line) for line in text], groups) for text in (other, lines))

    def ours() -> float:
        measured = [measure(metric, rows) for rows in (first, second)]
        return studentized_bootstrap(metric, measured, [(0, 1)], resamples=1000, seed=SEED).differences[0].p

    def as_theirs() -> float:
        difference = metric.score(first.sum(axis=0)) - metric.score(second.sum(axis=0))
        return bootstrap_p(difference, np.subtract(*resampled_scores(metric, [first, second], 1000, SEED)))

    test = PairedTest([("a", lines), ("b", other)], {"BLEU": peer}, references, test_type="bs", n_samples=1000)
    counting, _ = seconds(lambda: peer._extract_corpus_statistics(other, references))
    their_time, (_, expected) = seconds(test)
    for name, work in (("bootstrap", ours), ("as theirs", as_theirs)):
        work()  # compiled now
        our_time, p = min(seconds(work) for _ in range(5))
        report(name, our_time, their_time - counting, p == expected["BLEU"][1].p_value)


def words(line: str) -> list[str]:
    return line.lower().split()


def seconds(work: Callable[[], object]) -> tuple[float, object]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def report(name: str, ours: float, theirs: float, equal: bool) -> None:
    print(f"{name:10s} toledo {ours:8.3f}   sacreBLEU {theirs:8.3f}   ratio {theirs / ours:6.1f}   equal: {equal}")


if __name__ == "__main__":
    main()
