"""Word alignments of our HMM and of GIZA++ in the same model: weights from MERT, scored on held-out lines.

    python experiments/word_alignments.py $DATA/multi30k-de-en de-en.A3.final en-de.A3.final --lines 10000 --runs 2

The files of GIZA++ are those of the first lines of `train`, in both directions; its last model was IBM Model 4. MERT
tunes on the first half of `val`; the second half is scored. No test set is used. Rare words are kept as they are, since
rules for them cannot be learned with given alignments.
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from runs import read_lines
from several_tables import HELD_OUT, ROUNDS, SEARCH, scored
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

import toledo
from toledo.api.model import Model

HMM, GIZA = "HMM, both directions trained to agree (ours)", "GIZA++, IBM Model 4"


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("giza", type=Path, nargs=2)
    parser.add_argument("--lines", type=int, default=10000, help="of the training text, the first ones")
    parser.add_argument("--runs", type=int, default=2, help="of MERT")
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stored = Stored.of(__file__, options)
    for aligner in (HMM, GIZA):
        keys = [{"aligner": aligner, "lines": options.lines, "seed": seed} for seed in range(1, options.runs + 1)]
        if missing := [key for key in keys if not stored.done(**key)]:
            run(stored, options.folder, options.giza, missing)
    if not options.stale:
        print("\n".join(tables(stored).values()))


def run(stored: Stored, folder: Path, giza: list[Path], keys: list[dict[str, int | str]]) -> None:
    """Train a model with one kind of alignments, then tune and score it with each seed."""
    given = giza if keys[0]["aligner"] == GIZA else []
    model = trained(folder, int(keys[0]["lines"]), given)
    files = [folder / f"{name}.{side}" for name in ("train", "val") for side in ("de", "en")]
    for key in keys:
        logging.info("%s, seed %d", key["aligner"], key["seed"])
        rows = scored(model, folder, int(key["seed"]))
        scores = {"BLEU": CORPUS_BLEU.score(rows.sum(axis=0)), "pairs": len(model.phrase_model.table)}
        options = {"rounds": ROUNDS, "search": SEARCH}
        stored.add(key, data=[*files, *given], scores=scores, options=options, statistics={HELD_OUT: rows})


def trained(folder: Path, lines: int, giza: list[Path]) -> Model:
    """A model of the first lines, with alignments of GIZA++ if there are some."""
    sides = ([" ".join(words) for words in read_lines(folder / f"train.{side}")[:lines]] for side in ("de", "en"))
    given = (giza[0], giza[1]) if giza else None
    return toledo.train(*sides, tokenized=True, rare_words="keep", threads=1, giza=given)


def tables(stored: Stored) -> dict[str, str]:
    """A row for each kind of alignments."""
    groups = {aligner: stored.find(aligner=aligner) for aligner in (HMM, GIZA)}
    more = differences({aligner: runs for aligner, runs in groups.items() if runs}, HMM, [HELD_OUT])
    rows = [
        [
            aligner,
            f"{runs[0]['scores']['pairs']:,}",
            len(runs),
            mean_text([run["scores"]["BLEU"] for run in runs]),
            more[aligner],
        ]
        for aligner, runs in groups.items()
        if runs
    ]
    return {"aligners": markdown(["alignments", "phrase pairs", "runs", "BLEU", "more than the first row", "p"], rows)}


if __name__ == "__main__":
    main()
