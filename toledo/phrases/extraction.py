"""Phrase extraction: all phrase pairs of an aligned corpus that are consistent with the word alignment.

The same pairs, counts and alignments as Moses' `extract` and `score` (Koehn, Och and Marcu 2003).

Substrings are numbered first, exactly and without hashing: a substring of n words is the pair (number of its first n−1
words, its last word). Numbers rise with the length, and among substrings of one length in the order of their word ids.
So an occurrence of a phrase pair is a few numbers, and counting is sorting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.compiled.sorting import MOST_ITEMS, rank_pairs
from toledo.errors import InputError
from toledo.phrases.grouping import (
    LONGEST,
    SMALL,
    Buckets,
    Instances,
    PairGroups,
    PairShape,
    decode_links,
    empty_instances,
    encode_links,
    group_buckets,
    into_buckets,
    join_groups,
    select,
)
from toledo.phrases.spans import AlignedText, align_text, consistent_spans, count_spans, orientation
from toledo.phrases.table import PhrasePairs, WordLinks
from toledo.phrases.trie import Phrases
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences

NONE = -1  # where a sentence ends before the substring does
SENTENCES_AT_ONCE = 4096


@dataclass(frozen=True)
class Extraction:
    """Phrase pairs with what scoring needs.

    `source_counts` and `target_counts` count the occurrences of each phrase in any pair, `orientations` those of each
    pair in each of six orientations (none if not asked for). Where several alignments of a pair are equally frequent,
    Moses may take another one backwards: those are the pairs number `ties`, with their backward links in `tied`.
    """

    pairs: PhrasePairs
    source_counts: NDArray[np.float32]
    target_counts: NDArray[np.float32]
    orientations: NDArray[np.int32]
    ties: NDArray[np.int64]
    tied: PhrasePairs


def extract_phrases(
    corpus: ParallelCorpus,
    alignments: WordLinks,
    max_length: int = 5,
    *,
    reordering: bool = False,
    threads: int | None = None,
    progress: Progress = silent,
) -> Extraction:
    """Extract all consistent phrase pairs of at most `max_length` words on either side."""
    if not 1 <= max_length <= LONGEST:
        raise InputError(f"a maximum phrase length of {max_length}", remedy=f"choose 1 to {LONGEST} words")
    text = align_text(corpus, alignments)
    buckets, (source_strings, target_strings) = _occurrences(corpus, text, max_length, threads, progress)
    shape = PairShape(source_strings.bases, target_strings.bases, max_length <= SMALL)
    parts = group_buckets(buckets, text, shape, reordering=reordering, threads=threads)
    del buckets
    groups = join_groups(parts)
    sources, source = _used_phrases(corpus.source, source_strings, groups.source)
    targets, target = _used_phrases(corpus.target, target_strings, groups.target)
    groups = groups._replace(source=source, target=target)
    del source_strings, target_strings, source, target  # memory is scarcest now
    return _result(text, groups, shape.small, sources, targets)


def _occurrences(
    corpus: ParallelCorpus, text: AlignedText, max_length: int, threads: int | None, progress: Progress
) -> tuple[Buckets, list[Substrings]]:
    """Return all occurrences of phrase pairs, and the substrings that they are made of."""
    sides = (corpus.source, corpus.target)
    numbered = map_chunks(lambda side, _: _number_substrings(sides[side], max_length), 2, chunk=1, threads=threads)
    instances = _find_instances(text, numbered[0], numbered[1], max_length, threads, progress)
    nothing = np.empty((0, 0), np.int32)  # numbers by position are the largest part, and no longer needed
    return into_buckets(instances, threads), [substrings._replace(numbers=nothing) for substrings in numbered]


def _used_phrases(
    sentences: Sentences, substrings: Substrings, numbers: NDArray[np.int32]
) -> tuple[Phrases, NDArray[np.int32]]:
    """Return the phrases among all substrings, in the same order, and the new number of each pair's phrase."""
    used = np.zeros(substrings.first.size, np.bool_)
    used[numbers] = True
    renumbered = np.cumsum(used, dtype=np.int32)
    renumbered -= 1
    return _phrases_of(substrings, sentences, np.flatnonzero(used)), renumbered[numbers]


def _result(text: AlignedText, groups: PairGroups, small: bool, sources: Phrases, targets: Phrases) -> Extraction:
    source, target, ties = groups.source, groups.target, groups.differing
    counts = groups.counts
    links = decode_links(text, groups.forward, small, source, sources.offsets)
    other_links = decode_links(text, groups.backward, small, source[ties], sources.offsets)
    return Extraction(
        PhrasePairs(sources, targets, source, target, counts, *links),
        _totals(source, counts, len(sources)),
        _totals(target, counts, len(targets)),
        groups.orientations,
        ties,
        PhrasePairs(sources, targets, source[ties], target[ties], counts[ties], *other_links),
    )


@kernel
def _totals(phrase: NDArray[np.int32], counts: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Return the sum of the counts of each phrase."""
    totals = np.zeros(size, np.float64)
    for p in range(phrase.size):
        totals[phrase[p]] += counts[p]
    return totals.astype(np.float32)


class Substrings(NamedTuple):
    """`numbers[n - 1, i]` is the number of the n words from position i; substring k first stands at `first[k]`.

    The substrings of n words are numbered from `bases[n - 1]` up to `bases[n]`.
    """

    numbers: NDArray[np.int32]
    first: NDArray[np.int32]
    bases: NDArray[np.int64]


def _number_substrings(sentences: Sentences, max_length: int) -> Substrings:
    """Number the substrings of 1 to `max_length` words that do not cross the end of a sentence."""
    words, offsets = sentences.words, sentences.offsets
    numbers = np.empty((max_length, words.size), np.int32)
    firsts: list[NDArray[np.int32]] = []
    bases = np.zeros(max_length + 1, np.int64)
    for index in range(max_length):
        if index == 0:
            ranks = rank_pairs(np.zeros(words.size, np.int32), words)
        else:
            ranks = rank_pairs(*_extended(numbers[index - 1], int(bases[index - 1]), words, offsets, index))
        bases[index + 1] = bases[index] + ranks.first.size
        if bases[index + 1] > MOST_ITEMS:
            raise ValueError(f"more than {MOST_ITEMS} distinct substrings; use a shorter maximum length")
        firsts.append(_spread(ranks.of, ranks.first.size, offsets, index, int(bases[index]), numbers[index]))
    return Substrings(numbers, np.concatenate(firsts), bases)


def _phrases_of(substrings: Substrings, sentences: Sentences, chosen: NDArray[np.int64]) -> Phrases:
    """Return the words of some substrings, given by their numbers in rising order."""
    of_each_length = np.diff(np.searchsorted(chosen, substrings.bases))
    offsets = offsets_of(np.repeat(np.arange(1, substrings.bases.size, dtype=np.uint8), of_each_length))
    return Phrases(_gather_words(sentences.words, substrings.first[chosen], offsets), offsets)


@kernel
def _extended(
    shorter: NDArray[np.int32], base: int, words: NDArray[np.int32], offsets: NDArray[np.int64], extra: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Each position with `extra` words after it in its sentence: the rank of the shorter string, and the last word."""
    total = 0
    for s in range(offsets.size - 1):
        total += max(offsets[s + 1] - offsets[s] - extra, 0)
    begins, ends = np.empty(total, np.int32), np.empty(total, np.int32)
    filled = 0
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1] - extra):
            begins[filled] = shorter[i] - base
            ends[filled] = words[i + extra]
            filled += 1
    return begins, ends


@kernel
def _spread(
    ranks: NDArray[np.int32],
    distinct: int,
    offsets: NDArray[np.int64],
    extra: int,
    base: int,
    numbers: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Write numbers (ranks from `base`) back to the positions; the first position of each."""
    first = np.full(distinct, -1, np.int32)
    numbers[:] = NONE
    taken = 0
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1] - extra):
            rank = ranks[taken]
            taken += 1
            numbers[i] = base + rank
            if first[rank] < 0:
                first[rank] = i
    return first


@kernel
def _gather_words(words: NDArray[np.int32], first: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int32]:
    gathered = np.empty(offsets[-1], np.int32)
    for p in range(first.size):
        for k in range(offsets[p + 1] - offsets[p]):
            gathered[offsets[p] + k] = words[first[p] + k]
    return gathered


def _find_instances(
    text: AlignedText,
    sources: Substrings,
    targets: Substrings,
    max_length: int,
    threads: int | None,
    progress: Progress,
) -> Instances:
    """Find all occurrences in a corpus: counted first, then written in place, so that memory is taken once."""
    sentences = text.source_offsets.size - 1
    counts = map_chunks(
        lambda begin, end: count_spans(text, begin, end, max_length),
        sentences,
        chunk=SENTENCES_AT_ONCE,
        threads=threads,
    )
    offsets = offsets_of(counts)
    instances = empty_instances(int(offsets[-1]))

    def find(begin: int, end: int) -> None:
        chunk = begin // SENTENCES_AT_ONCE
        room = select(instances, slice(offsets[chunk], offsets[chunk + 1]))
        _find(text, sources, targets, begin, end, max_length, room)

    map_chunks(find, sentences, chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="extracting phrases")
    return instances


@kernel
def _find(
    text: AlignedText, sources: Substrings, targets: Substrings, begin: int, end: int, max_length: int, room: Instances
) -> None:
    """Write the phrase pairs of the sentence pairs `begin` to `end`."""
    spans = consistent_spans(text, begin, end, max_length, room.source.size)
    sentence = begin
    for i in range(spans.source_first.size):
        first, last, target_first = spans.source_first[i], spans.source_last[i], spans.target_first[i]
        while first >= text.source_offsets[sentence + 1]:
            sentence += 1
        room.source[i] = sources.numbers[last - first, first]
        room.target[i] = targets.numbers[spans.target_last[i] - target_first, target_first]
        room.links[i] = encode_links(text, first, last, target_first, max_length <= SMALL)
        room.orientation[i] = orientation(text, sentence, spans, i)
