"""What a search of documents returns: translations, their scores, and the states that were recorded on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from toledo.files import atomic_writer
from toledo.metrics.bleu import BLEU
from toledo.results import Result, plain
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.runs import DocumentRun
from toledo.search.document.state import DocumentResult, Record, Tally

Keep = Literal["best", "last"]
PREFIX = "document."  # of the features of document models


@dataclass(frozen=True)
class TranslatedDocument(Result):
    """The translation of one document."""

    id: str
    texts: tuple[str, ...]
    score: float
    features: Mapping[str, float]
    steps: int
    accepted: int

    def __str__(self) -> str:
        return "\n".join(self.texts)

    def __repr__(self) -> str:
        return f"TranslatedDocument({self.id!r}, {len(self.texts)} segments, score={self.score:.2f})"


@dataclass(frozen=True)
class DocumentTranslation(Result, Sequence[TranslatedDocument]):
    """Translated documents; `trace` has the states that were recorded on the way, `bleu` needs references.

    `operations` says how often each operation was drawn, found something to propose, and was accepted.
    """

    documents: tuple[TranslatedDocument, ...]
    bleu: float | None = None
    operations: Mapping[str, Mapping[str, int]] = field(default_factory=dict, repr=False)
    trace: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    sign: str = field(default="", repr=False)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """Return how the documents were translated."""
        return self.sign

    @property
    def texts(self) -> list[str]:
        """Return the translations of all segments, in order."""
        return [text for document in self.documents for text in document.texts]

    @property
    def score(self) -> float:
        """Return the sum of the scores of all documents."""
        return sum(document.score for document in self.documents)

    @property
    def features(self) -> dict[str, float]:
        """Return all features: the mean over documents for document models, sums for all others."""
        found: dict[str, float] = {}
        for document in self.documents:
            for name, value in document.features.items():
                share = len(self.documents) if name.startswith(PREFIX) else 1
                found[name] = found.get(name, 0.0) + value / share
        return found

    @property
    def steps(self) -> int:
        """Return the number of steps of all searches."""
        return sum(document.steps for document in self.documents)

    @property
    def accepted(self) -> int:
        """Return the number of accepted changes."""
        return sum(document.accepted for document in self.documents)

    @overload
    def __getitem__(self, index: int) -> TranslatedDocument: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[TranslatedDocument, ...]: ...
    def __getitem__(self, index: int | slice) -> TranslatedDocument | tuple[TranslatedDocument, ...]:
        return self.documents[index]

    def __len__(self) -> int:
        return len(self.documents)

    def to_dict(self) -> dict[str, Any]:
        """Return documents and totals as JSON-ready values."""
        names = ("documents", "score", "bleu", "features", "steps", "accepted", "operations")
        found: dict[str, Any] = {name: plain(getattr(self, name)) for name in names}
        return {**found, **({"trace": plain(self.trace)} if self.trace else {}), "signature": self.signature}

    def write_trace(self, path: str | Path) -> None:
        """Write the recorded states, one line of JSON for each."""
        with atomic_writer(path) as stream:
            for row in self.trace:
                numbers = {"score": row["score"], **({"bleu": round(row["bleu"], 4)} if "bleu" in row else {})}
                features = {name: round(value, 6) + 0.0 for name, value in row["features"].items()}  # no -0.0
                line = {**row, **numbers, "score": round(row["score"], 6) + 0.0, "features": features}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")

    def summary(self) -> str:
        """Return one line about all documents."""
        bleu = "" if self.bleu is None else f", BLEU {self.bleu:.2f}"
        return (
            f"documents: {len(self)}, segments: {len(self.texts)}, score {self.score:.2f}{bleu}; "
            f"{self.accepted} of {self.steps} steps accepted"
        )

    def __str__(self) -> str:
        return "\n".join(self.texts)

    def __repr__(self) -> str:
        return f"DocumentTranslation({len(self)} documents, {len(self.texts)} segments, score={self.score:.2f})"


def document_translation(run: DocumentRun, results: Sequence[DocumentResult], keep: Keep) -> DocumentTranslation:
    """Return the best or the last states of documents as the result of a run."""
    states = [one.last if keep == "last" else one.best for one in results]
    documents = tuple(
        TranslatedDocument(
            one.document.identifier,
            tuple(" ".join(part.words) for part in state.translations),
            state.score,
            {name: value for name, value in state.features.items() if name != BLEUModel.name},
            one.steps,
            one.accepted,
        )
        for one, state in zip(results, states, strict=True)
    )
    segments = [part for one in results for part in one.document.segments]
    bleu = None
    if segments and all(part.references for part in segments):
        words = [part.words for state in states for part in state.translations]
        metric = BLEU(smooth_method="none")
        bleu = metric.score(metric.corpus_statistics(words, [part.references for part in segments]).sum(axis=0))
    recorded = run.search.settings.record is not None
    trace = tuple(row for one in results for row in _rows(one)) if recorded else ()
    return DocumentTranslation(documents, bleu, _tally(results), trace, run.signature)


def _rows(one: DocumentResult) -> Iterator[dict[str, Any]]:
    """Yield what was recorded of a document, and its last state."""
    last = Record(one.steps, one.last.score, one.last.features, one.last.bleu, None)
    for record in [*(record for record in one.records if record.step < one.steps), last]:
        row: dict[str, Any] = {"document": one.document.identifier, "step": record.step, "score": record.score}
        if record.bleu is not None:
            row["bleu"] = BLEU(smooth_method="none").score(np.array(record.bleu, np.float64))
        yield {**row, "features": {name: v for name, v in record.features.items() if name != BLEUModel.name}}


def _tally(results: Sequence[DocumentResult]) -> dict[str, dict[str, int]]:
    total: dict[str, dict[str, int]] = {}
    for one in results:
        for operation, counts in one.tally.items():
            sums = total.setdefault(operation, dict.fromkeys(Tally._fields, 0))
            for name, count in zip(Tally._fields, counts, strict=True):
                sums[name] += count
    return {operation: sums for operation, sums in total.items() if sums["drawn"]}
