"""The page of the demo: scores of everything, tuning, decisions, pictures, and what was trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from toledo.model import PhraseModel
from toledo.phrases.table import PhraseTable
from toledo.reports.documents import Course, add_courses
from toledo.reports.page import RED, Page
from toledo.reports.posteriors import Example, add_examples
from toledo.reports.scores import ScoreTable, add_table
from toledo.reports.tuning import add_refinement, add_trajectories
from toledo.runs.history import History
from toledo.sample.corpus import ExampleData, ExampleText
from toledo.text.corpus import Sentences

MOST_OPTIONS, LEAST_OPTION, MOST_WORDS, MOST_DOCUMENTS = 5, 0.005, 12, 10
Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class AlignmentQuality:
    """Agreement of links with gold links, all of which are sure."""

    precision: float
    recall: float

    @property
    def error_rate(self) -> float:
        """Return the alignment error rate (Och and Ney 2003), here 1 − F."""
        both = self.precision + self.recall
        return 1.0 - 2.0 * self.precision * self.recall / both if both else 1.0


@dataclass(frozen=True)
class Findings:
    """The trained model, the quality of its alignment, and the texts."""

    model: PhraseModel
    quality: AlignmentQuality
    data: ExampleData


@dataclass(frozen=True)
class DrawnForest:
    """A picture of a part of a forest, and the share of that part in the probability of the whole."""

    svg: str
    share: float


@dataclass(frozen=True)
class Tour:
    """Everything that the demo made. `rules` differ in nothing but the decision rule."""

    findings: Findings
    results: ScoreTable
    tunings: Mapping[str, History]
    rules: ScoreTable
    forest: DrawnForest
    examples: Sequence[Example]
    network: Page
    courses: Sequence[Course]
    refinement: History


def alignment_quality(found: Iterable[str], gold: Iterable[str]) -> AlignmentQuality:
    """Compare links with gold links, both as lines in Pharaoh format."""
    ours, theirs = (
        {(number, link) for number, line in enumerate(lines) for link in line.split()} for lines in (found, gold)
    )
    common = len(ours & theirs)
    return AlignmentQuality(common / max(len(ours), 1), common / max(len(theirs), 1))


def coverage(table: PhraseTable, text: ExampleText) -> list[float]:
    """Return for each phrase length the share of a text's phrases of that length that the table can translate."""
    known, possible = np.zeros(table.longest_source), np.zeros(table.longest_source)
    for words in map(str.split, text.sources):
        spans = table.lookup(table.source_vocabulary.ids(words))
        np.add.at(known, spans.end - spans.begin - 1, 1.0)
        possible += np.maximum(len(words) - np.arange(known.size), 0)
    return [float(share) for share in known / np.maximum(possible, 1.0)]


def summarize(findings: Findings) -> Rows:
    """Return what was trained, in a few lines."""
    data, model = findings.data, findings.model
    text = [model.target_vocabulary.ids(line.split()) for line in data.test.targets]
    english = Sentences.from_lengths(np.concatenate(text), np.array([line.size for line in text]))
    perplexity = model.language_models[0].sentence_perplexity(english)
    source, target = (
        [word for line in lines for word in line.split()] for lines in (data.train.sources, data.train.targets)
    )
    return [
        ("sentence pairs", f"{len(data.train):,}"),
        ("source words, distinct", f"{len(source):,}, {len(set(source)):,}"),
        ("target words, distinct", f"{len(target):,}, {len(set(target)):,}"),
        ("alignment precision, recall", f"{findings.quality.precision:.3f}, {findings.quality.recall:.3f}"),
        ("alignment error rate", f"{findings.quality.error_rate:.3f}"),
        ("phrase pairs", f"{len(model.table):,}"),
        ("test words that the table knows", f"{coverage(model.table, data.test)[0]:.1%}"),
        ("language model", f"order {model.language_models[0].order}"),
        ("perplexity on test", f"{perplexity.value:.1f} ({perplexity.unknown} unknown words)"),
    ]


def demo_page(tour: Tour) -> Page:
    """Return the page of what the demo found."""
    page = Page("Toledo: the demo")
    page.paragraph(
        "Everything here was computed in one run on this machine, from the example data: texts in an invented language"
        " and in English. A model is trained and tuned, translations are chosen by several rules, systems are combined,"
        " documents are translated as wholes, and the phrase table is refined. Scores are those of the test text unless"
        " stated otherwise."
    )
    page.heading("Results")
    add_table(page, tour.results)
    page.heading("Tuning: the score round by round")
    page.paragraph("Scores are those of the tuning text. The demo stops after a few rounds; toledo tune goes on.")
    add_trajectories(page, tour.tunings)
    page.heading("Decision rules: one distribution, several ways to choose")
    page.paragraph("What each rule chooses from the same lattices, with the weights of MERT, and MBR from samples.")
    tour.rules.add_to(page)
    page.heading("Translations and their probabilities")
    add_examples(page, tour.examples)
    page.heading("A forest")
    page.paragraph(
        "The most probable translations of the first example. Those that are drawn have"
        f" {tour.forest.share:.0%} of the probability of all that the search kept; numbers are probabilities among"
        " those that are drawn."
    )
    page.picture(tour.forest.svg, "a drawn forest")
    page.heading("Three systems combined: a confusion network")
    page.paragraph(
        "Each system is trained on a third of the text, so it is weaker than the model trained on all of it."
    )
    page.include(tour.network)
    page.heading("Whole documents")
    page.paragraph(
        "Local search changes the translation of a document step by step, here so that each word is translated"
        " consistently. It starts from the result of beam search, and is annealed: at first it also accepts changes for"
        " the worse. Gray lines are documents."
    )
    add_courses(page, tour.courses, MOST_DOCUMENTS)
    page.heading("The phrase table refined")
    add_refinement(page, tour.refinement)
    page.heading("What was trained")
    _add_training(page, tour.findings, tour.examples)
    return page


def _add_training(page: Page, findings: Findings, examples: Sequence[Example]) -> None:
    page.table(["what", "value"], summarize(findings))
    page.subheading("How much of the test text the phrase table covers")
    shares = coverage(findings.model.table, findings.data.test)
    with page.plot() as axes:
        axes.bar(range(1, len(shares) + 1), shares, color=RED)
        axes.set(xlabel="words of a phrase", ylabel="share known", ylim=(0.0, 1.0), xticks=range(1, len(shares) + 1))
    page.subheading("Some entries of the phrase table")
    words = dict.fromkeys(word for one in examples for word in one.source.split())
    rows = [(word, _options(findings.model.table, [word])) for word in words]
    page.table(["word", "most probable translations, p(e|f)"], [row for row in rows if row[1]][:MOST_WORDS])
    page.small(f"Signature of the model: {findings.model.signature}")


def _options(table: PhraseTable, phrase: Sequence[str]) -> str:
    whole = [option.pair for option in table.options(phrase) if (option.begin, option.end) == (0, len(phrase))]
    chances = [(float(np.exp(pair.scores["phrase.forward"])), " ".join(pair.target)) for pair in whole]
    ranked = sorted((one for one in chances if one[0] >= LEAST_OPTION), key=lambda one: -one[0])[:MOST_OPTIONS]
    return ", ".join(f"{text} ({chance:.2f})" for chance, text in ranked)
