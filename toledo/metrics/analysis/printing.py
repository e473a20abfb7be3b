"""An analysis of segments as text, for a terminal: words that differ are colored, or marked if there are no colors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from toledo.metrics.analysis.buckets import CountBucket
from toledo.metrics.analysis.differences import WordPiece, word_pieces
from toledo.metrics.analysis.ngrams import NGramDifference
from toledo.metrics.analysis.pairs import PairAnalysis, SegmentDifference
from toledo.results import table
from toledo.view.text import written_words

if TYPE_CHECKING:
    from toledo.metrics.analysis.analysis import SegmentAnalysis

BASELINE, SYSTEM, BOLD, END = "\x1b[33m", "\x1b[35m", "\x1b[1m", "\x1b[0m"  # orange and violet, as on pages
MARKS = {BASELINE: ("[-", "-]"), SYSTEM: ("{+", "+}")}  # as git and wdiff write them


def analysis_text(analysis: SegmentAnalysis, color: bool = False) -> str:
    """Return pairs of systems first, then what all systems share."""
    parts = [part for pair in analysis.pairs for part in _pair_parts(pair, color)]
    parts += [_length_table(analysis)] if analysis.by_length else []
    if analysis.by_frequency:
        parts.append(_frequency_table(analysis))
    for title, buckets in (
        ("how many words longer than the reference", analysis.by_length_difference),
        (analysis.metric_name, analysis.by_score),
    ):
        parts += [_count_table(title, buckets)] if buckets else []
    return "\n\n".join("\n".join(part) for part in parts)


def _pair_parts(pair: PairAnalysis, color: bool) -> Iterator[list[str]]:
    yield [
        f"{pair.system} against {pair.baseline}, {pair.metric_name} of segments: "
        f"better in {pair.wins}, equal in {pair.ties}, worse in {pair.losses}"
    ]
    for title, examples in (("gains", pair.best), ("loses", pair.worst)):
        if examples:
            yield [f"{pair.system} {title} most", *(line for one in examples for line in _example(one, pair, color))]
    if pair.best or pair.worst:
        yield [_key(pair, color)]
    for title, ngrams in (("more", pair.won), ("less", pair.lost)):
        if ngrams:
            yield [f"n-grams that {pair.system} gets right {title} often", *_ngram_table(ngrams, pair)]


def _example(one: SegmentDifference, pair: PairAnalysis, color: bool) -> Iterator[str]:
    before, after = (one.scores[name] for name in (pair.baseline, pair.system))
    yield f"  line {one.segment + 1}: {after - before:+.2f} ({before:.2f} → {after:.2f})"
    baseline, system, *references = map(
        written_words, (one.texts[pair.baseline], one.texts[pair.system], *one.references)
    )
    first, second = word_pieces(baseline, system, references)
    rows = [["source", one.source]] if one.source is not None else []
    rows += [["reference", text] for text in one.references]
    rows += [[pair.baseline, _marked(first, BASELINE, color)], [pair.system, _marked(second, SYSTEM, color)]]
    yield from (f"    {line}" for line in table(rows, left=[0, 1]))


def _marked(pieces: Sequence[WordPiece], kind: str, color: bool) -> str:
    shown = (f"{_mark(piece, kind, color) if piece.own else piece.text}{piece.after}" for piece in pieces)
    return "".join(shown).rstrip(" ")


def _mark(piece: WordPiece, kind: str, color: bool) -> str:
    """Return words that the other text lacks: bold, or with a star, if a reference has them."""
    if color:
        return f"{kind}{BOLD if piece.agrees else ''}{piece.text}{END}"
    before, after = MARKS[kind]
    return f"{before}{piece.text}{'*' if piece.agrees else ''}{after}"


def _key(pair: PairAnalysis, color: bool) -> str:
    own, other = (
        _mark(WordPiece(name, True, False), kind, color)
        for name, kind in ((pair.baseline, BASELINE), (pair.system, SYSTEM))
    )
    return f"{own} only, {other} only, {f'{BOLD}bold{END}' if color else '*'} matches a reference"


def _ngram_table(ngrams: Sequence[NGramDifference], pair: PairAnalysis) -> Iterator[str]:
    rows = [[f"  {one.text}", str(one.system), str(one.baseline), f"{one.share:.2f}"] for one in ngrams]
    yield from table([["", pair.system, pair.baseline, "share"], *rows], left=[0])


def _length_table(analysis: SegmentAnalysis) -> list[str]:
    names = list(analysis.by_length[0].scores)
    tested = [f"{one.system} − {one.baseline}" for one in analysis.by_length[0].differences]
    rows = [[f"{analysis.metric_name} by length of the reference", "segments", *names, *tested]]
    for bucket in analysis.by_length:
        differences = [
            f"{one.difference:+.2f}" + (f" ± {one.interval.half_width:.2f}" if one.interval else "")
            for one in bucket.differences
        ]
        scores = [f"{bucket.scores[name]:.2f}" for name in names]
        rows.append([f"  {bucket.label} words", str(bucket.segments), *scores, *differences])
    return table(rows, left=[0])


def _frequency_table(analysis: SegmentAnalysis) -> list[str]:
    names = list(analysis.by_frequency[0].systems)
    rows = [["F1 of words by frequency", "in references", *names]]
    for bucket in analysis.by_frequency:
        found = [bucket.systems[name] for name in names]
        rows.append([f"  {bucket.label}", str(found[0].in_references), *(f"{100 * one.f:.2f}" for one in found)])
    return table(rows, left=[0])


def _count_table(title: str, buckets: Sequence[CountBucket]) -> list[str]:
    names = list(buckets[0].segments)
    rows = [[f"  {one.label}", *(str(one.segments[name]) for name in names)] for one in buckets]
    return table([[f"segments by {title}", *names], *rows], left=[0])
