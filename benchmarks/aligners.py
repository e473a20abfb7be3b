"""Word alignments of Toledo, fast_align and eflomal side by side: CPU time, right links, and BLEU of their tables.

    python benchmarks/aligners.py                      # on the built-in sample, whose true links are known
    python benchmarks/aligners.py --source train.de --target train.en --weights MODEL --test test.de test.en
    python benchmarks/aligners.py … --fast-align DIRECTORY --eflomal 3 --giza de-en.A3.final en-de.A3.final

DIRECTORY holds the program fast_align; eflomal is the extra `toledo-mt[eflomal]`, and runs so many times, since its
results differ. Links of GIZA++ are read as it wrote them, so that their time is not known. The links of all are joined
by grow-diag-final-and, here. F is for precision and recall of links. For BLEU a model is trained on each alignment, and
all models translate with the same weights, those of MODEL.

CPU seconds are user and system time of both directions in one thread; compilation is not counted. Ours begin after the
text has been read and end with joined links in memory; those of the peers have what they read and write, without the
joining.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from word_alignment import cpu_seconds, generate, right_links

from toledo.files import read_lines, write_lines
from toledo.formats.alignments import read_alignments
from toledo.formats.giza import read_giza
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align, align_with_eflomal
from toledo.phrases.word_alignment.symmetrize import OneWay, symmetrize
from toledo.sample.corpus import ExampleData
from toledo.search.beam.search import BeamSearch
from toledo.text.corpus import ParallelCorpus, Sentences, read_line_pairs, read_parallel
from toledo.training import train

METHOD = "grow-diag-final-and"
Found = tuple[str, float | None, WordLinks]  # the name of an aligner, its CPU seconds, and its links


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, help="without a text, the built-in sample")
    parser.add_argument("--target", type=Path)
    parser.add_argument("--links", type=Path, help="true links, to compare with")
    parser.add_argument("--test", type=Path, nargs=2, action="append", default=[], metavar=("SOURCE", "REFERENCE"))
    parser.add_argument("--weights", type=Path, metavar="MODEL", help="default weights if not given")
    parser.add_argument("--fast-align", type=Path, metavar="DIRECTORY")
    parser.add_argument("--eflomal", type=int, default=1, metavar="RUNS")
    parser.add_argument("--giza", type=Path, nargs=2, metavar="FILE", help="its links in both directions")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.source is None:
            ExampleData().save(folder)
            names = ("train.src", "train.trg", "train.align")
            options.source, options.target, options.links = (Path(folder) / name for name in names)
        measure(options)


def measure(options: argparse.Namespace) -> None:
    corpus = read_parallel(options.source, options.target)
    gold = read_alignments(options.links, corpus) if options.links else None
    names = ["F"] * (gold is not None) + [source.stem for source, _ in options.test] + ["CPU s"]
    print(f"{len(corpus):,} sentence pairs\n\n| word alignment | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for name, seconds, found in all_alignments(corpus, options):
        cells = [f"{f_score(found, gold):.3f}"] if gold else []
        cells += [f"{score:.2f}" for score in scores(corpus, found, options)] if options.test else []
        print("|", " | ".join([name, *cells, "–" if seconds is None else f"{seconds:.1f}"]), "|", flush=True)


def all_alignments(corpus: ParallelCorpus, options: argparse.Namespace) -> Iterator[Found]:
    """Of each aligner that is at hand; of others a line on standard error."""
    small, _ = generate(100, 2)
    for name, config in (("Toledo", AlignmentTraining()), ("Toledo, IBM Model 1", AlignmentTraining("ibm1"))):
        align(small, config, threads=1)  # compiles
        start = cpu_seconds()
        found = align(corpus, config, threads=1).alignments
        yield name, cpu_seconds() - start, found
    if options.fast_align:
        yield run_fast_align(options.fast_align / "fast_align", corpus, options)
    else:
        print("fast_align was not given: --fast-align DIRECTORY", file=sys.stderr)
    if options.giza:
        yield "GIZA++", None, read_giza(options.giza, corpus, METHOD, 1)
    if not options.eflomal:
        return
    if find_spec("eflomal") is None:
        print('eflomal is not installed: pip install "toledo-mt[eflomal]"', file=sys.stderr)
        return
    for run in range(1, options.eflomal + 1):
        start = cpu_seconds()
        links = align_with_eflomal(corpus)
        yield f"eflomal, run {run}", cpu_seconds() - start, joined(corpus, *links)


def run_fast_align(program: Path, corpus: ParallelCorpus, options: argparse.Namespace) -> Found:
    """Both directions with the options that its documentation recommends."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        text, files = Path(folder) / "text", [Path(folder) / name for name in ("forward", "backward")]
        write_lines(text, map(" ||| ".join, read_line_pairs(options.source, options.target)))
        start = cpu_seconds()
        for file, direction in zip(files, ([], ["-r"]), strict=True):
            with file.open("wb") as output:
                command = [program, "-i", text, "-d", "-o", "-v", *direction]
                subprocess.run(command, check=True, stdout=output, stderr=subprocess.DEVNULL, env=environment)
        seconds = cpu_seconds() - start
        forward, backward = (read_alignments(file, corpus) for file in files)
    links = one_way(forward, corpus.target, column=1), one_way(backward, corpus.source, column=0)
    return "fast_align", seconds, joined(corpus, *links)


def one_way(found: WordLinks, linked: Sentences, column: int) -> NDArray[np.int32]:
    """The partner of each word of `linked`, whose positions are in that column of links; −1 for none."""
    result = np.full(linked.words.size, -1, np.int32)
    begins = np.repeat(linked.offsets[:-1], np.diff(found.offsets))
    result[begins + found.links[:, column]] = found.links[:, 1 - column]
    return result


def joined(corpus: ParallelCorpus, forward: NDArray[np.int32], backward: NDArray[np.int32]) -> WordLinks:
    return symmetrize(OneWay(corpus.source.offsets, corpus.target.offsets, forward, backward), METHOD, 1)


def f_score(found: WordLinks, gold: WordLinks) -> float:
    return 2 * right_links(found, gold) / (found.links.shape[0] + gold.links.shape[0])


def scores(corpus: ParallelCorpus, found: WordLinks, options: argparse.Namespace) -> Iterator[float]:
    """BLEU of each test, translated by a model that is trained with these links."""
    model = train(corpus, alignments=found)
    if options.weights:
        model = model.with_weights(PhraseModel.load(options.weights).weights)
    search, metric = BeamSearch(model), BLEU(smooth_method="none")
    for test in options.test:
        source, reference = ([line.split() for line in read_lines(path)] for path in test)
        texts = [list(one.words) for one in search.translate(source)]
        yield metric.score(metric.corpus_statistics(texts, [[one] for one in reference]).sum(axis=0))


if __name__ == "__main__":
    main()
