"""What a search found: the best state and the last one, and what was recorded on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Document
from toledo.search.beam.lattice import Translation

if TYPE_CHECKING:
    from toledo.search.document.state import DocumentState


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A state: a translation of each segment, the score of the document, the total of each feature.

    `bleu` are the statistics of `toledo.metrics.BLEU` where there is a BLEU model. The score of a translation is that
    of the sentence model.
    """

    translations: tuple[Translation, ...]
    score: float
    features: Mapping[str, float]
    bleu: NDArray[np.int64] | None


@dataclass(frozen=True, eq=False)
class Record:
    """The state at a step; `translations` only if texts are to be recorded."""

    step: int
    score: float
    features: Mapping[str, float]
    bleu: NDArray[np.int64] | None
    translations: tuple[tuple[str, ...], ...] | None


class Tally(NamedTuple):
    """How often an operation was drawn, found something to propose, and was accepted."""

    drawn: int
    proposed: int
    accepted: int


@dataclass(frozen=True, eq=False)
class DocumentResult:
    """The `best` state and the `last` one; `state` is where to go on from."""

    document: Document
    best: Snapshot
    last: Snapshot
    records: tuple[Record, ...]
    steps: int
    accepted: int
    tally: Mapping[str, Tally]
    state: DocumentState

    @property
    def translations(self) -> tuple[Translation, ...]:
        """Those of the best state."""
        return self.best.translations

    @property
    def score(self) -> float:
        """That of the best state."""
        return self.best.score

    @property
    def features(self) -> Mapping[str, float]:
        """Those of the best state."""
        return self.best.features
