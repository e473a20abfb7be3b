"""References prepared once for many hypotheses: n-best lists, samples, search.

Statistics of texts beside their references, for any metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import check_shape, checked_symbols, group_offsets, offsets_of
from toledo.metrics.bleu import BLEU, Trie, add_reference, segment_statistics, slots_for_nodes
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
    sizes = np.diff(offsets[groups]) * metric.order
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
    _build(tries, words, offsets, metric.order)
    return PreparedReferences(metric, tries)


@kernel
def _trie(tries: Tries, segment: int, seen: NDArray[np.int32]) -> Trie:
    table = slice(tries.slots[segment], tries.slots[segment + 1])
    return Trie(
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
Words = NDArray[np.int32]


def text_statistics(
    metric: Metric, texts: Sequence[Sequence[str]], references: Sequence[References], threads: int | None = None
) -> NDArray[np.float64]:
    """One row for each text and its references; chrF reads characters, the others words."""
    if metric.name.startswith("chrF"):
        lines = [" ".join(words) for words in texts]
        return metric.corpus_statistics(lines, [[" ".join(one) for one in some] for some in references], threads)
    return metric.corpus_statistics(texts, references, threads)


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
    """The metric's statistics of any texts of some segments, which turn up again and again while weights are sought.

    BLEU is counted at once, others are remembered.
    """

    def __init__(self, metric: Metric, references: Sequence[References], vocabulary: Vocabulary) -> None:
        self.metric = metric
        self.references = references
        self.vocabulary = vocabulary
        self._known: dict[tuple[int, bytes], NDArray[np.float64]] = {}

    def of(self, words: Words, offsets: NDArray[np.int64], segments: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row for each text: text i, `words[offsets[i]:offsets[i + 1]]`, translates segment `segments[i]`."""
        if not segments.size:
            return np.zeros((0, self.metric.size))
        if isinstance(self.metric, BLEU):
            return self._prepared.statistics(words, offsets, segments, threads=1)
        texts = (words[begin:end].tobytes() for begin, end in pairwise(offsets.tolist()))
        keys = list(zip(segments.tolist(), texts, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._compute(new), strict=True))
        return np.array([self._known[key] for key in keys])

    @cached_property
    def _prepared(self) -> PreparedReferences:
        assert isinstance(self.metric, BLEU)  # noqa: S101
        return encoded_references(self.metric, self.references, self.vocabulary)

    def _compute(self, keys: Sequence[tuple[int, bytes]]) -> NDArray[np.float64]:
        texts = [self.vocabulary.words(np.frombuffer(words, np.int32).tolist()) for _, words in keys]
        return text_statistics(self.metric, texts, [self.references[segment] for segment, _ in keys])
