"""Any function of two texts as a metric: `(hypotheses, references, sources) -> scores`.

It is called with distinct pairs only, some at a time, in the calling thread. A corpus has the mean of its segments: the
statistics of a segment are [score, 1]. Of several references the one with the best score counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.metrics.metric import Metric, Triple, require_inputs
from toledo.metrics.score_cache import ScoreCache

BATCH_SIZE = 1024
KINDS = frozenset({"references", "sources"})


class PairMetric(Metric):
    """Base of metrics that compare a text with one reference at a time: subclasses define `pair_scores`."""

    size = 2

    def corpus_statistics(
        self,
        hypotheses: Sequence[Any],
        references: Sequence[Sequence[Any]],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> NDArray[np.float64]:
        """Return [score, 1] for each segment."""
        given: Sequence[str | None] = [None] * len(hypotheses) if sources is None else sources
        groups = [[_text(one) for one in group] or [""] for group in references]
        texts = [_text(one) for one in hypotheses]
        triples = [
            (said, one, source) for said, group, source in zip(texts, groups, given, strict=True) for one in group
        ]
        values, rows, place = self.pair_scores(triples), np.ones((len(texts), 2)), 0
        for segment, group in enumerate(groups):
            some = values[place : place + len(group)]
            rows[segment, 0] = some.max() if self.higher_is_better else some.min()
            place += len(group)
        return rows

    def pair_scores(self, triples: Sequence[Triple]) -> NDArray[np.float64]:
        """Return the score of each triple."""
        raise NotImplementedError

    def scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean score of each row."""
        counts = statistics[:, 1]
        return np.where(counts > 0, statistics[:, 0] / np.where(counts > 0, counts, 1.0), 0.0)

    def gradient(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of the mean by sum and number."""
        total, count = statistics
        return np.array([1.0 / count, -total / count**2]) if count > 0 else np.zeros(2)


@dataclass(frozen=True)
class UtilityMetric(PairMetric):
    """A metric that calls a function."""

    function: Callable[..., Any]
    label: str
    higher_is_better: bool = True
    needs: frozenset[str] = frozenset({"references"})
    batch_size: int = BATCH_SIZE
    cache: Path | None = None

    @property
    def name(self) -> str:
        """The name of the function, or one that was given."""
        return self.label

    def pair_scores(self, triples: Sequence[Triple]) -> NDArray[np.float64]:
        """Return the score of each triple; equal ones are asked for once, those in the cache not at all."""
        distinct = list(dict.fromkeys(triples))
        kept = None if self.cache is None else ScoreCache(self.cache, self.name)
        known = {} if kept is None else kept.find(distinct)
        asked = [triple for triple in distinct if triple not in known]
        for begin in range(0, len(asked), self.batch_size):
            batch = asked[begin : begin + self.batch_size]
            found = dict(zip(batch, self._call(batch), strict=True))
            if kept is not None:
                kept.add(found)
            known.update(found)
        return np.array([known[triple] for triple in triples], np.float64)

    def _call(self, batch: Sequence[Triple]) -> list[float]:
        said, meant, sources = ([triple[place] for triple in batch] for place in range(3))
        given = None if None in sources else sources
        require_inputs(self, True, given)
        values = self.function(said, meant, given)
        found = [float(one) for one in np.asarray(values, np.float64).ravel()]
        if len(found) != len(batch):
            raise InputError(f"metric {self.name!r} returned {len(found)} scores for {len(batch)} pairs")
        return found


def utility(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    higher_is_better: bool = True,
    needs: Collection[str] = ("references",),
    batch_size: int = BATCH_SIZE,
) -> UtilityMetric:
    """Make a metric of a function `(hypotheses, references, sources) -> scores`: three lists, one number for each."""
    if not callable(function):
        raise TypeError(f"function is a {type(function).__name__}, expected a callable")
    if unknown := set(needs) - KINDS:
        raise InputError(f"needs has {', '.join(sorted(unknown))}", argument="needs", remedy="use references, sources")
    label = name or str(getattr(function, "__name__", type(function).__name__))
    return UtilityMetric(function, label, higher_is_better, frozenset(needs), batch_size)


def _text(text: str | Iterable[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)
