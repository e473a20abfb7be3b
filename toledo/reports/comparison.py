"""A page on systems segment by segment: scores, wins and losses, segments side by side, n-grams, lengths and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from toledo.metrics.analysis.analysis import SegmentAnalysis
from toledo.metrics.analysis.buckets import CountBucket
from toledo.metrics.analysis.ngrams import NGramDifference
from toledo.metrics.analysis.pairs import DifferenceBar, PairAnalysis
from toledo.metrics.evaluation import Comparison
from toledo.reports.scores import score_table, scores
from toledo.reports.segments import SegmentList, ngram_marks, segment_id
from toledo.view.markup import Child, Markup, join, tag
from toledo.view.page import Page, card, columns, paragraph
from toledo.view.plots import HALF, Dot, Dots, Histogram, Kind, figure
from toledo.view.tables import Cell, fixed, shown, table
from toledo.view.text import linked

MOST_LINES = 8  # links of an n-gram


def comparison_page(comparison: Comparison, analysis: SegmentAnalysis, title: str = "Comparison") -> Page:
    """Return the page of a comparison and of what was found in its segments."""
    pairs, segments = analysis.pairs, SegmentList(comparison, analysis)
    script = files("toledo.view").joinpath("segments.js").read_text(encoding="utf-8")
    note = f"{_pair_names(pairs)}; {segments.size:,} segments, each scored by {analysis.metric_name}"
    page = Page(title, note, script)
    page.heading("Scores")
    test = comparison.test_note if comparison.tests else None
    page.add(card("All segments", scores(score_table(comparison.to_dict(), "")), note=test))
    page.add(*(paragraph(note, class_="note") for note in comparison.notes))
    page.heading("Segments won and lost")
    for number, pair in enumerate(pairs):
        page.add(*_side_by_side([_wins(pair, number, segments), *_lengths(pair, analysis, segments)]))
    page.heading("Segments side by side")
    page.add(segments.card())
    if any(pair.won or pair.lost for pair in pairs):
        page.heading("N-grams won and lost", "N-grams of the references, and how often each system gets them right.")
        page.add(*(columns(*_ngrams(pair, number, segments)) for number, pair in enumerate(pairs)))
    if analysis.by_length:
        page.heading("Lengths and words")
        page.add(*_side_by_side([_length_scores(analysis), _frequencies(analysis)]))
    differences = ("Longer or shorter than the reference", "words longer", analysis.by_length_difference)
    by_score = (f"Segments by {analysis.metric_name}", analysis.metric_name, analysis.by_score)
    page.add(*_side_by_side([_counts(*one) for one in (differences, by_score) if one[2]]))
    return page


def _pair_names(pairs: Sequence[PairAnalysis]) -> str:
    """Return which systems are compared with which."""
    by_baseline: dict[str, list[str]] = {}
    for pair in pairs:
        by_baseline.setdefault(pair.baseline, []).append(pair.system)
    return "; ".join(f"{', '.join(systems)} against {baseline}" for baseline, systems in by_baseline.items())


def _side_by_side(cards: Sequence[Markup]) -> Iterator[Markup]:
    """Yield cards in twos."""
    for place in range(0, len(cards), 2):
        some = cards[place : place + 2]
        yield columns(*some) if len(some) > 1 else some[0]


def _wins(pair: PairAnalysis, number: int, segments: SegmentList) -> Markup:
    bars = pair.histogram
    names = [_bar_name(bar, pair) for bar in bars]
    kinds: list[Kind] = ["less" if _is_loss(bar) else "even" if bar.low == bar.high else "more" for bar in bars]
    plot = Histogram(
        [_bar_label(bar) for bar in bars],
        [bar.segments for bar in bars],
        f"difference, {pair.metric_name}",
        kinds,
        left=f"{pair.baseline} better",
        right=f"{pair.system} better",
        names=names,
        links=[segments.link(f"d{number}:{place}", name) for place, name in enumerate(names)],
    )
    counts = f"better in {pair.wins:,}, equal in {pair.ties:,}, worse in {pair.losses:,}"
    return card(f"{pair.system} against {pair.baseline}", figure(plot, HALF), note=counts)


def _bar_label(bar: DifferenceBar) -> str:
    """Return the size of differences; their sign is seen from the side of the bar."""
    if bar.low == bar.high:
        return "equal"
    low, high = sorted((abs(bar.low or 0), abs(bar.high or 0)))
    return f"{high:g}+" if None in (bar.low, bar.high) else f"{low:g}–{high:g}"


def _bar_name(bar: DifferenceBar, pair: PairAnalysis) -> str:
    if bar.low == bar.high:
        return "equal"
    better, other = (pair.baseline, pair.system) if _is_loss(bar) else (pair.system, pair.baseline)
    return f"{better} better than {other} by {_bar_label(bar)}"


def _is_loss(bar: DifferenceBar) -> bool:
    return bar.low is None or bar.low < 0


def _ngrams(pair: PairAnalysis, number: int, segments: SegmentList) -> Iterator[Markup]:
    """Yield a table of n-grams won, and one of n-grams lost."""
    marked = list(ngram_marks(pair, number))
    for what, some in (("more", marked[: len(pair.won)]), ("less", marked[len(pair.won) :])):
        rows: list[list[Cell]] = [
            [linked(one.text, segments.link(mark, f"“{one.text}”")), one.system, one.baseline, _lines(one, segments)]
            for mark, one in some
        ]
        found = table(["n-gram", pair.system, pair.baseline, "lines"], rows) if rows else paragraph("There are none.")
        yield card(f"{pair.system} gets right {what} often", found, note=f"against {pair.baseline}")


def _lines(ngram: NGramDifference, segments: SegmentList) -> Markup:
    """Return links to the first segments of an n-gram."""
    on_page = set(segments.places)
    known = [place for place in ngram.segments if place in on_page]
    links: list[Child] = [tag("a", place + 1, href=f"#{segment_id(place)}") for place in known[:MOST_LINES]]
    return join(*links, *(["…"] if len(ngram.segments) > len(links) else []), between=" ")


def _lengths(pair: PairAnalysis, analysis: SegmentAnalysis, segments: SegmentList) -> Iterator[Markup]:
    """Yield the differences by length, if there are references."""
    sign = 1 if segments.comparison.task.metrics[analysis.metric].higher_is_better else -1
    dots = []
    for number, bucket in enumerate(analysis.by_length):
        for one in bucket.differences:
            if (one.system, one.baseline) == (pair.system, pair.baseline):
                kind: Kind = "more" if sign * one.difference > 0 else "less" if one.difference else "even"
                name, box = f"{bucket.label} words", one.interval
                ends: tuple[float | None, float | None] = (None, None) if box is None else (box.low, box.high)
                link = segments.link(f"n:{number}", name)
                dots.append(Dot(name, one.difference, *ends, f"{bucket.segments:,}", kind, link))
    if dots:
        plot = Dots(dots, f"difference, {analysis.metric_name}", 0.0, "segments")
        note = "dot: difference; line: its 95 % interval"
        yield card(f"{pair.system} against {pair.baseline}, by length of the reference", figure(plot, HALF), note=note)


def _length_scores(analysis: SegmentAnalysis) -> Markup:
    names = list(analysis.by_length[0].scores)
    rows: list[list[Cell]] = [
        [f"{one.label} words", one.segments, *(fixed(one.scores[name]) for name in names)] for one in analysis.by_length
    ]
    header = ["", "segments", *names]
    return card("By length of the reference", table(header, rows), note=analysis.metric_name)


def _frequencies(analysis: SegmentAnalysis) -> Markup:
    names = list(analysis.by_frequency[0].systems) if analysis.by_frequency else []
    rows: list[list[Cell]] = [
        [
            bucket.label,
            shown(bucket.systems[names[0]].in_references),
            *(fixed(100 * bucket.systems[name].f) for name in names),
        ]
        for bucket in analysis.by_frequency
    ]
    header = ["frequency", "in references", *names]
    return card("Words by frequency", table(header, rows), note="F1 of words, per cent")


def _counts(title: str, what: str, buckets: Sequence[CountBucket]) -> Markup:
    names = list(buckets[0].segments)
    rows: list[list[Cell]] = [[one.label, *(one.segments[name] for name in names)] for one in buckets]
    return card(title, table([what, *names], rows), note="number of segments")
