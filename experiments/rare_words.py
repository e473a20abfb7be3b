"""What rewriting rare and unknown source words is worth: the same model trained and tuned with and without it.

    python experiments/rare_words.py $DATA/multi30k-de-en --work rare-words

The folder has `train`, a set to tune on (`val` or `dev`) and tests, each for both languages, tokenized. Models have
lexicalized reordering, weights of IBM Model 1 and a 5-gram language model of the training text; weights are those of
the best of a few rounds of MERT. BLEU is that of the best derivation. "unknown" is the share of source words of a text
that the model copies.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from runs import Text
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

import toledo

WAYS = {"keep": {"rare_words": "keep"}, "rewrite": {"rare_words": "rewrite"}}
TUNING, TESTS = ("val", "dev"), ("test2016", "test2017", "test")
ROUNDS = 4


def main() -> None:
    """Train, tune and translate in each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--threads", type=int, default=2)
    add_options(parser)
    arguments = parser.parse_args()
    stored = Stored.of(__file__, arguments)
    pair = Pair(arguments.folder)
    for way in WAYS:
        if not stored.done(pair=pair.name, way=way):
            pair.run(way, stored, arguments.work, arguments.threads)
    if not arguments.stale:
        print("\n".join(tables(stored).values()))


class Pair:
    """The files of one pair of languages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = "-".join(folder.name.split("-")[-2:])
        self.language = self.name.split("-")[0]

    def file(self, name: str, language: str) -> Path:
        """A side of a text."""
        return self.folder / f"{name}.{language}"

    def names(self, wanted: Sequence[str]) -> list[str]:
        """Those texts that are there."""
        return [name for name in wanted if self.file(name, "en").exists()]

    def run(self, way: str, stored: Stored, work: Path, threads: int) -> None:
        """Train, tune and translate in one way."""
        (tuning,) = self.names(TUNING)
        start = time.process_time()
        model = toledo.train(
            self.file("train", self.language), self.file("train", "en"), tokenized=True, lexical="model1",
            reordering=True, lm_order=5, threads=threads, **WAYS[way],
        )  # fmt: skip
        trained = time.process_time()
        sides = self.file(tuning, self.language), self.file(tuning, "en")
        place = stored.work(work) / f"{self.name}-{way}"
        tuned = toledo.tune(model, *sides, tokenized=True, rounds=ROUNDS, output=place, resume=True, threads=threads)
        seconds = {"train": trained - start, "tune": time.process_time() - trained}
        best = tuned.model
        if best is None:
            raise SystemExit("tuning gave no model")
        scores, statistics = {}, {}
        for name in (tuning, *self.names(TESTS)):
            text = Text.read(self.file(name, self.language), [self.file(name, "en")])
            found = best.decode(self.file(name, self.language), tokenized=True, threads=threads)
            statistics[name] = text.statistics([one.text.split() for one in found])
            scores[name] = CORPUS_BLEU.score(statistics[name].sum(axis=0))
            unknown = sum(len(one.unknown_words) for one in found)
            scores[f"{name} unknown"] = 100 * unknown / sum(map(len, text.source))
        files = [
            self.file(name, side) for name in ("train", tuning, *self.names(TESTS)) for side in (self.language, "en")
        ]
        stored.add({"pair": self.name, "way": way}, data=files, scores=scores, seconds=seconds, statistics=statistics)


def tables(stored: Stored) -> dict[str, str]:
    """A table for each pair, with a row for each way."""
    pairs = dict.fromkeys(run["key"]["pair"] for run in stored.all())
    return {pair: _table(stored, pair) for pair in pairs}


def _table(stored: Stored, pair: str) -> str:
    groups = {way: stored.find(pair=pair, way=way) for way in WAYS}
    texts = next(list(runs[0]["statistics"]) for runs in groups.values() if runs)
    tests = sorted((name for name in texts if name in TESTS), key=TESTS.index)
    tuning = next(name for name in texts if name in TUNING)
    cells = differences(groups, "keep", tests)
    titles = ["", *(f"{name}, unknown %" for name in (tuning, *tests)), tuning, *tests]
    rows = [
        [
            way,
            *(mean_text([run["scores"][f"{name} unknown"] for run in runs], 1) for name in (tuning, *tests)),
            *(mean_text([run["scores"][name] for run in runs]) for name in (tuning, *tests)),
            cells[way],
            mean_text([sum(run["seconds"].values()) for run in runs], 0),
        ]
        for way, runs in groups.items()
        if runs
    ]
    return markdown([*titles, "tests minus keep", "p", "CPU s"], rows)


if __name__ == "__main__":
    main()
