"""Document search against Docent: steps per CPU second, and model scores after as many steps.

    python benchmarks/document.py [--folder ../shared/peers] [--long]

Needs Docent's 50 sentences with their phrase table, and the language model beside them. CPU seconds of one thread;
loading and compilation are not counted. Figures of Docent (2017) are from the README of that folder.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from toledo.formats.alignments import read_segmentation
from toledo.formats.moses_model import import_model
from toledo.model import PhraseModel
from toledo.search.document.loop import plan_of, run_steps
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import (
    DOCENT,
    OPERATIONS,
    DocumentAnnealing,
    DocumentSettings,
    HillClimbing,
    Operations,
)
from toledo.text.corpus import Document, Segment, documents_of, read_segments
from toledo.weights import Weights

DOCENT_SPEED, DOCENT_SPEED_1000 = 60_000, 980
BEAM = -1979.17
SEEDS = (1, 2, 3)
TURNS = 41
CLIMBS = [("hill climbing", HillClimbing()), ("annealing", DocumentAnnealing())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(__file__).parents[2] / "shared" / "peers")
    parser.add_argument("--long", action="store_true", help="also annealing with 4,000,000 steps")
    options = parser.parse_args()
    if not options.folder.is_dir():
        print(f"{options.folder} is not there: nothing to compare with")
        return
    folder, moses = options.folder / "docent-50", options.folder / "moses-de-en"
    model = import_model(folder / "phrase-table.gz", [moses / "lm.3.arpa.gz"])
    (document,) = documents_of(read_segments(folder / "src50.de", [folder / "ref50.en"]))
    speed(model, document)
    quality(model, document, read_segmentation(folder / "moses-segmentation.txt"), options.long)
    whole = import_model(moses / "phrase-table.gz", [moses / "lm.3.arpa.gz"])
    texts = [read_segments(moses / f"{name}.de", [moses / f"{name}.en"]) for name in ("test2016", "test2017", "val")]
    long_documents(whole, [segment for text in texts for segment in text])


def steps_per_second(search: DocumentSearch, document: Document, steps: int, warm: int) -> float:
    """The best of three."""
    state, rates = search.start(document), []
    search.run(state, warm)
    for _ in range(3):
        start = time.process_time()
        search.run(state, steps)
        rates.append(steps / (time.process_time() - start))
    return max(rates)


def rates_by_turns(plans: Sequence[DocumentSearch], document: Document, steps: int, warm: int) -> list[list[float]]:
    """Steps per CPU second of each search in many turns; they take turns, so that they share what else is going on."""
    states = [search.start(document) for search in plans]
    for search, state in zip(plans, states, strict=True):
        search.run(state, warm)
    rates: list[list[float]] = [[] for _ in plans]
    for _ in range(TURNS):
        for search, state, own in zip(plans, states, rates, strict=True):
            start = time.process_time()
            search.run(state, steps)
            own.append(steps / (time.process_time() - start))
    return rates


def searches(model: PhraseModel, operations: Operations) -> list[tuple[str, DocumentSearch]]:
    """Without document models, with a BLEU model by weight, with lexical consistency."""
    settings = DocumentSettings(HillClimbing(), operations, 10**9, start="random")
    own, nothing = dict(model.weights), dict.fromkeys(model.weights, 0.0)
    return [
        ("no document model", DocumentSearch(model, settings)),
        ("BLEU, weight 0", DocumentSearch(model, settings, [BLEUModel()], Weights({**own, "bleu": 0.0}))),
        ("BLEU, weight 1", DocumentSearch(model, settings, [BLEUModel()], Weights({**own, "bleu": 1.0}))),
        ("BLEU alone", DocumentSearch(model, settings, [BLEUModel()], Weights({**nothing, "bleu": 1.0}))),
        (
            "consistency, weight 10",
            DocumentSearch(model, settings, [LexicalConsistency()], Weights({**own, "document.consistency": 10.0})),
        ),
    ]


def speed(model: PhraseModel, document: Document) -> None:
    print(f"## Steps per CPU second, 50 sentences, Docent's operations, hill climbing: medians of {TURNS} turns\n")
    print("| models | steps/s | of Docent's | of that without (lowest to highest) |\n|---|---|---|---|")
    plans = searches(model, DOCENT)
    rates = rates_by_turns([search for _, search in plans], document, 100_000, 200_000)
    for (name, _), own in zip(plans, rates, strict=True):
        theirs = f"{median(own) / DOCENT_SPEED:.1f}" if own is rates[0] else ""
        rate, shares = median(own), sorted(one / plain for one, plain in zip(own, rates[0], strict=True))
        share = f"{median(shares):.2f} ({shares[0]:.2f} to {shares[-1]:.2f})"
        print(f"| {name} | {rate:,.0f} | {theirs} | {share} |")
    print("\n| operation alone | steps/s |\n|---|---|")
    for name in OPERATIONS:
        only = Operations(**(dict.fromkeys(OPERATIONS, 0.0) | {name: 1.0}))
        search = DocumentSearch(model, DocumentSettings(HillClimbing(), only, 10**9))
        print(f"| {name} | {steps_per_second(search, document, 50_000, 1_000):,.0f} |", flush=True)


def quality(model: PhraseModel, document: Document, derivation: list, long: bool) -> None:
    print("\n## Model score of the 50 sentences, random start\n")
    print(
        "| search | steps | scores of three seeds | mean to beam search, per sentence | CPU s |\n|---|---|---|---|---|"
    )
    start = DocumentSearch(model, DocumentSettings(steps=0))
    row("Moses' derivations", 0, [start.run(start.start(document, derivation)).score], 0.0)
    plans = [("Docent's operations, hill climbing", DOCENT, HillClimbing())]
    plans += [(f"all operations, {name}", Operations(), how) for name, how in CLIMBS]
    for name, operations, acceptance in plans:
        for steps in (100_000, 1_000_000, 4_000_000) if long else (100_000, 1_000_000):
            begin, scores = time.process_time(), []
            for seed in SEEDS:
                settings = DocumentSettings(acceptance, operations, steps, start="random", seed=seed)
                search = DocumentSearch(model, settings)
                scores.append(search.run(search.start(document)).score)
            row(name, steps, scores, (time.process_time() - begin) / len(SEEDS))
    print("\nDocent, one seed: -2065 after 100,000 steps, -2030 after 1,000,000.")


def row(name: str, steps: int, scores: list[float], seconds: float) -> None:
    shown, mean = ", ".join(f"{score:.2f}" for score in scores), sum(scores) / len(scores)
    print(f"| {name} | {steps:,} | {shown} | {(mean - BEAM) / 50:+.3f} | {seconds:.1f} |", flush=True)


def from_start(search: DocumentSearch, document: Document, steps: int) -> float:
    """Steps per CPU second from a random start, the best of three."""
    rates = []
    for _ in range(3):
        state = search.start(document)
        words = state.known.text.words
        plan = plan_of(search.settings, visit=search.settings.visit(int(words[-1]), words.size - 1))
        begin = time.process_time()
        run_steps(state.known.text, state.arrays, state.measures, plan, steps)
        rates.append(steps / (time.process_time() - begin))
    return max(rates)


def long_documents(model: PhraseModel, segments: list[Segment]) -> None:
    print("\n## Steps per CPU second and the length of the document\n")
    print("| sentences | the first 1,000 for each | after 4,000 for each | of Docent's |\n|---|---|---|---|")
    for sentences in (50, 200, 1000, 3000):
        document = Document("long", tuple(segments[:sentences]))
        settings = DocumentSettings(HillClimbing(), DOCENT, 1_000 * sentences, start="random")
        first = from_start(DocumentSearch(model, settings), document, settings.steps)
        steps = 4_000 * sentences  # after as many nothing much is accepted
        rate = steps_per_second(DocumentSearch(model, replace(settings, steps=10**9)), document, steps, steps)
        compared = {50: f"{rate / DOCENT_SPEED:.1f}", 1000: f"{rate / DOCENT_SPEED_1000:.0f}"}.get(sentences, "")
        print(f"| {sentences} | {first:,.0f} | {rate:,.0f} | {compared} |", flush=True)


if __name__ == "__main__":
    main()
