"""Speed of language models: estimation, ARPA files, and scoring against the kenlm package (pip install kenlm).

    python benchmarks/language_model.py                        # generated text
    python benchmarks/language_model.py --text train.en --test test.en --order 5
    python benchmarks/language_model.py --arpa lm.arpa.gz --test test.en
    python benchmarks/language_model.py --lmplz path/to/lmplz  # estimation against lmplz in the same run

CPU seconds; compilation is not counted, reading files is.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from toledo.language_model.arpa import read_arpa, write_arpa
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import read_sentences
from toledo.text.vocabulary import Vocabulary

VOCABULARY, SUCCESSORS, SENTENCE = 100_000, 30, 20


def main() -> None:
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        text, test = arguments.text, arguments.test
        if test is None or (text is None and arguments.arpa is None):
            text, test = Path(folder) / "text", Path(folder) / "test"
            write_text(text, arguments.words, arguments.seed)
            write_text(test, arguments.words // 10, arguments.seed + 1)
        warm_up(Path(folder), arguments.order)
        arpa = arguments.arpa or Path(folder) / "lm.arpa"
        if arguments.arpa is None:
            measure_arpa(arpa, *measure_estimation(text, arguments.order, arguments.lmplz))
        measure_scoring(arpa, test.read_text("utf-8").splitlines(), arguments.repeat)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=5_000_000, help="size of the generated text")
    parser.add_argument("--text", type=Path, help="estimate from this text instead")
    parser.add_argument("--arpa", type=Path, help="score with this model, and estimate none")
    parser.add_argument("--test", type=Path, help="score this text instead")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=7, help="scorings, of which the fastest counts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lmplz", type=Path, help="KenLM's program, to compare estimation with")
    return parser.parse_args()


def write_text(path: Path, words: int, seed: int) -> None:
    """Zipf-like words, of which every second one follows from the word before it: n-grams come back as in real text."""
    fixed = np.random.default_rng(0)
    weights = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    follow = np.cumsum(1 / np.arange(1, SUCCESSORS + 1))
    successors = np.searchsorted(weights, fixed.random((VOCABULARY, SUCCESSORS)) * weights[-1])
    rng, lines = np.random.default_rng(seed), words // SENTENCE
    columns = [np.searchsorted(weights, rng.random(lines) * weights[-1])]
    while len(columns) < SENTENCE:
        free = np.searchsorted(weights, rng.random(lines) * weights[-1])
        bound = successors[columns[-1], np.searchsorted(follow, rng.random(lines) * follow[-1])]
        columns.append(np.where(rng.random(lines) < 0.5, free, bound))
    names = [f"w{number:x}" for number in range(VOCABULARY)]
    with path.open("w", encoding="utf-8") as stream:
        for row in zip(*(column.tolist() for column in columns), strict=True):
            stream.write(" ".join([names[word] for word in row]) + "\n")


def warm_up(folder: Path, order: int) -> None:
    """Compile everything."""
    write_text(folder / "small", 2000, 5)
    vocabulary = Vocabulary()
    model = LanguageModel(estimate(read_sentences(folder / "small", vocabulary), order))
    write_arpa(folder / "small.arpa", model, vocabulary)
    read_arpa(folder / "small.arpa", vocabulary).score(["a b"], threads=1)


def measure_estimation(text: Path, order: int, lmplz: Path | None) -> tuple[LanguageModel, Vocabulary]:
    start, vocabulary = time.process_time(), Vocabulary()
    sentences = read_sentences(text, vocabulary)
    encoding = time.process_time() - start
    model = LanguageModel(estimate(sentences, order))
    seconds, words = time.process_time() - start, sentences.words.size
    ngrams = ", ".join(f"{len(ngrams):,}" for ngrams in model.ngrams.orders)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"text: {words:,} words in {len(sentences):,} sentences; {ngrams} n-grams of order 1 to {order}")
    print(
        f"estimate: {seconds:.2f} s ({encoding:.2f} s encoding), {words / seconds / 1e6:.2f} M words/s, {peak:.2f} GiB"
    )
    if lmplz is not None:
        with text.open("rb") as stream:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [lmplz, "-o", str(order), "-S", "2G", "--discount_fallback"],
                stdin=stream,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        peer = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"lmplz, writing ARPA: {peer:.2f} s, {words / peer / 1e6:.2f} M words/s")
    return model, vocabulary


def measure_arpa(path: Path, model: LanguageModel, vocabulary: Vocabulary) -> None:
    ngrams = sum(map(len, model.ngrams.orders))
    start = time.process_time()
    write_arpa(path, model, vocabulary)
    written = time.process_time()
    read_arpa(path, Vocabulary())
    read = time.process_time()
    print(f"write ARPA: {written - start:.2f} s, {ngrams / (written - start) / 1e6:.2f} M n-grams/s")
    print(f"read ARPA: {read - written:.2f} s, {ngrams / (read - written) / 1e6:.2f} M n-grams/s")


def measure_scoring(arpa: Path, lines: list[str], repeat: int) -> None:
    """From lines to scores, one thread each; turn by turn, so that both meet the same machine."""
    vocabulary = Vocabulary()
    model = read_arpa(arpa, vocabulary)
    start = time.process_time()
    model.automaton  # noqa: B018 (makes the tables)
    print(f"make tables: {time.process_time() - start:.2f} s")
    ours = LanguageModel(model.ngrams, vocabulary)
    scorers: dict[str, Callable[[], Any]] = {"toledo": lambda: ours.score(lines, threads=1)}
    try:
        import kenlm

        peer = kenlm.Model(str(arpa))
        scorers["kenlm"] = lambda: [peer.score(line) for line in lines]
    except ImportError:
        print("kenlm cannot be imported (pip install kenlm): no comparison")
    seconds, scores, words = dict.fromkeys(scorers, float("inf")), {}, sum(len(line.split()) for line in lines)
    for _ in range(repeat):
        for name, scorer in scorers.items():
            start = time.process_time()
            scores[name] = scorer()
            seconds[name] = min(seconds[name], time.process_time() - start)
    for name, best in seconds.items():
        print(f"score with {name}: {best / words * 1e9:.0f} ns per word, {words / best / 1e6:.2f} M words/s")
    if "kenlm" in seconds:
        difference = np.abs(np.array(scores["toledo"]) - scores["kenlm"]).max()
        print(
            f"toledo is {seconds['kenlm'] / seconds['toledo']:.2f} times as fast; largest difference {difference:.1e}"
        )


if __name__ == "__main__":
    main()
