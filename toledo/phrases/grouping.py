"""From occurrences to distinct phrase pairs with counts and one alignment each.

Occurrences are split by source substring into buckets, so that buckets can be sorted at the same time and their
concatenation is sorted. Of several alignments of a phrase pair the most frequent one is taken; of equally frequent ones
the greatest, in the order in which Moses' `score` compares them: by the set of positions that the first word is linked
to, then the second, and so on; sets compare like words in a dictionary. Moses compares the links of target words for
p(e|f) and its inverted files, hence the links of source words, for p(f|e): the two choices may differ.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel, map_chunks
from toledo.phrases.instances import Instances, concatenate, select
from toledo.phrases.reordering import ORIENTATIONS
from toledo.phrases.spans import AlignedText
from toledo.sorting import sort_pairs

BUCKET = 1 << 20  # occurrences sorted at once
SAMPLE = 64  # one occurrence in this many is looked at to make buckets of equal size
LONGEST = 20  # words in a phrase


class Groups(NamedTuple):
    """Distinct phrase pairs, sorted: substring numbers, counts, orientation counts, where the chosen links stand.

    `forward` and `backward` are the first source and target word of an occurrence with the alignment chosen in either
    direction; `backward` is for the pairs `differing` only, where it is another one.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    counts: NDArray[np.int32]
    orientations: NDArray[np.int32]
    forward: NDArray[np.int32]
    backward: NDArray[np.int32]
    differing: NDArray[np.int64]


def group_instances(
    parts: list[Instances],
    text: AlignedText,
    bases: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    reordering: bool,
    threads: int | None,
) -> Groups:
    """Sort and count occurrences; `bases` are those of both sides' substrings. Empties `parts` to save memory."""
    buckets = _split(parts, threads)
    width = 2 * ORIENTATIONS if reordering else 0

    def group(begin: int, end: int) -> Groups:
        pieces, buckets[begin] = buckets[begin], []
        bucket = concatenate(pieces)
        pieces.clear()
        order = sort_pairs(bucket.source - bucket.source.min(initial=0), bucket.target)
        return _group(bucket, order, text, *bases, width)

    return _join(map_chunks(group, len(buckets), chunk=1, threads=threads))


def _join(groups: list[Groups]) -> Groups:
    """One column after the other, so that only one is held twice."""
    sizes = [group.source.size for group in groups]
    columns = [list(column) for column in zip(*groups, strict=True)]
    groups.clear()
    columns[-1] = [part + base for part, base in zip(columns[-1], np.cumsum([0, *sizes[:-1]]), strict=True)]
    joined = []
    for column in columns:
        joined.append(np.concatenate(column))
        column.clear()
    return Groups(*joined)


def _split(parts: list[Instances], threads: int | None) -> list[list[Instances]]:
    """Ranges of source substrings with about BUCKET occurrences each."""
    total = sum(part.source.size for part in parts)
    sample = np.sort(np.concatenate([part.source[::SAMPLE] for part in parts]))
    quantiles = np.arange(1, total // BUCKET + 1) * BUCKET // SAMPLE
    bounds = np.unique(sample[quantiles[quantiles < sample.size]])
    nothing = np.empty(0, np.int32)

    def split(begin: int, end: int) -> list[Instances]:
        part, parts[begin] = parts[begin], select(parts[begin], nothing)
        order, offsets = _bucket_order(part.source, bounds)
        return [select(part, order[low:high]) for low, high in pairwise(offsets)]

    split_parts = map_chunks(split, len(parts), chunk=1, threads=threads)
    parts.clear()
    return [list(pieces) for pieces in zip(*split_parts, strict=True)]


@kernel
def _bucket_order(source: NDArray[np.int32], bounds: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    bucket = np.searchsorted(bounds, source, side="right")
    offsets = np.zeros(bounds.size + 2, np.int64)
    for i in range(source.size):
        offsets[bucket[i] + 1] += 1
    for b in range(1, offsets.size):
        offsets[b] += offsets[b - 1]
    place, order = offsets[:-1].copy(), np.empty(source.size, np.int32)
    for i in range(source.size):
        order[place[bucket[i]]] = i
        place[bucket[i]] += 1
    return order, offsets


@kernel
def _group(
    instances: Instances,
    order: NDArray[np.int32],
    text: AlignedText,
    source_bases: NDArray[np.int64],
    target_bases: NDArray[np.int64],
    width: int,
) -> Groups:
    bounds = _group_bounds(instances, order)
    size, longest = bounds.size - 1, 0
    for g in range(size):
        longest = max(longest, bounds[g + 1] - bounds[g])
    source, target, count = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    forward, backward = np.empty((size, 2), np.int32), np.empty((size, 2), np.int32)
    orientations = np.zeros((size, width), np.int32)
    kinds, kind_counts = np.empty(longest, np.int32), np.empty(longest, np.int32)
    masks = np.empty((2, LONGEST), np.uint32)
    for g in range(size):
        members = order[bounds[g] : bounds[g + 1]]
        source[g], target[g], count[g] = instances.source[members[0]], instances.target[members[0]], members.size
        if width:
            for m in members:
                orientations[g, instances.orientation[m] // ORIENTATIONS] += 1
                orientations[g, ORIENTATIONS + instances.orientation[m] % ORIENTATIONS] += 1
        different = _alignments(instances.code, members, kinds, kind_counts)
        for inverse in range(2):
            best = 0
            for k in range(1, different):
                if kind_counts[k] > kind_counts[best] or (
                    kind_counts[k] == kind_counts[best]
                    and _is_greater(
                        text, instances, kinds[k], kinds[best], source_bases, target_bases, inverse == 1, masks
                    )
                ):
                    best = k
            chosen = backward if inverse else forward
            chosen[g, 0], chosen[g, 1] = instances.source_first[kinds[best]], instances.target_first[kinds[best]]
    differing = np.flatnonzero((forward[:, 0] != backward[:, 0]) | (forward[:, 1] != backward[:, 1]))
    return Groups(source, target, count, orientations, forward, backward[differing], differing)


@kernel
def _group_bounds(instances: Instances, order: NDArray[np.int32]) -> NDArray[np.int64]:
    bounds = np.empty(order.size + 1, np.int64)
    groups = 0
    for i in range(order.size):
        here, before = order[i], order[max(i - 1, 0)]
        if (
            i == 0
            or instances.source[here] != instances.source[before]
            or (instances.target[here] != instances.target[before])
        ):
            bounds[groups] = i
            groups += 1
    bounds[groups] = order.size
    return bounds[: groups + 1].copy()


@kernel
def _alignments(
    codes: NDArray[np.uint64], members: NDArray[np.int32], kinds: NDArray[np.int32], counts: NDArray[np.int32]
) -> int:
    """Count the different alignments of a group: an occurrence of each, and how often it occurs."""
    different = 0
    last = 0
    for m in members:
        if not (different and codes[kinds[last]] == codes[m]):
            last = 0
            while last < different and codes[kinds[last]] != codes[m]:
                last += 1
            if last == different:
                kinds[last], counts[last] = m, 0
                different += 1
        counts[last] += 1
    return different


@kernel
def _is_greater(
    text: AlignedText,
    instances: Instances,
    one: int,
    other: int,
    source_bases: NDArray[np.int64],
    target_bases: NDArray[np.int64],
    inverse: bool,
    masks: NDArray[np.uint32],
) -> bool:
    """Whether the links of one occurrence come after those of another of the same phrase pair."""
    source_length = np.searchsorted(source_bases, instances.source[one], side="right")
    target_length = np.searchsorted(target_bases, instances.target[one], side="right")
    masks[:] = 0
    for row, which in enumerate((one, other)):
        for s in range(source_length):
            i = instances.source_first[which] + s
            for k in range(text.bounds[i], text.bounds[i + 1]):
                t = text.linked[k] - instances.target_first[which]
                if inverse:
                    masks[row, s] |= np.uint32(1) << np.uint32(t)
                else:
                    masks[row, t] |= np.uint32(1) << np.uint32(s)
    for w in range(source_length if inverse else target_length):
        first, second = masks[0, w], masks[1, w]
        if first != second:
            return _is_later_set(first, second)
    return False


@kernel
def _is_later_set(first: np.uint32, second: np.uint32) -> bool:
    """Compare different sets of bit positions like words: by the first position in which their sorted lists differ."""
    shift = np.uint32(0)
    while (first >> shift) & np.uint32(1) == (second >> shift) & np.uint32(1):
        shift += np.uint32(1)
    if (first >> shift) & np.uint32(1):
        return not second >> shift  # the second list has ended; otherwise it goes on with a later position
    return bool(first >> shift)
