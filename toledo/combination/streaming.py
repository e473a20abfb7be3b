"""Combine segments as they are read, in memory that does not grow with their number.

    for line in combine_texts(combiner, segments): print(line.text)

Two things are learned from the outputs that are combined: the biased language model, and the case of words. They are
learned from a *window*: so many segments in a row, which are read before the first of them is combined. A model of the
whole set, as in Rosti et al. (2011), would grow with it, and need a second pass, which pipes do not allow; a window of
4,000 segments is larger than most test sets, and for those both are the same. The last window is filled
up with the segments before it, so that no model is learned from a few lines.

Nothing depends on how many segments are combined at once, or on the number of threads. New words are forgotten with
their window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import Any, NamedTuple

from toledo.combination.combiner import CombinedWords, Combiner
from toledo.combination.lines import LineFormat, Outputs, SegmentTexts, best_lines, model_for, output_words
from toledo.combination.written_text import LatticeTruecaser
from toledo.consensus.asking import ShownTexts
from toledo.consensus.rule import Rule
from toledo.formats.forest_files import side_by_side

WINDOW = 4000

Row = tuple[SegmentTexts, str | None]  # what the systems say to a segment, and its source


class CombinedLine(NamedTuple):
    """The text for a segment, and what it was made of."""

    text: str
    combined: CombinedWords
    outputs: Outputs


@dataclass(frozen=True)
class StreamDecoding:
    """How segments are decided on: a rule, a factor of the tuned scale, threads, and what is learned from at once.

    Without rule and scale, those of the combiner decide.
    """

    rule: Rule | None = None
    scale: float | None = None
    threads: int | None = None
    window: int = WINDOW


def combine_texts(
    combiner: Combiner,
    segments: Iterable[SegmentTexts],
    how: StreamDecoding = StreamDecoding(),
    *,
    only: Collection[int] | None = None,
    sources: Iterable[str] | None = None,
) -> Iterator[CombinedLine]:
    """Combine segments; `only` are the numbers, from 0, of those that are wanted.

    A rule whose metric is a function sees texts as they would be written, with `sources` if they are given.
    """
    lines = LineFormat(combiner.settings.raw_language)
    rows: Iterator[Any] = ((texts, None) for texts in segments)
    if sources is not None:
        rows = side_by_side([iter(segments), iter(sources)], ["systems", "sources"])
    last = None if only is None else max(only, default=-1)
    for one in _windows(rows, how.window, learns=bool(combiner.settings.bias or lines.language)):
        if last is not None and one.first > last:
            return
        if only is None or any(one.first <= number < one.first + how.window for number in only):
            yield from _combine_window(combiner, lines, one, how, only, None if sources is None else [])
        else:
            deque(one.rows, maxlen=0)  # read past them


class _Window(NamedTuple):
    """Segments in a row: the number of the first, how many at most, and those to learn from, they included, or None."""

    first: int
    rows: Iterable[Row]
    size: int
    learned: Sequence[Row] | None


def _windows(rows: Iterator[Row], size: int, learns: bool) -> Iterator[_Window]:
    """Yield all segments in windows; if nothing is learned from them, they are read one by one."""
    before: list[Row] = []
    for first in count(0, size):
        if not learns:
            following = list(islice(rows, 1))
            if not following:
                return
            yield _Window(first, chain(following, islice(rows, size - 1)), size, None)
        else:
            own = list(islice(rows, size))
            if not own:
                return
            yield _Window(first, own, len(own), own if len(own) == size else [*before[len(own) :], *own])
            before = own


def _combine_window(
    combiner: Combiner,
    lines: LineFormat,
    window: _Window,
    how: StreamDecoding,
    only: Collection[int] | None,
    sources: list[str] | None,
) -> Iterator[CombinedLine]:
    """Combine the segments of a window; their sources are put into the list `sources` as they are read."""
    combiner = replace(combiner, vocabulary=combiner.vocabulary.copy())
    model, truecaser, rows = combiner.model, None, _read(lines, window.rows)
    if window.learned is not None:
        learned = list(_read(lines, window.learned))
        rows = iter(learned[-window.size :])
        if best := best_lines(outputs for outputs, _ in learned):
            model = model_for(combiner, lines, best)
            truecaser = LatticeTruecaser.train([one.words for one in best]) if lines.language else None
    waiting: deque[Outputs] = deque()

    def words() -> Iterator[list[list[tuple[str, ...]]]]:
        for number, (outputs, source) in enumerate(rows, start=window.first):
            if only is None or number in only:
                waiting.append(outputs)
                if sources is not None and source is not None:
                    sources.append(source)
                yield output_words(lines, outputs)

    shown = ShownTexts(sources, lambda place, said: lines.write(said, waiting[place], truecaser))
    decided = combiner.run(
        words(), how.rule, how.scale, model=model, threads=how.threads, shown=shown, first=window.first
    )
    for combined in decided:
        used = waiting.popleft()
        yield CombinedLine(lines.write(combined.words, used, truecaser), combined, used)


def _read(lines: LineFormat, rows: Iterable[Row]) -> Iterator[tuple[Outputs, str | None]]:
    return ((lines.read_all(texts), source) for texts, source in rows)
