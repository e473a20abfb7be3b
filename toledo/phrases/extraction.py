"""Phrase extraction: all phrase pairs of an aligned corpus that are consistent with the word alignment.

The same pairs, counts and alignments as Moses' `extract` and `score` (Koehn, Och and Marcu 2003). Substrings are
numbered first, so that an occurrence of a phrase pair is a few numbers and counting is sorting.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.errors import InputError
from toledo.phrases.grouping import (
    LONGEST,
    SMALL,
    Buckets,
    PairGroups,
    PairShape,
    decode_links,
    find_all_instances,
    group_buckets,
    into_buckets,
    join_groups,
)
from toledo.phrases.spans import AlignedText, align_text
from toledo.phrases.substrings import Substrings, number_substrings, phrases_of, without_positions
from toledo.phrases.table import PhrasePairs, WordLinks
from toledo.phrases.trie import Phrases
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences


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
    """All occurrences of phrase pairs, and the substrings that they are made of."""
    sides = (corpus.source, corpus.target)
    numbered = map_chunks(lambda side, _: number_substrings(sides[side], max_length), 2, chunk=1, threads=threads)
    instances = find_all_instances(text, numbered[0], numbered[1], max_length, threads=threads, progress=progress)
    numbered = [without_positions(substrings) for substrings in numbered]
    return into_buckets(instances, threads), numbered


def _used_phrases(
    sentences: Sentences, substrings: Substrings, numbers: NDArray[np.int32]
) -> tuple[Phrases, NDArray[np.int32]]:
    """The phrases among all substrings, in the same order, and the new number of each pair's phrase."""
    used = np.zeros(substrings.first.size, np.bool_)
    used[numbers] = True
    renumbered = np.cumsum(used, dtype=np.int32)
    renumbered -= 1
    return phrases_of(substrings, sentences, np.flatnonzero(used)), renumbered[numbers]


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
    """The sum of the counts of each phrase."""
    totals = np.zeros(size, np.float64)
    for p in range(phrase.size):
        totals[phrase[p]] += counts[p]
    return totals.astype(np.float32)
