"""Forests from what systems give: n-best lists, samples, lattices, confusion networks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of
from toledo.errors import InputError
from toledo.forest.assemble import Edges, from_edges
from toledo.forest.forest import Forest, Yields
from toledo.forest.linear import SparseArrays
from toledo.results import Hypothesis
from toledo.text.vocabulary import Vocabulary, split_words

Words = Sequence[str]
FeatureValues = Mapping[str, float]


@dataclass
class ForestBuilder:
    """Collects nodes and edges in any order; `build` checks, orders and packs them.

    `feature_names` are dense: every edge has a value, 0 where none is given. Any other name of a feature is sparse.
    """

    vocabulary: Vocabulary
    feature_names: Sequence[str]
    _nodes: int = 0
    _heads: list[int] = field(default_factory=list)
    _tails: list[Sequence[int]] = field(default_factory=list)
    _yields: list[list[int]] = field(default_factory=list)
    _features: list[FeatureValues] = field(default_factory=list)
    _base: list[float] = field(default_factory=list)
    _provenance: list[int] = field(default_factory=list)

    def node(self) -> int:
        """Add a node."""
        self._nodes += 1
        return self._nodes - 1

    def edge(
        self,
        head: int,
        tails: Sequence[int] = (),
        words: Sequence[str | int] | None = None,
        features: FeatureValues | None = None,
        base: float = 0.0,
        provenance: int = -1,
    ) -> None:
        """Add an edge. `words` has strings, and k for the text of the k-th tail; by default just the tails in order."""
        for node in (head, *tails):
            if not 0 <= node < self._nodes:
                raise InputError(f"edge {len(self._heads)} names node {node}", remedy=f"there are {self._nodes} nodes")
        content = range(len(tails)) if words is None else words
        self._heads.append(head)
        self._tails.append(tails)
        self._yields.append([-1 - part if isinstance(part, int) else self.vocabulary.add(part) for part in content])
        self._features.append(features or {})
        self._base.append(base)
        self._provenance.append(provenance)

    def build(self, goal: int) -> Forest:
        """Return the forest of all derivations of `goal`."""
        dense = set(self.feature_names)
        table = np.array([[row.get(name, 0.0) for name in self.feature_names] for row in self._features], np.float32)
        sparse_rows = [{name: value for name, value in row.items() if name not in dense} for row in self._features]
        names = tuple(dict.fromkeys(name for row in sparse_rows for name in row))
        edges = Edges(
            heads=np.array(self._heads, np.int32),
            tail_offsets=_offsets(self._tails),
            tails=np.array([tail for tails in self._tails for tail in tails], np.int32),
            yields=Yields(_offsets(self._yields), np.array([word for row in self._yields for word in row], np.int32)),
            features=table.reshape(len(self._heads), len(self.feature_names)),
            base=np.array(self._base) if any(self._base) else None,
            sparse=_sparse_arrays(sparse_rows, names) if names else None,
            provenance=np.array(self._provenance) if any(number != -1 for number in self._provenance) else None,
        )
        return from_edges(edges, goal, self.feature_names, self.vocabulary, names)


@dataclass(frozen=True)
class ListEntry:
    """One entry of an n-best list: its words, its features, and a score that no weight changes."""

    words: Words
    features: FeatureValues = field(default_factory=dict)
    base: float = 0.0


@dataclass(frozen=True)
class Arc:
    """An arc of a lattice from one state to another that writes any number of words."""

    start: int
    end: int
    words: Words
    features: FeatureValues = field(default_factory=dict)
    base: float = 0.0


def from_nbest(hypotheses: Iterable[ListEntry], feature_names: Sequence[str], vocabulary: Vocabulary) -> Forest:
    """Make one node with one edge per hypothesis; an edge's provenance is its place in the list."""
    builder = ForestBuilder(vocabulary, feature_names)
    goal = builder.node()
    for rank, entry in enumerate(hypotheses):
        builder.edge(goal, words=entry.words, features=entry.features, base=entry.base, provenance=rank)
    return builder.build(goal)


def from_samples(samples: Iterable[Words], vocabulary: Vocabulary) -> Forest:
    """Make one edge per distinct sample with the logarithm of its count as score: P is the empirical distribution."""
    counts = Counter(tuple(sample) for sample in samples)
    hypotheses = [ListEntry(words, base=math.log(count)) for words, count in counts.items()]
    return from_nbest(hypotheses, (), vocabulary)


def from_lattice(
    arcs: Iterable[Arc], start: int, finals: Iterable[int], feature_names: Sequence[str], vocabulary: Vocabulary
) -> Forest:
    """Make one node per state and a goal for the final states; an edge's provenance is its arc's number."""
    builder = ForestBuilder(vocabulary, feature_names)
    states: dict[int, int] = {start: builder.node()}
    builder.edge(states[start])
    for number, arc in enumerate(arcs):
        if arc.end == start:
            raise InputError(f"arc {number} leads back to the start state {start}", remedy="a lattice has no cycles")
        for state in (arc.start, arc.end):
            if state not in states:
                states[state] = builder.node()
        builder.edge(states[arc.end], (states[arc.start],), [0, *arc.words], arc.features, arc.base, number)
    goal = builder.node()
    for final in dict.fromkeys(finals):
        if final not in states:
            raise InputError(f"no arc reaches the final state {final}", remedy="add the arc or drop the state")
        builder.edge(goal, (states[final],))
    return builder.build(goal)


def from_confusion_network(
    slots: Iterable[Mapping[str | None, FeatureValues]], feature_names: Sequence[str], vocabulary: Vocabulary
) -> Forest:
    """Make a chain of slots; each offers words, or None for no word, with their features."""
    builder = ForestBuilder(vocabulary, feature_names)
    node = builder.node()
    builder.edge(node)
    for number, slot in enumerate(slots):
        if not slot:
            raise InputError(f"slot {number} is empty", remedy="give it at least one word, or None for no word")
        previous, node = node, builder.node()
        for word, features in slot.items():
            builder.edge(node, (previous,), [0] if word is None else [0, word], features, provenance=number)
    return builder.build(node)


def from_texts(hypotheses: Sequence[Hypothesis]) -> Forest:
    """Make a list of texts with a vocabulary of their own; see `Forest.from_list`."""
    if any(one.features for one in hypotheses):
        entries = [ListEntry(split_words(one.text), one.features) for one in hypotheses]
        return from_nbest(entries, _common_names([one.features for one in hypotheses]), Vocabulary())
    scored = [(one, one.score if one.logprob is None else one.logprob) for one in hypotheses]
    counts: Counter[str] = Counter()
    for one, score in scored:
        counts[one.text] += one.count if score is None else 0
    entries = [ListEntry(split_words(one.text), base=score) for one, score in scored if score is not None]
    entries += [ListEntry(split_words(text), base=math.log(count)) for text, count in counts.items() if count]
    return from_nbest(entries, (), Vocabulary())


def from_arcs(arcs: Sequence[tuple[int, int, str, FeatureValues]]) -> Forest:
    """Make a lattice of arcs with texts and a vocabulary of their own; see `Forest.from_lattice`."""
    if not arcs:
        raise InputError("a lattice without arcs", remedy="give at least one", argument="arcs")
    left = {start for start, _, _, _ in arcs}
    finals = [end for _, end, _, _ in arcs if end not in left]
    made = [Arc(start, end, split_words(text), features) for start, end, text, features in arcs]
    return from_lattice(made, arcs[0][0], finals, _common_names([arc.features for arc in made]), Vocabulary())


def _common_names(rows: Sequence[FeatureValues]) -> list[str]:
    """Return the features that all rows have."""
    return [name for name in rows[0] if all(name in row for row in rows)]


def _offsets(rows: Sequence[Sized]) -> NDArray[np.int32]:
    return offsets_of(map(len, rows)).astype(np.int32)


def _sparse_arrays(rows: Sequence[FeatureValues], names: Sequence[str]) -> SparseArrays:
    numbers = {name: number for number, name in enumerate(names)}
    ids = np.array([numbers[name] for row in rows for name in row], np.int32)
    return SparseArrays(_offsets(rows), ids, np.array([value for row in rows for value in row.values()], np.float32))
