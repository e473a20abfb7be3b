"""A search of documents that can be interrupted: what its result depends on, how far it is, and what is kept of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toledo.compiled.kernels import map_chunks
from toledo.errors import InputError
from toledo.progress import Advance, Progress
from toledo.runs.checkpoint import DIGEST, Checkpoint, deferred_signals, digest, digest_arrays, plain
from toledo.search.document.models.semantic import SemanticModel
from toledo.search.document.search import Derivation, DocumentSearch
from toledo.search.document.state import DocumentResult, DocumentState
from toledo.text.corpus import Document

STATES = "documents"  # the kind of what is kept
SUFFIX = ".states"


def space_digest(models: Sequence[object]) -> str:
    """Return a short digest of the word vectors that document models use, or nothing."""
    spaces = [one.loaded for one in models if isinstance(one, SemanticModel)]
    return digest([[one.words, digest_arrays(one.vectors, one.worth)] for one in spaces]) if spaces else ""


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
            "search": plain(self.search.settings),
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
        """Search all documents, or continue what was kept; return the signal that ended the search early, too, or 0.

        Documents that were not begun when it came are in their first state.
        """
        kept = checkpoint.load_states(STATES) if checkpoint else None
        if checkpoint and checkpoint.resume and kept is None:
            raise InputError(
                "there is no interrupted search to continue",
                file=checkpoint.directory,
                remedy="leave `resume` out to start again",
            )
        total = max(self.search.settings.steps * len(self.documents), 1)
        begun = threading.Event()
        with deferred_signals(begun) as noticed, progress("searching", total) as advance:
            watch = Watch(noticed, advance, begun)
            if kept is None:
                found = self.search.search(self.documents, self.derivations, threads, stop=watch)
            else:
                found = self._resumed(kept, threads, watch)
        return found, noticed[0] if noticed else 0

    def _resumed(self, kept: Sequence[Mapping[str, Any]], threads: int | None, watch: Watch) -> list[DocumentResult]:
        states = [self.search.resume(document, one) for document, one in zip(self.documents, kept, strict=True)]
        parts = map_chunks(
            lambda first, last: [self.search.run(one, stop=watch) for one in states[first:last]],
            len(states),
            chunk=1,
            threads=threads,
        )
        whole = (one for part in parts for one in part)
        return [one.with_saved_records(old) for one, old in zip(whole, kept, strict=True)]


@dataclass
class Watch:
    """Asked between blocks of steps: reports how far a search is, and stops it after a signal."""

    noticed: Sequence[int]
    advance: Advance
    begun: threading.Event
    seen: dict[str, int] = field(default_factory=dict)

    def __call__(self, state: DocumentState) -> bool:
        """Return whether to stop."""
        before = self.seen.get(state.document.identifier, 0)
        if state.step > before:
            self.advance(state.step - before)
            self.begun.set()
        self.seen[state.document.identifier] = state.step
        return bool(self.noticed)
