"""The n-grams of references as tries, one for each sentence: what the BLEU model matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.hashing import build_pair_index
from toledo.metrics.bleu_score import METHODS
from toledo.search.document.models.kinds import BLEUModel
from toledo.search.document.models.known import Known
from toledo.search.document.models.measures import NOTHING, ORDER, References

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
