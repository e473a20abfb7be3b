"""What a tuning of documents is about: the model, the documents, and how good weights are for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.runs.checkpoint import digest, plain
from toledo.runs.history import Round
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing
from toledo.text.corpus import Document
from toledo.tuning.documents.chains import Floats
from toledo.tuning.loop import digest_segments
from toledo.tuning.settings import DocumentGradient, DocumentMethod
from toledo.weights import Weights

JUDGING_STEPS = 30_000


@dataclass(frozen=True)
class DocumentTask:
    """A model with document models, the documents to tune on, and those that select the best round, if any."""

    model: PhraseModel
    documents: Sequence[Document]
    models: Sequence[DocumentModel] = ()
    dev: Sequence[Document] | None = None
    seed: int = 1
    threads: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Return the features that have weights: those of the model, of document models, and sparse ones."""
        sparse = self.model.sparse.names if self.model.sparse else ()
        return (*self.model.feature_names, *(one.name for one in self.models), *sparse)

    def configuration(self, method: DocumentMethod, start: Weights) -> dict[str, Any]:
        """Return what the result depends on; more rounds may be added to the same run."""
        own = {name: value for name, value in plain(method).items() if name not in ("rounds", "seed")}
        return {
            "objective": own,
            "features": digest(self.model.sparse.names if self.model.sparse else ()),
            "frozen": ", ".join(sorted(start.frozen)),
            "initial": digest(start.to_table()),
            **_digests(self.documents),
            **(_digests(self.dev, "dev_") if self.dev else {}),
            "version": version("toledo-mt"),
        }

    def statistics(self, documents: Sequence[Document], weights: Weights) -> Floats:
        """Return the BLEU statistics of what hill climbing from beam search finds."""
        own = self.model.with_weights(Weights({**weights, BLEUModel.name: 0.0}))
        settings = DocumentSettings(HillClimbing(), steps=JUDGING_STEPS, seed=self.seed)
        search = DocumentSearch(own, settings, (*self.models, BLEUModel()))
        rows = [result.best.bleu for result in search.search(documents, threads=self.threads)]
        total: Floats = np.sum([row for row in rows if row is not None], axis=0).astype(np.float64)
        return total

    def score(self, documents: Sequence[Document], weights: Weights) -> float:
        """Return the BLEU of what a search finds."""
        return BLEU(smooth_method="none").score(self.statistics(documents, weights))

    def judged(self, weights: Weights) -> Round:
        """Return a round with the scores of some weights."""
        dev_score = None if self.dev is None else self.score(self.dev, weights)
        return Round(0, dict(weights), self.score(self.documents, weights), dev_score)

    def start(self, method: DocumentMethod, weights: Weights, added: Sequence[str]) -> Weights:
        """Return the weights to start from: gradients begin with a sharper distribution, except for `added` models."""
        if not isinstance(method, DocumentGradient):
            return weights
        values = {
            name: value if name in weights.frozen or name in added else method.initial_factor * value
            for name, value in weights.items()
        }
        return replace(weights, values_by_name=values, bounds={})


def _digests(documents: Sequence[Document], prefix: str = "") -> dict[str, str]:
    segments = [part for document in documents for part in document.segments]
    ids = digest([[one.identifier, len(one.segments)] for one in documents])
    return {**digest_segments(segments, prefix), f"{prefix}document_ids": ids}
