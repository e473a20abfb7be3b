"""The phrases of a derivation: which source words each of them translates, and by which pair of the table.

An edge of a search's forest keeps this in its provenance, packed into one number, so that it survives pruning, joining
and saving: 8 bits for the number of source words (phrase tables have no longer ones), 32 for the pair plus 1 (0 for a
copied word), and above them the first source position. −1 stands for edges without a phrase: the start and the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.forest.derivations import Derivation
from toledo.phrases.table import PhraseTable

NO_PHRASE = -1
COPIED = -1
LENGTH_BITS, PAIR_BITS = 8, 32
LONGEST_SENTENCE = 1 << 63 - LENGTH_BITS - PAIR_BITS

Links = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Step:
    """One phrase of a translation: source words from `begin` up to `end`, and the pair (−1 for a copied word)."""

    begin: int
    end: int
    pair: int
    words: tuple[str, ...]


class Origins(NamedTuple):
    """Where edges came from: source positions from `begin` up to `end`, and pairs (−1 for a copied word)."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    pair: NDArray[np.int64]


def pack(begin: NDArray[np.int32], end: NDArray[np.int32], pair: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a number for each phrase."""
    if begin.size and int(begin.max()) >= LONGEST_SENTENCE:
        raise InputError(f"a sentence of more than {LONGEST_SENTENCE} words", remedy="split the line")
    lengths = (end - begin).astype(np.int64)
    return (begin.astype(np.int64) << LENGTH_BITS + PAIR_BITS) | ((pair.astype(np.int64) + 1) << LENGTH_BITS) | lengths


def unpack(provenance: NDArray[np.int64]) -> Origins:
    """Return what `pack` was given; edges without a phrase (−1) must not be among them."""
    begin = provenance >> LENGTH_BITS + PAIR_BITS
    pair = (provenance >> LENGTH_BITS & (1 << PAIR_BITS) - 1) - 1
    return Origins(begin, begin + (provenance & (1 << LENGTH_BITS) - 1), pair)


def steps_of(derivation: Derivation) -> tuple[Step, ...]:
    """Return the phrases of a derivation in target order; its forest must come from a phrase-based search."""
    forest = derivation.forest
    if forest.provenance is None:
        raise ValueError("the forest does not know where its edges came from")
    edges = phrase_edges(derivation)
    offsets, words = forest.yields
    targets = [
        tuple(forest.vocabulary.words(word for word in words[offsets[h] : offsets[h + 1]].tolist() if word >= 0))
        for h in edges.tolist()
    ]
    origins = (array.tolist() for array in unpack(forest.provenance[edges]))
    return tuple(Step(begin, end, pair, target) for begin, end, pair, target in zip(*origins, targets, strict=True))


def phrase_edges(derivation: Derivation) -> NDArray[np.int32]:
    """Return the edges of a derivation's phrases in target order: an edge's tails come first."""
    forest, order, waiting = derivation.forest, [], list[tuple[int, int]]()
    for h in derivation.edges.tolist():  # top down, left to right
        waiting.append((h, int(forest.shape.tail_offsets[h + 1] - forest.shape.tail_offsets[h])))
        while waiting and waiting[-1][1] == 0:
            order.append(waiting.pop()[0])
            if waiting:
                waiting[-1] = (waiting[-1][0], waiting[-1][1] - 1)
    edges = np.array(order, np.int32)
    return edges if forest.provenance is None else edges[forest.provenance[edges] != NO_PHRASE]


def word_links(table: PhraseTable, steps: Sequence[Step]) -> Links:
    """Return (source position, target position) of linked words, phrase by phrase; copied words are linked, too."""
    links, place = [], 0
    for step in steps:
        pairs = [(0, 0)] if step.pair == COPIED else word_links_of_pair(table, step.pair)
        links += [(step.begin + source, place + target) for source, target in pairs]
        place += len(step.words)
    return tuple(links)


def word_links_of_pair(table: PhraseTable, pair: int) -> list[tuple[int, int]]:
    """Return (source position, target position) of linked words within a phrase pair, sorted."""
    pairs = table.pairs
    found = pairs.links[pairs.link_offsets[pair] : pairs.link_offsets[pair + 1]].tolist()
    return sorted((source, target) for source, target in found)
