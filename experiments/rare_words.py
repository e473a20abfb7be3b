"""What rewriting rare and unknown source words is worth: the same model trained with and without it.

    python experiments/rare_words.py $DATA/multi30k-de-en --work rare-words
    python experiments/rare_words.py $DATA/multi30k-de-en --work rare-words --tune

The folder has `train`, a set to tune on (`val` or `dev`) and tests, each for both languages, tokenized. Models have
lexicalized reordering, weights of IBM Model 1 and a 5-gram language model of the training text. Their weights are the
default ones, or with --tune those of the best of a few rounds of MERT. BLEU is that of the best derivation. "unknown"
is the share of source words that the model copies.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from runs import Text
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

import toledo
from toledo.api.model import Model
from toledo.phrases.settings import RareWordChoice

WAYS: tuple[RareWordChoice, ...] = ("keep", "rewrite")
WEIGHTS = ("default", "MERT")
TUNING, TESTS = ("val", "dev"), ("test2016", "test2017", "test")
ROUNDS = 4


def main() -> None:
    """Train, tune and translate in each way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tune", action="store_true", help="tune the weights")
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--threads", type=int, default=2)
    add_options(parser)
    arguments = parser.parse_args()
    stored = Stored.of(__file__, arguments)
    pair = Pair(arguments.folder, arguments.threads)
    weights = WEIGHTS[arguments.tune]
    for way in WAYS:
        if not stored.done(pair=pair.name, way=way, weights=weights):
            pair.run(way, weights, stored, arguments.work)
    if not arguments.stale:
        print("\n".join(tables(stored).values()))


class Pair:
    """The files of one pair of languages."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder, self.threads = folder, threads
        self.name = "-".join(folder.name.split("-")[-2:])
        self.language = self.name.split("-")[0]

    def sides(self, name: str) -> tuple[Path, Path]:
        """Both sides of a text."""
        return self.folder / f"{name}.{self.language}", self.folder / f"{name}.en"

    def names(self, wanted: Sequence[str]) -> list[str]:
        """Those texts that are there."""
        return [name for name in wanted if self.sides(name)[0].exists()]

    def run(self, way: RareWordChoice, weights: str, stored: Stored, work: Path) -> None:
        """Train, tune and translate in one way."""
        start = time.process_time()
        model = toledo.train(
            *self.sides("train"), tokenized=True, lexical="model1", reordering=True, lm_order=5, rare_words=way,
            threads=self.threads,
        )  # fmt: skip
        seconds = {"train": time.process_time() - start}
        texts = self.names((*TUNING, *TESTS))
        if weights == "MERT":
            start = time.process_time()
            model = self.tuned(model, texts[0], stored.work(work) / f"{self.name}-{way}")
            seconds["tune"] = time.process_time() - start
        scores, statistics = {}, {}
        for name in texts:
            source, target = self.sides(name)
            text = Text.read(source, [target])
            found = model.translate(source, threads=self.threads)
            statistics[name] = text.statistics([line.split() for line in found])
            scores[name] = CORPUS_BLEU.score(statistics[name].sum(axis=0))
            known = model.phrase_model.source_vocabulary
            unknown = sum(word not in known for line in model.words(source) for word in line)
            scores[f"{name} unknown"] = 100 * unknown / sum(map(len, text.source))
        key = {"pair": self.name, "way": way, "weights": weights}
        files = [file for name in ("train", *texts) for file in self.sides(name)]
        stored.add(key, data=files, scores=scores, seconds=seconds, statistics=statistics)

    def tuned(self, model: Model, name: str, place: Path) -> Model:
        """The model with the weights of MERT."""
        how = {"rounds": ROUNDS, "output": place, "resume": True, "threads": self.threads}
        found = toledo.tune(model, *self.sides(name), tokenized=True, **how).model
        if found is None:
            raise SystemExit("tuning gave no model")
        return found


def tables(stored: Stored) -> dict[str, str]:
    """A table for each pair, with a row for each way."""
    pairs = dict.fromkeys([*("de-en", "fr-en", "ja-en"), *(run["key"]["pair"] for run in stored.all())])
    return {pair: _table(stored, pair) for pair in pairs}


def _table(stored: Stored, pair: str) -> str:
    runs = stored.find(pair=pair)
    if not runs:
        return ""
    texts = [name for name in (*TUNING, *TESTS) if name in runs[0]["statistics"]]
    rows = []
    for weights in WEIGHTS:
        groups = {way: stored.find(pair=pair, way=way, weights=weights) for way in WAYS}
        cells = differences(groups, "keep", texts[1:]) if groups["keep"] else {}
        for way, own in groups.items():
            if own:
                shares = [mean_text([run["scores"][f"{name} unknown"] for run in own], 1) for name in texts]
                scores = [mean_text([run["scores"][name] for run in own]) for name in texts]
                seconds = mean_text([run["seconds"]["train"] for run in own], 0)
                rows.append([f"{way}, {weights} weights", *shares, *scores, cells.get(way, " | "), seconds])
    titles = ["", *(f"{name}, unknown %" for name in texts), *texts]
    return markdown([*titles, "tests minus keep", "p", "CPU s of training"], rows)


if __name__ == "__main__":
    main()
