"""What the demo shows: scores of everything, the way of tuning, decisions, pictures, and what was trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from toledo.model import Model
from toledo.phrases.table import PhraseTable, WordLinks
from toledo.reports.documents import Course, add_courses
from toledo.reports.networks import EXPLANATION, add_segment, legend
from toledo.reports.networks import Segment as NetworkSegment
from toledo.reports.page import PLOT, Page
from toledo.reports.posteriors import Example, add_examples
from toledo.reports.scores import Scores, add_table
from toledo.reports.tuning import add_refinement, add_trajectories
from toledo.runs.history import History
from toledo.text.corpus import ParallelCorpus, Segment, sentences_from

MOST_OPTIONS, LEAST_OPTION, MOST_WORDS, MOST_DOCUMENTS = 5, 0.005, 12, 10
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
    """What training has found, and the texts that it is judged by."""

    corpus: ParallelCorpus
    model: Model
    quality: AlignmentQuality
    test: Sequence[Segment]


@dataclass(frozen=True)
class DrawnForest:
    """The picture of a part of a forest, and the share of that part in the probability of the whole."""

    svg: str
    share: float


@dataclass(frozen=True)
class Tour:
    """Everything that the demo made. `rules` differ in nothing but the decision rule."""

    findings: Findings
    results: Scores
    tunings: Mapping[str, History]
    rules: Scores
    forest: DrawnForest
    examples: Sequence[Example]
    network: NetworkSegment
    shares: Mapping[str, float]
    courses: Sequence[Course]
    refinement: History


def alignment_quality(found: WordLinks, gold: WordLinks) -> AlignmentQuality:
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
    """What was trained, in a few lines."""
    corpus, model = findings.corpus, findings.model
    text = [model.target_vocabulary.ids(segment.references[0]) for segment in findings.test]
    english = sentences_from(np.concatenate(text), np.array([line.size for line in text]))
    perplexity = model.language_models[0].sentence_perplexity(english)
    return [
        ("sentence pairs", f"{len(corpus):,}"),
        ("source words, distinct", f"{corpus.source.words.size:,}, {len(corpus.source_vocabulary):,}"),
        ("target words, distinct", f"{corpus.target.words.size:,}, {len(corpus.target_vocabulary):,}"),
        ("alignment precision, recall", f"{findings.quality.precision:.3f}, {findings.quality.recall:.3f}"),
        ("alignment error rate", f"{findings.quality.error_rate:.3f}"),
        ("phrase pairs", f"{len(model.table):,}"),
        ("test words that the table knows", f"{coverage(model.table, findings.test)[0]:.1%}"),
        ("language model", f"order {model.language_models[0].order}"),
        ("perplexity on test", f"{perplexity.value:.1f} ({perplexity.unknown} unknown words)"),
    ]


def write_report(path: str | Path, tour: Tour) -> None:
    """An HTML page of what the demo found."""
    page = Page("Toledo: the demo")
    page.paragraph(
        "Everything here was made on this machine in one go, from the built-in sample: texts in an invented language"
        " and in English. A model is trained and tuned, translations are chosen by several rules, systems are combined,"
        " documents translated as wholes, and the phrase table is refined. Scores are of one test text,"
        " unless it says otherwise."
    )
    page.heading("Results")
    add_table(page, tour.results)
    page.heading("Tuning: the score round by round")
    page.paragraph("Scores are of the tuning text. The demo stops after a few rounds; toledo tune goes on.")
    add_trajectories(page, tour.tunings)
    page.heading("Decision rules: one distribution, several ways to choose")
    page.paragraph("What each rule chooses from the same lattices, with the weights of MERT, and MBR from samples.")
    tour.rules.add_to(page)
    page.heading("Translations, and how sure the model is of them")
    add_examples(page, tour.examples)
    page.heading("A forest")
    page.paragraph(
        "The likeliest translations of the first example. Those that are drawn have"
        f" {tour.forest.share:.0%} of the probability of all that the search kept; the numbers are probabilities among"
        " what is drawn."
    )
    page.picture(tour.forest.svg, "a drawn forest")
    page.heading("Three systems combined: a confusion network")
    page.paragraph(
        "Each system is trained on a third of the text, so it is weaker than the model that has seen all of it."
    )
    page.paragraph(EXPLANATION)
    page.markup(legend(tour.shares))
    add_segment(page, tour.network, list(tour.shares))
    page.heading("Whole documents")
    page.paragraph(
        "Local search changes the translation of a document step by step, here so that a word is translated alike"
        " throughout it. It begins with what beam search found, and is annealed: at first it takes steps down, too."
        " Grey lines are documents."
    )
    add_courses(page, tour.courses, MOST_DOCUMENTS)
    page.heading("The phrase table refined")
    add_refinement(page, tour.refinement)
    page.heading("What was trained")
    _add_training(page, tour.findings, tour.examples)
    page.write(path, contents=True)


def _add_training(page: Page, findings: Findings, examples: Sequence[Example]) -> None:
    page.table(["what", "value"], summarise(findings))
    page.subheading("How much of the test text the phrase table covers")
    page.figure(_coverage_plot(coverage(findings.model.table, findings.test)))
    page.subheading("Some entries of the phrase table")
    words = dict.fromkeys(word for one in examples for word in one.source.split())
    rows = [(word, _options(findings.model.table, [word])) for word in words]
    page.table(["word", "likeliest translations, p(e|f)"], [row for row in rows if row[1]][:MOST_WORDS])
    page.small(f"Signature of the model: {findings.model.signature}")


def _options(table: PhraseTable, phrase: Sequence[str]) -> str:
    whole = [option.pair for option in table.options(phrase) if (option.begin, option.end) == (0, len(phrase))]
    chances = [(float(np.exp(pair.scores["phrase.forward"])), " ".join(pair.target)) for pair in whole]
    ranked = sorted((one for one in chances if one[0] >= LEAST_OPTION), key=lambda one: -one[0])[:MOST_OPTIONS]
    return ", ".join(f"{text} ({chance:.2f})" for chance, text in ranked)


def _coverage_plot(shares: Sequence[float]) -> Figure:
    figure = Figure(figsize=PLOT, layout="constrained")
    axes = figure.subplots()
    axes.bar(range(1, len(shares) + 1), shares, color="#b5462f")
    axes.set(xlabel="words of a phrase", ylabel="share known", ylim=(0.0, 1.0), xticks=range(1, len(shares) + 1))
    return figure


def _link_keys(alignments: WordLinks) -> NDArray[np.int64]:
    """Each link as one number: sentence, source position, target position."""
    sentence = np.repeat(np.arange(len(alignments)), np.diff(alignments.offsets))
    keys = (sentence << 32) | (alignments.links[:, 0].astype(np.int64) << 16) | alignments.links[:, 1]
    return keys.astype(np.int64)
