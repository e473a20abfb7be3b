"""From occurrences to distinct phrase pairs with counts and one alignment each.

Occurrences are split by source substring into buckets, so that buckets can be sorted at the same time and their
concatenation is sorted. Of several alignments of a phrase pair the most frequent one is taken; of equally frequent ones
the greatest, in the order in which Moses' `score` compares them: by the set of positions that the first word is linked
to, then the second, and so on; sets compare like words in a dictionary. Moses compares the links of target words for
p(e|f) and its inverted files, hence the links of source words, for p(f|e): the two choices may differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel, map_chunks
from toledo.phrases.instances import Instances, empty_instances, select
from toledo.phrases.matrices import comes_later, same_links
from toledo.phrases.reordering import ORIENTATIONS
from toledo.phrases.spans import AlignedText
from toledo.sorting import MOST_ITEMS, sort_pairs

BUCKET = 1 << 20  # occurrences sorted at once
SAMPLE = 64  # one occurrence in this many is looked at to make buckets of equal size


class Groups(NamedTuple):
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


class Shape(NamedTuple):
    """What lengths and links are read off with: the bases of both sides' substrings, and if matrices are small."""

    source_bases: NDArray[np.int64]
    target_bases: NDArray[np.int64]
    small: bool


def into_buckets(instances: Instances, threads: int | None = None) -> Buckets:
    """Ranges of source substrings with about BUCKET occurrences each."""
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
    buckets: Buckets, text: AlignedText, shape: Shape, *, reordering: bool, threads: int | None = None
) -> list[Groups]:
    """Sort and count the occurrences in each bucket."""
    width = 2 * ORIENTATIONS if reordering else 0

    def group(begin: int, end: int) -> Groups:
        bucket = select(buckets.instances, slice(buckets.offsets[begin], buckets.offsets[end]))
        order = sort_pairs(bucket.source - bucket.source.min(initial=MOST_ITEMS), bucket.target)
        return _group(select(bucket, order), text, shape, width)

    return map_chunks(group, buckets.offsets.size - 1, chunk=1, threads=threads)


def join_groups(groups: list[Groups]) -> Groups:
    """The groups of all buckets. Empties the list column by column, so that only one is held twice."""
    sizes = [group.source.size for group in groups]
    columns = [list(column) for column in zip(*groups, strict=True)]
    groups.clear()
    columns[-1] = [part + base for part, base in zip(columns[-1], np.cumsum([0, *sizes[:-1]]), strict=True)]
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        column.clear()
    return Groups(*joined)


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
def _group(instances: Instances, text: AlignedText, shape: Shape, width: int) -> Groups:
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
    return Groups(source, target, counts, orientations, forward, backward[differing], differing)


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
