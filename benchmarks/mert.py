"""MERT's inner optimization on n-best lists of several rounds: the BLEU it reaches and CPU time per start.

    python benchmarks/mert.py                             # lists of the built-in sample
    lists=../shared/peers/moses-de-en/mert-nbest
    python benchmarks/mert.py --lists $lists/run?.best100.out.gz --start $lists/run1.dense \
        --references ../shared/peers/moses-de-en/val.en [--moses DIRECTORY]

Lists are those of Moses; the lists of a segment are united. The start is a file of weights as Moses' tuning writes them
(`Name= value`, a line for each value). One thread; compiled before. The time of a start is that of all the tuner
does, preparation included, over the number of starts. With `--on forests` the lists are treated as forests. DIRECTORY
holds Moses' extractor and mert, which then work on the same lists with the same seeds; their time without loading is
that of a run less that of one without restarts, over the restarts.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from on_sample import make_examples

from toledo.forest.constructors import from_nbest
from toledo.formats.nbest import read_nbest
from toledo.metrics.bleu import BLEU
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples
from toledo.tuning.tuners.mert import MERT
from toledo.weights import Weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_data_options(parser)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--on", choices=["lists", "forests"], default="lists")
    parser.add_argument("--moses", type=Path, metavar="DIRECTORY", help="of the programs extractor and mert")
    arguments = parser.parse_args()
    if arguments.moses and not arguments.lists:
        parser.error("--moses needs --lists")
    examples, start = read_data(arguments)
    hypotheses = sum(forest.edges for forest in examples.forests)
    print(f"{len(examples.forests)} segments, {hypotheses} distinct hypotheses, {len(start)} weights")
    examples.lists  # noqa: B018 (prepared before)
    MERT(restarts=0, on=arguments.on).tune(examples, start, threads=1)  # compiled now
    tuner, found, spent = MERT(restarts=arguments.restarts, on=arguments.on), [], []
    for seed in arguments.seeds:
        begin = time.process_time()
        tuned = tuner.tune(examples, start, seed=seed, threads=1)
        seconds = time.process_time() - begin
        found.append(tuned.details["BLEU"])
        spent.append(seconds / (arguments.restarts + 1))
        print(
            f"seed {seed}: BLEU {found[-1]:.3f} (from the start {tuned.details['from start']:.3f}, mean of starts "
            f"{tuned.details['mean of starts']:.3f}), {seconds:.2f} CPU s, {spent[-1]:.3f} per start, "
            f"{1000 * seconds / tuned.details['lines']:.2f} ms per line",
            flush=True,
        )
    print(f"BLEU {np.mean(found):.3f}, σ {np.std(found):.3f}, {np.mean(spent):.3f} CPU s per start", flush=True)
    if arguments.moses:
        run_moses(arguments, start, float(np.mean(spent)))


def add_data_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lists", type=Path, nargs="+")
    parser.add_argument("--references", type=Path)
    parser.add_argument("--start", type=Path)


def read_data(arguments: argparse.Namespace) -> tuple[Examples, Weights]:
    """The lists that are named, or those of the built-in sample."""
    if arguments.lists is None:
        with tempfile.TemporaryDirectory() as folder:
            examples, model = make_examples(Path(folder))
        return examples, model.weights
    start = read_start(arguments.start)
    return read_examples(arguments, tuple(start)), start


def read_start(path: Path) -> Weights:
    values = defaultdict(list)
    for line in path.read_text("utf-8").splitlines():
        name, value = line.split()
        values[name.rstrip("=")].append(float(value))
    named = {}
    for name, some in values.items():
        named |= {name: some[0]} if len(some) == 1 else {f"{name}_{i}": value for i, value in enumerate(some, start=1)}
    return Weights(named)


def read_examples(arguments: argparse.Namespace, names: tuple[str, ...]) -> Examples:
    vocabulary, forests = Vocabulary(), []
    for lists in zip(*map(read_nbest, arguments.lists), strict=True):
        entries = [entry for some in lists for entry in some.entries]
        distinct = {(tuple(entry.words), tuple(entry.features.values())): entry for entry in entries}
        forests.append(from_nbest(distinct.values(), names, vocabulary))
    references = [[line.split()] for line in arguments.references.read_text("utf-8").splitlines()]
    return Examples(forests, references, BLEU(smooth_method="none"))


def run_moses(arguments: argparse.Namespace, start: Weights, ours: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        optimize = moses_data(arguments, start, Path(folder))
        loading = child_seconds([*optimize, "-n", "0", "-r", "1"])[0]
        for seed in arguments.seeds:
            seconds, output = child_seconds([*optimize, "-n", str(arguments.restarts), "-r", str(seed)])
            each = (seconds - loading) / arguments.restarts
            (bleu,) = re.findall(r"Best point: .* => (\S+)", output)
            print(
                f"Moses, seed {seed}: BLEU {100 * float(bleu):.3f}, {seconds:.2f} CPU s, {each:.3f} per start without "
                f"loading, {each / ours:.1f} times ours",
                flush=True,
            )


def moses_data(arguments: argparse.Namespace, start: Weights, folder: Path) -> list[str]:
    """The files that mert reads, and its command but for restarts and seed."""
    scores, features = ([str(folder / f"{kind}{i}") for i in range(len(arguments.lists))] for kind in ("s", "f"))
    for file, to_scores, to_features in zip(arguments.lists, scores, features, strict=True):
        files = ["--nbest", str(file.resolve()), "--reference", str(arguments.references.resolve())]
        child_seconds(
            [str(arguments.moses.resolve() / "extractor"), *files, "--scfile", to_scores, "--ffile", to_features]
        )
    first = folder / "start"
    rows = ([f"{value}" for value in start.values()], ["0"] * len(start), ["1"] * len(start))
    first.write_text("".join(" ".join(row) + "\n" for row in rows), encoding="utf-8")
    data = ["--scfile", ",".join(scores), "--ffile", ",".join(features), "--ifile", str(first)]
    return [str(arguments.moses.resolve() / "mert"), "-d", str(len(start)), *data]


def child_seconds(command: list[str]) -> tuple[float, str]:
    """CPU time of a program, and what it says on standard error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:  # mert leaves its weights where it runs
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


if __name__ == "__main__":
    main()
