"""What is in a forest, a lattice or a list: size, entropy, and the best derivations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten
from typing import Any

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name
from toledo.forest.assemble import prune_by_posterior
from toledo.forest.derivations import Derivation, Summary, summarize
from toledo.forest.drawing import to_dot, to_svg
from toledo.forest.kbest import k_best
from toledo.formats.forest_files import SegmentForest, guess_format, named_format, read_forests, score_with
from toledo.formats.plf import Values
from toledo.results import Result, table

ROWS = 20  # segments that are printed
MOST_FEATURES = 25
LONGEST = 70  # characters of a translation in the table of segments

FeatureWeights = Mapping[str, float] | None


@dataclass(frozen=True)
class SegmentsView(Result):
    """A line for each segment; the first segment is the one to draw, with `weights` that score its features."""

    first: SegmentForest
    weights: FeatureWeights
    rows: tuple[tuple[int, Summary], ...]

    def draw(self, *, svg: Path | None = None, dot: Path | None = None, prune_below: float = 0.0) -> None:
        """Draw the segment as SVG or for Graphviz, without edges that are less probable than `prune_below`."""
        found, scores = self.first, score_with(self.first, self.weights)
        if not 0 <= prune_below <= 1:
            raise InputError(f"prune_below is {prune_below}: expected a probability", argument="prune_below")
        if prune_below:
            found = replace(found, forest=prune_by_posterior(found.forest, scores, prune_below))
            scores = score_with(found, self.weights)
        for path, drawing in ((svg, to_svg), (dot, to_dot)):
            if path is not None:
                with atomic_writer(path) as stream:
                    stream.write(drawing(found.forest, scores))

    def to_dict(self) -> dict[str, Any]:
        """Return sizes and entropies of all segments, ready for JSON."""
        return {"segments": [_summary_dict(*row) for row in self.rows]}

    def __str__(self) -> str:
        rows = [["segment", "nodes", "edges", "derivations", "entropy", "score", "best translation"]]
        rows += [[str(segment), *_cells(summary)] for segment, summary in self.rows[:ROWS]]
        summaries, count = [summary for _, summary in self.rows], len(self.rows)
        edges = sum(summary.edges for summary in summaries) / count
        entropy = sum(summary.entropy for summary in summaries) / count
        empty = sum(summary.best is None for summary in summaries)
        more = f"… and {count - ROWS:,} more. " if count > ROWS else ""
        without = f", {empty:,} without a derivation" if empty else ""
        means = f"on average {edges:.1f} edges, {entropy:.2f} nats of entropy."
        return "\n".join([*table(rows, left=[6]), f"{more}{count:,} segments{without}; {means}"])


@dataclass(frozen=True)
class SegmentView(SegmentsView):
    """One segment with its best derivations."""

    nbest: tuple[Derivation, ...]

    @property
    def summary(self) -> Summary:
        """Return sizes, entropy and the best derivation."""
        return self.rows[0][1]

    def to_dict(self) -> dict[str, Any]:
        """Return sizes, entropy and derivations, ready for JSON."""
        derivations = [
            {
                "text": str(one),
                "score": round(one.score, 6),
                "probability": round(math.exp(one.score - self.summary.log_partition), 6),
                "features": {name: float(f"{value:.7g}") for name, value in one.features.items()},
            }
            for one in self.nbest
        ]
        return {**_summary_dict(*self.rows[0]), "nbest": derivations}

    def __str__(self) -> str:
        parts = [self._overview()]
        if self.nbest:
            parts += [self._translations(), self._features()]
        return "\n\n".join(parts)

    def _overview(self) -> str:
        forest, summary = self.first.forest, self.summary
        sparse = f" and {len(forest.sparse.names)} sparse" if forest.sparse else ""
        return (
            f"Segment {self.first.segment}: {summary.nodes:,} nodes, {summary.edges:,} edges, "
            f"{_count(summary.log10_derivations)} derivations, {len(forest.feature_names)} dense{sparse} features\n"
            f"Scores: {self._score_source()}. Entropy {summary.entropy:.4f} nats, "
            f"log partition {summary.log_partition:.4f}"
        )

    def _score_source(self) -> str:
        if self.weights is not None:
            return "features times the given weights"
        if self.first.weights:
            return "features times the scales of the file"
        if self.first.weights is not None:
            return "model scores of the file"
        return "all 0, there are no weights" if self.first.forest.base is None else "base scores, there are no weights"

    def _translations(self) -> str:
        rows = [["", "score", "probability", "translation"]]
        for rank, one in enumerate(self.nbest, start=1):
            probability = math.exp(one.score - self.summary.log_partition)
            rows.append([str(rank), f"{one.score:.4f}", f"{probability:.4f}", str(one)])
        return "\n".join(table(rows, left=[3]))

    def _features(self) -> str:
        chosen = (self.first.weights if self.weights is None else self.weights) or {}
        names = list(dict.fromkeys(name for one in self.nbest for name in one.features))
        rows = [["feature", *(["weight"] if chosen else []), *map(str, range(1, len(self.nbest) + 1))]]
        for name in names[:MOST_FEATURES]:
            weight = [f"{chosen[name]:.4g}" if name in chosen else ""] if chosen else []
            rows.append([name, *weight, *(f"{one.features.get(name, 0.0):.4g}" for one in self.nbest)])
        more = [f"… and {len(names) - MOST_FEATURES} more"] if len(names) > MOST_FEATURES else []
        return "\n".join([*table(rows, left=[0]), *more])


def show_forests(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    weights: FeatureWeights = None,
    plf_values: Values = "probabilities",
    segment: int | None = None,
    nbest: int = 5,
) -> SegmentsView:
    """Look at one segment of a file, with its `nbest` derivations, or at all if there are several and none is named.

    `weights` score the features, by default what the file says about scores.
    """
    if nbest < 0:
        raise InputError(f"nbest is {nbest}: expected int of at least 0", argument="nbest")
    form = guess_format(path) if format is None else named_format(format)
    found = read_forests(path, form, model_scores=weights is None, plf_values=plf_values)
    seen, first = 0, list[SegmentForest]()
    for seen, one in enumerate(found, start=1):
        if segment is None or seen == segment + 1:
            first.append(one)
        if len(first) == (2 if segment is None else 1):
            break
    if not seen:
        remedy = "name a file with forests, lattices or lists"
        raise InputError("there are no segments", file=display_name(path), remedy=remedy)
    if not first:
        there = f"there are {seen}, from 0 to {seen - 1}" if seen > 1 else "there is only segment 0"
        remedy = "name one of these"
        raise InputError(f"no segment {segment}: {there}", file=display_name(path), remedy=remedy)
    if segment is None and len(first) > 1:
        rows = ((one.segment, summarize(one.forest, score_with(one, weights))) for one in chain(first, found))
        return SegmentsView(first[0], weights, tuple(rows))
    one = first[0]
    scores = score_with(one, weights)
    summary, best = summarize(one.forest, scores), tuple(islice(k_best(one.forest, scores), nbest))
    return SegmentView(one, weights, ((one.segment, summary),), best)


def _cells(summary: Summary) -> list[str]:
    return [
        f"{summary.nodes:,}",
        f"{summary.edges:,}",
        _count(summary.log10_derivations),
        f"{summary.entropy:.2f}",
        "" if summary.best is None else f"{summary.best.score:.4f}",
        "(none)" if summary.best is None else shorten(str(summary.best), LONGEST, placeholder=" …"),
    ]


def _count(log10: float) -> str:
    if log10 == -math.inf:
        return "0"
    return f"{round(10**log10):,}" if log10 < 9 else f"10^{log10:.1f}"


def _summary_dict(segment: int, summary: Summary) -> dict[str, Any]:
    return {
        "segment": segment,
        "nodes": summary.nodes,
        "edges": summary.edges,
        "log10_derivations": _finite(summary.log10_derivations),
        "log_partition": _finite(summary.log_partition),
        "entropy": round(summary.entropy, 6),
        "best": None if summary.best is None else str(summary.best),
        "score": None if summary.best is None else round(summary.best.score, 6),
    }


def _finite(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None
