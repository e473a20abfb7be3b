"""Pairs of spans that are consistent with a word alignment (Koehn, Och and Marcu 2003).

A source span and a target span are consistent if at least one link lies in both and no link leaves one but not the
other. Unaligned words at the edges make several source spans go with one target span.

The orientation of a pair to its neighbors is that of lexicalized reordering: Tillmann (2004) and Koehn et al. (2005),
the word-based variant that Moses calls wbe-msd-bidirectional-fe. The orientation to the previous phrase is read off the
links of the word before the target phrase. It is *monotone* if that word is linked to the source word just before the
phrase, a *swap* if to the one just after it, *discontinuous* if to neither or both; likewise with the word after the
target phrase. Both sentences count as linked at their two ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.phrases.table import WordLinks
from toledo.text.corpus import ParallelCorpus

UNALIGNED = -1
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2
ORIENTATIONS = 3


class AlignedText(NamedTuple):
    """Both texts' sentence bounds; source word i is linked to target words `linked[bounds[i]:bounds[i + 1]]`."""

    source_offsets: NDArray[np.int64]
    target_offsets: NDArray[np.int64]
    bounds: NDArray[np.int64]
    linked: NDArray[np.int32]


class SpanPairs(NamedTuple):
    """Pairs of spans as positions of the texts: first and last source word, first and last target word."""

    source_first: NDArray[np.int32]
    source_last: NDArray[np.int32]
    target_first: NDArray[np.int32]
    target_last: NDArray[np.int32]


def align_text(corpus: ParallelCorpus, alignments: WordLinks) -> AlignedText:
    """Return links by position in the whole text, checked."""
    bad = alignments.first_outside(corpus)
    if bad is not None:
        raise InputError(
            f"the alignment of sentence pair {corpus.lines[bad]} has a link outside its sentences",
            remedy="align this very text: same tokens, same lines, source first",
        )
    source, target = corpus.source.offsets, corpus.target.offsets
    return AlignedText(source, target, *_links_by_word(source, target, alignments.offsets, alignments.links))


class _Hulls(NamedTuple):
    """Of each word of some sentences the first and the last position that it is linked to, or UNALIGNED."""

    source_first: NDArray[np.int32]
    source_last: NDArray[np.int32]
    target_first: NDArray[np.int32]
    target_last: NDArray[np.int32]


@kernel
def _links_by_word(
    source_offsets: NDArray[np.int64],
    target_offsets: NDArray[np.int64],
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    bounds = np.zeros(source_offsets[-1] + 1, np.int64)
    linked = np.empty(links.shape[0], np.int32)
    for s in range(offsets.size - 1):
        for k in range(offsets[s], offsets[s + 1]):
            if k > offsets[s] and (links[k, 0], links[k, 1]) <= (links[k - 1, 0], links[k - 1, 1]):
                raise ValueError("the links of a sentence pair must be sorted and distinct")
            bounds[source_offsets[s] + links[k, 0] + 1] += 1
            linked[k] = target_offsets[s] + links[k, 1]
    for i in range(1, bounds.size):
        bounds[i] += bounds[i - 1]
    return bounds, linked


@kernel
def count_spans(text: AlignedText, begin: int, end: int, max_length: int) -> int:
    """The number of consistent pairs of spans of at most `max_length` words in the sentence pairs `begin` to `end`."""
    hulls, spans = _hulls(text, begin, end), _empty_spans(0)
    total = 0
    for s in range(begin, end):
        total += _scan(text, begin, s, max_length, hulls, spans, 0, False)
    return total


@kernel
def consistent_spans(text: AlignedText, begin: int, end: int, max_length: int, count: int) -> SpanPairs:
    """Return the pairs of spans that `count_spans` has counted."""
    hulls, spans = _hulls(text, begin, end), _empty_spans(count)
    filled = 0
    for s in range(begin, end):
        filled += _scan(text, begin, s, max_length, hulls, spans, filled, True)
    return spans


@kernel
def _empty_spans(size: int) -> SpanPairs:
    return SpanPairs(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    )


@kernel
def _hulls(text: AlignedText, begin: int, end: int) -> _Hulls:
    source_base, target_base = text.source_offsets[begin], text.target_offsets[begin]
    source_size, target_size = text.source_offsets[end] - source_base, text.target_offsets[end] - target_base
    hulls = _Hulls(
        np.full(source_size, UNALIGNED, np.int32),
        np.full(source_size, UNALIGNED, np.int32),
        np.full(target_size, UNALIGNED, np.int32),
        np.full(target_size, UNALIGNED, np.int32),
    )
    for i in range(source_size):
        for k in range(text.bounds[source_base + i], text.bounds[source_base + i + 1]):  # in rising order
            t = text.linked[k] - target_base
            if hulls.source_first[i] == UNALIGNED:
                hulls.source_first[i] = text.linked[k]
            hulls.source_last[i] = text.linked[k]
            if hulls.target_first[t] == UNALIGNED:
                hulls.target_first[t] = source_base + i
            hulls.target_last[t] = source_base + i
    return hulls


@kernel
def _scan(
    text: AlignedText,
    begin: int,
    sentence: int,
    max_length: int,
    hulls: _Hulls,
    spans: SpanPairs,
    filled: int,
    write: bool,
) -> int:
    """Count the pairs of spans of one sentence pair, and write them from `filled` on if asked to.

    Target spans grow word by word; the source span is the hull of their links, then grows over unaligned words.
    """
    source_base, target_base = text.source_offsets[begin], text.target_offsets[begin]
    source_begin, source_end = text.source_offsets[sentence], text.source_offsets[sentence + 1]
    target_end = text.target_offsets[sentence + 1]
    found = 0
    for target_first in range(text.target_offsets[sentence], target_end):
        hull_first, hull_last = source_end, np.int64(-1)
        for target_last in range(target_first, min(target_first + max_length, target_end)):
            if hulls.target_first[target_last - target_base] != UNALIGNED:
                hull_first = min(hull_first, np.int64(hulls.target_first[target_last - target_base]))
                hull_last = max(hull_last, np.int64(hulls.target_last[target_last - target_base]))
            if hull_last < 0:
                continue
            if hull_last - hull_first >= max_length:
                break
            leaves_left = leaves_right = False
            for i in range(hull_first - source_base, hull_last - source_base + 1):
                if hulls.source_first[i] != UNALIGNED:
                    leaves_left |= hulls.source_first[i] < target_first
                    leaves_right |= hulls.source_last[i] > target_last
            if leaves_left:
                break  # longer target spans only take in more source words
            if leaves_right:
                continue
            for source_first in range(hull_first, max(source_begin - 1, hull_last - max_length), -1):
                if source_first < hull_first and hulls.source_first[source_first - source_base] != UNALIGNED:
                    break
                for source_last in range(hull_last, min(source_end, source_first + max_length)):
                    if source_last > hull_last and hulls.source_first[source_last - source_base] != UNALIGNED:
                        break
                    if write:
                        spans.source_first[filled + found] = source_first
                        spans.source_last[filled + found] = source_last
                        spans.target_first[filled + found] = target_first
                        spans.target_last[filled + found] = target_last
                    found += 1
    return found


@kernel
def orientation(text: AlignedText, sentence: int, spans: SpanPairs, index: int) -> int:
    """Return both orientations of a pair of spans in one number: ORIENTATIONS · previous + next."""
    before_source, after_source = spans.source_first[index] - 1, spans.source_last[index] + 1
    before_target, after_target = spans.target_first[index] - 1, spans.target_last[index] + 1
    previous = _kind(
        _linked(text, sentence, before_source, before_target), _linked(text, sentence, after_source, before_target)
    )
    following = _kind(
        _linked(text, sentence, after_source, after_target), _linked(text, sentence, before_source, after_target)
    )
    return ORIENTATIONS * previous + following


@kernel
def _kind(straight: bool, crossed: bool) -> int:
    if straight == crossed:
        return DISCONTINUOUS
    return MONOTONE if straight else SWAP


@kernel
def _linked(text: AlignedText, sentence: int, source: int, target: int) -> bool:
    """Return whether two positions are linked; the places just outside both sentences are, on the same side."""
    before: bool = source < text.source_offsets[sentence]
    after: bool = source >= text.source_offsets[sentence + 1]
    if target < text.target_offsets[sentence]:
        return before
    if target >= text.target_offsets[sentence + 1]:
        return after
    if before or after:
        return False
    found = False
    for k in range(text.bounds[source], text.bounds[source + 1]):
        found |= text.linked[k] == target
    return found
