"""CPU seconds of system combination: networks, expansion to bigrams, one xBLEU-2 gradient, all of tuning; one thread.

    python benchmarks/combination.py [../shared/data/wmt22-syscomb/ja-en/tune]

Without a folder (of files `sys.*` and `ref.*`), the outputs are generated: each system changes a third of the words of
a text of 20 (leaves out, adds, replaces, moves). 1,000 segments of 10 systems should take at most 60 seconds up to the
lattices, and 3 for a gradient. Then less of everything, to see how it grows with systems and length.

    python benchmarks/combination.py --run 40 [folder of raw text]
    python benchmarks/combination.py --run 5 --segments 500 --window 500 --times 8

measures `toledo combine run` alone, from files to a file: CPU seconds and the most memory. If the folder has fewer
systems, there are copies with changed words. With `--times`, the text is run again as often in a row: a window of
segments at a time, memory should stay as it is.

    python benchmarks/combination.py --tune --times 3 ../shared/data/wmt22-syscomb/de-en/tune --other OLD/bin/toledo

measures `toledo combine tune` alone, with its defaults and with the settings of version 0.1, beside another version's
command, in turns; the smallest CPU seconds of each count.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from toledo.api.combination import Combination
from toledo.combination.alignment import Matcher
from toledo.combination.combiner import Combiner
from toledo.combination.features import expand, named_feature
from toledo.combination.lattice import NetworkLattice, join_networks
from toledo.combination.network import build_networks, distinct_hypotheses
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuners import scale_for_entropy
from toledo.combination.tuning import TuningRun
from toledo.combination.votes import CombinationProblem, uniform, with_votes
from toledo.objectives.objective import match
from toledo.objectives.xbleu import XBLEU
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

Texts = list[list[str]]
TUNED = 200  # segments to tune on, for both entropies
TUNED_TO_RUN = 20  # the same, where tuning is not measured
OWN = (sys.executable, "-m", "toledo")
AS_IN_0_1 = ("--length=reference", "--rule=viterbi", "--folds=0", "--entropy=1", "--entropy=3", "--skeletons=1000")
Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--run", type=int, metavar="SYSTEMS", help="measure `combine run` of so many systems")
    parser.add_argument("--window", type=int, default=4000, help="for --run: segments to learn from")
    parser.add_argument("--times", type=int, default=1, help="measure the text so often in a row, too; --tune: turns")
    parser.add_argument("--tune", action="store_true", help="measure `combine tune` on the folder")
    parser.add_argument("--other", help="for --tune: the command of another version, such as 0.1")
    parser.add_argument("--tokenized", default="--tokenised", help="for --other: its option for tokenized text")
    given = parser.parse_args()
    if given.tune:
        measure_tune(given)
        return
    if given.run:
        measure_run(given)
        return
    random = np.random.default_rng(1)
    measure(*generated(3, 4, 10, random), quiet=True)  # compiled now
    if given.folder:
        systems = [read(path)[: given.segments] for path in sorted(given.folder.glob("sys.*"))]
        measure(systems, read(sorted(given.folder.glob("ref.*"))[0])[: given.segments])
        return
    for segments, systems_number, length in (
        (given.segments, 10, 20), (given.segments // 5, 5, 20), (given.segments // 5, 10, 20),
        (given.segments // 5, 20, 20), (given.segments // 5, 10, 10), (given.segments // 5, 10, 40),
    ):  # fmt: skip
        measure(*generated(segments, systems_number, length, random))


def measure(systems: Sequence[Texts], references: Texts, quiet: bool = False) -> None:
    names = [f"system{number}" for number in range(len(systems))]
    vocabulary = Vocabulary()
    seconds, lattices = timed(lambda: [lattice(own, names, vocabulary) for own in zip(*systems, strict=True)])
    features = [named_feature(name) for name in CombinationSettings().features]
    expansion, ngrams = timed(lambda: expand([one.forest for one in lattices], lattices, 2, None, features, threads=1))
    start = uniform(names, Weights(dict.fromkeys((*ngrams.forest.feature_names, *ngrams.forest.sparse.names), 0.0)))
    problem = CombinationProblem(
        with_votes(ngrams.forest, lattices), match(ngrams, [[text] for text in references]), start, threads=1
    )
    scale = scale_for_entropy(problem.voted, start, 3.0, threads=1)
    gradient, _ = timed(lambda: problem.value_and_gradient(XBLEU(2), scale, 1e-4, problem.first))
    outputs, only = [list(own) for own in zip(*systems, strict=True)][:TUNED], [[text] for text in references[:TUNED]]
    tuning, _ = timed(lambda: Combiner.tune(outputs, only, names, Vocabulary(), run=TuningRun(threads=1)))
    if not quiet:
        words = sum(len(text) for own in systems for text in own) / (len(systems) * len(systems[0]))
        size = f"{len(systems[0])} segments of {len(systems)} systems, {words:.1f} words"
        arcs = sum(one.forest.edges for one in lattices)
        print(
            f"{size:44s} lattices {seconds:7.2f} s ({arcs} edges)   bigrams {expansion:6.2f} s "
            f"({ngrams.forest.edges} edges)   gradient {gradient:6.3f} s   tuning on {len(only)} {tuning:6.2f} s",
            flush=True,
        )


def measure_run(given: argparse.Namespace) -> None:
    """Tune on a few segments, then run the command on the text, and on several times the text."""
    random = np.random.default_rng(1)
    if given.folder:
        systems = [read(path)[: given.segments] for path in sorted(given.folder.glob("sys.*"))][: given.run]
        references = read(sorted(given.folder.glob("ref.*"))[0])[: given.segments]
    else:
        systems, references = generated(given.segments, given.run, 20, random)
    while len(systems) < given.run:
        systems.append([changed(text, random) for text in systems[random.integers(len(systems))]])
    lines = {f"system{number}": [" ".join(text) for text in own] for number, own in enumerate(systems)}
    with TemporaryDirectory() as folder:
        few = {name: own[:TUNED_TO_RUN] for name, own in lines.items()}
        tuned = Combination.tune(few, [" ".join(text) for text in references[:TUNED_TO_RUN]], entropy=[1.0], threads=1)
        tuned.save(f"{folder}/combination")
        for times in dict.fromkeys((1, given.times)):
            for name, own in lines.items():
                Path(folder, name).write_text("".join(f"{line}\n" for line in own) * times, "utf-8")
            size = f"{times * len(references)} segments of {given.run} systems"
            print(f"{size}: {run_cost(folder, [*lines], given.window)}", flush=True)


def measure_tune(given: argparse.Namespace) -> None:
    """Tune with each command in turns; the first turn, which may compile, does not count."""
    with TemporaryDirectory() as folder:
        files, reference = sorted(given.folder.glob("sys.*")), sorted(given.folder.glob("ref.*"))[0]
        for path in (*files, reference):
            lines = path.read_text("utf-8").splitlines(keepends=True)[: given.segments]
            Path(folder, path.name).write_text("".join(lines), "utf-8")
        commands = {"defaults": ["--tokenized"], "settings of 0.1": ["--tokenized", *AS_IN_0_1]}
        commands |= {"other version": [given.tokenized]} if given.other else {}
        texts = ["--systems", *(f"{folder}/{path.name}" for path in files), "-r", f"{folder}/{reference.name}"]
        found: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(given.times + 1):
            for name, options in commands.items():
                own = [given.other] if name == "other version" else OWN
                more = ["--threads", "1", "-q", "-o", f"{folder}/{name.replace(' ', '-')}-{turn}"]
                found[name].append(cost([*own, "combine", "tune", *options, *texts, *more])[0])
        for name, seconds in found.items():
            print(f"{given.segments} segments of {len(files)} systems, {name}: CPU {min(seconds[1:]):.1f} s")


def run_cost(folder: str, names: Sequence[str], window: int) -> str:
    """CPU seconds and memory of `toledo combine run`, compiled kernels given."""
    files = [f"{name}={folder}/{name}" for name in names]
    options = ["--threads", "1", "--window", str(window), "-o", f"{folder}/out", "-q"]
    seconds, most = cost([*OWN, "combine", "run", f"{folder}/combination", "--systems", *files, *options])
    return f"CPU {seconds:.1f} s, at most {most:.0f} MiB"


def cost(command: Sequence[str]) -> tuple[float, float]:
    """CPU seconds of a command, and the most memory that it had, in MiB."""
    _, status, used = os.wait4(subprocess.Popen(command, stdout=subprocess.DEVNULL).pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(command)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def lattice(own: Sequence[list[str]], names: Sequence[str], vocabulary: Vocabulary) -> NetworkLattice:
    hypotheses = distinct_hypotheses(own, vocabulary)
    return join_networks(build_networks(hypotheses, vocabulary, Matcher()), hypotheses, names, vocabulary)


def generated(segments: int, systems: int, length: int, random: np.random.Generator) -> tuple[list[Texts], Texts]:
    references = [[f"w{number}" for number in random.zipf(1.3, length).clip(max=5000)] for _ in range(segments)]
    return [[changed(text, random) for text in references] for _ in range(systems)], references


def changed(text: list[str], random: np.random.Generator) -> list[str]:
    result: list[str] = []
    for word in text:
        kind = random.random()
        if kind > 0.08:
            result.append(word if kind > 0.24 else f"w{random.zipf(1.3) % 5000}")
        if kind > 0.92:
            result.append(f"w{random.zipf(1.3) % 5000}")
    if random.random() < 0.5 and len(result) > 6:
        begin = int(random.integers(len(result) - 5))
        result[begin : begin + 5] = [*result[begin + 3 : begin + 5], *result[begin : begin + 3]]
    return result


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def read(path: Path) -> Texts:
    return [line.split() for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    main()
