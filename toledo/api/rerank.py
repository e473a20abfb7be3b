"""Rerank: score lists of translations by features of whole translations, which the search cannot see."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toledo.api.inputs import Texts
from toledo.api.model import Decoding, Model, load
from toledo.api.refine import training_corpus
from toledo.api.runs import Pair, begin_run, read_set
from toledo.api.settings import OBJECTIVE
from toledo.metrics.given import SegmentReferences
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align
from toledo.progress import Progress, silent
from toledo.reranking.features import FEATURES, train_features
from toledo.reranking.reranker import NAMES, Reranker, first_weights
from toledo.results import TableResult, table
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet
from toledo.tuning.loop import tune as tune_weights
from toledo.tuning.settings import TUNERS
from toledo.weights import Weights

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reranking(TableResult):
    """A model with a reranker, its weights, and the score of the tuning set before and after: `start` and `score`."""

    model: Model
    weights: Weights
    metric: str
    start: float
    score: float

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how translations are scored."""
        assert self.model.reranker is not None  # noqa: S101 (this is its result)
        return f"{'+'.join(FEATURES)}|size:{self.model.reranker.size}|{self.model.signature}"

    def to_dict(self) -> dict[str, Any]:
        """Return weights and scores, ready for JSON."""
        own = {"weights": dict(self.weights), "metric": self.metric, "start": self.start, "score": self.score}
        return {**own, "signature": self.signature}

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each feature."""
        return [{"feature": name, "weight": self.weights[name]} for name in NAMES]

    def __str__(self) -> str:
        rows = [["feature", "weight"], *([name, f"{self.weights[name]:.4g}"] for name in NAMES)]
        return "\n".join(
            [*table(rows, left=[0]), f"{self.metric} of the tuning set: {self.start:.2f} → {self.score:.2f}"]
        )


def rerank(
    model: Model | str | Path,
    sources: Texts,
    targets: Texts,
    *,
    tune: Pair,
    tokenized: bool = False,
    networks: int = 1,
    output: str | Path | None = None,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> Reranking:
    """Make a model with a reranker, which then scores the best translations of each sentence again.

    Its features are learned from the training text of the model, and weighed on the sentences and references of `tune`,
    as the weights of the model were. The neural one is the mean of `networks`, which `seed` begins. Choose the rule
    after that. With `output`, the model is saved there.
    """
    begin_run(output, False, model)
    loaded = load(model) if isinstance(model, str | Path) else model
    made = train_reranker(loaded, sources, targets, tokenized, networks, seed, threads, progress)
    prepared = loaded.with_reranker(made)
    tuned = tune_reranker(prepared, tune, tokenized, threads, progress)
    assert prepared.reranker is not None  # noqa: S101 (just made)
    found = loaded.with_reranker(prepared.reranker.with_weights(tuned.weights))
    if output is not None:
        found.save(output)
        log.info("model: %s", output)
    history = tuned.history
    return Reranking(found, tuned.weights, history.metric, history.start.score, history.best_score)


def train_reranker(
    model: Model,
    sources: Texts,
    targets: Texts,
    tokenized: bool = False,
    networks: int = 1,
    seed: int = 1,
    threads: int | None = None,
    progress: Progress = silent,
) -> Reranker:
    """Return a reranker with features learned from sentence pairs; its weights change nothing yet."""
    own = model.phrase_model
    text = own.preparation.of_words if tokenized else own.preparation
    corpus = training_corpus(own, sources, targets, text)
    aligned = align(corpus, AlignmentTraining(), threads=threads, progress=progress)
    return Reranker(train_features(corpus, aligned.alignments, seed, networks, progress), first_weights(1.0))


def tune_reranker(
    model: Model, pair: Pair, tokenized: bool = False, threads: int | None = None, progress: Progress = silent
) -> TuningResult:
    """Find the weights with which the reranker of a model chooses best."""
    translator = model.translator(Decoding("viterbi", threads=threads, progress=progress, tokenized=tokenized))
    segments = read_set(pair, "tune", translator.text, model.phrase_model.source_vocabulary)
    lists = translator.forests_for_rules(translator.search.encode([one.words for one in segments]))
    known = [SegmentReferences(one.references, " ".join(one.words)) for one in segments]
    start = first_weights(model.weights.norm(model.features))
    settings = LoopSettings(rounds=1, threads=threads)
    return tune_weights(TUNERS.make(OBJECTIVE), start, TuningSet(lambda _: lists, known), settings)
