"""Chapter 3 of Smith (2015) on real data: search for BLEU itself, from beam search, from random, and within reach.

    python experiments/bleu_decoding.py ../shared/data --work documents
    python experiments/bleu_decoding.py ../shared/data --work documents --figure docs/figures/bleu-decoding.svg

All weights are 0 but that of BLEU, so operations that ask the sentence model what is likely are left out. Searches are
hill climbing, or annealing with as many steps. *Guided* searches have the weights of the sentence model and 1,000 for
BLEU, at temperature 1, with all operations: the model proposes, and BLEU decides. Documents are those of the test part,
with two references; *within reach* the reference is a random translation that the phrase table allows. States are
recorded at steps 0, 2^8, 2^9, …; each finished run is a line of WORK/PAIR/bleu/runs.jsonl (with --documents 5,
WORK/PAIR-5/bleu/runs.jsonl), and what is there is not done again.
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from document_sets import DocumentSet
from runs import Run, Runs, save_figure

from toledo.metrics.bleu import BLEU
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentAnnealing, DocumentSettings, bleu_settings
from toledo.search.document.state import DocumentResult
from toledo.text.corpus import Document
from toledo.view.curves import Lines, Series

STARTS = {"from beam search": "beam", "from random": "random", "within reach": "random"}
RUNS = (*STARTS, *(f"{name}, annealed" for name in STARTS), "from beam search, guided", "from random, guided")
COOLING = DocumentAnnealing(1e-3, 1e-5)
PSEUDO_SEED = 7


def main() -> None:
    """Do what is not there yet, then print the table or draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("documents"))
    parser.add_argument("--pairs", default="de-en")
    parser.add_argument("--names", default=";".join(RUNS), help="of searches, with ; between them")
    parser.add_argument("--steps", type=int, default=1 << 20, help="for each document")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--documents", type=int, help="only the first ones, for a quick look")
    parser.add_argument("--figure", type=Path, help="only draw the figure to this file")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    for pair in options.pairs.split(","):
        one = DocumentSet.of(pair, options.data, options.work, options.threads, options.documents)
        runs = Runs(one.work / "bleu", ("name", "steps"))
        for name in options.names.split(";"):
            if options.figure is None and (name, options.steps) not in runs.all():
                runs.add(_run(one, name, options.steps))
        found = [runs.all()[name, options.steps] for name in RUNS if (name, options.steps) in runs.all()]
        _print_table(pair, found)
        if options.figure is not None:
            _draw(options.figure, [run for run in found if run["name"] in STARTS])


def _run(one: DocumentSet, name: str, steps: int) -> Run:
    """Search; the course of each document is kept."""
    documents, before = one.documents("test"), time.process_time()
    start, _, way = name.partition(", ")
    if start == "within reach":
        documents = [_within_reach(one, document) for document in documents]
    guided = way == "guided"
    weights = bleu_weights(one.model.weights, guided)
    usual = DocumentSettings(steps=steps, start=STARTS[start], record="logarithmic")
    settings = bleu_settings(usual, guided)
    if way == "annealed":
        settings = replace(settings, accept=COOLING)
    results = DocumentSearch(one.model, settings, [BLEUModel()], weights).search(documents, threads=one.threads)
    seconds = time.process_time() - before
    logging.info("%s, %s: %.0f CPU s", one.pair, name, seconds)
    return {"name": name, "steps": steps, "seconds": seconds, "courses": [_course(result) for result in results]}


def _course(result: DocumentResult) -> Run:
    bleu = [
        BLEU(smooth_method="none").score(record.bleu.astype(np.float64))
        for record in result.records
        if record.bleu is not None
    ]
    return {
        "document": result.document.identifier,
        "segments": len(result.document.segments),
        "steps": [record.step for record in result.records],
        "bleu": bleu,
        "lm": [record.features["lm"] for record in result.records],
    }


def _within_reach(one: DocumentSet, document: Document) -> Document:
    """With a random translation as its only reference."""
    state = DocumentSearch(one.model, DocumentSettings(start="random", seed=PSEUDO_SEED)).start(document)
    texts = [text.split() for text in state.present.texts()]
    parts = zip(document.segments, texts, strict=True)
    return replace(document, segments=tuple(replace(part, references=(tuple(words),)) for part, words in parts))


def _print_table(pair: str, runs: Sequence[Run]) -> None:
    print(f"\n{pair}\n\n| search | steps | BLEU before | after | LM score before | after |\n|---|---|---|---|---|---|")
    for run in runs:
        courses = run["courses"]
        bleu = [_range([course["bleu"][place] for course in courses]) for place in (0, -1)]
        lm = [f"{np.mean([course['lm'][place] for course in courses]):.0f}" for place in (0, -1)]
        print(f"| {run['name']} | {run['steps']:,} | {' | '.join(bleu)} | {' | '.join(lm)} |")


def _range(values: Sequence[float]) -> str:
    return f"{np.mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def _draw(path: Path, runs: Sequence[Run]) -> None:
    """The language model's score against BLEU: min, mean and max over documents, step by step."""
    row = []
    for run in runs:
        bleu, lm = (np.array([course[name] for course in run["courses"]]) for name in ("bleu", "lm"))
        curves = [
            Series(name, list(zip(of(bleu, axis=0).tolist(), of(lm, axis=0).tolist(), strict=True)))
            for name, of in (("min", np.min), ("mean", np.mean), ("max", np.max))
        ]
        row.append((run["name"], Lines(curves, "BLEU", "language model score")))
    save_figure([row], path, 380)


if __name__ == "__main__":
    main()
