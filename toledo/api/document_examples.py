"""Translations before and after a search for BLEU, side by side, judged by a reference that the search did not see.

Smith (2015, Examples 1 and 2) shows that BLEU decoding makes sentences worse to read. Does another reference say so?
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from toledo.api.documents import DocumentOptions, oracle_search, read_document_text
from toledo.api.inputs import ReferenceTexts, Texts
from toledo.api.runs import ModelOrPath, as_model
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.metric import Metric
from toledo.metrics.ter import TER
from toledo.progress import Progress, silent
from toledo.reports.document_examples import DecodingExample
from toledo.results import Result
from toledo.search.document.settings import LOGARITHMIC

LANGUAGE_MODEL = "lm"
SEEN = "bleu"  # the score that the search has raised
UNSEEN: Mapping[str, Metric] = {"unseen_bleu": BLEU(smooth_method="none"), "unseen_chrf": CHRF(), "unseen_ter": TER()}


@dataclass(frozen=True)
class DecodingExamples(Result):
    """All segments, and scores of the whole text before and after: `totals[name]` is (before, after)."""

    segments: tuple[DecodingExample, ...] = field(repr=False)
    totals: Mapping[str, tuple[float, float]]

    @property
    def better(self) -> int:
        """Return how many segments have a better chrF with the unseen reference than before."""
        return sum(one.chrf[1] > one.chrf[0] for one in self.segments)

    @property
    def worse(self) -> int:
        """Return how many have a worse one."""
        return sum(one.chrf[1] < one.chrf[0] for one in self.segments)

    def write(self, path: str | Path) -> None:
        """Write a line of JSON for each segment."""
        with atomic_writer(path) as stream:
            for one in self.segments:
                stream.write(json.dumps(asdict(one), ensure_ascii=False) + "\n")

    def __str__(self) -> str:
        lines = [f"{name}: {before:.2f} → {after:.2f}" for name, (before, after) in self.totals.items()]
        counts = f"chrF with the unseen reference: {self.better} segments better, {self.worse} worse"
        return "\n".join([*lines, f"{counts}, {len(self.segments) - self.better - self.worse} equal"])


def bleu_examples(
    model: ModelOrPath,
    sources: Texts,
    references: ReferenceTexts,
    unseen: ReferenceTexts,
    *,
    document_ids: Texts | None = None,
    tokenized: bool = False,
    guided: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
    **settings: Unpack[DocumentOptions],
) -> DecodingExamples:
    """Search for BLEU with some references, and judge its first and its best state by others that it does not see."""
    loaded = as_model(model)
    prepared = loaded.preparation.of_words if tokenized else loaded.preparation
    text, other = (read_document_text(sources, some, document_ids, prepared) for some in (references, unseen))
    search, derivations = oracle_search(loaded, text.documents, guided, {**settings, "record": LOGARITHMIC})
    search.settings = replace(search.settings, record_texts=True)
    results = search.search(text.documents, derivations, threads, progress)
    weights = {name: value for name, value in loaded.weights.items() if name in loaded.feature_names}
    states = [
        [(one.records[0].translations or (), one.records[0].features) for one in results],
        [(tuple(part.words for part in one.best.translations), one.best.features) for one in results],
    ]
    words = [[line for texts, _ in state for line in texts] for state in states]
    parts = [part for document in text.documents for part in document.segments]
    others = [part.references for document in other.documents for part in document.segments]
    if len(others) != len(parts) or not all(others):
        raise InputError("there is no unseen reference for some segments", remedy="give one line for each segment")
    seen = [part.references for part in parts]
    totals = {SEEN: _scores(BLEU(smooth_method="none"), words, seen)}
    totals |= {name: _scores(metric, words, others) for name, metric in UNSEEN.items()}
    totals["model_score"] = _sums(states, weights)
    totals["lm_score"] = _sums(states, {LANGUAGE_MODEL: 1.0})
    rows = {name: [UNSEEN[name].corpus_statistics(some, others) for some in words] for name in UNSEEN}
    chrf, ter = ([UNSEEN[name].scores(some) for some in rows[name]] for name in ("unseen_chrf", "unseen_ter"))
    names = [document.identifier for document in text.documents for _ in document.segments]
    write = prepared.target.write if prepared.raw else str
    examples = tuple(
        DecodingExample(
            document=names[k],
            source=" ".join(part.words),
            before=write(" ".join(words[0][k])),
            after=write(" ".join(words[1][k])),
            reference=write(" ".join(seen[k][0])),
            unseen=write(" ".join(others[k][0])),
            chrf=(float(chrf[0][k]), float(chrf[1][k])),
            ter=(float(ter[0][k]), float(ter[1][k])),
        )
        for k, part in enumerate(parts)
    )
    return DecodingExamples(examples, totals)


def _scores(metric: Metric, words: Sequence[Sequence[Any]], references: Sequence[Any]) -> tuple[float, float]:
    """Return the scores of the whole text before and after."""
    before, after = (metric.score(metric.corpus_statistics(some, references).sum(axis=0)) for some in words)
    return before, after


def _sums(
    states: Sequence[Sequence[tuple[Any, Mapping[str, float]]]], weights: Mapping[str, float]
) -> tuple[float, float]:
    """Return weighted sums of features before and after."""
    before, after = (
        sum(weight * features.get(name, 0.0) for _, features in state for name, weight in weights.items())
        for state in states
    )
    return before, after
