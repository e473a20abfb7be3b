"""Chapter 3 of Smith (2015) on real data: search for BLEU itself, from beam search, from random, and within reach.

    python experiments/bleu_decoding.py ../shared/data --work documents --documents 30
    python experiments/bleu_decoding.py ../shared/data --work documents --names "unseen reference;sample"
    python experiments/bleu_decoding.py ../shared/data --figure docs/figures/bleu-decoding.svg

All weights are 0 but that of BLEU, so operations that ask the sentence model what is likely are left out. Searches are
hill climbing, or annealing with as many steps. *Guided* searches have the weights of the sentence model and 1,000 for
BLEU, at temperature 1, with all operations: the model proposes, and BLEU decides. Documents are those of the test part,
with two references; *within reach* the reference is a random translation that the phrase table allows. States are
recorded at steps 0, 2^8, 2^9, …. *Unseen reference* searches with the first reference, and judges what it finds by the
second one; *sample* does so on the built-in sample, some of whose sentences are kept. Each finished run is a line of
experiments/results/bleu_decoding.jsonl, and what is there is not done again.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from document_sets import DocumentSet
from runs import Run, caption, save_figure, size_shown
from stored import Stored, add_options, markdown

import toledo
from toledo.api.document_examples import bleu_examples
from toledo.compiled.kernels import working_seconds
from toledo.metrics.bleu import BLEU
from toledo.sample.corpus import example_data
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentAnnealing, DocumentSettings, bleu_settings
from toledo.search.document.state import DocumentResult
from toledo.text.corpus import Document
from toledo.view.curves import Lines, Series

STARTS = {"from beam search": "beam", "from random": "random", "within reach": "random"}
RUNS = (*STARTS, *(f"{name}, annealed" for name in STARTS), "from beam search, guided", "from random, guided")
UNSEEN, SAMPLE = "unseen reference", "sample"
SHOWN = 4  # sentences of the sample
COOLING = DocumentAnnealing(1e-3, 1e-5)
PSEUDO_SEED = 7


def main() -> None:
    """Do what is not there yet, then print the table or draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("documents"))
    parser.add_argument("--pair", default="de-en")
    parser.add_argument("--names", default=";".join(RUNS), help="of searches, with ; between them")
    parser.add_argument("--steps", type=int, default=1 << 20, help="for each document")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--documents", type=int, default=30, help="so many of the first ones")
    parser.add_argument("--figure", type=Path, help="only draw the figure to this file")
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    stored = Stored.of(__file__, options)
    if options.figure is not None:
        draw(options.figure, stored)
        return
    one = None
    for name in options.names.split(";"):
        size = f"{options.documents} documents, {options.steps} steps"
        key = {"pair": options.pair, "name": name, "size": size}
        if not stored.done(**key):
            place = stored.work(options.work)
            one = one or DocumentSet.of(options.pair, options.data, place, options.threads, options.documents)
            began = working_seconds()
            if name == SAMPLE:
                scores = _sample(place / "sample", options.steps)
            elif name == UNSEEN:
                scores = _judged(one, options.steps)
            else:
                scores = {"courses": _run(one, name, options.steps)}
            stored.add(key, data=one.files, scores=scores, seconds={"searching": working_seconds() - began})
    if not options.stale:
        print("\n".join(tables(stored).values()))


def _run(one: DocumentSet, name: str, steps: int) -> list[Run]:
    """Search; the course of each document is kept."""
    documents = one.documents("test")
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
    return [_course(result) for result in results]


def _judged(one: DocumentSet, steps: int) -> Run:
    """Scores before and after a search with the first reference, some of them by the second one."""
    parts = [part for document in one.documents("test") for part in document.segments]
    names = [document.identifier for document in one.documents("test") for _ in document.segments]
    references = [[" ".join(part.references[number]) for part in parts] for number in range(2)]
    sources = [" ".join(part.words) for part in parts]
    found = bleu_examples(one.model, sources, *references, document_ids=names, steps=steps, threads=one.threads)
    return {"totals": dict(found.totals), "better": found.better, "worse": found.worse, "segments": len(parts)}


def _sample(folder: Path, steps: int) -> Run:
    """The first sentences that the same search changes in the built-in sample."""
    data = example_data(train=1000, tune=30, test=60)
    if not folder.exists():
        toledo.train(data.train.sources, data.train.targets, tokenized=True).save(folder)
    text = data.test
    found = bleu_examples(
        toledo.load(folder), text.sources, *text.references, document_ids=text.document_ids, steps=steps
    )
    changed = [one for one in found.segments if one.before != one.after][:SHOWN]
    rows = [[one.source, one.before, one.after, one.reference, one.unseen] for one in changed]
    return {"rows": rows, "totals": dict(found.totals), "better": found.better, "worse": found.worse}


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


def tables(stored: Stored) -> dict[str, str]:
    """Means over documents (smallest to largest), before and after."""
    rows, size = [], size_of(stored, RUNS)
    for run in table_runs(stored, RUNS):
        courses = run["scores"]["courses"]
        bleu = [table_range([course["bleu"][place] for course in courses]) for place in (0, -1)]
        lm = [f"{np.mean([course['lm'][place] for course in courses]):.0f}".replace("-", "−") for place in (0, -1)]
        rows.append([run["key"]["name"], len(courses), *bleu, *lm])
    titles = ["search", "documents", "BLEU before", "after", "LM score before", "after"]
    found = {"searches": markdown(titles, rows) + caption(size) if rows else "", UNSEEN: "", SAMPLE: ""}
    for run in table_runs(stored, [UNSEEN]):
        found[UNSEEN] = unseen_table(run["scores"]) + caption(run["key"]["size"])
    for run in table_runs(stored, [SAMPLE]):
        titles = ["", "sentence"]
        names = ("source", "before", "after", "reference", "unseen reference")
        found[SAMPLE] = markdown(
            titles, [pair for row in run["scores"]["rows"] for pair in zip(names, row, strict=True)]
        )
    return found


def unseen_table(scores: Run) -> str:
    """Scores before and after, and how many segments became better by chrF with the unseen reference."""
    titles = {
        "bleu": "BLEU, the reference of the search", "unseen_bleu": "BLEU, unseen reference",
        "unseen_chrf": "chrF, unseen reference", "unseen_ter": "TER, unseen reference",
        "model_score": "model score", "lm_score": "language model score",
    }  # fmt: skip
    rows = [
        [title, *(f"{value:.1f}".replace("-", "−") for value in scores["totals"][name])]
        for name, title in titles.items()
    ]
    rows.append(["segments better, worse (chrF, unseen reference)", scores["better"], scores["worse"]])
    return markdown(["", "before", "after"], rows)


def table_runs(stored: Stored, names: Iterable[str]) -> list[Run]:
    """Those of the page."""
    size = size_of(stored, names)
    return [run for name in names for run in stored.find(pair="de-en", name=name, size=size)]


def size_of(stored: Stored, names: Iterable[str]) -> str:
    """The size of the runs of the page with some names."""
    return size_shown(run for name in names for run in stored.find(pair="de-en", name=name))


def table_range(values: Sequence[float]) -> str:
    """The mean, the smallest and the largest."""
    return f"{np.mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def draw(path: Path, stored: Stored) -> None:
    """The language model's score against BLEU: min, mean and max over documents, step by step."""
    row = []
    for run in table_runs(stored, STARTS):
        bleu, lm = (np.array([course[name] for course in run["scores"]["courses"]]) for name in ("bleu", "lm"))
        curves = [
            Series(name, list(zip(of(bleu, axis=0).tolist(), of(lm, axis=0).tolist(), strict=True)))
            for name, of in (("min", np.min), ("mean", np.mean), ("max", np.max))
        ]
        row.append((run["key"]["name"], Lines(curves, "BLEU", "language model score")))
    save_figure([row], path, 380)


if __name__ == "__main__":
    main()
