"""Test sets as XML files give them: sources, references and translations, in documents and segments with ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal

from toledo.corpus import Document, Segment
from toledo.errors import InputError
from toledo.files import display_name
from toledo.vocabulary import split_words

Kind = Literal["source", "reference", "translation"]
Form = Literal["nist", "wmt"]

SAME_IDS = "documents and segments belong together by their ids; they must be the same in both files"


@dataclass(frozen=True)
class MarkedSegment:
    """A segment: its id, its text, and the number of its paragraph in the document (0: in none)."""

    identifier: str
    text: str
    paragraph: int = 0


@dataclass(frozen=True)
class MarkedDocument:
    """A document: its id, its segments, and what else is said of it (genre, origlang, …)."""

    identifier: str
    segments: tuple[MarkedSegment, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TextSet:
    """One side of a test set. `name` is that of a translator or system; `attributes` are languages and the set's id."""

    kind: Kind
    documents: tuple[MarkedDocument, ...]
    name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MarkedText:
    """A file of sets: NIST's form or that of WMT since 2021."""

    form: Form
    sets: tuple[TextSet, ...]
    attributes: Mapping[str, str] = field(default_factory=dict)

    def source(self, file: str | Path) -> TextSet:
        """The one source."""
        return self._of("source", file)[0]

    def references(self, file: str | Path) -> list[TextSet]:
        """All references, at least one."""
        return self._of("reference", file)

    def _of(self, kind: Kind, file: str | Path) -> list[TextSet]:
        found = [one for one in self.sets if one.kind == kind]
        if not found or (kind == "source" and len(found) > 1):
            kinds = ", ".join(f"{one.kind} {one.name}".rstrip() for one in self.sets)
            raise InputError(
                f"has {len(found) or 'no'} {kind}{'s' if found else ''}, but {kinds}",
                file=display_name(file),
                remedy="give a file with one source" if kind == "source" else "give a file with references",
            )
        return found


def joined(
    source: TextSet, references: Sequence[TextSet], files: Sequence[str | Path], texts: Sequence[Sequence[str]] = ()
) -> list[Document]:
    """Documents of a source with the same segments of its references, each of which came from a file.

    `texts` are references without ids: a line for each segment.
    """
    for reference, file in zip(references, files, strict=True):
        _require_same_ids(source, reference, file)
    found = [{document.identifier: document for document in one.documents} for one in references]
    numbers, documents = count(), []
    for document in source.documents:
        sides = [[part.text for part in document.segments]]
        for by_document in found:
            by_id = {part.identifier: part.text for part in by_document[document.identifier].segments}
            sides.append([by_id[part.identifier] for part in document.segments])
        segments = []
        for (text, *others), number in zip(zip(*sides, strict=True), numbers, strict=False):
            others += [lines[number] for lines in texts]
            words, *given = (tuple(split_words(one)) for one in (text, *others))
            segments.append(Segment(number, words, tuple(given), document.identifier))
        documents.append(Document(document.identifier, tuple(segments)))
    return documents


def _require_same_ids(source: TextSet, reference: TextSet, file: str | Path) -> None:
    """Every segment of the source must have its reference, and the other way round."""
    have, want = (
        {document.identifier: [part.identifier for part in document.segments] for document in one.documents}
        for one in (reference, source)
    )
    named = f"reference {reference.name}".rstrip()
    for one, other, owner in ((want, have, named), (have, want, "the source")):
        for document, segments in one.items():
            if document not in other:
                raise InputError(f"{owner} has no document {document}", file=display_name(file), remedy=SAME_IDS)
            if missing := [part for part in segments if part not in set(other[document])]:
                raise InputError(
                    f"{owner} has no segment {missing[0]} of document {document}",
                    file=display_name(file),
                    remedy=SAME_IDS,
                )
