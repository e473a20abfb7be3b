"""Texts to build a model from: what trains, what tunes, what judges, and what tests it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from toledo.api.inputs import Texts, read_groups, read_ids, read_texts
from toledo.api.runs import Pair
from toledo.errors import InputError

Columns: TypeAlias = tuple[list[str], list[str]]
Judged: TypeAlias = tuple[list[str], list[list[str]]]  # sources, and the references of each

MOST, SHARE = 1000, 0.05  # of the pairs, for each set that is drawn
LEAST = 20  # segments of a set that can judge anything
LONGEST = 80  # words of a pair that is drawn: longer ones are not what people translate line by line


@dataclass(frozen=True)
class HeldOut:
    """Sets that users have; those that are missing are drawn from the pairs, whole documents where there are ids."""

    dev: Pair | None = None
    test: Pair | None = None
    document_ids: Texts | None = None
    seed: int = 1


@dataclass(frozen=True)
class SplitTexts:
    """Pairs to train on, and both sets; `documents` of the development set are not torn apart."""

    train: Columns
    dev: Judged
    test: Judged
    documents: Sequence[object]
    what: str

    def half(self, which: int) -> Judged:
        """Return half 0 or 1 of the development set: weights that are tuned on one are judged by the other."""
        first = self._first_documents()
        places = [place for place, one in enumerate(self.documents) if (one in first) == (which == 0)]
        return _chosen(self.dev, places)

    def _first_documents(self) -> set[object]:
        """Return the documents of half 0.

        Both halves have references of the same length for their sources: weights that are tuned on one half fit the
        length of its references, and would make translations of the other half too short or too long.
        """
        sizes: dict[object, list[int]] = {}
        for one, source, references in zip(self.documents, *self.dev, strict=True):
            own = sizes.setdefault(one, [0, 0])
            own[0] += len(source)
            own[1] += sum(map(len, references)) // len(references)
        ranked = sorted(sizes, key=lambda one: sizes[one][1] / (sizes[one][0] or 1))
        return {one for place, one in enumerate(ranked) if place % 4 in (0, 3)}


def split_texts(columns: Columns, held: HeldOut) -> SplitTexts:
    """Read the sets that are given, draw the others, and leave the pairs of both out of the training text."""
    total = len(columns[0])
    ids = range(total) if held.document_ids is None else read_ids(held.document_ids, columns[0])
    drawn = _draw(columns, list(ids), [held.dev is None, held.test is None], held.seed)
    sets, documents = list[Judged](), list[Sequence[object]]()
    for name, given, places in (("dev", held.dev, drawn[0]), ("test", held.test, drawn[1])):
        sets.append(_read(given, name) if given is not None else _paired(columns, places))
        own: Sequence[object] = range(len(sets[-1][0])) if given is not None else [ids[place] for place in places]
        documents.append(own)
        if len(sets[-1][0]) < LEAST or len(set(own)) < 2:
            what = f"{name} has {len(sets[-1][0])} segments in {len(set(own))} documents"
            remedy = f"give more pairs, or a `{name}` set of at least {LEAST} segments"
            raise InputError(what, argument=name, remedy=remedy)
    held_out = {ids[place] for places in drawn for place in places}
    kept = _others(columns, {place for place, one in enumerate(ids) if one in held_out}, sets)
    what = ", ".join(
        f"{name} {'given' if given is not None else f'drawn by seed {held.seed}'}: {len(one[0]):,} segments"
        for name, given, one in zip(("dev", "test"), (held.dev, held.test), sets, strict=True)
    )
    if not kept:
        raise InputError("no pairs are left to train on", argument="sources", remedy="give more pairs")
    train = [columns[0][place] for place in kept], [columns[1][place] for place in kept]
    return SplitTexts(train, sets[0], sets[1], documents[0], what)


def _draw(columns: Columns, ids: list[object], wanted: Sequence[bool], seed: int) -> list[list[int]]:
    """Return the places of each set that is wanted: whole documents in random order, until there are enough."""
    size = min(MOST, int(SHARE * len(ids)))
    members: dict[object, list[int]] = {}
    seen = set[tuple[str, str]]()
    for place, one in enumerate(ids):
        pair = columns[0][place], columns[1][place]
        if pair not in seen and all(0 < len(text.split()) <= LONGEST for text in pair):
            members.setdefault(one, []).append(place)
        seen.add(pair)
    names = list(members)
    order = iter(np.random.default_rng(seed).permutation(len(names)).tolist())
    found = list[list[int]]()
    for one in wanted:
        places = list[int]()
        while one and len(places) < size and (number := next(order, None)) is not None:
            places += members[names[number]]
        found.append(sorted(places))
    return found


def _read(given: Pair, name: str) -> Judged:
    sources = read_texts(given[0], f"{name} sources")
    groups = read_groups(given[1], sources, f"{name} sources")
    return sources, [[one for one in group if one is not None] for group in groups]


def _paired(columns: Columns, places: Iterable[int]) -> Judged:
    chosen = list(places)
    return [columns[0][place] for place in chosen], [[columns[1][place]] for place in chosen]


def _chosen(one: Judged, places: Sequence[int]) -> Judged:
    return [one[0][place] for place in places], [one[1][place] for place in places]


def _others(columns: Columns, drawn: set[int], sets: Iterable[Judged]) -> list[int]:
    """Return the places of pairs that are not in a set, nor equal to one that is."""
    seen = {
        (source.strip(), reference.strip())
        for sources, groups in sets
        for source, group in zip(sources, groups, strict=True)
        for reference in group
    }
    pairs = enumerate(zip(*columns, strict=True))
    return [
        place
        for place, (source, target) in pairs
        if place not in drawn and (source.strip(), target.strip()) not in seen
    ]
