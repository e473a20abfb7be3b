"""Running a search of documents: all that its result depends on, how far it is, and what is kept if interrupted."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toledo.cli.document.runs import BLEU
from toledo.compiled.kernels import map_chunks
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM
from toledo.formats.alignments import read_segmentation
from toledo.formats.documents import DocumentText
from toledo.progress import Advance, Progress
from toledo.runs.checkpoint import DIGEST, Checkpoint, deferred_signals, digest
from toledo.search.document.models.semantic import DESCRIPTION
from toledo.search.document.search import Derivation, DocumentSearch
from toledo.search.document.settings import DocumentConfiguration, configuration_of, write_configuration
from toledo.search.document.state import DocumentResult, DocumentState
from toledo.text.corpus import Document
from toledo.tuning.loop import model_digest

Derivations = Sequence[Derivation]
STATES = "documents"  # the kind of what is kept


def read_derivations(path: Path | None, documents: Sequence[Document]) -> Derivations | None:
    """The derivations of all segments, by document."""
    if path is None:
        return None
    lines = read_segmentation(path)
    segments = sum(len(document.segments) for document in documents)
    if len(lines) != segments:
        raise InputError(
            f"{len(lines)} derivations for {segments} segments", file=path, remedy="give a line for each segment"
        )
    rest = iter(lines)
    return [[next(rest) for _ in document.segments] for document in documents]


def space_digest(space: Path) -> str:
    """A short name for a semantic space: its description lists the digests of all its arrays."""
    return digest((space / DESCRIPTION).read_text(encoding="utf-8"))


def _digest(derivations: Derivations) -> str:
    return digest([[[(p.begin, p.end, list(p.words)) for p in line] for line in one] for one in derivations])


@dataclass(frozen=True)
class Run:
    """A search with its documents, and all that its result depends on."""

    search: DocumentSearch
    text: DocumentText
    derivations: Derivations | None
    identity: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        directory: Path,
        search: DocumentSearch,
        text: DocumentText,
        segmentation: Path | None = None,
        space: Path | None = None,
    ) -> Run:
        """A run of a search with the model of a directory."""
        derivations = read_derivations(segmentation, text.documents)
        identity = {
            "model": search.model.signature,
            "model_files": model_digest(directory),
            "text": digest([asdict(document) for document in text.documents]),
            "derivations": "" if derivations is None else _digest(derivations),
            "semantic_space": "" if space is None else space_digest(space),
            "version": version("toledo-mt"),
        }
        return cls(search, text, derivations, identity)

    @property
    def configuration(self) -> DocumentConfiguration:
        """Everything that was decided, to be written beside the output."""
        weights = {name: value for name, value in self.search.weights.items() if name != BLEU or value}
        return configuration_of(self.search.settings, weights)

    @property
    def signature(self) -> str:
        """What was done, in one line."""
        search, documents = self.configuration.search, self.text.documents
        parts = {
            "documents": len(documents),
            "segments": sum(len(document.segments) for document in documents),
            "start": "given" if self.derivations is not None else search["start"],
            "accept": self.search.settings.acceptance.name,
            "steps": search["steps"],
            "seed": search["seed"],
            "search": digest(asdict(self.configuration)).removeprefix(DIGEST)[:8],
            "model": self.identity["model_files"].removeprefix(DIGEST)[:8],
            "version": self.identity["version"],
        }
        return "|".join(f"{name}:{value}" for name, value in parts.items())

    def checkpoint(self, output: str, resume: bool) -> Checkpoint | None:
        """The place for states of this very run, beside an output that is a file."""
        if output == STANDARD_STREAM:
            if resume:
                raise InputError("nothing is kept for standard output", remedy="give the --output FILE of before")
            return None
        configuration = {**asdict(self.configuration), **self.identity}
        return Checkpoint(Path(f"{output}.states"), configuration, resume)

    def write_configuration(self, output: str) -> None:
        """Write what was decided beside an output that is a file."""
        provenance = {"signature": self.signature, **{name: value for name, value in self.identity.items() if value}}
        write_configuration(f"{output}.toml", self.configuration, provenance)

    def results(
        self, checkpoint: Checkpoint | None, threads: int, progress: Progress
    ) -> tuple[list[DocumentResult], int]:
        """Search all documents, or go on with what was kept; and the signal that ended it early, or 0.

        Documents that were not begun when it came are in their first state.
        """
        kept, documents = checkpoint.load_states(STATES) if checkpoint else None, self.text.documents
        if checkpoint and checkpoint.resume and kept is None:
            raise InputError(
                "no interrupted search to go on with",
                file=checkpoint.directory,
                remedy="leave --resume out to begin anew",
            )
        total = max(self.search.settings.steps * len(documents), 1)
        begun = threading.Event()
        with deferred_signals(begun) as noticed, progress("searching", total) as advance:
            watch = _Watch(noticed, advance, begun)
            if kept is None:
                found = self.search.search(documents, self.derivations, threads, stop=watch)
            else:
                states = [self.search.resume(document, one) for document, one in zip(documents, kept, strict=True)]
                runs = map_chunks(
                    lambda first, last: [self.search.run(one, stop=watch) for one in states[first:last]],
                    len(states),
                    chunk=1,
                    threads=threads,
                )
                whole = (one for part in runs for one in part)
                found = [one.with_saved_records(old) for one, old in zip(whole, kept, strict=True)]
        return found, noticed[0] if noticed else 0


@dataclass
class _Watch:
    """Looked at between blocks of steps: tells how far a search is, and stops it after a signal."""

    noticed: Sequence[int]
    advance: Advance
    begun: threading.Event
    seen: dict[str, int] = field(default_factory=dict)

    def __call__(self, state: DocumentState) -> bool:
        before = self.seen.get(state.document.identifier, 0)
        if state.step > before:
            self.advance(state.step - before)
            self.begun.set()
        self.seen[state.document.identifier] = state.step
        return bool(self.noticed)
