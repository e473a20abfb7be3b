"""Chapter 4 of Smith (2015) on real data: weights for document search, and what document models do.

    python experiments/documents.py ../shared/data --work documents
    python experiments/documents.py ../shared/data --work documents --part models
    python experiments/documents.py ../shared/data --table

The data are chapters of the Bible with two references. All weights are tuned on the 60 chapters of the tuning part and
translate the 60 unseen ones of the test part in the same way: hill climbing from what beam search finds with these
weights, or from a random translation; or (MBR) the text of each sentence that agrees most with samples of the document
chain, at a sharpness chosen for each weights on 20 chapters of the tuning part. Each finished run is a line of
experiments/results/documents.jsonl, and what is there is not done again. The units of all tests are documents.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from document_sets import LANGUAGES, SENSES, STEPS, DocumentSet, document_statistics, search_documents, semantic_space
from document_weights import CONDITIONS, at_sharpness, model_of, tuned
from runs import Run
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text, statistics_of

from toledo.compiled.kernels import working_seconds
from toledo.errors import InputError
from toledo.model import PhraseModel
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.models.readability import LengthParity
from toledo.search.document.models.semantic import SemanticModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing
from toledo.text.corpus import Document
from toledo.tuning.documents.chains import Chains, ChainSettings, consensus_texts
from toledo.weights import Weights

MBR = "MBR"
BASES = ("default", "MERT", "MERT, word sums")  # that all are compared with
SHARPNESS = (10.0, 20.0, 40.0)  # of samples for MBR: the sum of absolute weights
TO_DECIDE = ChainSettings(states=60, every=1.0, first=20.0)
TO_CHOOSE = 20  # documents
NO_MODEL = "none"
MODEL_WEIGHTS = {LengthParity.name: (100.0,), LexicalConsistency.name: (30.0, 100.0), SemanticModel.name: (0.3, 1.0)}


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("documents"))
    parser.add_argument("--pairs", default="de-en,es-en")
    parser.add_argument("--part", choices=("tuning", "models"), default="tuning")
    parser.add_argument("--conditions", default=";".join(CONDITIONS), help="names with ; between them")
    parser.add_argument("--starts", default="beam", help="of translation: beam,random,MBR (after beam)")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--documents", type=int, help="only the first ones of each part, for a quick look")
    add_options(parser)
    options = parser.parse_args()
    stored = Stored.of(__file__, options, quick=["documents"])
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    for pair in options.pairs.split(","):
        one = DocumentSet.of(pair, options.data, stored.work(options.work), options.threads, options.documents)
        if options.part == "models":
            _run_models(one, stored)
        else:
            _run_conditions(one, options, stored)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


def _run_conditions(one: DocumentSet, options: argparse.Namespace, stored: Stored) -> None:
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.conditions.split(";"):
            for start in options.starts.split(","):
                key = {"pair": one.pair, "condition": name, "seed": seed, "start": start}
                if (CONDITIONS[name] is None and seed > 1) or stored.done(**key):
                    continue
                try:
                    run = tuned(one, name, seed)
                except InputError as error:  # such as: no round is better than the start
                    logging.warning("%s, %s, seed %d: %s", one.pair, name, seed, error.message)
                    continue
                _translate(one, stored, key, run)


def _translate(one: DocumentSet, stored: Stored, key: Mapping[str, Any], run: Run) -> None:
    """BLEU on the test documents."""
    model = model_of(one, run["condition"], run["seed"])
    documents, began = one.documents("test"), working_seconds()
    weights = Weights(run["weights"])
    found = search_documents(model, weights, documents, "beam" if key["start"] == MBR else key["start"], one.threads)
    scores: dict[str, object] = {}
    if key["start"] == MBR:
        scores["sharpness"] = sharpness = _sharpness(one, model, weights)
        found = _decided(model, weights, documents, found, sharpness, one.threads)
    rows = document_statistics(documents, found)
    scores["test"] = CORPUS_BLEU.score(rows.sum(axis=0))
    logging.info("%s: BLEU %.2f", key, scores["test"])
    seconds = {"tuning": run["tuning_seconds"], "translating": working_seconds() - began}
    stored.add(key, data=one.files, scores=scores, statistics={"test": rows}, seconds=seconds)


def _decided(
    model: PhraseModel,
    weights: Weights,
    documents: Sequence[Document],
    others: Sequence[Sequence[tuple[str, ...]]],
    sharpness: float,
    threads: int,
) -> list[list[tuple[str, ...]]]:
    """Minimum Bayes risk by samples of document chains, with what hill climbing found as one more hypothesis."""
    sharp = at_sharpness(model, weights, sharpness)
    chains = Chains(model.with_weights(weights), documents, (), TO_DECIDE)
    samples = chains.sample(range(len(documents)), sharp, threads)
    return [consensus_texts(own, model.target_vocabulary, texts) for own, texts in zip(samples, others, strict=True)]


def _sharpness(one: DocumentSet, model: PhraseModel, weights: Weights) -> float:
    """The best one on some tuning documents."""
    documents, scores = one.documents("tune")[:TO_CHOOSE], []
    others = search_documents(model, weights, documents, "beam", one.threads)
    for sharpness in SHARPNESS:
        found = _decided(model, weights, documents, others, sharpness, one.threads)
        scores.append(CORPUS_BLEU.score(document_statistics(documents, found).sum(axis=0)))
    logging.info("sharpness: %s", ", ".join(f"{a:g} {b:.2f}" for a, b in zip(SHARPNESS, scores, strict=True)))
    return SHARPNESS[int(np.argmax(scores))]


def tables(stored: Stored) -> dict[str, str]:
    """One for each pair and start, and one of document models."""
    found = {}
    for pair in [pair for pair in LANGUAGES if pair != SENSES]:
        for start in (*STEPS, MBR):
            groups = {name: stored.find(pair=pair, condition=name, start=start) for name in CONDITIONS}
            found[f"{pair}, {start}"] = table({name: runs for name, runs in groups.items() if runs})
    runs = {f"{run['key']['model']} {run['key']['weight']:g}": [run] for run in stored.all() if "model" in run["key"]}
    cells, names, rows = differences(runs, f"{NO_MODEL} 0", ["test"]), list(MODEL_WEIGHTS), []
    for label, (run,) in runs.items():
        values = [f"{run['scores']['values'][own]:.3f}".replace("-", "−") for own in names]
        rows.append([label, *values, f"{run['scores']['test']:.2f}", cells[label]])
    found["models"] = markdown(["model, weight", *names, "BLEU", "minus none", "p"], rows)
    return found


def table(groups: Mapping[str, Sequence[Run]]) -> str:
    """BLEU of each condition, and differences to default and MERT weights with the same start."""
    cells, rows = [differences(groups, base, ["test"]) for base in BASES], []
    for name, runs in groups.items():
        totals = np.sum([statistics_of(runs, ["test"])], axis=(0, 1, 2))
        brevity = min(1.0, float(np.exp(1.0 - totals[1] / totals[0])))
        seconds = np.mean([run["seconds"]["tuning"] for run in runs])
        score = mean_text([run["scores"]["test"] for run in runs])
        rows.append([name, len(runs), score, f"{brevity:.3f}", *(own[name] for own in cells), f"{seconds:.0f}"])
    bases = [cell for base in BASES for cell in (f"minus {base}", "p")]
    return markdown(["weights", "runs", "test", "brevity", *bases, "CPU s"], rows)


def _run_models(one: DocumentSet, stored: Stored) -> None:
    """What each document model does to its own value and to BLEU, with MERT weights and hill climbing."""
    plans = [(NO_MODEL, 0.0), *((own, weight) for own, some in MODEL_WEIGHTS.items() for weight in some)]
    todo = [plan for plan in plans if not stored.done(pair=one.pair, model=plan[0], weight=plan[1])]
    if not todo:
        return
    weights_of_mert, documents = tuned(one, "MERT", 1)["weights"], one.documents("test")
    models = [LengthParity(), LexicalConsistency(), SemanticModel(semantic_space(one))]
    names = [model.name for model in models]
    for name, weight in todo:
        settings, began = DocumentSettings(HillClimbing(), steps=STEPS["beam"]), working_seconds()
        own = {} if name == NO_MODEL else {name: weight}
        weights = Weights({**weights_of_mert, **dict.fromkeys(names, 0.0), **own})
        search = DocumentSearch(one.model.with_weights(weights), settings, models)
        results = search.search(documents, threads=one.threads)
        texts = [[translation.words for translation in result.translations] for result in results]
        values = {own: float(np.mean([result.features[own] for result in results])) for own in names}
        rows = document_statistics(documents, texts)
        stored.add(
            {"pair": one.pair, "model": name, "weight": weight},
            data=one.files,
            scores={"values": values, "test": CORPUS_BLEU.score(rows.sum(axis=0))},
            statistics={"test": rows},
            seconds={"searching": working_seconds() - began},
        )


if __name__ == "__main__":
    main()
