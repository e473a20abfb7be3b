"""Sparse features of phrase pairs: thousands of names, of which a pair has few.

A feature is named by a template and what it saw, `pair:das~haus→the~house` for one phrase pair, `word:haus→house` for
linked words, `target:house` for a target word (compare the sparse features of Chiang, Knight and Wang 2009, and of
Moses, whose `~` between words is taken over: names in n-best lists have no spaces).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import are_offsets, offsets_of
from toledo.phrases.table import PhraseTable, require_array

JOINT, ARROW = "~", "→"


@dataclass(frozen=True, eq=False)
class PairFeatures:
    """Pair i has the features `ids[offsets[i]:offsets[i + 1]]`, numbered by `names`, with `values`."""

    names: tuple[str, ...]
    offsets: NDArray[np.int64]
    ids: NDArray[np.int32]
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        require_array("offsets of sparse features", self.offsets, np.int64, (self.offsets.size,))
        require_array("ids of sparse features", self.ids, np.int32, (self.ids.size,))
        require_array("values of sparse features", self.values, np.float32, (self.ids.size,))
        if not are_offsets(self.offsets, self.ids.size):
            raise ValueError("the offsets of sparse features do not rise from 0 to their number")
        if self.ids.size and (self.ids.min() < 0 or self.ids.max() >= len(self.names)):
            raise ValueError("a sparse feature has no name")
        if len(set(self.names)) != len(self.names):
            raise ValueError("two sparse features have the same name")
        if not np.isfinite(self.values).all():
            raise ValueError("a sparse feature is not a finite number")

    def __len__(self) -> int:
        """Return the number of phrase pairs."""
        return self.offsets.size - 1

    def scores(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """Return what the features of each pair score; a name without a weight weighs 0."""
        factors = np.array([weights.get(name, 0.0) for name in self.names])
        of_pair = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        weighted = self.values * factors[self.ids] if self.ids.size else np.empty(0)
        return np.asarray(np.bincount(of_pair, weighted, minlength=len(self)), np.float64)

    def rows(self, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        """Return offsets, ids and values for some pairs; a negative number has no features."""
        known = np.maximum(pairs, 0)
        sizes = np.where(pairs < 0, 0, self.offsets[known + 1] - self.offsets[known]) if len(self) else 0 * pairs
        offsets = offsets_of(sizes)
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[known] - offsets[:-1], sizes)
        return offsets, self.ids[places], self.values[places]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """For saving."""
        encoded = [name.encode() for name in self.names]
        bounds = offsets_of(map(len, encoded))
        text = np.frombuffer(b"".join(encoded), np.uint8)
        return {"names": text, "bounds": bounds, "offsets": self.offsets, "ids": self.ids, "values": self.values}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> PairFeatures:
        """Return what `to_arrays` gave."""
        text = arrays["names"].tobytes()
        names = tuple(text[begin:end].decode() for begin, end in pairwise(arrays["bounds"].tolist()))
        return cls(names, arrays["offsets"], arrays["ids"], arrays["values"])


Template = Callable[[PhraseTable], Iterable[Sequence[str]]]


def sparse_features(table: PhraseTable, templates: Sequence[Template], most: int | None = None) -> PairFeatures:
    """Return the features that templates give to the pairs of a table; of each template, the `most` frequent names.

    How frequent a name is, the joint counts of its pairs say (each counts as 1 where the table knows none).
    """
    counts = np.where(table.pairs.joint_counts > 0, table.pairs.joint_counts, 1.0).tolist()
    numbers: dict[str, int] = {}
    entries: list[tuple[int, int]] = []
    for template in templates:
        rows = [list(row) for row in template(table)]
        kept = _frequent(rows, counts, most)
        entries += [
            (pair, numbers.setdefault(name, len(numbers)))
            for pair, row in enumerate(rows)
            for name in row
            if name in kept
        ]
    flat, size = np.array(entries, np.int64).reshape(-1, 2), max(len(numbers), 1)
    distinct, repeated = np.unique(flat[:, 0] * size + flat[:, 1], return_counts=True)
    offsets = offsets_of(np.bincount(distinct // size, minlength=len(table)))
    return PairFeatures(tuple(numbers), offsets, (distinct % size).astype(np.int32), repeated.astype(np.float32))


def pair_identity(table: PhraseTable) -> Iterable[Sequence[str]]:
    """Return one feature for each phrase pair."""
    for source, target, _ in _texts(table):
        yield [f"pair:{JOINT.join(source)}{ARROW}{JOINT.join(target)}"]


def linked_words(table: PhraseTable) -> Iterable[Sequence[str]]:
    """Return one feature for each link between a source word and a target word."""
    for source, target, links in _texts(table):
        yield [f"word:{source[i]}{ARROW}{target[j]}" for i, j in links]


def target_words(table: PhraseTable) -> Iterable[Sequence[str]]:
    """Return one feature for each target word."""
    for _, target, _ in _texts(table):
        yield [f"target:{word}" for word in target]


TEMPLATES: Mapping[str, Template] = {"pair": pair_identity, "word": linked_words, "target": target_words}


def _frequent(rows: Sequence[Sequence[str]], counts: Sequence[float], most: int | None) -> set[str]:
    totals: dict[str, float] = {}
    for row, count in zip(rows, counts, strict=True):
        for name in row:
            totals[name] = totals.get(name, 0.0) + count
    return set(sorted(totals, key=lambda name: (-totals[name], name))[:most])


def _texts(table: PhraseTable) -> Iterable[tuple[list[str], list[str], list[list[int]]]]:
    pairs = table.pairs
    sources = [table.source_vocabulary.words(pairs.sources[i].tolist()) for i in range(len(pairs.sources))]
    targets = [table.target_vocabulary.words(pairs.targets[i].tolist()) for i in range(len(pairs.targets))]
    offsets, links = pairs.link_offsets.tolist(), pairs.links.tolist()
    for i, (source, target) in enumerate(zip(pairs.source.tolist(), pairs.target.tolist(), strict=True)):
        yield sources[source], targets[target], links[offsets[i] : offsets[i + 1]]
