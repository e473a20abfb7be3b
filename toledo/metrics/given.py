"""Scores that are given, not computed: a column with a number for each text, a matrix for each segment.

A corpus has the mean of its segments: the statistics of a segment are [score, 1], so that everything that works on sums
of statistics (intervals, tests, line searches) is exact for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.settings import Meta, Settings

Floats = NDArray[np.float64]


class MeanMetric(Metric):
    """Base of metrics whose score of a corpus is the mean of its segments, on a scale that only they know."""

    size = 2
    in_per_cent = False
    decimals = 4

    def scores(self, statistics: Floats) -> Floats:
        """Return the mean score of each row."""
        counts = statistics[:, 1]
        return np.where(counts > 0, statistics[:, 0] / np.where(counts > 0, counts, 1.0), 0.0)

    def gradient(self, statistics: Floats) -> Floats:
        """Return the derivatives of the mean by sum and number."""
        total, count = statistics
        return np.array([1.0 / count, -total / count**2]) if count > 0 else np.zeros(2)


class ScoredTexts(list[str]):
    """Texts of a system, one for each segment, with columns of their scores: `ScoredTexts(texts, {"COMET": scores})`.

    A metric `column:COMET` then has these scores. Without texts (None), only such metrics can be used.
    """

    def __init__(self, texts: Iterable[str] | None, columns: Mapping[str, ArrayLike]) -> None:
        found = {name: np.asarray(values, np.float64).ravel() for name, values in columns.items()}
        self.has_texts = texts is not None
        super().__init__(texts if texts is not None else [""] * max((one.size for one in found.values()), default=0))
        self.columns = {name: self._checked(name, values) for name, values in found.items()}

    def with_column(self, name: str, values: Floats, file: str | None = None) -> ScoredTexts:
        """Return the texts with one more column, which comes from a file."""
        made = copy(self)
        made.columns = {**self.columns, name: self._checked(name, values, file)}
        return made

    def _checked(self, name: str, values: Floats, file: str | None = None) -> Floats:
        """Refuse a column without a finite number for each segment."""
        bad = np.flatnonzero(~np.isfinite(values))
        if values.size == len(self) and not bad.size:
            return values
        message = f"column {name!r} has {values.size} scores for {len(self)} segments"
        if values.size == len(self):
            message = f"column {name!r} has {values[bad[0]]:g} for segment {bad[0]}"
        remedy = "give a finite number for each segment"
        raise InputError(message, file=file, argument="columns", remedy=remedy)


class SegmentReferences(tuple[Sequence[str], ...]):
    """The references of a segment as words, with its source as written, and the scores of texts where they are given.

    Texts are known by their words.
    """

    source: str | None
    scores: Mapping[tuple[str, ...], float] | None

    def __new__(  # noqa: D102
        cls,
        references: Iterable[Sequence[str]] = (),
        source: str | None = None,
        scores: Mapping[tuple[str, ...], float] | None = None,
    ) -> SegmentReferences:
        made = super().__new__(cls, references)
        made.source, made.scores = source, scores
        return made


def sources_of(groups: Sequence[Sequence[Any]]) -> list[str] | None:
    """Return the sources of segments by their references; None if they are not known."""
    found = [getattr(group, "source", None) for group in groups]
    return None if None in found else [str(one) for one in found]


@dataclass(frozen=True)
class ColumnMetric(Settings, MeanMetric):
    """A column of scores: of the hypotheses of lists, or of the segments of systems (a file has those of all)."""

    key: Annotated[str, Meta(min_length=1, description="Name of the column, or a file with scores of segments.")]
    higher_is_better: Annotated[bool, Meta(description="Whether higher scores are better.")] = True

    needs = frozenset()

    @property
    def name(self) -> str:
        """The name of the column, or that of its file."""
        return Path(self.key).name.removesuffix(".gz").removesuffix(".score").removesuffix(".seg")

    def corpus_statistics(
        self,
        hypotheses: Sequence[Any],
        references: Sequence[Sequence[Any]],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> Floats:
        """Return [score, 1] for each text: from its column, or from the scores beside its references."""
        if isinstance(hypotheses, ScoredTexts):
            if self.key not in hypotheses.columns:
                remedy = f"name one that is there: {', '.join(hypotheses.columns) or 'none'}"
                raise InputError(f"no column {self.key!r}", argument="metric", remedy=remedy)
            values = hypotheses.columns[self.key]
            return np.column_stack([values, np.ones(values.size)])
        rows = [self._given(text, group) for text, group in zip(hypotheses, references, strict=True)]
        return np.array(rows, np.float64).reshape(len(rows), self.size)

    def _given(self, text: Any, group: Sequence[Any]) -> tuple[float, float]:
        """Return [score, 1]; [0, 0] for a segment that has no texts to choose from."""
        known: Mapping[tuple[str, ...], float] | None = getattr(group, "scores", None)
        words = tuple(text.split() if isinstance(text, str) else text)
        if known is None:
            raise InputError(
                f"no column {self.key!r}",
                argument="metric",
                remedy="use it for lists or systems that have this column; a metric of new texts can be a function",
            )
        if words in known:
            return known[words], 1.0
        if known or words:
            raise InputError(
                f"no score {self.key!r} for the text {' '.join(words)!r}",
                argument="metric",
                remedy="use a rule that chooses one of the given texts, such as viterbi or mbr",
            )
        return 0.0, 0.0


@dataclass(frozen=True)
class MatrixMetric(Settings, Metric):
    """Matrices of utilities for `choose`: a row for each sample, a column for each reference (or sample)."""

    file: Annotated[str, Meta(min_length=1, description="File of matrices: .npy or .npz.")]

    @property
    def name(self) -> str:
        """The registered name."""
        return "matrix"

    def corpus_statistics(
        self,
        hypotheses: Sequence[Any],
        references: Sequence[Sequence[Any]],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> Floats:
        """Refuse texts: a matrix knows samples only by their places."""
        raise InputError("a matrix compares samples of lists", argument="metric", remedy="use it to choose among them")
