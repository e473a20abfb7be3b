"""The page of the demo: scores of everything, tuning, decisions, pictures, and what was trained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from toledo.model import PhraseModel
from toledo.phrases.table import PhraseTable
from toledo.reports.documents import Course, course_cards
from toledo.reports.posteriors import Example, examples
from toledo.reports.scores import ScoreTable, scores
from toledo.reports.tuning import refinement_cards, trajectories
from toledo.runs.history import History
from toledo.sample.corpus import ExampleData, ExampleText
from toledo.text.corpus import Sentences
from toledo.view.markup import Markup
from toledo.view.page import Page, card, columns, paragraph
from toledo.view.plots import HALF, Bar, Bars, figure
from toledo.view.tables import table, wide

MOST_OPTIONS, LEAST_OPTION, MOST_WORDS, MOST_DOCUMENTS = 5, 0.005, 12, 10
Rows = list[tuple[str, str]]
NOTES = {
    "page": "Everything here was computed in one run on this machine, from the example data: texts in an invented"
    " language and in English. Scores are those of the test text unless stated otherwise.",
    "results": "A model is trained, tuned and refined, and translations are chosen, combined and revised.",
    "rules": "One distribution, several ways to choose: what each rule takes from the same lattices, with the weights"
    " of MERT, and MBR from samples.",
    "systems": "Each system is trained on a third of the text, so it is weaker than the model trained on all of it."
    " Letters below a word are the systems that vote for it; frames mark the path of the result.",
    "documents": "Local search changes the translation of a document step by step, here so that each word is translated"
    " consistently. It starts from the result of beam search, and is annealed: at first it also accepts changes for the"
    " worse. Thin lines are documents.",
    "tuning": "Scores are those of the tuning text. The demo stops after a few rounds; toledo tune goes on.",
}


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

    drawing: Markup
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
    network: Sequence[Markup]
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
    """Return the page of what the demo found: results first, then examples, then how they came about."""
    page = Page("Toledo: the demo", NOTES["page"])
    page.heading("Results", NOTES["results"])
    page.add(card("Scores of everything", scores(tour.results)))
    page.heading("Decision rules", NOTES["rules"])
    page.add(card("Scores of rules", scores(tour.rules)))
    page.heading("Translations and their probabilities")
    page.add(card("What the rules choose", examples(tour.examples)), _forest(tour.forest))
    page.heading("Three systems combined", NOTES["systems"])
    page.add(*tour.network)
    page.heading("Whole documents", NOTES["documents"])
    page.add(*course_cards(tour.courses, MOST_DOCUMENTS))
    page.heading("Tuning", NOTES["tuning"])
    page.add(card("Scores by round", trajectories(tour.tunings)))
    page.heading("The phrase table refined")
    page.add(*refinement_cards(tour.refinement))
    page.heading("What was trained")
    page.add(*_training(tour.findings, tour.examples))
    return page


def _forest(forest: DrawnForest) -> Markup:
    share = (
        f"Those that are drawn have {forest.share:.0%} of the probability of all that the search kept; numbers are"
        " probabilities among those that are drawn. Blue is the best derivation."
    )
    note = "the most probable translations of the first example"
    return card("A forest", wide(forest.drawing, "a drawn forest"), paragraph(share, class_="note"), note=note)


def _training(findings: Findings, some: Sequence[Example]) -> list[Markup]:
    shares = coverage(findings.model.table, findings.data.test)
    bars = [Bar(f"{length} word{'s' if length > 1 else ''}", [100.0 * share]) for length, share in enumerate(shares, 1)]
    words = dict.fromkeys(word for one in some for word in one.source.split())
    rows = [(word, _options(findings.model.table, [word])) for word in words]
    return [
        columns(
            card("The model", table(["", "value"], summarize(findings), description="the model")),
            card("Coverage", figure(Bars(bars, "per cent known", digits=1), HALF),
                 note="phrases of the test text that the table can translate, per cent"),
        ),
        card(
            "Some entries of the phrase table",
            table(["word", "most probable translations, p(e|f)"], [row for row in rows if row[1]][:MOST_WORDS]),
            paragraph(f"Signature of the model: {findings.model.signature}", class_="signature"),
        ),
    ]  # fmt: skip


def _options(table: PhraseTable, phrase: Sequence[str]) -> str:
    whole = [option.pair for option in table.options(phrase) if (option.begin, option.end) == (0, len(phrase))]
    chances = [(float(np.exp(pair.scores["phrase.forward"])), " ".join(pair.target)) for pair in whole]
    ranked = sorted((one for one in chances if one[0] >= LEAST_OPTION), key=lambda one: -one[0])[:MOST_OPTIONS]
    return ", ".join(f"{text} ({chance:.2f})" for chance, text in ranked)
