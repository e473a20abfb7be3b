"""What is in a forest, a lattice or a list: size, entropy, and the best derivations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten
from typing import Any

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name
from toledo.forest.assemble import prune_by_posterior
from toledo.forest.derivations import Derivation, Summary, summarise
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
class _View(Result):
    """What was found of a segment, and the weights that score its features."""

    found: SegmentForest
    weights: FeatureWeights

    def draw(self, *, svg: Path | None = None, dot: Path | None = None, prune_below: float = 0.0) -> None:
        """Draw the segment as SVG or for Graphviz, without edges that are less probable than `prune_below`."""
        found, scores = self.found, score_with(self.found, self.weights)
        if not 0 <= prune_below <= 1:
            raise InputError(f"prune_below is {prune_below}: expected a probability", argument="prune_below")
        if prune_below:
            found = replace(found, forest=prune_by_posterior(found.forest, scores, prune_below))
            scores = score_with(found, self.weights)
        for path, drawing in ((svg, to_svg), (dot, to_dot)):
            if path is not None:
                with atomic_writer(path) as stream:
                    stream.write(drawing(found.forest, scores))


@dataclass(frozen=True)
class SegmentView(_View):
    """One segment with its best derivations."""

    summary: Summary
    nbest: tuple[Derivation, ...]

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
        return {**_summary_dict(self.found.segment, self.summary), "nbest": derivations}

    def __str__(self) -> str:
        parts = [self._overview()]
        if self.nbest:
            parts += [self._translations(), self._features()]
        return "\n\n".join(parts)

    def _overview(self) -> str:
        forest, summary = self.found.forest, self.summary
        sparse = f" and {len(forest.sparse.names)} sparse" if forest.sparse else ""
        return (
            f"Segment {self.found.segment}: {summary.nodes:,} nodes, {summary.edges:,} edges, "
            f"{_count(summary.log10_derivations)} derivations, {len(forest.feature_names)} dense{sparse} features\n"
            f"Scores: {self._score_source()}. Entropy {summary.entropy:.4f} nats, "
            f"log partition {summary.log_partition:.4f}"
        )

    def _score_source(self) -> str:
        if self.weights is not None:
            return "features times the given weights"
        if self.found.weights:
            return "features times the scales of the file"
        if self.found.weights is not None:
            return "model scores of the file"
        return "all 0, there are no weights" if self.found.forest.base is None else "base scores, there are no weights"

    def _translations(self) -> str:
        rows = [["", "score", "probability", "translation"]]
        for rank, one in enumerate(self.nbest, start=1):
            probability = math.exp(one.score - self.summary.log_partition)
            rows.append([str(rank), f"{one.score:.4f}", f"{probability:.4f}", str(one)])
        return "\n".join(table(rows, left=[3]))

    def _features(self) -> str:
        chosen = (self.found.weights if self.weights is None else self.weights) or {}
        names = list(dict.fromkeys(name for one in self.nbest for name in one.features))
        rows = [["feature", *(["weight"] if chosen else []), *map(str, range(1, len(self.nbest) + 1))]]
        for name in names[:MOST_FEATURES]:
            weight = [f"{chosen[name]:.4g}" if name in chosen else ""] if chosen else []
            rows.append([name, *weight, *(f"{one.features.get(name, 0.0):.4g}" for one in self.nbest)])
        more = [f"… and {len(names) - MOST_FEATURES} more"] if len(names) > MOST_FEATURES else []
        return "\n".join([*table(rows, left=[0]), *more])


@dataclass(frozen=True)
class SegmentsView(_View):
    """A line for each segment; the first one is that to draw."""

    rows: tuple[tuple[int, Summary], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return sizes and entropies of all segments, ready for JSON."""
        return {"segments": [_summary_dict(*row) for row in self.rows]}

    def __str__(self) -> str:
        rows = [["segment", "nodes", "edges", "derivations", "entropy", "score", "best translation"]]
        rows += [[str(segment), *_cells(summary)] for segment, summary in self.rows[:ROWS]]
        return "\n".join([*table(rows, left=[6]), self._totals()])

    def _totals(self) -> str:
        summaries = [summary for _, summary in self.rows]
        edges = sum(summary.edges for summary in summaries) / len(summaries)
        entropy = sum(summary.entropy for summary in summaries) / len(summaries)
        empty = sum(summary.best is None for summary in summaries)
        more = f"… and {len(summaries) - ROWS:,} more. " if len(summaries) > ROWS else ""
        without = f", {empty:,} without a derivation" if empty else ""
        return (
            f"{more}{len(summaries):,} segments{without}; on average {edges:.1f} edges, {entropy:.2f} nats of entropy."
        )


@dataclass(frozen=True)
class ForestFile:
    """Forests of a file; `weights` score their features, by default what the file says about scores."""

    path: str | Path
    format: str | None = None
    weights: FeatureWeights = None
    plf_values: Values = "probabilities"

    def show(self, segment: int | None = None, nbest: int = 5) -> SegmentView | SegmentsView:
        """Look at one segment, or at all of them if there are several and none is named."""
        if nbest < 0:
            raise InputError(f"nbest is {nbest}: expected int of at least 0", argument="nbest")
        if segment is not None:
            return self._view(self.segment(segment), nbest)
        found = iter(self)
        first = list(islice(found, 2))
        if not first:
            raise self._no_segments()
        if len(first) == 1:
            return self._view(first[0], nbest)
        rows = ((one.segment, summarise(one.forest, score_with(one, self.weights))) for one in chain(first, found))
        return SegmentsView(first[0], self.weights, tuple(rows))

    def segment(self, segment: int) -> SegmentForest:
        """Return one segment, counted from 0."""
        seen = 0
        for seen, found in enumerate(self, start=1):
            if seen == segment + 1:
                return found
        if not seen:
            raise self._no_segments()
        there = f"there are {seen}, from 0 to {seen - 1}" if seen > 1 else "there is only segment 0"
        raise InputError(f"no segment {segment}: {there}", file=display_name(self.path), remedy="name one of these")

    def __iter__(self) -> Iterator[SegmentForest]:
        form = guess_format(self.path) if self.format is None else named_format(self.format)
        scored = self.weights is None
        return read_forests(self.path, form, model_scores=scored, plf_values=self.plf_values)

    def _view(self, found: SegmentForest, nbest: int) -> SegmentView:
        scores = score_with(found, self.weights)
        best = tuple(islice(k_best(found.forest, scores), nbest))
        return SegmentView(found, self.weights, summarise(found.forest, scores), best)

    def _no_segments(self) -> InputError:
        remedy = "name a file with forests, lattices or lists"
        return InputError("there are no segments", file=display_name(self.path), remedy=remedy)


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
