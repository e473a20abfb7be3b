"""References prepared once for many hypotheses: n-best lists, samples, search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import check_shape, checked_symbols, group_offsets, offsets_of
from toledo.metrics.bleu import BLEU, NGramTrie, add_reference, segment_statistics, slots_for_nodes
from toledo.metrics.metric import Metric
from toledo.text.vocabulary import Vocabulary

HYPOTHESES_AT_ONCE = 4000


class Tries(NamedTuple):
    """The tries of all segments end to end; those of segment i begin at `slots[i]` and `nodes[i]`."""

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]
    counts: NDArray[np.int32]
    slots: NDArray[np.int64]
    nodes: NDArray[np.int64]
    lengths: NDArray[np.int64]
    groups: NDArray[np.int64]


@dataclass(frozen=True)
class PreparedReferences:
    """BLEU statistics of any number of hypotheses (arrays of word ids) for any segments."""

    metric: BLEU
    tries: Tries

    def __len__(self) -> int:
        return self.tries.groups.size - 1

    def statistics(
        self,
        words: NDArray[np.int32],
        offsets: NDArray[np.int64],
        segments: NDArray[np.int64],
        threads: int | None = None,
    ) -> NDArray[np.float64]:
        """One row for each hypothesis: `words[offsets[h]:offsets[h + 1]]` translates segment `segments[h]`."""
        words, offsets, segments = checked_symbols(words), offsets.astype(np.int64), segments.astype(np.int64)
        if (
            offsets.size != segments.size + 1
            or offsets[0] != 0
            or offsets[-1] != words.size
            or np.any(np.diff(offsets) < 0)
        ):
            raise ValueError("offsets must rise from 0 to the number of words, one more than there are segments")
        if segments.size and not 0 <= segments.min() <= segments.max() < len(self):
            raise ValueError(f"segments are numbered from 0 to {len(self) - 1}")
        result = np.zeros((segments.size, self.metric.size))
        map_chunks(
            lambda begin, end: _fill(self.tries, words, offsets, segments, begin, end, result),
            segments.size,
            chunk=HYPOTHESES_AT_ONCE,
            threads=threads,
        )
        return result


def prepare_references(metric: BLEU, references: Sequence[Sequence[NDArray[np.int32]]]) -> PreparedReferences:
    """`references[i]` are the references of segment i as arrays of word ids."""
    check_shape(references, references)
    flat = [np.asarray(reference) for group in references for reference in group]
    words = checked_symbols(np.concatenate(flat)) if flat else np.empty(0, np.int32)
    offsets, groups = offsets_of([reference.size for reference in flat]), group_offsets(references)
    sizes = np.diff(offsets[groups]) * metric.max_ngram_order
    nodes = offsets_of(sizes + 1)
    slots = offsets_of(np.array([slots_for_nodes(int(size)) for size in sizes], np.int64))
    tries = Tries(
        np.full(slots[-1], EMPTY, np.uint64),
        np.zeros(slots[-1], np.int32),
        np.zeros(nodes[-1], np.int32),
        slots,
        nodes,
        np.diff(offsets),
        groups,
    )
    _build(tries, words, offsets, metric.max_ngram_order)
    return PreparedReferences(metric, tries)


@kernel
def _trie(tries: Tries, segment: int, seen: NDArray[np.int32]) -> NGramTrie:
    table = slice(tries.slots[segment], tries.slots[segment + 1])
    return NGramTrie(
        tries.keys[table], tries.children[table], tries.counts[tries.nodes[segment] : tries.nodes[segment + 1]], seen
    )


@kernel
def _build(tries: Tries, words: NDArray[np.int32], offsets: NDArray[np.int64], order: int) -> None:
    seen = np.zeros(_largest(tries), np.int32)
    for segment in range(tries.groups.size - 1):
        trie = _trie(tries, segment, seen)
        nodes = 0
        for reference in range(tries.groups[segment], tries.groups[segment + 1]):
            nodes = add_reference(trie, nodes, words[offsets[reference] : offsets[reference + 1]], order)


@kernel
def _fill(
    tries: Tries,
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    segments: NDArray[np.int64],
    begin: int,
    end: int,
    result: NDArray[np.float64],
) -> None:
    seen = np.zeros(_largest(tries), np.int32)
    for hypothesis in range(begin, end):
        segment = segments[hypothesis]
        trie = _trie(tries, segment, seen)
        lengths = tries.lengths[tries.groups[segment] : tries.groups[segment + 1]]
        span = words[offsets[hypothesis] : offsets[hypothesis + 1]]
        segment_statistics(trie, trie.counts.size - 1, span, lengths, result[hypothesis])


@kernel
def _largest(tries: Tries) -> int:
    largest = 1
    for segment in range(tries.groups.size - 1):
        largest = max(largest, tries.nodes[segment + 1] - tries.nodes[segment])
    return largest


References = Sequence[Sequence[str]]  # of one segment, as words


class Counter(Protocol):
    """Counts the statistics of any hypotheses beside references that were prepared once."""

    @property
    def metric(self) -> Metric:
        """The metric whose statistics are counted."""
        ...

    def statistics(
        self,
        words: NDArray[np.int32],
        offsets: NDArray[np.int64],
        segments: NDArray[np.int64],
        threads: int | None = None,
    ) -> NDArray[np.float64]:
        """One row for each hypothesis: `words[offsets[h]:offsets[h + 1]]` translates segment `segments[h]`."""
        ...


def encoded_references(metric: BLEU, references: Sequence[References], vocabulary: Vocabulary) -> PreparedReferences:
    """References in the numbers of a vocabulary.

    A word that no hypothesis has must match nothing: the number after the last word stands for all of them.
    """
    unknown = len(vocabulary)
    return prepare_references(
        metric,
        [
            [np.array([vocabulary.id(w) if w in vocabulary else unknown for w in one], np.int32) for one in some]
            for some in references
        ],
    )


class TextStatistics:
    """Counts each text once and remembers it: the same texts turn up again and again while weights are sought."""

    def __init__(self, metric: Metric, references: Sequence[References], vocabulary: Vocabulary) -> None:
        self.metric = metric
        self.references = references
        self.vocabulary = vocabulary
        self._known: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def statistics(
        self,
        words: NDArray[np.int32],
        offsets: NDArray[np.int64],
        segments: NDArray[np.int64],
        threads: int | None = None,
    ) -> NDArray[np.float64]:
        """One row for each text: text i, `words[offsets[i]:offsets[i + 1]]`, translates segment `segments[i]`."""
        texts = (words[begin:end].tobytes() for begin, end in pairwise(offsets.tolist()))
        keys = list(zip(segments.tolist(), texts, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._compute(new, threads), strict=True))
        return np.array([self._known[key] for key in keys]) if keys else np.zeros((0, self.metric.size))

    def _compute(self, keys: Sequence[tuple[int, bytes]], threads: int | None) -> NDArray[np.float64]:
        texts = [self.vocabulary.words(np.frombuffer(words, np.int32).tolist()) for _, words in keys]
        return self.metric.corpus_statistics(texts, [self.references[segment] for segment, _ in keys], threads)
