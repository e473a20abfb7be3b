"""Translations of one sentence: the source, what each rule chooses, the n-best list, and why one text is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toledo.view.markup import Markup, join, tag
from toledo.view.svg import signed_bar
from toledo.view.tables import Cell, fixed, table
from toledo.view.text import DOUBTFUL, against, shade

MOST_BAR = 48.0  # pixels of a bar for a probability
SMALL = 0.0005  # a part of a difference that is not shown


@dataclass(frozen=True)
class ShownWord:
    """A word with the probabilities of the n-grams that begin with it, and the words of the source that it is from.

    `differs` says that the first of several translations does not have it.
    """

    word: str
    probabilities: Sequence[float] = ()
    source: tuple[int, int] | None = None
    differs: bool = False

    def draw(self) -> Markup:
        """Return the word, shaded, with its probabilities in the title; below 0.5 it is dotted."""
        kinds = ["w"]
        if self.probabilities:
            kinds += [shade(self.probabilities[0]), *(["low"] if self.probabilities[0] < DOUBTFUL else [])]
        kinds += ["new"] if self.differs else []
        title = ", ".join(
            f"{n}-gram {fixed(value)}" if n > 1 else f"p = {fixed(value)}"
            for n, value in enumerate(self.probabilities, 1)
        )
        span = None if self.source is None else f"{self.source[0]}-{self.source[1]}"
        return tag("span", self.word, class_=" ".join(kinds), title=title or None, data_source=span,
                   tabindex=0 if span else None)  # fmt: skip


def shown_text(words: Sequence[ShownWord]) -> Markup:
    """Return a translation in its posteriors."""
    shown = join(*(one.draw() for one in words), between=" ") if words else tag("i", "empty", class_="quiet")
    return tag("div", shown, class_="text", dir="auto")


def source_text(words: Sequence[str], unknown: Sequence[str] = ()) -> Markup:
    """Return the words of a source, each with its place; unknown ones are dotted."""
    missing = set(unknown)
    spans = [
        tag("span", word, data_at=place, class_="low" if word in missing else None,
            title="unknown word" if word in missing else None)
        for place, word in enumerate(words)
    ]  # fmt: skip
    return tag("div", join(*spans, between=" "), class_="source", dir="auto")


@dataclass(frozen=True)
class ShownChoice:
    """A translation, the names of the rules that choose it, and figures with their names."""

    rules: Sequence[str]
    words: Sequence[ShownWord]
    figures: Sequence[tuple[str, str]]

    def draw(self) -> Markup:
        """Return a row: who chooses it, the text, the figures."""
        names = tag("h3", self.rules[0], [tag("small", name) for name in self.rules[1:]])
        figures = [tag("div", tag("dt", name), tag("dd", value)) for name, value in self.figures]
        return tag("div", names, shown_text(self.words), tag("dl", figures, class_="figures"), class_="rule")


def rule_rows(choices: Sequence[ShownChoice]) -> Markup:
    """Return what each rule chooses, rules of the same choice together."""
    return tag("div", [one.draw() for one in choices], class_="rules")


def rule_key() -> Markup:
    """Return what shades, dots and lines mean."""
    ramp = tag("span", [tag("i", class_=f"p{step}") for step in range(0, 9, 2)], class_="ramp")
    return tag(
        "p",
        tag("span", "Probability that a word occurs: 0 ", ramp, " 1"),
        tag("span", tag("span", "dotted", class_="w low"), f" below {DOUBTFUL:g}"),
        tag("span", tag("span", "underlined", class_="w new"), " differs from the first"),
        class_="key",
    )


@dataclass(frozen=True)
class ListRow:
    """A text of an n-best list; `rules` choose it, `score_rank` is its place by the score of the model."""

    words: Sequence[str]
    rules: Sequence[str]
    expected: float
    probability: float
    score: float
    score_rank: int


def nbest_table(rows: Sequence[ListRow], metric: str, choice: str, selected: int) -> Markup:
    """Return the list, each text as it differs from the first; selecting a row sets `choice` to its rank."""
    most = max((one.probability for one in rows), default=0.0) or 1.0
    cells: list[list[Cell]] = [
        [
            rank,
            tag("span", against(one.words, rows[0].words), [tag("span", rule, class_="tag") for rule in one.rules]),
            fixed(one.expected, 1),
            fixed(one.probability, 3),
            _bar(one.probability / most),
            fixed(one.score),
            one.score_rank,
        ]
        for rank, one in enumerate(rows, 1)
    ]
    header = ["#", "translation", f"exp. {metric}", "probability", "", "score", "by score"]
    picks = [f"{choice}={rank}" for rank in range(1, len(rows) + 1)]
    return table(header, cells, description="n-best list", optional=[4, 5, 6], best=selected - 1, picks=picks)


def reasons(parts: Sequence[tuple[str, float]], total: float, name: str = "difference of scores") -> Markup:
    """Return parts of a difference as bars from zero, the largest first, and their sum."""
    largest = max((abs(value) for _, value in parts), default=0.0) or 1.0
    some = sorted((one for one in parts if abs(one[1]) >= SMALL), key=lambda one: -abs(one[1]))
    rows = [
        tag("div", tag("span", name, title=name), signed_bar(value / largest), tag("span", fixed(value, 2, sign=True),
            class_="number"))
        for name, value in some
    ]  # fmt: skip
    below = tag(
        "div", tag("span", name), tag("b", fixed(total, 2, sign=True), class_="number"), class_="row spread sum"
    )
    return tag("div", rows or tag("p", "No feature differs.", class_="note"), below, class_="reasons")


def _bar(share: float) -> Markup:
    return tag(
        "svg", tag("rect", width=MOST_BAR, height=8, rx=2, class_="track"),
        tag("rect", width=MOST_BAR * min(max(share, 0.0), 1.0), height=8, rx=2, class_="bar"),
        width=MOST_BAR, height=8, viewBox=f"0 0 {MOST_BAR:g} 8", aria_hidden="true", class_="spark",
    )  # fmt: skip
