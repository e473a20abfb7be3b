"""BLEU of a document, kept up to date: clipped n-gram matches of each sentence with its references.

A change of some words touches only n-grams that have one of them, or lie across: at most three words on either side are
looked at. The n-grams of references are in tries, one for each sentence. Functions take the few arrays that they need:
passing all of them would cost more than the work.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inlined, inner_kernel
from toledo.errors import InputError
from toledo.metrics.bleu import ADD_K, METHODS, bleu_score
from toledo.search.document.models.model import NOTHING, DocumentModel, Known, Words
from toledo.settings import Meta, unknown_name
from toledo.weights import Weights

ORDER = 4
BEFORE = ORDER - 1  # words that may share an n-gram with what comes next
HYPOTHESIS, REFERENCE, MATCHES = range(3)  # of `ReferenceCounts.totals`: the statistics of `toledo.metrics.bleu.BLEU`
NGRAMS = MATCHES + ORDER
SIZE = NGRAMS + ORDER
HIGHEST_BLEU = 100.0
FEW = 4  # words that most changes do not exceed


@dataclass(frozen=True)
class BLEUModel(DocumentModel):
    """BLEU of the document with the references of its segments, smoothed as in `toledo.metrics.bleu.BLEU`.

    How much it can rise depends on the change: see `bleu_rise`.
    """

    smoothing: Annotated[str, Meta(description="Smoothing, as smooth_method of BLEU.")] = "exp"

    name: ClassVar[str] = "bleu"

    def __post_init__(self) -> None:
        if self.smoothing not in METHODS:
            raise unknown_name("smoothing", self.smoothing, list(METHODS))


class ReferenceCounts(NamedTuple):
    """The n-grams of each sentence's references: a trie per sentence, whose nodes mostly have one child or none.

    `first[node]` is its first child, `next[child]` that child's next sibling, `labels[child]` its last word. `types[i]`
    is the type of word i of the options, `unigrams[i]` its node. A node matches as often as `limits` says and occurs
    `counts` times. `undo[: undo_count]` are the nodes whose counts the present proposal has changed; `saved` are the
    totals before it. `logs` are logarithms of whole numbers; `buffer` and `scratch` are room for work.
    """

    first: NDArray[np.int32]
    next: NDArray[np.int32]
    labels: NDArray[np.int32]
    types: NDArray[np.int32]
    unigrams: NDArray[np.int32]
    limits: NDArray[np.int32]
    counts: NDArray[np.int32]
    undo: NDArray[np.int32]
    undo_count: NDArray[np.int64]
    buffer: NDArray[np.int32]
    length_offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    totals: NDArray[np.int64]
    saved: NDArray[np.int64]
    logs: NDArray[np.float64]
    scratch: NDArray[np.float64]
    method: int
    value: float


@inlined
def _child(
    first: NDArray[np.int32], following: NDArray[np.int32], labels: NDArray[np.int32], node: int, label: int
) -> int:
    """Return the child of a node with a label, or NOTHING."""
    child = first[node]
    while child != NOTHING and labels[child] != label:
        child = following[child]
    return int(child)


@inner_kernel
def count_ngrams(references: ReferenceCounts, words: Words, size: int, first: int, old: int, new: int) -> None:
    """In a sentence of `size` phrases, replace the n-grams of `old` phrases from a place on by those of `new` ones."""
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
        _count(references, begin, middle, end, 1 if turn else -1)


@inlined
def _words_before(buffer: NDArray[np.int32], words: Words, first: int) -> int:
    """Put the last words before a place up to `buffer[BEFORE]`, and return where they begin."""
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
    """Add the words of an option at `end`, up to `most`, and return the new end."""
    for i in range(words.begin[option], words.begin[option] + words.lengths[option]):
        if end < most:
            buffer[end] = i
            end += 1
    return end


@inlined
def _count(references: ReferenceCounts, begin: int, middle: int, end: int, sign: int) -> None:
    """Add or take away n-grams of `buffer[begin:end]`; the words that change are `buffer[BEFORE:middle]`."""
    buffer, counts, limits = references.buffer, references.counts, references.limits
    types, totals, undone = references.types, references.totals, references.undo_count[0]
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
            node = _child(references.first, references.next, references.labels, node, types[buffer[i + n]])
    references.undo_count[0] = undone


@inner_kernel
def forget_ngrams(references: ReferenceCounts) -> None:
    """Take back the counts of the last proposal."""
    undo, counts = references.undo, references.counts
    for k in range(references.undo_count[0]):
        counts[undo[k] >> 1] -= 1 if undo[k] & 1 else -1
    references.undo_count[0] = 0
    for k in range(SIZE):
        references.totals[k] = references.saved[k]


@inner_kernel
def count_lengths(references: ReferenceCounts, s: int, length: int, sign: int) -> None:
    """Add or take away the length of a sentence, its n-grams, and the closest length of a reference."""
    length_offsets, lengths, totals = references.length_offsets, references.lengths, references.totals
    best = lengths[length_offsets[s]]
    for k in range(length_offsets[s] + 1, length_offsets[s + 1]):
        nearer = abs(lengths[k] - length) - abs(best - length)
        if nearer < 0 or (nearer == 0 and lengths[k] < best):
            best = lengths[k]
    totals[HYPOTHESIS] += sign * length
    totals[REFERENCE] += sign * best
    for n in range(ORDER):
        totals[NGRAMS + n] += sign * max(length - n, 0)


@inner_kernel
def document_bleu(references: ReferenceCounts) -> float:
    """Return BLEU of the document, 0 to 100, mostly by precomputed logarithms."""
    totals, logs, scratch = references.totals, references.logs, references.scratch
    method, value = references.method, references.value
    total, size, plain = 0.0, 2 + 2 * ORDER, method != ADD_K
    for n in range(ORDER):
        plain = plain and totals[MATCHES + n] > 0
        total += logs[totals[MATCHES + n]] - logs[totals[NGRAMS + n]]
    if plain:
        length, reference = totals[HYPOTHESIS], totals[REFERENCE]
        return 100.0 * math.exp(total / ORDER + (1.0 - reference / length if length < reference else 0.0))
    for k in range(size):
        scratch[k] = totals[HYPOTHESIS + k]
    return bleu_score(scratch[:size], method, value, False, scratch[size:])


class WordChange(NamedTuple):
    """What is known of a change before its n-grams are counted: how many words it adds and removes, …

    … how many new words and pairs of neighbors are in references, and how many old ones that match will be gone.
    """

    added: int
    removed: int
    known: int
    known_pairs: int
    lost: int
    lost_pairs: int


@inlined
def word_change(references: ReferenceCounts, words: Words, size: int, first: int, old: int, new: int) -> WordChange:
    """Look up the words of a change and the pairs of neighbors that it touches."""
    unigrams, types, counts, limits = references.unigrams, references.types, references.counts, references.limits
    before, after, place = NOTHING, NOTHING, first - 1
    while place > 0 and before == NOTHING:
        option = words.chosen[place]
        before = words.begin[option] + words.lengths[option] - 1 if words.lengths[option] else NOTHING
        place -= 1
    place = first + old
    while place <= size and after == NOTHING:
        after = words.begin[words.chosen[place]] if words.lengths[words.chosen[place]] else NOTHING
        place += 1
    added = removed = known = pairs = lost = lost_pairs = 0
    for turn in range(2):
        last = unigrams[before] if before != NOTHING else NOTHING
        for k in range((new if turn else old) + 1):
            begin, end = after, after + 1 if after != NOTHING else after
            if k < (new if turn else old):
                option = words.new[k] if turn else words.chosen[first + k]
                begin, end = words.begin[option], words.begin[option] + words.lengths[option]
                added, removed = (added + end - begin, removed) if turn else (added, removed + end - begin)
            for i in range(begin, end):
                node, pair = unigrams[i], NOTHING
                if node != NOTHING and last != NOTHING:
                    pair = _child(references.first, references.next, references.labels, last, types[i])
                if turn:
                    known += node != NOTHING and i != after
                    pairs += pair != NOTHING
                else:
                    lost += node != NOTHING and i != after and counts[node] <= limits[node]
                    lost_pairs += pair != NOTHING and counts[pair] <= limits[pair]
                last = node
    return WordChange(added, removed, known, pairs, lost, lost_pairs)


@inner_kernel
def bleu_rise(references: ReferenceCounts, bleu: float, change: WordChange, single: bool) -> float:
    """Return how much BLEU rises at most if some words take the place of others in a sentence.

    All pairs of neighbors in an n-gram that matches are in references, and one of them is touched: its first one, or
    the first of all with up to n − 2 words before it. With x the most that the logarithm of BLEU rises,
    BLEU · (eˣ − 1) ≤ BLEU · x / (1 − x).
    """
    logs, totals = references.logs, references.totals
    rise, fewer = 0.0, max(change.removed - change.added, 0)
    length, reference = totals[HYPOTHESIS], totals[REFERENCE]
    for n in range(ORDER):
        matches, ngrams = totals[MATCHES + n], totals[NGRAMS + n]
        gained, lost = (change.known, change.lost) if n == 0 else (change.known_pairs, change.lost_pairs)
        if n > 1:
            gained, lost = (gained + n - 1 if gained else 0), 0
        if matches == 0 or ngrams <= fewer or matches + gained <= lost:
            return HIGHEST_BLEU - bleu
        rise += logs[matches + gained - lost] - logs[matches] + logs[ngrams] - logs[ngrams - fewer]
    rise /= ORDER
    if length < reference:  # with several references, a closer one might end all brevity
        longer = min(length + max(change.added - change.removed, 0), reference) if single else reference
        rise += reference / length - reference / longer
    return HIGHEST_BLEU - bleu if rise >= 1.0 else min(HIGHEST_BLEU - bleu, bleu * rise / (1.0 - rise))


@inner_kernel
def rise_by_few(references: ReferenceCounts, bleu: float) -> float:
    """Return how much BLEU rises at most by a change of few words."""
    more = bleu_rise(references, bleu, WordChange(FEW, 0, FEW, FEW + 1, 0, 0), True)
    return max(more, bleu_rise(references, bleu, WordChange(FEW, 2 * FEW, FEW, FEW + 1, 0, 0), True))


Children = dict[tuple[int, int], int]  # (node, type): node; the root of sentence s is −1 − s


def prepare_references(known: Known, model: BLEUModel | None) -> ReferenceCounts:
    """Build the tries of all sentences; they are empty without a model."""
    options, spelled, room = known.text.options, known.spelled, known.longest_change
    numbers = {word: number for number, word in enumerate(spelled)}
    unigrams = np.full(options.words.size, NOTHING, np.int32)
    children, limits, lengths, offsets = Children(), list[int](), list[int](), [0]
    for s, references in enumerate(known.references if model is not None else [[[]]] * len(known.sources)):
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
        for option in known.options_of(s) if model is not None else ():
            begin = int(options.word_begin[option])
            end = begin + int(options.lengths[option])
            unigrams[begin:end] = of_type[known.types[begin:end]]
    first, following, labels = _siblings(children, len(limits))
    method, value = METHODS[model.smoothing if model is not None else "none"]
    return ReferenceCounts(
        first, following, labels, known.types, unigrams,
        np.array(limits, np.int32), np.zeros(len(limits), np.int32),
        np.zeros(2 * ORDER * (room + 2 * ORDER), np.int32), np.zeros(1, np.int64), np.zeros(room + 2 * ORDER, np.int32),
        np.array(offsets, np.int64), np.array(lengths, np.int64),
        np.zeros(SIZE, np.int64), np.zeros(SIZE, np.int64), _logarithms(known), np.zeros(2 + 3 * ORDER), method, value,
    )  # fmt: skip


def _siblings(children: Children, nodes: int) -> NDArray[np.int32]:
    """Return the first child, the next sibling and the label of each node."""
    found = np.full((3, nodes), NOTHING, np.int32)
    for (node, symbol), child in children.items():
        found[2, child] = symbol
        if node >= 0:
            found[1, child], found[0, node] = found[0, node], child
    return found


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


def _logarithms(known: Known) -> NDArray[np.float64]:
    """Return those of all numbers of words that there can be, and some more; that of 0 is not used."""
    words = int(known.text.words[-1]) * int(known.text.options.lengths.max(initial=1))
    most = words + known.longest_change + 2 * ORDER
    return np.log(np.maximum(np.arange(most + 1), 1).astype(np.float64))


GUIDED_WEIGHT = 1e3  # a word that matches adds 50 / words or more to BLEU; where the model says 1 or 2, that decides


def bleu_weights(weights: Mapping[str, float], guided: bool = False) -> Weights:
    """Return the weights of a search for BLEU itself (Smith 2015, chapter 3), from those of a model.

    In the thesis all weights are 0 but that of BLEU; then operations that ask the sentence model what is likely are of
    no use. A *guided* search has the weights of the sentence model, too, and so much for BLEU that it decides alone: at
    temperature 1 the model proposes. That finds more BLEU in as many steps, and depends less on where it begins.
    """
    if guided:
        return Weights({**weights, BLEUModel.name: GUIDED_WEIGHT})
    return Weights({**dict.fromkeys(weights, 0.0), BLEUModel.name: 1.0})
