"""What the demo shows: how well words were aligned, what the phrase table holds, how good translations are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from toledo.corpus import ParallelCorpus, Segment, sentences_from
from toledo.metrics.evaluation import Settings, evaluate
from toledo.model import Model
from toledo.phrases.alignments import Alignments
from toledo.phrases.table import PhraseTable
from toledo.reports.page import Page
from toledo.search.beam import Translation

MOST_OPTIONS, MOST_EXAMPLES = 5, 10
Rows = list[tuple[str, str]]


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


@dataclass(frozen=True)
class Findings:
    """Everything that the demo made."""

    corpus: ParallelCorpus
    model: Model
    quality: AlignmentQuality
    test: Sequence[Segment]
    translations: Sequence[Translation]


def alignment_quality(found: Alignments, gold: Alignments) -> AlignmentQuality:
    """Compare the links of a corpus with gold links."""
    ours, theirs = _link_keys(found), _link_keys(gold)
    common = np.intersect1d(ours, theirs, assume_unique=True).size
    return AlignmentQuality(common / max(ours.size, 1), common / max(theirs.size, 1))


def coverage(table: PhraseTable, segments: Sequence[Segment]) -> list[float]:
    """For each phrase length, the share of a text's phrases of that length that the table can translate."""
    known, possible = np.zeros(table.longest_source), np.zeros(table.longest_source)
    for segment in segments:
        spans = table.lookup(table.source_vocabulary.ids(segment.words))
        np.add.at(known, spans.end - spans.begin - 1, 1.0)
        possible += np.maximum(len(segment.words) - np.arange(known.size), 0)
    return [float(share) for share in known / np.maximum(possible, 1.0)]


def summarise(findings: Findings) -> Rows:
    """The demo in a few lines."""
    corpus, model = findings.corpus, findings.model
    references = [[" ".join(reference) for reference in segment.references] for segment in findings.test]
    lines = [str(translation) for translation in findings.translations]
    (system,) = evaluate({"demo": lines}, references, Settings(tokenize="none", test="none")).systems
    text = [model.target_vocabulary.ids(segment.references[0]) for segment in findings.test]
    english = sentences_from(np.concatenate(text), np.array([line.size for line in text]))
    perplexity = model.language_models[0].perplexity(english)
    return [
        ("sentence pairs", f"{len(corpus):,}"),
        ("source words, distinct", f"{corpus.source.words.size:,}, {len(corpus.source_vocabulary):,}"),
        ("target words, distinct", f"{corpus.target.words.size:,}, {len(corpus.target_vocabulary):,}"),
        ("alignment precision, recall", f"{findings.quality.precision:.3f}, {findings.quality.recall:.3f}"),
        ("alignment error rate", f"{findings.quality.error_rate:.3f}"),
        ("phrase pairs", f"{len(model.table):,}"),
        ("test words that the table knows", f"{coverage(model.table, findings.test)[0]:.1%}"),
        ("language model", f"order {model.language_models[0].order}"),
        ("perplexity on test", f"{perplexity.including_unknown:.1f} ({perplexity.unknown} unknown words)"),
        *((name, f"{score.value:.2f}") for name, score in system.scores.items()),
    ]


def write_report(path: str | Path, findings: Findings, summary: Rows) -> None:
    """An HTML page of what the demo found."""
    page = Page("Toledo: the demo")
    page.paragraph("A model trained on the built-in sample, an invented language and English, with default weights.")
    page.table(["what", "value"], summary)
    page.heading("Translations")
    pairs = list(zip(findings.test, findings.translations, strict=True))[:MOST_EXAMPLES]
    rows = [(" ".join(one.words), str(found), " / ".join(map(" ".join, one.references))) for one, found in pairs]
    page.table(["source", "translation", "references"], rows)
    page.heading("How much of the test text the phrase table covers")
    page.figure(_coverage_plot(coverage(findings.model.table, findings.test)))
    page.heading("Some entries of the phrase table")
    steps = {" ".join(one.words[step.begin : step.end]) for one, found in pairs[:3] for step in found.steps}
    page.table(
        ["phrase", "likeliest translations, p(e|f)"],
        [(phrase, _options(findings.model.table, phrase.split())) for phrase in sorted(steps)],
    )
    page.heading("Signature")
    page.paragraph(findings.model.signature)
    page.write(path)


def _options(table: PhraseTable, phrase: Sequence[str]) -> str:
    whole = [option.pair for option in table.options(phrase) if (option.begin, option.end) == (0, len(phrase))]
    ranked = sorted(whole, key=lambda pair: -pair.scores["phrase.forward"])[:MOST_OPTIONS]
    return ", ".join(f"{' '.join(pair.target)} ({np.exp(pair.scores['phrase.forward']):.2f})" for pair in ranked)


def _coverage_plot(shares: Sequence[float]) -> Figure:
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(1, len(shares) + 1), shares, color="#b5462f")
    axes.set(xlabel="words of a phrase", ylabel="share known", ylim=(0.0, 1.0), xticks=range(1, len(shares) + 1))
    return figure


def _link_keys(alignments: Alignments) -> NDArray[np.int64]:
    """Each link as one number: sentence, source position, target position."""
    sentence = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
    keys = (sentence << 32) | (alignments.links[:, 0].astype(np.int64) << 16) | alignments.links[:, 1]
    return keys.astype(np.int64)
