"""Why CoBLEU is trained as it is: the ridge of the brevity penalty, and features of words by cross-validation.

    python experiments/cobleu_choices.py ../shared/data --work cobleu --ridge es-en
    python experiments/cobleu_choices.py ../shared/data --work cobleu --words de-en,fr-en,es-en
    python experiments/cobleu_choices.py ../shared/data --work cobleu --words de-en --sentences 150

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
from runs import Size, caption, size_shown
from stored import Stored, add_options, markdown

from toledo.consensus.decide import decide
from toledo.consensus.fast_consensus import Consensus
from toledo.consensus.scale import norm_of
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.tuning.examples import Examples
from toledo.weights import Weights

METRIC = BLEU(smooth_method="none")
SHARPNESS = (5.0, 10.0)
OPTIMIZERS, STEEPNESS = ("ascent", "lbfgs"), (None, 1000.0, 100.0, 30.0)
SETTINGS = [(0, 1e-5), (0, 1e-4), (0, 3e-4), (0, 1e-3), (300, 1e-3), (300, 3e-3)]


def main() -> None:
    """Print a table for each pair."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--work", type=Path, default=Path("cobleu"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--ridge", default="", metavar="PAIRS", help="with , between them")
    parser.add_argument("--words", default="", metavar="PAIRS", help="with , between them")
    parser.add_argument("--sentences", type=int, help="of each tuning set, the first ones [default: all]")
    add_options(parser)
    options = parser.parse_args()
    stored, size = Stored.of(__file__, options), Size(options.sentences)
    for names, measure in ((options.ridge, show_ridge), (options.words, cross_validate)):
        for name in filter(None, names.split(",")):
            measure(Bench(name, options.directory, options.work, options.threads, stored, size), stored)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


def show_ridge(bench: Bench, stored: Stored) -> None:
    """The log objective that each method ends with."""
    key = {"pair": bench.name, "size": str(bench.size)}
    keys = [{**key, "optimizer": one, "gentle": gentle} for one in OPTIMIZERS for gentle in STEEPNESS]
    todo = [key for key in keys if not stored.done(**key)]
    if not todo:
        return
    condition = Condition(cobleu(), "default")
    start = bench.start(condition, 1)
    examples = _examples(bench, bench.search(condition, bench.pair.tune, start))
    for key in todo:
        tuner = cobleu(optimizer=key["optimizer"], gentle=key["gentle"])
        tuned = tuner.tune(examples, start, threads=bench.threads)
        scores = {"objective": tuned.objective, "evaluations": tuned.details["evaluations"]}
        stored.add(key, data=bench.files, scores=scores)


def cross_validate(bench: Bench, stored: Stored) -> None:
    """BLEU of each half with the weights of the other, by consensus decoding at some scales."""
    for words, l2 in SETTINGS:
        key = {"pair": bench.name, "words": words, "l2": l2, "size": str(bench.size)}
        if stored.done(**key):
            continue
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
        scores = {f"sharpness {one:g}": METRIC.score(total) for one, total in zip(SHARPNESS, sums, strict=True)}
        stored.add(key, data=bench.files, scores=scores)


def tables(stored: Stored) -> dict[str, str]:
    """One for the ridge, one for words."""
    ridge, words = [], []
    size = size_shown(stored.all())
    for run in stored.find(size=size):
        key, scores = run["key"], run["scores"]
        if "optimizer" in key:
            penalty = "as it is" if key["gentle"] is None else f"steepness {key['gentle']:g} first"
            value = f"{scores['objective']:.4f}".replace("-", "−")
            ridge.append([key["pair"], key["optimizer"], penalty, value, f"{scores['evaluations']:.0f}"])
        else:
            words.append([key["pair"], key["words"], f"{key['l2']:g}", *(f"{one:.2f}" for one in scores.values())])
    titles = {
        "ridge": ["pair", "optimizer", "penalty", "CoBLEU minus L2, logarithm", "evaluations"],
        "words": ["pair", "words", "L2", *(f"BLEU, sharpness {one:g}" for one in SHARPNESS)],
    }
    rows = {"ridge": ridge, "words": words}
    return {name: markdown(titles[name], rows[name]) + (caption(size) if rows[name] else "") for name in titles}


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
