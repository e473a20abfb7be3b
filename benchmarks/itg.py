"""ITG search and CoBLEU on its forests: speed by beam and by sentence length, size of forests, one gradient.

    python benchmarks/itg.py                      # on the built-in sample
    python benchmarks/itg.py MODEL SOURCE REFERENCE [--beams 10 30 100 300]

MODEL is a model directory; the texts are tokenized as for it. CPU seconds of one thread, compilation not counted. Long
sentences are made of short ones in a row.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from on_sample import make_model

from toledo.forest.assemble import join
from toledo.forest.ngrams import localize
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.objective import match
from toledo.search.itg import ITGSearch
from toledo.search.settings import ITG

LENGTHS = (5, 10, 15, 20, 30, 40, 60, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?", help="without one, the built-in sample's")
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("reference", type=Path, nargs="?")
    parser.add_argument("--beams", type=int, nargs="*", default=[10, 30, 100, 300])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            options.model, options.source, options.reference = make_model(Path(folder))
        model = PhraseModel.load(options.model)
        source = [line.split() for line in options.source.read_text("utf-8").splitlines()]
        references = [[line.split()] for line in options.reference.read_text("utf-8").splitlines()]
    by_beam(model, source, references, options.beams)
    by_length(model, source)


def by_beam(model: PhraseModel, source: list[list[str]], references: list, beams: list[int]) -> None:
    """Search, and one CoBLEU iteration (value and gradient) over all forests."""
    print(f"{len(source):,} sentences, {sum(map(len, source)):,} words\n")
    print(
        "| beam | search, CPU s | ms per sentence | edges per sentence | mean score | BLEU | CoBLEU iteration, CPU s |"
    )
    print("|" + "---|" * 7)
    metric = BLEU(smooth_method="none")
    for beam in beams:
        search = ITGSearch(model, ITG(beam))
        search.results(source[:10], threads=1)
        start = time.process_time()
        found = search.results(source, threads=1)
        seconds = time.process_time() - start
        texts = [list(one.translation.words) for one in found]
        bleu = metric.score(metric.corpus_statistics(texts, references).sum(axis=0))
        forest = join([one.forest for one in found])
        print(
            f"| {beam} | {seconds:.1f} | {1000 * seconds / len(source):.1f} | {forest.edges / len(source):.0f} "
            f"| {np.mean([one.translation.score for one in found]):.4f} | {bleu:.2f} "
            f"| {_iteration(search, forest, references):.2f} |",
            flush=True,
        )


def _iteration(search: ITGSearch, forest, references: list) -> float:  # type: ignore[no-untyped-def]
    matched = match(localize(forest, forest.scores(search.model.weights), 4), references)
    CoBLEU().value_and_gradient(matched, search.model.weights, 1)
    start = time.process_time()
    CoBLEU().value_and_gradient(matched, search.model.weights, 1)
    return time.process_time() - start


def by_length(model: PhraseModel, source: list[list[str]]) -> None:
    """Time for each word grows fast up to some 40 words, then slowly: measured 3.7 ms at 40 words and 6.3 at 100."""
    words = [word for sentence in source for word in sentence]
    search = ITGSearch(model, ITG(100))
    print("\n| words | ms per sentence | ms per word | edges |\n|---|---|---|---|")
    for length in LENGTHS:
        some = [words[place : place + length] for place in range(0, min(len(words) - length, 20 * length), length)]
        search.forests(some[:1], threads=1)
        start = time.process_time()
        found = search.forests(some, threads=1)
        each = 1000 * (time.process_time() - start) / len(some)
        edges = np.mean([forest.edges for forest in found])
        print(f"| {length} | {each:.1f} | {each / length:.2f} | {edges:.0f} |", flush=True)


if __name__ == "__main__":
    main()
