"""Segments of several systems side by side, for a page: what each one shows, and which marks lead to it.

Segments carry marks, such as `d0:7` for the eighth bar of the first histogram. What links to a mark leads to the first
segment that has it; the script of the page shows all segments with that mark instead, and it can search and sort.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from toledo.metrics.analysis.analysis import SegmentAnalysis
from toledo.metrics.analysis.ngrams import NGramDifference
from toledo.metrics.analysis.pairs import PairAnalysis, difference_histogram
from toledo.metrics.evaluation import Comparison
from toledo.view.markup import Child, Markup, tag
from toledo.view.page import card
from toledo.view.tables import fixed
from toledo.view.text import SegmentLink, against, difference, difference_key, segment, spaced, written_words

MOST_SEGMENTS = 1000  # on a page


class SegmentList:
    """The segments on a page: those that n-grams link to, then those that differ most, the largest difference first."""

    def __init__(self, comparison: Comparison, analysis: SegmentAnalysis) -> None:
        self.comparison, self.analysis = comparison, analysis
        pairs = analysis.pairs
        self.size = pairs[0].gains.size
        self.names = list(dict.fromkeys(name for pair in pairs for name in (pair.baseline, pair.system)))
        self.marks: list[set[str]] = [set() for _ in range(self.size)]
        for place, mark in _marks(analysis):
            self.marks[place].add(mark)
        largest = np.max(np.abs([pair.gains for pair in pairs]), axis=0)
        named = {place for pair in pairs for one in (*pair.won, *pair.lost) for place in one.segments}
        order = sorted(range(self.size), key=lambda place: (place not in named, -largest[place]))
        self.places = sorted(order[:MOST_SEGMENTS], key=lambda place: (-largest[place], place))

    def link(self, mark: str, name: str) -> SegmentLink | None:
        """Return a link to the segments with a mark; `name` says what they have in common."""
        first = next((place for place in self.places if mark in self.marks[place]), None)
        return None if first is None else SegmentLink(segment_id(first), mark, name)

    def card(self) -> Markup:
        """Return all segments, with what is needed to search and sort them."""
        pairs = self.analysis.pairs
        note = f"{len(self.places):,} of {self.size:,} segments, those that differ most" if self._cut else None
        key = difference_key(self.names[0], self.names[1] if len(self.names) == 2 else None)
        shown = tag("div", [(self._segment(place), "\n") for place in self.places], class_="segments list", tabindex=0)
        return card("Largest differences first", _controls(pairs), key, shown, note=note)

    @property
    def _cut(self) -> bool:
        return len(self.places) < self.size

    def _segment(self, place: int) -> Markup:
        pairs, task = self.analysis.pairs, self.comparison.task
        gains = [float(pair.gains[place]) for pair in pairs]
        source = [] if task.sources is None else [("source", task.sources[place])]
        references = [("reference", text) for text in (task.references[place] if task.references is not None else ())]
        quiet: list[tuple[Child, Child]] = [*source, *references]
        return segment(
            [f"line {place + 1} ", tag("small", self._gain_text(gains))],
            [*quiet, *self._outputs(place)],
            quiet=range(len(quiet)),
            place=segment_id(place),
            data_marks=" ".join(sorted(self.marks[place])),
            data_gains=" ".join(f"{gain:.2f}" for gain in gains),
        )

    def _gain_text(self, gains: list[float]) -> str:
        """Return the differences of scores, which are below 0 for a gain if lower is better."""
        sign = 1 if self.comparison.task.metrics[self.analysis.metric].higher_is_better else -1
        values = [fixed(sign * gain, 1, sign=True) for gain in gains]
        if len(values) > 1:
            pairs = self.analysis.pairs
            values = [f"{pair.system} {value}" for pair, value in zip(pairs, values, strict=True)]
        return f"{', '.join(values)} {self.analysis.metric_name}"

    def _outputs(self, place: int) -> Iterator[tuple[Child, Child]]:
        """Yield the texts of systems; words that differ from the first one are marked."""
        texts = [written_words(self.comparison.texts[name][place]) for name in self.names]
        given = self.comparison.task.references
        references = [] if given is None else [written_words(text) for text in given[place]]
        drawn: list[Child] = [spaced(texts[0]), *(against(text, texts[0], references) for text in texts[1:])]
        if len(texts) == 2:
            drawn = [*difference(texts[0], texts[1], references)]
        for name, text in zip(self.names, drawn, strict=True):
            score = float(self.comparison.systems[name].segments[self.analysis.metric][place])
            yield [name, " ", tag("small", fixed(score, 1))], text or tag("i", "empty", class_="quiet")


def ngram_marks(pair: PairAnalysis, number: int) -> Iterator[tuple[str, NGramDifference]]:
    """Yield the mark of each n-gram of a pair."""
    for place, ngram in enumerate((*pair.won, *pair.lost)):
        yield f"g{number}:{place}", ngram


def segment_id(place: int) -> str:
    """Return the id of a segment: lines are counted from 1."""
    return f"line-{place + 1}"


def _marks(analysis: SegmentAnalysis) -> Iterator[tuple[int, str]]:
    """Yield segments with their marks: bars of histograms, n-grams, and lengths."""
    for number, pair in enumerate(analysis.pairs):
        for place, bar in enumerate(difference_histogram(pair.gains)[1].tolist()):
            yield place, f"d{number}:{bar}"
        for mark, ngram in ngram_marks(pair, number):
            yield from ((place, mark) for place in ngram.segments)
    for number, bucket in enumerate(analysis.by_length):
        own = analysis.reference_lengths >= bucket.low
        own &= analysis.reference_lengths < (np.inf if bucket.high is None else bucket.high)
        yield from ((place, f"n:{number}") for place in np.flatnonzero(own).tolist())


def _controls(pairs: tuple[PairAnalysis, ...]) -> Markup:
    """Return search and sorting, which are hidden without the script."""
    choices = [("size 1", "largest difference"), ("line 1", "as in the text")]
    for number, pair in enumerate(pairs):
        choices += [(f"{number} -1", f"{pair.system} gains most"), (f"{number} 1", f"{pair.system} loses most")]
    options = [tag("option", name, value=value) for value, name in choices]
    return tag(
        "div",
        tag("input", type="search", placeholder="Search in all texts ( / )", aria_label="Search in all texts"),
        tag("label", "Sort ", tag("select", options)),
        tag("output", class_="note"),
        tag("span", class_="chips"),
        class_="controls",
        hidden=True,
    )
