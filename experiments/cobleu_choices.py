"""Why CoBLEU is trained as it is: the ridge of the brevity penalty, and features of words by cross-validation.

    python experiments/cobleu_choices.py ../shared/data --work cobleu --ridge es-en
    python experiments/cobleu_choices.py ../shared/data --work cobleu --words de-en,fr-en,es-en

--ridge maximizes CoBLEU on the forests that ITG search finds with default weights: by gradient ascent, by L-BFGS, and
by both after a rounded penalty. --words tunes on each half of the tuning set and decodes the other half by consensus,
with and without features of frequent words. Its forests come from a second search, with weights tuned on the first.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from cobleu import Bench, Condition, cobleu

from toledo.consensus.decide import decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.scale import norm_of
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.tuning.examples import Examples
from toledo.weights import Weights

METRIC = BLEU(smooth_method="none")
SHARPNESS = (5.0, 10.0)
SETTINGS = [(0, 1e-5), (0, 1e-4), (0, 3e-4), (0, 1e-3), (300, 1e-3), (300, 3e-3)]


def main() -> None:
    """Print a table for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("cobleu"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ridge", default="", metavar="PAIRS", help="with , between them")
    parser.add_argument("--words", default="", metavar="PAIRS", help="with , between them")
    options = parser.parse_args()
    for names, show in ((options.ridge, show_ridge), (options.words, cross_validate)):
        for name in filter(None, names.split(",")):
            print(f"\n{name}\n")
            show(Bench(name, options.directory, options.work, options.threads))


def show_ridge(bench: Bench) -> None:
    """The log objective that each method ends with."""
    condition = Condition(cobleu(), "default")
    start = bench.start(condition, 1)
    examples = _examples(bench, bench.search(condition, bench.pair.tune, start))
    print("| optimizer | penalty | CoBLEU minus L2, logarithm | evaluations |\n|---|---|---|---|")
    for optimizer in ("ascent", "lbfgs"):
        for gentle in (None, 1000.0, 100.0, 30.0):
            tuned = cobleu(optimizer=optimizer, gentle=gentle).tune(examples, start, threads=bench.threads)
            penalty = "as it is" if gentle is None else f"steepness {gentle:g} first"
            row = (optimizer, penalty, f"{tuned.objective:.4f}", f"{tuned.details['evaluations']:.0f}")
            print(f"| {' | '.join(row)} |", flush=True)


def cross_validate(bench: Bench) -> None:
    """BLEU of each half with the weights of the other, by consensus decoding at some scales."""
    print(f"| words | L2 | {' | '.join(f'sharpness {one:g}' for one in SHARPNESS)} |\n|{'---|' * (2 + len(SHARPNESS))}")
    for words, l2 in SETTINGS:
        condition = Condition(cobleu(l2=l2), "default", words=words)
        start = bench.start(condition, 1)
        first = _examples(bench, bench.search(condition, bench.pair.tune, start))
        found = cobleu(l2=1e-3, steps=30).tune(first, start, threads=bench.threads).weights
        dense = replace(start, values_by_name={name: found[name] for name in start})
        examples = _examples(bench, bench.search(condition, bench.pair.tune, dense))
        halves = [np.arange(one, len(examples.references), 2) for one in (0, 1)]
        sums = [np.zeros(METRIC.size) for _ in SHARPNESS]
        for seen, unseen in (halves, halves[::-1]):
            weights = cobleu(l2=l2).tune(examples.only(seen), dense, threads=bench.threads).weights
            for number, sharpness in enumerate(SHARPNESS):
                sums[number] += _decoded(bench, examples.only(unseen), weights, sharpness, set(start))
        print(f"| {words} | {l2:g} | {' | '.join(f'{METRIC.score(one):.2f}' for one in sums)} |", flush=True)


def _decoded(
    bench: Bench, examples: Examples, weights: Weights, sharpness: float, dense: set[str]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    scale = sharpness / norm_of(weights, dense)
    chosen = decide(Consensus(size=100), examples.forests, weights, scale, threads=bench.threads)
    words = [bench.model.target_vocabulary.words(one.words.tolist()) for one in chosen]
    return np.asarray(METRIC.corpus_statistics(words, examples.references).sum(axis=0))


def _examples(bench: Bench, forests: list[Forest]) -> Examples:
    return Examples(forests, bench.texts[bench.pair.tune].references, METRIC)


if __name__ == "__main__":
    main()
