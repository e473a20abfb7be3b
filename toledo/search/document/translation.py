"""A search of documents that can be interrupted, and its result: translations, their scores, and recorded states."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from toledo.compiled.kernels import map_chunks
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.metrics.bleu import BLEU
from toledo.progress import Progress
from toledo.results import Result, plain
from toledo.runs.checkpoint import DIGEST, Checkpoint, deferred_signals, digest, digest_arrays
from toledo.runs.checkpoint import plain as plain_settings
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.context import ContextModel
from toledo.search.document.models.semantic import SpaceModel
from toledo.search.document.search import Derivation, DocumentSearch, Stop
from toledo.search.document.settings import OPERATIONS
from toledo.search.document.state import DocumentResult, DocumentState, Record, Tally
from toledo.text.corpus import Document

STATES = "documents"  # the kind of saved states
SUFFIX = ".states"


def space_digest(models: Sequence[object]) -> str:
    """Return a short digest of the word vectors and language models that document models use, or nothing."""
    spaces = [one.loaded for one in models if isinstance(one, SpaceModel)]
    found: list[object] = [[one.words, digest_arrays(one.vectors, one.worth)] for one in spaces]
    automata = [one.loaded.automaton for one in models if isinstance(one, ContextModel)]
    found += [digest_arrays(*one) for one in automata]
    return digest(found) if found else ""


@dataclass(frozen=True)
class DocumentRun:
    """A search with its documents, and with given derivations if there are any; `model` is the digest of its model."""

    search: DocumentSearch
    documents: Sequence[Document]
    derivations: Sequence[Derivation] | None
    model: str

    @property
    def configuration(self) -> dict[str, Any]:
        """Return everything that the result depends on."""
        given = [[[(p.begin, p.end, list(p.words)) for p in line] for line in one] for one in self.derivations or ()]
        return {
            "search": plain_settings(self.search.settings),
            "weights": dict(self.search.weights),
            "models": [one.name for one in self.search.models],
            "model": self.model,
            "text": digest([asdict(document) for document in self.documents]),
            "derivations": digest(given) if self.derivations is not None else "",
            "semantic_space": space_digest(self.search.models),
            "version": version("toledo-mt"),
        }

    @property
    def signature(self) -> str:
        """Return in one line what was done."""
        settings, configuration = self.search.settings, self.configuration
        parts = {
            "documents": len(self.documents),
            "segments": sum(len(document.segments) for document in self.documents),
            "start": "given" if self.derivations is not None else settings.start,
            "accept": settings.acceptance.name,
            "steps": settings.steps,
            "seed": settings.seed,
            "search": digest([configuration["search"], configuration["weights"]]).removeprefix(DIGEST)[:8],
            "model": self.model.removeprefix(DIGEST)[:8],
            "version": configuration["version"],
        }
        return "|".join(f"{name}:{value}" for name, value in parts.items())

    def checkpoint(self, output: str | Path, resume: bool) -> Checkpoint:
        """Return the place for the states of this run, beside its output."""
        return Checkpoint(Path(f"{output}{SUFFIX}"), self.configuration, resume)

    def results(
        self, checkpoint: Checkpoint | None, threads: int | None, progress: Progress
    ) -> tuple[list[DocumentResult], int]:
        """Search all documents, or continue an interrupted search; return results and the signal that ended it, or 0.

        Documents that were not begun before the signal are in their first state.
        """
        kept = checkpoint.load_states(STATES) if checkpoint else None
        if checkpoint and checkpoint.resume and kept is None:
            raise InputError(
                "there is no interrupted search to continue",
                file=checkpoint.directory,
                remedy="leave `resume` out to start again",
            )
        total = max(self.search.settings.steps * len(self.documents), 1)
        begun, seen = threading.Event(), dict[str, int]()
        with deferred_signals(begun) as noticed, progress("searching", total) as advance:

            def stop(state: DocumentState) -> bool:
                """Report the progress of a search, and stop it after a signal."""
                before = seen.get(state.document.identifier, 0)
                if state.step > before:
                    advance(state.step - before)
                    begun.set()
                seen[state.document.identifier] = state.step
                return bool(noticed)

            if kept is None:
                results = self.search.search(self.documents, self.derivations, threads, stop=stop)
            else:
                results = self._resumed(kept, threads, stop)
        return results, noticed[0] if noticed else 0

    def _resumed(self, kept: Sequence[Mapping[str, Any]], threads: int | None, stop: Stop) -> list[DocumentResult]:
        states = [self.search.resume(document, one) for document, one in zip(self.documents, kept, strict=True)]
        parts = map_chunks(
            lambda first, last: [self.search.run(one, stop=stop) for one in states[first:last]],
            len(states),
            chunk=1,
            threads=threads,
        )
        whole = (one for part in parts for one in part)
        return [one.with_saved_records(old) for one, old in zip(whole, kept, strict=True)]


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
        totals: dict[str, float] = {}
        for document in self.documents:
            for name, value in document.features.items():
                share = len(self.documents) if name.startswith(PREFIX) else 1
                totals[name] = totals.get(name, 0.0) + value / share
        return totals

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
        values: dict[str, Any] = {name: plain(getattr(self, name)) for name in names}
        return {**values, **({"trace": plain(self.trace)} if self.trace else {}), "signature": self.signature}

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
    for operation in OPERATIONS if results else ():
        sums = np.sum([one.tally[operation] for one in results], axis=0).tolist()
        total[operation] = dict(zip(Tally._fields, sums, strict=True))
    return {operation: sums for operation, sums in total.items() if sums["drawn"]}
