"""Phrase extraction and scoring: occurrences per CPU second and peak memory, beside Moses where its tools are at hand.

    python benchmarks/phrases.py --source train.de --target train.en --alignments alignments [--moses DIRECTORY]
    python benchmarks/phrases.py [--generate 100000 300000 1000000]

DIRECTORY holds Moses' extract, score, consolidate and lexical-reordering-score. CPU seconds are user and system time of
all threads or processes. Moses' steps go through text files, which are read, sorted and written within its times; ours
keep arrays in memory, and begin after the text and the alignment have been read.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from toledo.formats.alignments import read_alignments
from toledo.phrases.extraction import extract_phrases
from toledo.phrases.lexicon import NULL, Lexicon, Lexicons, lexicons_from
from toledo.phrases.scores import reordering_scores, score_phrases
from toledo.phrases.table import WordLinks
from toledo.text.corpus import ParallelCorpus, Sentences, read_parallel
from toledo.text.vocabulary import RESERVED, Vocabulary

DEFAULT_SIZE = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--source", "--target", "--alignments", "--moses"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--generate", type=int, nargs="+", default=[], help="numbers of sentence pairs of 20 words")
    parser.add_argument("--max-length", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-reordering", action="store_true")
    options = parser.parse_args()
    if options.source is None and not options.generate:
        options.generate = [DEFAULT_SIZE]
    if len(options.generate) > 1:  # a process each: peak memory is that of a whole process
        for size in options.generate:
            rest = [f"--max-length={options.max_length}", f"--threads={options.threads}"]
            rest += ["--no-reordering"] * options.no_reordering
            subprocess.run([sys.executable, __file__, "--generate", str(size), *rest], check=True)
        return
    train(*generate(100, 1), options)  # compiles
    if options.generate:
        corpus, alignments = generate(options.generate[0], 1)
    else:
        corpus = read_parallel(options.source, options.target)
        alignments = read_alignments(options.alignments, corpus)
    print(f"{len(corpus)} sentence pairs, {corpus.source.words.size} source words, {alignments.links.shape[0]} links")
    print(f"memory before: {peak_memory():.2f} GiB")
    lexicons, spent = train(corpus, alignments, options, report=True)
    if options.moses:
        moses = run_moses(options, corpus, lexicons)
        print(f"Moses / toledo: {moses / spent:.1f} times the CPU time")


def train(
    corpus: ParallelCorpus, alignments: WordLinks, options: argparse.Namespace, report: bool = False
) -> tuple[Lexicons, float]:
    begin = time.process_time()
    steps: dict[str, float] = {}

    def done(step: str) -> None:
        steps[step] = time.process_time() - begin - sum(steps.values())
        if report:
            print(f"{step:12} {steps[step]:8.2f} CPU s   peak {peak_memory():.2f} GiB", flush=True)

    reordering = not options.no_reordering
    extraction = extract_phrases(corpus, alignments, options.max_length, reordering=reordering, threads=options.threads)
    done("extraction")
    lexicons = lexicons_from(corpus, alignments)
    done("lexicons")
    score_phrases(extraction, lexicons, threads=options.threads)
    done("scores")
    if reordering:
        reordering_scores(extraction.orientations)
        done("reordering")
    total = sum(steps.values())
    if report:
        occurrences = int(extraction.pairs.joint_counts.sum(dtype=np.float64))
        print(f"{occurrences} occurrences of {len(extraction.pairs)} phrase pairs, {total:.2f} CPU s in all")
        print(
            f"{occurrences / steps['extraction']:.3g} occurrences per CPU s extracted, {occurrences / total:.3g} in all"
        )
    return lexicons, total


def run_moses(options: argparse.Namespace, corpus: ParallelCorpus, lexicons: Lexicons) -> float:
    """CPU seconds of Moses' tools for the same tables."""
    tools, total = options.moses.resolve(), 0.0
    source, target, alignments = (path.resolve() for path in (options.source, options.target, options.alignments))
    with tempfile.TemporaryDirectory() as folder:
        vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
        write_lexicon(Path(folder, "lex.f2e"), lexicons.forward, *vocabularies)
        write_lexicon(Path(folder, "lex.e2f"), lexicons.backward, *reversed(vocabularies))

        def run(step: str, *command: object) -> None:
            nonlocal total
            before = children_time()
            environment = {**os.environ, "LC_ALL": "C"}
            subprocess.run(
                [str(part) for part in command], cwd=folder, env=environment, check=True, capture_output=True
            )
            total += children_time() - before
            print(f"Moses {step:20} {children_time() - before:8.2f} CPU s", flush=True)

        orientation = [] if options.no_reordering else ["orientation", "--model", "wbe-msd"]
        run("extract", tools / "extract", target, source, alignments, "extract", options.max_length, *orientation)
        run("sort", "sort", "-S", "512M", "extract", "-o", "extract.sorted")
        run("sort inverse", "sort", "-S", "512M", "extract.inv", "-o", "extract.inv.sorted")
        run("score", tools / "score", "extract.sorted", "lex.f2e", "half.f2e")
        run("score inverse", tools / "score", "extract.inv.sorted", "lex.e2f", "half.e2f.unsorted", "--Inverse")
        run("sort scores", "sort", "-S", "512M", "half.e2f.unsorted", "-o", "half.e2f")
        run("consolidate", tools / "consolidate", "half.f2e", "half.e2f", "phrase-table")
        if orientation:
            model = "wbe msd wbe-msd-bidirectional-fe"
            run("sort orientations", "sort", "-S", "512M", "extract.o", "-o", "extract.o.sorted")
            run(
                "score orientations",
                tools / "lexical-reordering-score",
                "extract.o.sorted",
                0.5,
                "r.",
                "--model",
                model,
            )
    print(f"Moses in all {total:.2f} CPU s")
    return total


def write_lexicon(path: Path, lexicon: Lexicon, given: Vocabulary, words: Vocabulary) -> None:
    rows = np.repeat(np.arange(lexicon.offsets.size - 1), np.diff(lexicon.offsets))
    with path.open("w", encoding="utf-8") as stream:
        for row, word, probability in zip(rows, lexicon.words, lexicon.probabilities, strict=True):
            spelled = ("NULL" if row == NULL else given.word(row)), ("NULL" if word == NULL else words.word(word))
            stream.write(f"{spelled[1]} {spelled[0]} {probability:.7f}\n")


def generate(size: int, seed: int, chunks: int = 200_000, words: int = 60_000) -> tuple[ParallelCorpus, WordLinks]:
    """Sentence pairs of 20 words in five chunks that repeat as words of a language do, with a noisy alignment.

    A chunk has its four words translated in another order; one word in ten is replaced, one link in twenty is lost, and
    one source word in five is linked to the next target word as well.
    """
    random = np.random.default_rng(seed)
    zipf = lambda shape, most: (most ** random.random(shape)).astype(np.int32) - 1  # noqa: E731
    order = np.argsort(random.random((chunks, 4)) + np.arange(4) * 0.6, axis=1)
    bank = zipf((chunks, 4), words)
    chosen = zipf((size, 5), chunks)
    source = bank[chosen].reshape(size, 20)
    source = np.where(random.random(source.shape) < 0.1, zipf(source.shape, words), source)
    place = (order[chosen] + np.arange(0, 20, 4)[:, None]).reshape(size, 20)
    target = np.empty_like(source)
    np.put_along_axis(target, place, source, axis=1)
    target = np.where(random.random(target.shape) < 0.1, zipf(target.shape, words), target)
    first = random.random(source.shape) > 0.05
    second = (random.random(source.shape) < 0.2) & (place < 19)
    where = np.stack([first, second], axis=2)
    sentence, position, extra = np.nonzero(where)
    links = np.stack([position, place[sentence, position] + extra], axis=1).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(where.sum(axis=(1, 2)))])
    vocabularies = [Vocabulary(f"{side}{i}" for i in range(words)) for side in "st"]
    lengths = np.full(size, 20, np.int64)
    sides = [Sentences.from_lengths(text.ravel() + np.int32(len(RESERVED)), lengths) for text in (source, target)]
    return ParallelCorpus(*sides, *vocabularies, np.arange(1, size + 1)), WordLinks(links, offsets)


def children_time() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def peak_memory() -> float:
    """GiB; the kernel counts KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
