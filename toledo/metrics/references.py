"""References prepared once for many hypotheses: n-best lists, samples, search.

The n-grams of the references of a segment form a trie, against which n-grams are matched exactly, in time linear in the
text: the node of an n-gram is reached from the node of its first n−1 symbols by its last symbol. The children of all
nodes are in one hash table of (node, symbol). Node 0 is the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import NO_KEY, find_key, joined_key
from toledo.compiled.instructions import listed
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import check_offsets, check_shape, checked_symbols, group_offsets, offsets_of
from toledo.metrics.given import sources_of
from toledo.metrics.metric import Metric
from toledo.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from toledo.metrics.bleu import BLEU

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
HYPOTHESES_AT_ONCE = 4000
References = Sequence[Sequence[str]]  # of one segment, as words


class NGramTrie(NamedTuple):
    """`counts[v]` is how often n-gram v may match, `seen` is scratch memory of the same size, all 0 between uses."""

    keys: Int64s
    children: Int32s
    counts: Int32s
    seen: Int32s


@kernel
def slots_for_nodes(nodes: int) -> int:
    """Return the size of the hash table: a power of two, at most half full."""
    slots = 4
    while slots < 2 * (nodes + 1):
        slots *= 2
    return slots


@kernel
def new_trie(nodes: int) -> NGramTrie:
    """Allocate tries of up to `nodes` nodes beside the root; `length · order` is enough for a sequence."""
    slots = slots_for_nodes(nodes)
    return NGramTrie(
        np.empty(slots, np.int64),
        np.empty(slots, np.int32),
        np.zeros(nodes + 1, np.int32),
        np.zeros(nodes + 1, np.int32),
    )


@kernel
def cleared(memory: NGramTrie, nodes: int) -> NGramTrie:
    """Return an empty trie for up to `nodes` nodes in the memory of a larger trie."""
    slots = slots_for_nodes(nodes)
    keys, counts = memory.keys[:slots], memory.counts[: nodes + 1]
    keys[:] = NO_KEY
    counts[:] = 0
    return NGramTrie(listed(keys), listed(memory.children[:slots]), listed(counts), listed(memory.seen[: nodes + 1]))


@kernel
def add_reference(trie: NGramTrie, nodes: int, symbols: Int32s, order: int) -> int:
    """Add a reference to a trie of `nodes` nodes, keeping the largest counts; return the new number of nodes."""
    keys, children, counts, seen = trie
    size, given = symbols.size, listed(symbols)
    for begin in range(size):
        node = 0
        for place in range(begin, min(begin + order, size)):
            key = joined_key(node, given[place])
            slot = find_key(keys, key)
            if keys[slot] == NO_KEY:
                nodes += 1
                keys[slot] = key
                children[slot] = nodes
            node = int(children[slot])
            seen[node] += 1
    for node in range(1, nodes + 1):
        counts[node] = max(counts[node], seen[node])
        seen[node] = 0
    return nodes


@kernel
def count_matches(trie: NGramTrie, nodes: int, symbols: Int32s, matches: Floats) -> None:
    """Write to `matches[n − 1]` how many n-grams match, clipped by their counts in the references."""
    keys, children, counts, seen = trie
    order = matches.size
    matches[:] = 0.0
    size, given = symbols.size, listed(symbols)
    for begin in range(size):
        node = 0
        for place in range(begin, min(begin + order, size)):
            key = joined_key(node, given[place])
            slot = find_key(keys, key)
            if keys[slot] == NO_KEY:
                break
            node = int(children[slot])
            seen[node] += 1
            if seen[node] <= counts[node]:
                matches[place - begin] += 1.0
    for node in range(nodes + 1):
        seen[node] = 0


@kernel
def closest_length(length: int, candidates: Int64s) -> int:
    """Return the closest length; of two the shorter."""
    best = int(candidates[0])
    for candidate in candidates:
        distance, best_distance = abs(candidate - length), abs(best - length)
        if distance < best_distance or (distance == best_distance and candidate < best):
            best = int(candidate)
    return best


@kernel
def segment_statistics(
    trie: NGramTrie, nodes: int, hypothesis: Int32s, reference_lengths: Int64s, statistics: Floats
) -> None:
    """Write the statistics of one hypothesis against the trie of its references."""
    order = (statistics.size - 2) // 2
    statistics[0] = hypothesis.size
    statistics[1] = closest_length(hypothesis.size, reference_lengths)
    count_matches(trie, nodes, hypothesis, statistics[2 : 2 + order])
    for n in range(order):
        statistics[2 + order + n] = max(hypothesis.size - n, 0)


class Tries(NamedTuple):
    """The tries of all segments end to end; that of segment i begins at `slots[i]` and `nodes[i]`."""

    keys: Int64s
    children: Int32s
    counts: Int32s
    slots: Int64s
    nodes: Int64s
    lengths: Int64s
    groups: Int64s
    largest: int


@dataclass(frozen=True)
class PreparedReferences:
    """BLEU statistics of any number of hypotheses (arrays of word ids) for any segments."""

    metric: BLEU
    tries: Tries

    def __len__(self) -> int:
        return self.tries.groups.size - 1

    def statistics(self, words: Int32s, offsets: Int64s, segments: Int64s, threads: int | None = None) -> Floats:
        """Return one row for each hypothesis: `words[offsets[h]:offsets[h + 1]]` translates segment `segments[h]`."""
        words, offsets, segments = checked_symbols(words), offsets.astype(np.int64), segments.astype(np.int64)
        check_offsets("hypotheses", offsets, words.size)
        if offsets.size != segments.size + 1:
            raise ValueError(f"{offsets.size - 1} hypotheses, but the segments of {segments.size}")
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


def prepare_references(metric: BLEU, references: Sequence[Sequence[Int32s]]) -> PreparedReferences:
    """Prepare references that are arrays of word ids; `references[i]` are those of segment i."""
    check_shape(references, references)
    flat = [np.asarray(reference) for group in references for reference in group]
    words = checked_symbols(np.concatenate(flat)) if flat else np.empty(0, np.int32)
    offsets, groups = offsets_of([reference.size for reference in flat]), group_offsets(references)
    return PreparedReferences(metric, _make_tries(words, offsets, groups, metric.max_ngram_order))


@kernel
def _make_tries(words: Int32s, offsets: Int64s, groups: Int64s, order: int) -> Tries:
    """Return the tries of segments; `groups[i]:groups[i + 1]` are the references of segment i."""
    segments = groups.size - 1
    slots, nodes, largest = np.zeros(segments + 1, np.int64), np.zeros(segments + 1, np.int64), 1
    for segment in range(segments):
        size = (offsets[groups[segment + 1]] - offsets[groups[segment]]) * order
        nodes[segment + 1] = nodes[segment] + size + 1
        slots[segment + 1] = slots[segment] + slots_for_nodes(size)
        largest = max(largest, size + 1)
    keys, children = np.full(slots[-1], NO_KEY, np.int64), np.zeros(slots[-1], np.int32)
    tries = Tries(keys, children, np.zeros(nodes[-1], np.int32), slots, nodes, np.diff(offsets), groups, largest)
    seen = np.zeros(largest, np.int32)
    for segment in range(segments):
        trie, size = _trie(tries, segment, seen), 0
        for reference in range(groups[segment], groups[segment + 1]):
            size = add_reference(trie, size, words[offsets[reference] : offsets[reference + 1]], order)
    return tries


@kernel
def _trie(tries: Tries, segment: int, seen: Int32s) -> NGramTrie:
    table = slice(tries.slots[segment], tries.slots[segment + 1])
    return NGramTrie(
        tries.keys[table], tries.children[table], tries.counts[tries.nodes[segment] : tries.nodes[segment + 1]], seen
    )


@kernel
def _fill(tries: Tries, words: Int32s, offsets: Int64s, segments: Int64s, begin: int, end: int, result: Floats) -> None:
    seen = np.zeros(tries.largest, np.int32)
    for hypothesis in range(begin, end):
        segment = segments[hypothesis]
        trie = _trie(tries, segment, seen)
        lengths = tries.lengths[tries.groups[segment] : tries.groups[segment + 1]]
        span = words[offsets[hypothesis] : offsets[hypothesis + 1]]
        segment_statistics(trie, trie.counts.size - 1, span, lengths, result[hypothesis])


class TextStatistics:
    """Counts each text once and remembers it: the same texts turn up again and again while weights are sought."""

    def __init__(self, metric: Metric, references: Sequence[References], vocabulary: Vocabulary) -> None:
        self.metric = metric
        self.references = references
        self.vocabulary = vocabulary
        self._known: dict[tuple[int, bytes], Floats] = {}

    def statistics(self, words: Int32s, offsets: Int64s, segments: Int64s, threads: int | None = None) -> Floats:
        """Return a row for each text: text i, `words[offsets[i]:offsets[i + 1]]`, translates segment `segments[i]`."""
        texts = (words[begin:end].tobytes() for begin, end in pairwise(offsets.tolist()))
        keys = list(zip(segments.tolist(), texts, strict=True))
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._compute(new, threads), strict=True))
        return np.array([self._known[key] for key in keys]) if keys else np.zeros((0, self.metric.size))

    def _compute(self, keys: Sequence[tuple[int, bytes]], threads: int | None) -> Floats:
        texts = [self.vocabulary.words(np.frombuffer(words, np.int32).tolist()) for _, words in keys]
        groups = [self.references[segment] for segment, _ in keys]
        return self.metric.corpus_statistics(texts, groups, threads, sources_of(groups))


Counter: TypeAlias = PreparedReferences | TextStatistics  # counts the statistics of any hypotheses
