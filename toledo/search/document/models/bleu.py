"""BLEU of a document, kept up to date: clipped n-gram matches of each sentence with its references.

A change of some words touches only n-grams that have one of them, or lie across: at most three words on either side are
looked at. Functions take the few arrays that they need: to hand on all of them would cost more than the work.

The n-grams of references as tries, one for each sentence: what the BLEU model matches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import build_pair_index, find_pair
from toledo.compiled.kernels import inlined, inner_kernel
from toledo.errors import InputError
from toledo.metrics.bleu import METHODS
from toledo.search.document.models.counts import (
    HYPOTHESIS,
    MATCHES,
    NGRAMS,
    NOTHING,
    ORDER,
    REFERENCE,
    Known,
    References,
)
from toledo.search.document.models.kinds import BLEUModel

BEFORE = ORDER - 1  # words that may share an n-gram with what comes next


class Words(NamedTuple):
    """Where the words of options are, and the options of a sentence: `chosen[1:]`, some to be replaced by `new`."""

    begin: NDArray[np.int32]
    lengths: NDArray[np.int32]
    chosen: NDArray[np.int32]
    new: NDArray[np.int32]


@inner_kernel
def count_ngrams(
    references: References,
    types: NDArray[np.int32],
    totals: NDArray[np.int64],
    words: Words,
    size: int,
    first: int,
    old: int,
    new: int,
) -> None:
    """In a sentence of so many phrases, replace the n-grams of `old` ones from a place on by those of `new` ones."""
    references.undo_count[0] = 0
    begin = _words_before(references.buffer, words, first)
    for turn in range(2):
        middle = BEFORE
        for k in range(new if turn else old):
            option = words.new[k] if turn else words.chosen[first + k]
            middle = _append(references.buffer, words, option, middle, references.buffer.size)
        end, place = middle, first + old
        while place <= size and end < middle + BEFORE:
            end = _append(references.buffer, words, words.chosen[place], end, middle + BEFORE)
            place += 1
        _count(references, types, totals, begin, middle, end, 1 if turn else -1)


@inlined
def _words_before(buffer: NDArray[np.int32], words: Words, first: int) -> int:
    """The last words before a place, up to `buffer[BEFORE]`; gives where they begin."""
    begin, place = BEFORE, first - 1
    while place > 0 and begin > 0:
        option = words.chosen[place]
        for k in range(words.lengths[option] - 1, -1, -1):
            if begin > 0:
                begin -= 1
                buffer[begin] = words.begin[option] + k
        place -= 1
    return begin


@inlined
def _append(buffer: NDArray[np.int32], words: Words, option: int, end: int, most: int) -> int:
    """Add the words of an option at `end`, up to `most`; gives the new end."""
    for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
        if end < most:
            buffer[end] = i
            end += 1
    return end


@inlined
def _count(
    references: References,
    types: NDArray[np.int32],
    totals: NDArray[np.int64],
    begin: int,
    middle: int,
    end: int,
    sign: int,
) -> None:
    """Add or take away n-grams of `buffer[begin:end]`; the words that change are `buffer[BEFORE:middle]`."""
    buffer, counts, limits = references.buffer, references.counts, references.limits
    undone = references.undo_count[0]
    for i in range(begin, middle):
        node = references.unigrams[buffer[i]]
        n = 0
        while node != NOTHING:
            if i + n >= BEFORE:
                counts[node] += sign
                if counts[node] + (sign < 0) <= limits[node]:  # the larger one of the counts before and after
                    totals[MATCHES + n] += sign
                references.undo[undone] = 2 * node + (sign > 0)
                undone += 1
            n += 1
            if n == ORDER or i + n == end:
                break
            node = find_pair(references.children, node, types[buffer[i + n]])
    references.undo_count[0] = undone


@inner_kernel
def forget_ngrams(undo: NDArray[np.int32], undo_count: NDArray[np.int64], counts: NDArray[np.int32]) -> None:
    """Undo the counts of the last proposal; totals are restored elsewhere."""
    for k in range(undo_count[0]):
        counts[undo[k] >> 1] -= 1 if undo[k] & 1 else -1
    undo_count[0] = 0


@inner_kernel
def count_lengths(
    length_offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    totals: NDArray[np.int64],
    s: int,
    length: int,
    sign: int,
) -> None:
    """Add or take away the length of a sentence, its n-grams, and the closest length of a reference."""
    best = lengths[length_offsets[s]]
    for k in range(length_offsets[s] + 1, length_offsets[s + 1]):
        nearer = abs(lengths[k] - length) - abs(best - length)
        if nearer < 0 or (nearer == 0 and lengths[k] < best):
            best = lengths[k]
    totals[HYPOTHESIS] += sign * length
    totals[REFERENCE] += sign * best
    for n in range(ORDER):
        totals[NGRAMS + n] += sign * max(length - n, 0)


Children = dict[tuple[int, int], int]  # (node, type): node; the root of sentence s is −1 − s


def build_references(
    known: Known, spelled: Sequence[str], types: NDArray[np.int64], wanted: BLEUModel | None, room: int
) -> References:
    """The tries of all sentences; `spelled` are the types, `types` those of the words of options."""
    options, numbers = known.text.options, {word: number for number, word in enumerate(spelled)}
    unigrams = np.full(options.words.size, NOTHING, np.int32)
    children, limits, lengths, offsets = Children(), list[int](), list[int](), [0]
    for s, references in enumerate(known.references if wanted is not None else [[[]]] * len(known.sources)):
        if not references:
            raise InputError(f"segment {s + 1} has no reference", remedy="BLEU needs one for each segment")
        of_type = np.full(len(spelled), NOTHING, np.int32)
        for reference in references:
            symbols = [numbers.setdefault(word, len(numbers)) for word in reference]
            _add_reference(symbols, -1 - s, children, limits)
            here = [symbol for symbol in symbols if symbol < len(spelled)]
            of_type[here] = [children[-1 - s, symbol] for symbol in here]
        lengths += [len(reference) for reference in references]
        offsets.append(len(lengths))
        for option in known.options_of(s) if wanted is not None else ():
            begin = int(options.word_begin[option])
            end = begin + int(options.lengths[option])
            unigrams[begin:end] = of_type[types[begin:end]]
    inner = [(node, symbol, child) for (node, symbol), child in children.items() if node >= 0]
    columns = np.array(inner, np.int32).reshape(-1, 3)
    method, value = METHODS[wanted.smoothing if wanted is not None else "none"]
    return References(
        build_pair_index(columns[:, 0], columns[:, 1], columns[:, 2]), unigrams,
        np.array(limits, np.int32), np.zeros(len(limits), np.int32),
        np.zeros(2 * ORDER * (room + 2 * ORDER), np.int32), np.zeros(1, np.int64), np.zeros(room + 2 * ORDER, np.int32),
        np.array(offsets, np.int64), np.array(lengths, np.int64), method, value,
    )  # fmt: skip


def _add_reference(symbols: Sequence[int], root: int, children: Children, limits: list[int]) -> None:
    """Add a reference to the trie of its sentence; the largest count in any reference is the limit."""
    counts = Counter[int]()
    for i in range(len(symbols)):
        node = root
        for symbol in symbols[i : i + ORDER]:
            if (node, symbol) not in children:
                children[node, symbol] = len(limits)
                limits.append(0)
            node = children[node, symbol]
            counts[node] += 1
    for node, count in counts.items():
        limits[node] = max(limits[node], count)
