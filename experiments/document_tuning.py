"""Weights tuned on documents against weights of MERT on sentences: the same features, search and starts.

    python experiments/document_tuning.py ../shared/data --work documents --pairs senses --runs 3
    python experiments/document_tuning.py ../shared/data --table

MERT with beam search knows sentences only, so document models have a weight of 0 with it. All others begin with its
weights, of the same run, and tune them together with those of document models, on the same documents. Each then
translates the test documents by hill climbing from what beam search finds with its weights. *One weight* keeps those of
MERT and chooses, for the model *clusters* alone, the best of some weights on the tuning documents.

The sets are chapters of the Bible, and the sample with senses, in which each document of the test has a twin with the
same sentences and other senses. *Senses* are the words of the right field among those of both; *clusters* is the mean
value of that document model. Units of all tests are documents, and runs are drawn, too.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from document_sets import LANGUAGES, SENSES, DocumentSet, document_statistics, semantic_space
from document_weights import sentence_mert
from runs import Run, Runs, caption, size_shown
from stored import CORPUS_BLEU, Stored, add_options, differences, markdown, mean_text

from toledo.compiled.kernels import working_seconds
from toledo.language_model.model import LanguageModel
from toledo.model import default_weights
from toledo.progress import silent
from toledo.sample.lexicon import field_pairs
from toledo.search.document.models.cache import CacheModel
from toledo.search.document.models.consistency import TranslationClusters
from toledo.search.document.models.context import ContextModel
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.models.topic import TopicModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.text.corpus import Document
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.documents.tune import tune_documents
from toledo.tuning.settings import DocumentGradient, DocumentLists, DocumentMethod, OnlineMIRA
from toledo.weights import Weights

BASE, DEFAULT = "MERT", "default"
MERT_ROUNDS = 4
STEPS = {SENSES: 10_000}
USUAL_STEPS = 20_000
GRID = (5.0, 10.0, 20.0)  # weights of `clusters`


@dataclass(frozen=True)
class OneWeight:
    """Choose one weight of the model of clusters."""


LISTS = DocumentLists(
    rounds=4, steps=8_000, sample_from=500, sample_every=100, start="beam", accept="sampling:temperature=0.3"
)
GRADIENT = DocumentGradient(rounds=6, batch=15, gradient_steps=6, num_samples=15)
METHODS: dict[str, OneWeight | DocumentMethod | None] = {
    DEFAULT: None,
    BASE: None,
    "one weight": OneWeight(),
    "expected BLEU, no document models": GRADIENT,
    "expected BLEU": GRADIENT,
    "MERT on lists of states": LISTS,
    "MIRA on lists of states": replace(LISTS, tuner="mira"),
    "online MIRA": OnlineMIRA(
        rounds=2, steps=4_000, sample_from=500, sample_every=100, start="beam", accept=LISTS.accept
    ),
}


def main() -> None:
    """Do what is not there yet, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("documents"))
    parser.add_argument("--pairs", default=",".join(LANGUAGES))
    parser.add_argument("--conditions", default=";".join(METHODS), help="names with ; between them")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--documents", type=int, help="only the first ones of each part [default: all]")
    parser.add_argument("--tuning-documents", type=int, help="only the first ones to tune on")
    parser.add_argument("--threads", type=int, default=1)
    add_options(parser)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    stored, size = Stored.of(__file__, options), size_of(options)
    for seed in range(1, options.runs + 1):
        for pair in options.pairs.split(","):
            bench = None
            for name in options.conditions.split(";"):
                key = {"pair": pair, "condition": name, "seed": seed, "size": size}
                if (name == DEFAULT and seed > 1) or stored.done(**key):
                    continue
                bench = bench or Bench.of(pair, options, stored)
                bench.run(key, name, seed)
    if not options.stale:
        print("\n".join(f"{name}\n\n{table}" for name, table in tables(stored).items()))


def size_of(options: argparse.Namespace) -> str:
    """How many documents there are, in words."""
    if options.tuning_documents:
        return f"{options.tuning_documents} documents to tune on, {options.documents or 'all'} to test with"
    return "full" if options.documents is None else f"{options.documents} documents"


@dataclass(frozen=True)
class Bench:
    """A set, its document models, and its runs."""

    one: DocumentSet
    models: tuple[DocumentModel, ...]
    stored: Stored

    @classmethod
    def of(cls, pair: str, options: argparse.Namespace, stored: Stored) -> Bench:
        """By options."""
        work, numbers = stored.work(options.work), (options.documents, options.tuning_documents)
        one = DocumentSet.of(pair, options.data, work, options.threads, *numbers)
        lm = one.work.parent / pair / "documents.arpa"
        lm.parent.mkdir(exist_ok=True)
        if not lm.exists():
            LanguageModel.train(one.folder / "train.en", document_ids=one.folder / "train.docids").save(lm)
        models = TranslationClusters(), CacheModel(), TopicModel(semantic_space(one)), ContextModel(lm)
        return cls(one, models, stored)

    def run(self, key: Mapping[str, object], name: str, seed: int) -> None:
        """Tune, translate the test documents, and store what comes out."""
        began = working_seconds()
        weights = self.weights(name, seed)
        tuned, documents = working_seconds(), self.one.documents("test")
        texts, values = self.translated(weights, documents, seed)
        rows = document_statistics(documents, texts)
        scores: dict[str, object] = {
            "test": CORPUS_BLEU.score(rows.sum(axis=0)),
            "values": values,
            "weights": dict(weights),
        }
        if self.one.pair == SENSES:
            scores["senses"] = right_senses(documents, texts)
        logging.info("%s: %s", key, {name: scores.get(name) for name in ("test", "senses", "values")})
        seconds = {"tuning": tuned - began, "translating": working_seconds() - tuned}
        self.stored.add(key, data=self.one.files, scores=scores, statistics={"test": rows}, seconds=seconds)

    def weights(self, name: str, seed: int) -> Weights:
        """Of a condition; those of MERT are kept, since all others begin with them."""
        default, how = default_weights(self.one.model.feature_names), METHODS[name]
        added = {model.name: 0.0 for model in self.models}
        if name == DEFAULT:
            return replace(default, values_by_name={**default, **added})
        kept = Runs(self.one.work, ("condition", "seed"))
        if (BASE, seed) not in kept.all():
            found = sentence_mert(self.one, self.one.model, MERT_ROUNDS, seed, default)
            kept.add({"condition": BASE, "seed": seed, "weights": dict(found)})
        start = replace(default, values_by_name={**kept.all()[BASE, seed]["weights"], **added})
        if how is None:
            return start
        if isinstance(how, OneWeight):
            return self._one_weight(start, seed)
        models = () if name.endswith("no document models") else self.models
        task = DocumentTask(self.one.model, self.one.documents("tune"), models, None, seed, self.one.threads)
        if not models:
            start = replace(start, values_by_name={key: value for key, value in start.items() if key not in added})
        method = how if isinstance(how, DocumentGradient) else replace(how, seed=seed)
        found = tune_documents(task, task.start(method, start, [*added]), method, None, silent).weights
        return replace(found, values_by_name={**added, **found})

    def _one_weight(self, start: Weights, seed: int) -> Weights:
        documents, found = self.one.documents("tune"), []
        for value in GRID:
            weights = replace(start, values_by_name={**start, TranslationClusters.name: value})
            rows = document_statistics(documents, self.translated(weights, documents, seed)[0])
            found.append((CORPUS_BLEU.score(rows.sum(axis=0)), -value, weights))
            logging.info("clusters %g: BLEU %.2f", value, found[-1][0])
        return max(found, key=lambda one: one[:2])[2]

    def translated(
        self, weights: Weights, documents: Sequence[Document], seed: int
    ) -> tuple[list[list[tuple[str, ...]]], dict[str, float]]:
        """Hill climbing from beam search; and the mean values of document models."""
        settings = DocumentSettings(steps=STEPS.get(self.one.pair, USUAL_STEPS), seed=seed)
        search = DocumentSearch(self.one.model.with_weights(weights), settings, self.models, weights)
        results = search.search(documents, threads=self.one.threads)
        values = {one.name: float(np.mean([result.features[one.name] for result in results])) for one in self.models}
        return [[part.words for part in result.translations] for result in results], values


def right_senses(documents: Sequence[Document], texts: Sequence[Sequence[Sequence[str]]]) -> float:
    """The share of words of the document's own field among those that have other senses in the other field."""
    words = {
        field.name: {
            form for some in field.ambiguous.values() for noun in some for forms in noun.english for form in forms
        }
        for pair in field_pairs()
        for field in pair
    }
    other = {one.name: two.name for pair in field_pairs() for one, two in (pair, pair[::-1])}
    right = wrong = 0
    for document, lines in zip(documents, texts, strict=True):
        field = document.identifier.rpartition("-")[2]
        right += sum(word in words[field] for line in lines for word in line)
        wrong += sum(word in words[other[field]] for line in lines for word in line)
    return 100.0 * right / max(right + wrong, 1)


def tables(stored: Stored) -> dict[str, str]:
    """One for each set."""
    found = {}
    for pair in LANGUAGES:
        everything = stored.find(pair=pair)
        size = size_shown(everything)
        groups = {
            name: [run for run in everything if (run["key"]["condition"], run["key"]["size"]) == (name, size)]
            for name in METHODS
        }
        found[pair] = table({name: runs for name, runs in groups.items() if runs}) + caption(size)
    return found


def table(groups: Mapping[str, Sequence[Run]]) -> str:
    """BLEU, senses and consistency of each condition, and differences to MERT."""
    cells, rows = differences(groups, BASE, ["test"]), []
    for name, runs in groups.items():
        senses = [run["scores"]["senses"] for run in runs if "senses" in run["scores"]]
        clusters = [100.0 * run["scores"]["values"][TranslationClusters.name] for run in runs]
        row = [name, len(runs), mean_text([run["scores"]["test"] for run in runs]), cells[name]]
        row += [mean_text(senses, 1) if senses else "–", mean_text(clusters, 1)]
        rows.append([*row, f"{np.mean([run['seconds']['tuning'] for run in runs]):.0f}"])
    return markdown(["weights", "runs", "BLEU", f"minus {BASE}", "p", "senses %", "clusters %", "CPU s"], rows)


if __name__ == "__main__":
    main()
