"""Chapter 4 of Smith (2015) on real data: weights for document search, and what document models do.

    python experiments/documents.py ../shared/data --work documents
    python experiments/documents.py ../shared/data --work documents --part models
    python experiments/documents.py ../shared/data --work documents --table

The data are chapters of the Bible with two references. All weights are tuned on the 60 chapters of the tuning part and
translate the 60 unseen ones of the test part in the same way: hill climbing from what beam search finds with these
weights, or from a random translation; or (MBR) the text of each sentence that agrees most with samples of the document
chain, at a sharpness chosen for each weights on 20 chapters of the tuning part. Each finished run is a line of
WORK/PAIR/runs.jsonl (with --documents 5, WORK/PAIR-5/runs.jsonl) beside its translations, and what is there is not done
again. p is that of a paired bootstrap over documents (10,000 samples).
"""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from document_sets import STEPS, DocumentSet, document_statistics, search_documents
from document_weights import CONDITIONS, KEY, at_sharpness, model_of, tuned
from numpy.typing import NDArray
from runs import Run, Runs, compare, file_name, mean_text, read_lines

from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.models.readability import LengthParity
from toledo.search.document.models.semantic import SemanticModel, SemanticSpace
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
    parser.add_argument("--table", action="store_true", help="only print the tables")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    for pair in options.pairs.split(","):
        one = DocumentSet.of(pair, options.data, options.work, options.threads, options.documents)
        if options.part == "models":
            if not options.table:
                _run_models(one)
            _print_models(one)
            continue
        if not options.table:
            _run_conditions(one, options)
        _print_conditions(one)


def _run_conditions(one: DocumentSet, options: argparse.Namespace) -> None:
    runs = Runs(one.work, KEY)
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for name in options.conditions.split(";"):
            for start in options.starts.split(","):
                if (name, seed, start) in runs.all() or (CONDITIONS[name] is None and seed > 1):
                    continue
                known = [run for key, run in runs.all().items() if key[:2] == (name, seed)]
                try:
                    found = known[0] if known else tuned(one, name, seed)
                except InputError as error:  # such as: no round is better than the start
                    logging.warning("%s, %s, seed %d: %s", one.pair, name, seed, error.message)
                    continue
                runs.add(_translated(one, runs, {**found, "start": start}))


def _translated(one: DocumentSet, runs: Runs, run: Run) -> Run:
    """BLEU on the test documents; their translations are kept."""
    model = model_of(one, run["condition"], run["seed"])
    documents, before = one.documents("test"), time.process_time()
    weights = Weights(run["weights"])
    if run["start"] == MBR:
        lines = iter(read_lines(runs.work / file_name(f"{run['condition']}-{run['seed']}-beam.test")))
        found = [[tuple(next(lines)) for _ in document.segments] for document in documents]
        run = {**run, "sharpness": _sharpness(one, model, weights)}
        found = _decided(model, weights, documents, found, run["sharpness"], one.threads)
    else:
        found = search_documents(model, weights, documents, run["start"], one.threads)
    lines = [words for translations in found for words in translations]
    name = f"{run['condition']}-{run['seed']}-{run['start']}.test"
    runs.write_text(name, lines)
    score = BLEU(smooth_method="none").score(document_statistics(documents, found).sum(axis=0))
    logging.info("%s, %s: BLEU %.2f", one.pair, name, score)
    return {**run, "BLEU": score, "file": name, "seconds": time.process_time() - before}


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
        scores.append(BLEU(smooth_method="none").score(document_statistics(documents, found).sum(axis=0)))
    logging.info("sharpness: %s", ", ".join(f"{a:g} {b:.2f}" for a, b in zip(SHARPNESS, scores, strict=True)))
    return SHARPNESS[int(np.argmax(scores))]


def _rows(one: DocumentSet, runs: Runs, some: Sequence[Run]) -> NDArray[np.float64]:
    """The statistics of documents, as means over runs."""
    documents, found = one.documents("test"), []
    for run in some:
        lines = iter(read_lines(runs.work / file_name(run["file"])))
        texts = [[next(lines) for _ in document.segments] for document in documents]
        found.append(document_statistics(documents, texts))
    return np.mean(found, axis=0)


def _print_conditions(one: DocumentSet) -> None:
    """BLEU of each condition, and p against default and MERT weights with the same start."""
    runs = Runs(one.work, KEY)
    everything = runs.all()
    for start in (*STEPS, MBR):
        groups = {
            name: [run for key, run in everything.items() if key[0] == name and key[2] == start] for name in CONDITIONS
        }
        groups = {name: some for name, some in groups.items() if some}
        if not groups:
            continue
        rows = {name: _rows(one, runs, some) for name, some in groups.items()}
        print(f"\n{one.pair}, {start}\n")
        titles = ("weights", "seeds", "test", "brevity", *(f"p, {base}" for base in BASES), "CPU s")
        print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
        for name, some in groups.items():
            total = rows[name].sum(axis=0)
            against = [compare(rows[name], rows[base]) if base in rows else "" for base in BASES]
            brevity = min(1.0, float(np.exp(1.0 - total[1] / total[0])))
            score = mean_text([run["BLEU"] for run in some])
            seconds = np.mean([run["tuning_seconds"] for run in some])
            print(f"| {name} | {len(some)} | {score} | {brevity:.3f} | {' | '.join(against)} | {seconds:.0f} |")


def _run_models(one: DocumentSet) -> None:
    """What each document model does to its own value and to BLEU, with MERT weights and hill climbing."""
    runs = Runs(one.work / "models", ("model", "weight"))
    tuned = Runs(one.work, KEY).all()[("MERT", 1, "beam")]["weights"]
    documents = one.documents("test")
    models = [LengthParity(), LexicalConsistency(), SemanticModel(_space(one))]
    names = [model.name for model in models]
    plans = [(NO_MODEL, 0.0), *((own, weight) for own in names for weight in MODEL_WEIGHTS[own])]
    for name, weight in plans:
        if (name, weight) in runs.all():
            continue
        settings = DocumentSettings(HillClimbing(), steps=STEPS["beam"])
        weights = Weights({**tuned, **dict.fromkeys(names, 0.0), **({} if name == NO_MODEL else {name: weight})})
        search = DocumentSearch(one.model.with_weights(weights), settings, models)
        results = search.search(documents, threads=one.threads)
        texts = [[translation.words for translation in result.translations] for result in results]
        file = f"{name}-{weight}.test"
        runs.write_text(file, [words for document in texts for words in document])
        values = {own: float(np.mean([result.features[own] for result in results])) for own in names}
        score = BLEU(smooth_method="none").score(document_statistics(documents, texts).sum(axis=0))
        logging.info("%s, %s = %g: %s, BLEU %.2f", one.pair, name, weight, values, score)
        runs.add({"model": name, "weight": weight, "values": values, "BLEU": score, "file": file})


def _space(one: DocumentSet) -> SemanticSpace:
    """Word vectors of the English training text, made once."""
    place = one.work / "space"
    if not place.exists():
        names = (one.folder / "train.docids").read_text(encoding="utf-8").split()
        texts: dict[str, list[list[str]]] = {}
        for name, words in zip(names, read_lines(one.folder / "train.en"), strict=True):
            texts.setdefault(name, []).append(words)
        SemanticSpace.from_documents(list(texts.values())).save(place)
    return SemanticSpace.load(place)


def _print_models(one: DocumentSet) -> None:
    runs = Runs(one.work / "models", ("model", "weight"))
    everything = runs.all()
    base = _rows(one, runs, [everything[NO_MODEL, 0.0]])
    names = list(MODEL_WEIGHTS)
    print(
        f"\n{one.pair}\n\n| model | weight | {' | '.join(names)} | BLEU | p |\n|---|---|{'---|' * len(names)}---|---|"
    )
    for (name, weight), run in everything.items():
        values = " | ".join(f"{run['values'][own]:.3f}" for own in names)
        p = compare(_rows(one, runs, [run]), base)
        print(f"| {name} | {weight:g} | {values} | {run['BLEU']:.2f} | {p} |")


if __name__ == "__main__":
    main()
