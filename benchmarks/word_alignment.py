"""Word alignment: sentence pairs per CPU second and peak memory, by corpus size.

    python benchmarks/word_alignment.py [--generate 100000 300000 1000000]
    python benchmarks/word_alignment.py --source train.de --target train.en

CPU seconds are user and system time of all threads; compilation is not counted. They begin after the text has been read
and end with symmetrized links in memory. `aligners.py` has other aligners beside ours.

The generated text has 20 words on each side: words by Zipf's law, translated by a random dictionary, one in ten
replaced by any other word, each moved by up to three places. So its links are known, and precision and recall are
printed.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align
from toledo.phrases.word_alignment.direction import cooccurrences, make_direction
from toledo.text.corpus import ParallelCorpus, Sentences, read_parallel
from toledo.text.vocabulary import RESERVED, Vocabulary

TYPES, LENGTH, SHIFT, NOISE = 100_000, 20, 3.0, 0.1
DEFAULT_SIZE = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source", "--target"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--generate", type=int, nargs="+", default=[], help="numbers of sentence pairs")
    parser.add_argument("--model", choices=["ibm1", "hmm"], default="hmm")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.source is None and not options.generate:
        options.generate = [DEFAULT_SIZE]
    if len(options.generate) > 1:  # a process each: peak memory is that of a whole process
        for size in options.generate:
            rest = [f"--model={options.model}", f"--threads={options.threads}"]
            subprocess.run([sys.executable, __file__, "--generate", str(size), *rest], check=True)
        return
    config = AlignmentTraining(options.model)
    align(generate(100, 2)[0], config, threads=options.threads)  # compiles
    if options.generate:
        corpus, gold = generate(options.generate[0], 1)
    else:
        corpus, gold = read_parallel(options.source, options.target), None
    words = corpus.source.words.size, corpus.target.words.size
    print(f"{len(corpus)} sentence pairs, {words[0]} and {words[1]} words, memory {peak_memory():.2f} GiB", flush=True)
    measure_cooccurrences(corpus, options.threads)
    start = cpu_seconds()
    found = align(corpus, config, threads=options.threads).alignments
    spent = cpu_seconds() - start
    print(f"toledo: {spent:.1f} CPU s, {len(corpus) / spent:.0f} pairs per CPU s, peak memory {peak_memory():.2f} GiB")
    if gold is not None:
        right = right_links(found, gold)
        print(f"precision {right / found.links.shape[0]:.3f}, recall {right / gold.links.shape[0]:.3f}")


def measure_cooccurrences(corpus: ParallelCorpus, threads: int) -> None:
    start = cpu_seconds()
    types = len(corpus.source_vocabulary), len(corpus.target_vocabulary)
    lexicon = cooccurrences(make_direction(corpus.source, corpus.target, *types), threads)
    cells = int(np.dot(corpus.source.lengths + 1, corpus.target.lengths))
    print(
        f"co-occurrences, one direction: {cells}, distinct {lexicon.words.size}: {cpu_seconds() - start:.1f} CPU s, "
        f"peak memory {peak_memory():.2f} GiB",
        flush=True,
    )


def generate(pairs: int, seed: int) -> tuple[ParallelCorpus, WordLinks]:
    """A text, a noisy and locally reordered translation of it word by word, and the links between them."""
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1 / (np.arange(TYPES) + 2.7))
    dictionary = rng.permutation(TYPES)

    def draw(size: int) -> np.ndarray:
        return np.searchsorted(shares, rng.random((size, LENGTH)) * shares[-1])

    source, target, links = [], [], []
    for begin in range(0, pairs, 50_000):
        size = min(50_000, pairs - begin)
        words = draw(size)
        order = np.argsort(np.arange(LENGTH) + SHIFT * rng.random((size, LENGTH)), axis=1)
        noise = rng.random((size, LENGTH)) < NOISE
        translated = np.where(noise, draw(size), dictionary[np.take_along_axis(words, order, axis=1)])
        source.append((words + len(RESERVED)).astype(np.int32).ravel())
        target.append((translated + len(RESERVED)).astype(np.int32).ravel())
        links.append(np.where(noise, -1, order).astype(np.int8))
    names = [f"w{number}" for number in range(TYPES)]
    lengths = np.full(pairs, LENGTH)
    sides = (
        Sentences.from_lengths(np.concatenate(source), lengths),
        Sentences.from_lengths(np.concatenate(target), lengths),
    )
    corpus = ParallelCorpus(*sides, Vocabulary(names), Vocabulary(names), np.arange(1, pairs + 1))
    return corpus, gold_links(np.concatenate(links))


def gold_links(sources: np.ndarray) -> WordLinks:
    """From the source position of each target word, −1 for none."""
    linked = sources >= 0
    offsets = np.concatenate([[0], np.cumsum(linked.sum(axis=1))])
    positions = np.broadcast_to(np.arange(LENGTH, dtype=np.int32), sources.shape)
    return WordLinks(np.stack([sources[linked].astype(np.int32), positions[linked]], axis=1), offsets)


def right_links(found: WordLinks, gold: WordLinks) -> int:
    """How many links are in both."""
    width = 1 + max(int(one.links.max(initial=0)) for one in (found, gold))
    ours, theirs = (
        (np.repeat(np.arange(len(one)), np.diff(one.offsets)) * width + one.links[:, 0]) * width + one.links[:, 1]
        for one in (found, gold)
    )
    return np.intersect1d(ours, theirs, assume_unique=True).size


def cpu_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_memory() -> float:
    """Of this process so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
