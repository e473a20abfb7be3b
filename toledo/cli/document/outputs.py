"""What a search of documents writes: translations, recorded states, plots, and a summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, require_output
from toledo.formats.documents import DocumentText, write_translations
from toledo.metrics.bleu import BLEU
from toledo.search.document.settings import LOGARITHMIC
from toledo.search.document.state import DocumentResult, Record, Tally

DIGITS = 6
DOCUMENT = "document."  # how features of document models begin


@dataclass(frozen=True)
class Outputs:
    """What to write and where to; `last` is for the last states, not the best ones."""

    output: str
    trace: Path | None = None
    plot: Path | None = None
    as_json: bool = False
    last: bool = False

    def check(self) -> None:
        """Refuse what cannot be written, before any work is done for it."""
        for path in (self.output, self.trace, self.plot):
            if path is not None:
                require_output(path)
        streams = [str(path) for path in (self.output, self.trace)].count(STANDARD_STREAM)
        if streams + self.as_json > 1:
            raise InputError("two results would go to standard output", remedy="name a file for one of them")
        if self.plot and self.plot.suffix not in (".html", ".svg"):
            raise InputError("is no name for plots", file=self.plot, remedy="name it .html or .svg")
        places = [Path(one).resolve() for one in (self.output, self.trace, self.plot) if one and str(one) != "-"]
        if len(set(places)) < len(places):
            raise InputError("two results would go to one place", remedy="name another file for one of them")

    @property
    def recording(self) -> str | None:
        """How to record states if nothing is said: logarithmically, if they are wanted at all."""
        return LOGARITHMIC if self.trace is not None or self.plot is not None else None

    def write(self, text: DocumentText, results: Sequence[DocumentResult]) -> None:
        """Write everything but the summary."""
        states = [one.last if self.last else one for one in results]
        lines = [[" ".join(part.words) for part in one.translations] for one in states]
        write_translations(self.output, text, lines)
        if self.trace is not None:
            with atomic_writer(self.trace) as stream:
                for line in _trace_lines(results):
                    stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        if self.plot is not None:
            _plot(self.plot, results)


def summary(results: Sequence[DocumentResult], last: bool) -> dict[str, Any]:
    """All documents together: score, features, BLEU if there are references, and how many changes were accepted.

    Values of document models are means over the documents, all others are sums.
    """
    states = [one.last if last else one for one in results]
    features: dict[str, float] = {}
    for one in states:
        for name, value in one.features.items():
            share = len(states) if name.startswith(DOCUMENT) else 1
            features[name] = features.get(name, 0.0) + value / share
    found: dict[str, Any] = {
        "documents": len(results),
        "segments": sum(len(one.document.segments) for one in results),
        "score": _rounded(sum(one.score for one in states)),
        "features": {name: _rounded(value) for name, value in features.items()},
        "steps": sum(one.steps for one in results),
        "accepted": sum(one.accepted for one in results),
        "operations": _tally(results),
    }
    if (bleu := corpus_bleu(results, last)) is not None:
        found["bleu"] = round(bleu, 4)
        found["features"].pop("bleu", None)
    return found


def corpus_bleu(results: Sequence[DocumentResult], last: bool = False) -> float | None:
    """BLEU of all documents as one corpus, if all segments have references."""
    segments = [part for one in results for part in one.document.segments]
    if not segments or not all(part.references for part in segments):
        return None
    states = [one.last if last else one for one in results]
    texts = [part.words for one in states for part in one.translations]
    metric = BLEU(smooth_method="none")
    return metric.score(metric.corpus_statistics(texts, [part.references for part in segments]).sum(axis=0))


def told_in_brief(found: Mapping[str, Any]) -> str:
    """A summary in one line."""
    bleu = f", BLEU {found['bleu']:.2f}" if "bleu" in found else ""
    return (
        f"documents: {found['documents']}, segments: {found['segments']}, score {found['score']:.2f}{bleu}; "
        f"{found['accepted']} of {found['steps']} steps accepted"
    )


def _tally(results: Sequence[DocumentResult]) -> dict[str, dict[str, int]]:
    names = Tally._fields
    total: dict[str, dict[str, int]] = {}
    for one in results:
        for operation, counts in one.tally.items():
            sums = total.setdefault(operation, dict.fromkeys(names, 0))
            for name, count in zip(names, counts, strict=True):
                sums[name] += count
    return {operation: sums for operation, sums in total.items() if sums["drawn"]}


def _trace_lines(results: Sequence[DocumentResult]) -> Iterator[dict[str, Any]]:
    for one in results:
        for record in _recorded(one):
            bleu = {} if record.bleu is None else {"bleu": round(_bleu(record), 4)}
            features = {name: _rounded(value) for name, value in record.features.items() if name != "bleu"}
            yield {
                "document": one.document.identifier,
                "step": record.step,
                "score": _rounded(record.score),
                **bleu,
                "features": features,
            }


def _recorded(one: DocumentResult) -> list[Record]:
    """What was recorded, and the last state."""
    last = Record(one.steps, one.last.score, one.last.features, one.last.bleu, None)
    return [*(record for record in one.records if record.step < one.steps), last]


def _plot(path: Path, results: Sequence[DocumentResult]) -> None:
    from toledo.reports.documents import Course, CoursePoint, write_plots  # what draws takes long to load

    courses = []
    for one in results:
        points = (
            CoursePoint(record.step, record.score, record.features, None if record.bleu is None else _bleu(record))
            for record in _recorded(one)
        )
        courses.append(Course(one.document.identifier, len(one.document.segments), tuple(points)))
    write_plots(path, courses)


def _bleu(record: Record) -> float:
    return BLEU(smooth_method="none").score(np.array(record.bleu, np.float64))


def _rounded(value: float) -> float:
    return round(value, DIGITS) + 0.0
