"""A small model and tables of another domain: each way to use both, with weights from MERT, scored on held-out lines.

    python experiments/several_tables.py $DATA/multi30k-de-en $DATA/bible-de-en

The first table and language model are trained on the first lines of the first folder, the second ones on the first
lines of the other. MERT tunes on the first half of `val`, one run each; the second half is scored. No test set is used.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from runs import Text, read_lines
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown

import toledo
from toledo.api.model import Model

FIRST, OTHER = 3000, 5000  # lines to train on
ROUNDS, SEARCH, SEED = 4, "beam:pop_limit=100", 1
BASE = "one table, one language model"
TWO_MODELS = "one table, two language models"
WAYS = (BASE, TWO_MODELS, "either", "back-off", "fill-up", "linear")
HELD_OUT = "second half of val"


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path)
    parser.add_argument("other", type=Path)
    add_options(parser)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stored = Stored.of(__file__, arguments)
    missing = [way for way in WAYS if not stored.done(way=way)]
    if missing:
        run(stored, arguments.first, arguments.other, missing)
    if not arguments.stale:
        print("\n".join(tables(stored).values()))


def run(stored: Stored, first: Path, other: Path, ways: list[str]) -> None:
    """Train both models, then combine, tune and score in each way."""
    model, second = trained(first, FIRST), trained(other, OTHER)
    files = [folder / f"train.{side}" for folder in (first, other) for side in ("de", "en")]
    for way in ways:
        logging.info("%s", way)
        made = combined(model, second, way, halves(first)[0])
        rows = scored(made, first, SEED)
        scores = {"BLEU": CORPUS_BLEU.score(rows.sum(axis=0)), "features": len(made.phrase_model.feature_names)}
        stored.add(
            {"way": way},
            data=[*files, *(first / f"val.{side}" for side in ("de", "en"))],
            scores={**scores, "pairs": len(made.phrase_model.table)},
            options={"lines": [FIRST, OTHER], "rounds": ROUNDS, "search": SEARCH, "seed": SEED},
            statistics={HELD_OUT: rows},
        )


def halves(folder: Path) -> tuple[tuple[list[str], list[str]], tuple[list[str], list[str]]]:
    """Both halves of `val`, each with its reference."""
    source, reference = ([" ".join(words) for words in read_lines(folder / f"val.{side}")] for side in ("de", "en"))
    half = len(source) // 2
    return (source[:half], reference[:half]), (source[half:], reference[half:])


def scored(model: Model, folder: Path, seed: int) -> NDArray[np.float64]:
    """The BLEU statistics of the second half of `val`, with weights that MERT finds on the first one."""
    (source, reference), (others, wanted) = halves(folder)
    how: dict[str, Any] = {"objective": "mert", "rounds": ROUNDS, "search": SEARCH, "seed": seed, "threads": 1}
    tuned = toledo.tune(model, source, reference, tokenized=True, **how).model
    found = tuned.translate(others, tokenized=True, search=SEARCH, threads=1)
    held_out = Text([line.split() for line in others], [(line.split(),) for line in wanted])
    return held_out.statistics([line.split() for line in found])


def trained(folder: Path, lines: int) -> Model:
    """A model of the first lines."""
    sides = ([" ".join(words) for words in read_lines(folder / f"train.{side}")[:lines]] for side in ("de", "en"))
    return toledo.train(*sides, tokenized=True)


def combined(model: Model, second: Model, way: str, tuning: tuple[list[str], list[str]]) -> Model:
    """The first model with what the way adds to it."""
    if way in (BASE, TWO_MODELS):
        return model if way == BASE else model.add(language_models=[second])
    both = {"phrase_tables": [second], "language_models": [second], "combine_tables": way}
    return model.add(**both, **({"interpolate_on": tuning} if way == "linear" else {}))


def tables(stored: Stored) -> dict[str, str]:
    """A row for each way."""
    groups = {way: stored.find(way=way) for way in WAYS}
    more = differences({way: runs for way, runs in groups.items() if runs}, BASE, [HELD_OUT])
    rows = [
        [way, f"{run['scores']['pairs']:,}", run["scores"]["features"], f"{run['scores']['BLEU']:.2f}", more[way]]
        for way, runs in groups.items()
        for run in runs
    ]
    titles = ["", "phrase pairs", "features", "BLEU", "more than the first row", "p"]
    return {"ways": markdown(titles, [[*cells[:-1], *cells[-1].split(" | ")] for cells in rows])}


if __name__ == "__main__":
    main()
