"""From occurrences to distinct phrase pairs with counts and one alignment each.

Occurrences are split by source substring into buckets, so that buckets can be sorted at the same time and their
concatenation is sorted. Of several alignments of a phrase pair the most frequent one is taken; of equally frequent ones
the greatest, in the order in which Moses' `score` compares them: by the set of positions that the first word is linked
to, then the second, and so on; sets compare like words in a dictionary. Moses compares the links of target words for
p(e|f) and its inverted files, hence the links of source words, for p(f|e): the two choices may differ.

The links within a phrase pair as one number of 64 bits.

The matrix itself where both phrases have at most 8 words; otherwise a place in the text where the pair stands with
these links. Either way a row, the set of target positions linked to a source position, is read off as bits.

Occurrences of phrase pairs in a corpus: which substrings, linked how, oriented how.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import HALF, pair_key
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.sorting import MOST_ITEMS, sort_pairs
from toledo.phrases.spans import ORIENTATIONS, AlignedText

SMALL = 8  # words: a matrix of 8 × 8 bits
LONGEST = 20  # words: a row is 32 bits
ROW_BITS = np.uint64(0xFF)
PLACE_BITS = np.uint64(0xFFFF_FFFF)


@kernel
def encode_links(text: AlignedText, first: int, last: int, target_first: int, small: bool) -> np.uint64:
    """Return the number of the links of the source words `first` to `last` with target words from `target_first` on."""
    if not small:
        return pair_key(first, target_first)
    matrix = np.uint64(0)
    for i in range(first, last + 1):
        for k in range(text.bounds[i], text.bounds[i + 1]):
            matrix |= np.uint64(1) << np.uint64((i - first) * SMALL + text.linked[k] - target_first)
    return matrix


@kernel
def row_of(text: AlignedText, links: np.uint64, small: bool, position: int) -> np.uint64:
    """Return the target positions linked to a source position, as bits."""
    if small:
        return (links >> np.uint64(position * SMALL)) & ROW_BITS
    word, target_first = np.int64(links >> HALF) + position, np.int64(links & PLACE_BITS)
    row = np.uint64(0)
    for k in range(text.bounds[word], text.bounds[word + 1]):
        row |= np.uint64(1) << np.uint64(text.linked[k] - target_first)
    return row


@kernel
def same_links(text: AlignedText, one: np.uint64, other: np.uint64, small: bool, source_length: int) -> bool:
    """Return whether two occurrences of a phrase pair are linked in the same way."""
    equal: bool = one == other
    if not small and not equal:
        equal = True
        for s in range(source_length):
            equal = equal and row_of(text, one, small, s) == row_of(text, other, small, s)
    return equal


@kernel
def comes_later(
    text: AlignedText,
    one: np.uint64,
    other: np.uint64,
    small: bool,
    source_length: int,
    target_length: int,
    inverse: bool,
) -> bool:
    """Return whether the lists of positions linked to each word, target words or (inverse) source words, come later."""
    rows = source_length if inverse else target_length
    for word in range(rows):
        first = row_of(text, one, small, word) if inverse else _column_of(text, one, small, source_length, word)
        second = row_of(text, other, small, word) if inverse else _column_of(text, other, small, source_length, word)
        if first != second:
            return _is_later_set(first, second)
    return False


@kernel
def decode_links(
    text: AlignedText,
    codes: NDArray[np.uint64],
    small: bool,
    source: NDArray[np.int32],
    source_offsets: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return offsets and links (source position, target position) of phrase pairs with these source phrases."""
    offsets = np.zeros(codes.size + 1, np.int64)
    for p in range(codes.size):
        offsets[p + 1] = offsets[p]
        for s in range(source_offsets[source[p] + 1] - source_offsets[source[p]]):
            row = row_of(text, codes[p], small, s)
            while row:
                row &= row - np.uint64(1)
                offsets[p + 1] += 1
    links = np.empty((offsets[-1], 2), np.uint8)
    for p in range(codes.size):
        filled = offsets[p]
        for s in range(source_offsets[source[p] + 1] - source_offsets[source[p]]):
            row, t = row_of(text, codes[p], small, s), 0
            while row:
                if row & np.uint64(1):
                    links[filled, 0], links[filled, 1] = s, t
                    filled += 1
                row >>= np.uint64(1)
                t += 1
    return offsets, links


@kernel
def _column_of(text: AlignedText, links: np.uint64, small: bool, source_length: int, position: int) -> np.uint64:
    column = np.uint64(0)
    for s in range(source_length):
        column |= ((row_of(text, links, small, s) >> np.uint64(position)) & np.uint64(1)) << np.uint64(s)
    return column


@kernel
def _is_later_set(first: np.uint64, second: np.uint64) -> bool:
    """Compare different sets of bit positions like words: by the first position in which their sorted lists differ."""
    shift = np.uint64(0)
    while (first >> shift) & np.uint64(1) == (second >> shift) & np.uint64(1):
        shift += np.uint64(1)
    if (first >> shift) & np.uint64(1):
        return not second >> shift  # the second list has ended; otherwise it goes on with a later position
    return bool(first >> shift)


class Instances(NamedTuple):
    """Each occurrence of a phrase pair: the numbers of both substrings, its links as a number, its orientation."""

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    links: NDArray[np.uint64]
    orientation: NDArray[np.uint8]


def empty_instances(size: int) -> Instances:
    """Room for some occurrences."""
    return Instances(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint64), np.empty(size, np.uint8)
    )


def select(instances: Instances, chosen: NDArray[np.int32] | slice) -> Instances:
    """Return some occurrences."""
    columns: list[Any] = [column[chosen] for column in instances]
    return Instances(*columns)


BUCKET = 1 << 20  # occurrences sorted at once
SAMPLE = 64  # one occurrence in this many is looked at to make buckets of equal size


class PairGroups(NamedTuple):
    """Distinct phrase pairs, sorted: substring numbers, counts, orientation counts, the links chosen.

    `backward` are the links chosen for p(f|e), for the pairs `differing` only, where they are others than `forward`.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    counts: NDArray[np.float32]
    orientations: NDArray[np.int32]
    forward: NDArray[np.uint64]
    backward: NDArray[np.uint64]
    differing: NDArray[np.int64]


class Buckets(NamedTuple):
    """Occurrences by ranges of source substrings: bucket b is from `offsets[b]` up to `offsets[b + 1]`."""

    instances: Instances
    offsets: NDArray[np.int64]


class PairShape(NamedTuple):
    """What lengths and links are read off with: the bases of both sides' substrings, and if matrices are small."""

    source_bases: NDArray[np.int64]
    target_bases: NDArray[np.int64]
    small: bool


def into_buckets(instances: Instances, threads: int | None = None) -> Buckets:
    """Return ranges of source substrings with about BUCKET occurrences each."""
    sample = np.sort(instances.source[::SAMPLE])
    quantiles = np.arange(1, instances.source.size // BUCKET + 1) * BUCKET // SAMPLE
    bounds = np.unique(sample[quantiles[quantiles < sample.size]])
    total = instances.source.size
    sizes = map_chunks(
        lambda begin, end: _bucket_sizes(instances.source[begin:end], bounds), total, chunk=BUCKET, threads=threads
    )
    counts = np.array(sizes, np.int64).reshape(-1, bounds.size + 1)
    offsets = np.zeros(bounds.size + 2, np.int64)
    np.cumsum(counts.sum(axis=0), out=offsets[1:])
    places = offsets[:-1] + np.cumsum(counts, axis=0) - counts
    bucketed = empty_instances(total)

    def distribute(begin: int, end: int) -> None:
        _distribute(select(instances, slice(begin, end)), bounds, places[begin // BUCKET], bucketed)

    map_chunks(distribute, total, chunk=BUCKET, threads=threads)
    return Buckets(bucketed, offsets)


def group_buckets(
    buckets: Buckets, text: AlignedText, shape: PairShape, *, reordering: bool, threads: int | None = None
) -> list[PairGroups]:
    """Sort and count the occurrences in each bucket."""
    width = 2 * ORIENTATIONS if reordering else 0

    def group(begin: int, end: int) -> PairGroups:
        bucket = select(buckets.instances, slice(buckets.offsets[begin], buckets.offsets[end]))
        order = sort_pairs(bucket.source - bucket.source.min(initial=MOST_ITEMS), bucket.target)
        return _group(select(bucket, order), text, shape, width)

    return map_chunks(group, buckets.offsets.size - 1, chunk=1, threads=threads)


def join_groups(groups: list[PairGroups]) -> PairGroups:
    """Return the groups of all buckets. Empties the list column by column, so that only one is held twice."""
    sizes = [group.source.size for group in groups]
    columns = [list(column) for column in zip(*groups, strict=True)]
    groups.clear()
    columns[-1] = [part + base for part, base in zip(columns[-1], np.cumsum([0, *sizes[:-1]]), strict=True)]
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        column.clear()
    return PairGroups(*joined)


@kernel
def _bucket_sizes(source: NDArray[np.int32], bounds: NDArray[np.int32]) -> NDArray[np.int64]:
    sizes = np.zeros(bounds.size + 1, np.int64)
    for number in source:
        sizes[np.searchsorted(bounds, number, side="right")] += 1
    return sizes


@kernel
def _distribute(part: Instances, bounds: NDArray[np.int32], places: NDArray[np.int64], instances: Instances) -> None:
    """Copy each occurrence to the next place of its bucket."""
    for i in range(part.source.size):
        bucket = np.searchsorted(bounds, part.source[i], side="right")
        place = places[bucket]
        places[bucket] += 1
        instances.source[place] = part.source[i]
        instances.target[place] = part.target[i]
        instances.links[place] = part.links[i]
        instances.orientation[place] = part.orientation[i]


@kernel
def _group(instances: Instances, text: AlignedText, shape: PairShape, width: int) -> PairGroups:
    """Sum up sorted occurrences."""
    bounds = _group_bounds(instances)
    size, longest = bounds.size - 1, 0
    for g in range(size):
        longest = max(longest, bounds[g + 1] - bounds[g])
    source, target, counts = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.float32)
    forward, backward = np.empty(size, np.uint64), np.empty(size, np.uint64)
    orientations = np.zeros((size, width), np.int32)
    kinds, kind_counts = np.empty(longest, np.uint64), np.empty(longest, np.int32)
    for g in range(size):
        begin, end = bounds[g], bounds[g + 1]
        source[g], target[g], counts[g] = instances.source[begin], instances.target[begin], end - begin
        for i in range(begin, end if width else begin):
            orientations[g, instances.orientation[i] // ORIENTATIONS] += 1
            orientations[g, ORIENTATIONS + instances.orientation[i] % ORIENTATIONS] += 1
        if end - begin == 1:
            forward[g] = backward[g] = instances.links[begin]
            continue
        source_length = np.searchsorted(shape.source_bases, source[g], side="right")
        target_length = np.searchsorted(shape.target_bases, target[g], side="right")
        different = _count_kinds(instances.links[begin:end], text, shape.small, source_length, kinds, kind_counts)
        for inverse in (False, True):
            best = 0
            for k in range(1, different):
                if kind_counts[k] > kind_counts[best] or (
                    kind_counts[k] == kind_counts[best]
                    and comes_later(text, kinds[k], kinds[best], shape.small, source_length, target_length, inverse)
                ):
                    best = k
            if inverse:
                backward[g] = kinds[best]
            else:
                forward[g] = kinds[best]
    differing = np.flatnonzero(forward != backward)
    return PairGroups(source, target, counts, orientations, forward, backward[differing], differing)


@kernel
def _group_bounds(instances: Instances) -> NDArray[np.int64]:
    source, target = instances.source, instances.target
    bounds = np.empty(source.size + 1, np.int64)
    groups = 0
    for i in range(source.size):
        if i == 0 or source[i] != source[i - 1] or target[i] != target[i - 1]:
            bounds[groups] = i
            groups += 1
    bounds[groups] = source.size
    return bounds[: groups + 1].copy()


@kernel
def _count_kinds(
    links: NDArray[np.uint64],
    text: AlignedText,
    small: bool,
    source_length: int,
    kinds: NDArray[np.uint64],
    counts: NDArray[np.int32],
) -> int:
    """Count the different alignments of a group. There are few, so each is compared with those found."""
    different = 0
    last = 0
    for one in links:
        if not (different and same_links(text, kinds[last], one, small, source_length)):
            last = 0
            while last < different and not same_links(text, kinds[last], one, small, source_length):
                last += 1
            if last == different:
                kinds[last], counts[last] = one, 0
                different += 1
        counts[last] += 1
    return different
