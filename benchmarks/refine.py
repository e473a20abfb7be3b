"""One iteration of phrase and lexicon models: CPU time and memory, by sentences and by parameters.

    python benchmarks/refine.py
    python benchmarks/refine.py --work WORK     # also the lists of a `toledo refine --work WORK`

Lists are generated: 100 hypotheses of 7 phrases for each sentence, drawn so that some phrase pairs are frequent. They
are written to disk in parts and mapped into memory, as real ones are. An iteration of growth transforms is one pass
over all lists, the transform of all four families, and the pass that tells whether the objective has risen. One of
L-BFGS is what `toledo refine` does by default: twenty steps with BLEU of the corpus and ratios, each a pass and a
gradient, or more where a step was too long. A step is what is beside passes. One thread; compiled before. Peak memory
is that of a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.sorting import rank_pairs
from toledo.model import PhraseModel, default_weights, feature_names
from toledo.phrases.lexicon import Lexicon, Lexicons
from toledo.phrases.table import PhrasePairs, PhraseTable
from toledo.phrases.trie import Phrases
from toledo.refinement.distributions import LEXICON, PHRASE, prior_values
from toledo.refinement.expected_bleu import Expectation, ListSpace, normalized
from toledo.refinement.loop import method_of
from toledo.refinement.objective import RefinementObjective, TrainedParameters
from toledo.refinement.phrase_lists import ListArrays, PhraseLists
from toledo.refinement.settings import RefineSettings
from toledo.text.vocabulary import Vocabulary

SIZES = ((3_625, 500_000), (7_250, 500_000), (14_500, 500_000), (29_000, 500_000), (29_000, 4_600_000))
WORDS, LENGTH, HYPOTHESES, PHRASES = 20_000, 3, 100, 7
AT_ONCE = 2_000
METHODS = {"growth": RefineSettings(method="growth").resolved(), "lbfgs": RefineSettings().resolved()}

Words = NDArray[np.int32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="directory of a refinement with lists")
    parser.add_argument("--one", type=int, nargs=2, help="only measure so many sentences and phrase pairs")
    parser.add_argument("--method", choices=METHODS, help="only this one")
    arguments = parser.parse_args()
    methods = [arguments.method] if arguments.method else list(METHODS)
    if arguments.one:
        with tempfile.TemporaryDirectory() as folder:
            made = make(Path(folder), *arguments.one)
            for method in methods:
                measure(method, *made)
        return
    print(
        "| method | sentences | phrase pairs | parameters | pairs in lists | pass | passes | step "
        "| iteration, CPU s | peak, GiB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for method in methods:
        for sentences, pairs in SIZES:
            one = ["--one", str(sentences), str(pairs), "--method", method]
            subprocess.run([sys.executable, __file__, *one], check=True)
        if arguments.work:
            lists = [PhraseLists.load(part) for part in sorted(arguments.work.glob("lists/*"))]
            measure(method, PhraseModel.load(arguments.work / "baseline"), lists)


@dataclass(eq=False)
class Counted:
    """A space that knows how often it was asked."""

    space: ListSpace
    passes: int = 0

    @property
    def used(self) -> Words:
        return self.space.used

    @property
    def sentences(self) -> int:
        return self.space.sentences

    def expect(
        self, exponents: Mapping[str, float], changes: NDArray[np.float64], threads: int | None = None
    ) -> Expectation:
        self.passes += 1
        return self.space.expect(exponents, changes, threads)


def measure(name: str, model: PhraseModel, lists: list[PhraseLists]) -> None:
    """A row of the table."""
    how = METHODS[name]
    space = Counted(ListSpace(lists, how.level))
    parameters = TrainedParameters(model, PHRASE + LEXICON, space.used, 1)
    exponents = normalized(model.weights, model.feature_names, how.sharpness)
    objective = RefinementObjective(space, parameters, exponents, how.tau, None, how.lexicon_tau, how.distance)
    values = prior_values(parameters.families)
    point = objective.at(values)  # compiled, and what is needed once
    method_of(replace(how, steps=1)).step(objective, values, point)
    space.passes = 0
    begin = time.process_time()
    point = objective.at(values)
    one_pass = time.process_time() - begin
    method_of(how).step(objective, values, point)
    seconds = time.process_time() - begin
    count = sum(len(family) for family in parameters.families.values())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    step = (seconds - space.passes * one_pass) / max(space.passes - 1, 1)
    print(
        f"| {name} | {sum(map(len, lists)):,} | {len(model.table):,} | {count:,} | {space.used.size:,} "
        f"| {one_pass:.2f} | {space.passes} | {step:.2f} | {seconds:.2f} | {peak:.2f} |",
        flush=True,
    )


def make(folder: Path, sentences: int, pairs: int) -> tuple[PhraseModel, list[PhraseLists]]:
    """A model and lists on disk."""
    random = np.random.default_rng(1)
    model = make_model(random, pairs)
    parts = []
    for first in range(0, sentences, AT_ONCE):
        count = min(AT_ONCE, sentences - first)
        make_lists(random, model, count).save(folder / str(first))
        parts.append(PhraseLists.load(folder / str(first)))
    return model, parts


def make_lists(random: np.random.Generator, model: PhraseModel, sentences: int) -> PhraseLists:
    hypotheses = sentences * HYPOTHESES
    options = (len(model.table) * random.random((sentences, 3 * PHRASES)) ** 3).astype(np.int32)
    chosen = random.integers(0, 3 * PHRASES, (sentences, HYPOTHESES, PHRASES))
    used = np.take_along_axis(options[:, None, :], chosen, axis=2).reshape(-1)
    lengths = random.integers(8, 18, hypotheses)
    matches = lengths[:, None] * random.random((hypotheses, 4)).cumprod(axis=1)
    arrays = ListArrays(
        np.arange(sentences + 1, dtype=np.int64) * HYPOTHESES,
        np.arange(hypotheses + 1, dtype=np.int64) * PHRASES,
        used,
        random.normal(-5.0, 2.0, (hypotheses, len(model.feature_names))).astype(np.float32),
        np.column_stack([lengths, np.repeat(random.integers(8, 18, sentences), HYPOTHESES), matches]).astype(np.int32),
    )
    return PhraseLists(arrays, model.feature_names, len(model.table))


def make_model(random: np.random.Generator, pairs: int) -> PhraseModel:
    sides = [make_phrases(random, pairs // 3) for _ in range(2)]
    drawn = [random.integers(0, len(side), int(1.05 * pairs)).astype(np.int32) for side in sides]
    first = rank_pairs(*drawn).first[:pairs]
    source, target = (side[first] for side in drawn)
    table = PhraseTable.create(
        PhrasePairs(
            *sides,
            source,
            target,
            np.ones(source.size, np.float32),
            np.arange(source.size + 1, dtype=np.int64),
            np.zeros((source.size, 2), np.uint8),
        ),
        np.log(random.random((source.size, 4))).astype(np.float32),
        *(Vocabulary(map(str, range(WORDS))) for _ in range(2)),
    )
    words = [side.words.reshape(-1, LENGTH)[of].reshape(-1) for side, of in zip(sides, (source, target), strict=True)]
    lexicons = Lexicons(make_lexicon(random, *words), make_lexicon(random, *words[::-1]))
    return PhraseModel(table, (), default_weights(feature_names(table, 0)), word_lexicons=lexicons)


def make_phrases(random: np.random.Generator, count: int) -> Phrases:
    """Distinct phrases of LENGTH words."""
    rows = np.unique(random.integers(3, WORDS, (count, LENGTH)), axis=0).astype(np.int32)
    return Phrases(rows.reshape(-1), np.arange(rows.shape[0] + 1, dtype=np.int64) * LENGTH)


def make_lexicon(random: np.random.Generator, given: Words, predicted: Words) -> Lexicon:
    """Probabilities of all pairs of words that stand at the same place of some phrase pair."""
    first = rank_pairs(given, predicted).first
    given, predicted = given[first], predicted[first]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(given, minlength=WORDS + 3))]).astype(np.int64)
    raw = random.random(given.size)
    return Lexicon(offsets, predicted, (raw / np.bincount(given, raw)[given]).astype(np.float32))


if __name__ == "__main__":
    main()
