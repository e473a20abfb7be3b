"""What the demo shows: how well words were aligned, what the phrase table holds, how well the text is predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from toledo.corpus import Sentences
from toledo.model import Model
from toledo.phrases.alignments import Alignments
from toledo.phrases.table import PhraseTable
from toledo.reports.page import Page

MOST_OPTIONS = 5


@dataclass(frozen=True)
class AlignmentQuality:
    """How far links agree with gold links, all of which are sure."""

    precision: float
    recall: float

    @property
    def error_rate(self) -> float:
        """The alignment error rate (Och and Ney 2003), here 1 − F."""
        both = self.precision + self.recall
        return 1.0 - 2.0 * self.precision * self.recall / both if both else 1.0


def alignment_quality(found: Alignments, gold: Alignments) -> AlignmentQuality:
    """Compare the links of a corpus with gold links."""
    ours, theirs = _link_keys(found), _link_keys(gold)
    common = np.intersect1d(ours, theirs, assume_unique=True).size
    return AlignmentQuality(common / max(ours.size, 1), common / max(theirs.size, 1))


def coverage(table: PhraseTable, sentences: Sentences) -> list[tuple[int, float]]:
    """For each phrase length, the share of a text's phrases of that length that the table can translate."""
    rows = []
    for length in range(1, table.longest_source + 1):
        known = possible = 0
        for words in sentences:
            spans = table.lookup(words)
            known += int(np.count_nonzero(spans.end - spans.begin == length))
            possible += max(words.size - length + 1, 0)
        rows.append((length, known / max(possible, 1)))
    return rows


def options_of(table: PhraseTable, phrase: Sequence[str]) -> list[tuple[str, float]]:
    """The likeliest translations of a phrase with p(e|f)."""
    whole = [option.pair for option in table.options(phrase) if (option.begin, option.end) == (0, len(phrase))]
    ranked = sorted(whole, key=lambda pair: -pair.scores["phrase.forward"])
    return [(" ".join(pair.target), float(np.exp(pair.scores["phrase.forward"]))) for pair in ranked[:MOST_OPTIONS]]


def write_report(
    path: str | Path,
    model: Model,
    summary: Sequence[tuple[str, str]],
    covered: Sequence[tuple[int, float]],
    examples: Sequence[Sequence[str]],
) -> None:
    """An HTML page of what the demo found."""
    page = Page("Toledo: the demo")
    page.paragraph("A model trained on the built-in sample: an invented language and English.")
    page.table(["what", "value"], summary)
    page.heading("How much of the test text the phrase table covers")
    page.figure(
        _bars(
            [str(length) for length, _ in covered], [share for _, share in covered], "words of a phrase", "share known"
        )
    )
    page.heading("Some entries of the phrase table")
    rows = [
        (" ".join(phrase), ", ".join(f"{text} ({share:.2f})" for text, share in options_of(model.table, phrase)))
        for phrase in examples
    ]
    page.table(["phrase", "likeliest translations, p(e|f)"], rows)
    page.heading("Signature")
    page.paragraph(model.signature)
    page.write(path)


def _bars(names: Sequence[str], values: Sequence[float], xlabel: str, ylabel: str) -> Figure:
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.bar(names, values, color="#b5462f")
    axes.set(xlabel=xlabel, ylabel=ylabel, ylim=(0.0, 1.0))
    return figure


def _link_keys(alignments: Alignments) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Each link as one number: sentence, source position, target position."""
    sentence = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
    return (sentence << 32) | (alignments.links[:, 0].astype(np.int64) << 16) | alignments.links[:, 1]
