"""N-best lists as files give them, and the way to forests and back.

A list has one `Entry` for each hypothesis: a `ListEntry` of `toledo.forest` with what else a file may say.
The model score of a file is kept apart as `score`: it is what the features came to under the weights of the system
that wrote the list, so a forest either has the features (to score them anew) or the score (as it is).

Derivations of a phrase-based search as entries of n-best lists: features, score, phrases and word links.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toledo.errors import InputError
from toledo.files import display_name
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.derivations import Derivation
from toledo.forest.forest import Forest, Scores
from toledo.forest.kbest import k_best
from toledo.formats.fields import BASE, dense_names, fill_gaps, without_base
from toledo.phrases.table import PhraseTable
from toledo.search.steps import Step, steps_of, word_links
from toledo.text.vocabulary import Vocabulary


class PhraseSpan(NamedTuple):
    """A phrase pair of a hypothesis: positions of source words and of target words."""

    source: range
    target: range


@dataclass(frozen=True)
class Entry(ListEntry):
    """A hypothesis of a file; phrases and links (source position, target position) are empty where unknown."""

    score: float | None = None
    phrases: tuple[PhraseSpan, ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    logprob: float | None = None


@dataclass(frozen=True)
class NBestList:
    """The hypotheses of one segment, in the order of the file."""

    segment: int
    entries: tuple[Entry, ...]


class Numbered(NamedTuple):
    """An entry and where it was found."""

    line: int
    segment: int
    entry: Entry


def in_lists(entries: Iterable[Numbered], file: str | Path) -> Iterator[NBestList]:
    """One list for each segment from 0 up; a segment without a line has an empty list. Numbers must not fall."""
    return fill_gaps(_runs(entries, file), lambda segment: NBestList(segment, ()), display_name(file))


def _runs(entries: Iterable[Numbered], file: str | Path) -> Iterator[tuple[int, NBestList]]:
    current = -1
    found: list[Entry] = []
    for line, segment, entry in entries:
        if segment != current:
            if segment < current:
                raise InputError(
                    f"segment {segment} follows segment {current}",
                    file=display_name(file),
                    line=line,
                    remedy="sort the lists by segment: sort -s -n -k 1,1",
                )
            if found:
                yield current, NBestList(current, tuple(found))
            current, found = segment, []
        found.append(entry)
    if found:
        yield current, NBestList(current, tuple(found))


def feature_names(lists: Iterable[NBestList]) -> tuple[str, ...]:
    """The features to keep dense: the union over all lists, unless it is large (see `dense_names`)."""
    return dense_names(entry.features for some in lists for entry in some.entries)


def to_forest(
    entries: Sequence[ListEntry], feature_names: Sequence[str], vocabulary: Vocabulary, *, use_scores: bool = False
) -> Forest:
    """The forest of one list: scored by features, or (`use_scores`) by the model scores of the file.

    Features that are not among `feature_names` are sparse. With scores, all are, so that no weight is asked for.
    """
    if not use_scores:
        return from_nbest([_with_base(entry) for entry in entries], feature_names, vocabulary)
    return from_nbest([_with_score(rank, entry) for rank, entry in enumerate(entries)], (), vocabulary)


def from_forest(forest: Forest, scores: Scores, size: int, segment: int = 0, *, distinct: bool = False) -> NBestList:
    """The best derivations of a segment (with `distinct`, translations) with their features and scores."""
    found = islice(k_best(forest, scores, distinct=distinct), size)
    return NBestList(segment, tuple(Entry(one.words, _features(one), score=tidy(one.score)) for one in found))


def _features(derivation: Derivation) -> dict[str, float]:
    """Features and, beside them, the base score; where there are no features, the score of the list says it all."""
    features = {name: tidy(value) for name, value in derivation.features.items()}
    if derivation.base and (derivation.forest.feature_names or derivation.forest.sparse):
        features[BASE] = tidy(derivation.base)
    return features


def _with_base(entry: ListEntry) -> ListEntry:
    features, base = without_base(entry.features)
    return ListEntry(entry.words, features, entry.base + base) if BASE in entry.features else entry


def _with_score(rank: int, entry: ListEntry) -> ListEntry:
    score = entry.score if isinstance(entry, Entry) else None
    if score is None:
        raise InputError(f"hypothesis {rank} has no model score", remedy="give weights to score its features")
    return ListEntry(entry.words, entry.features, score)


def tidy(value: float) -> float:
    """Features are stored in single precision: what goes beyond is noise of the sum."""
    return float(np.float32(value))


DIGITS = 6


def nbest_list(
    forest: Forest,
    weights: Mapping[str, float],
    size: int,
    segment: int = 0,
    *,
    distinct: bool = False,
    table: PhraseTable | None = None,
) -> NBestList:
    """The best derivations of a segment (with `distinct`, translations); with a table, also phrases and word links."""
    found = islice(k_best(forest, forest.scores(weights), distinct=distinct), size)
    return NBestList(segment, tuple(to_entry(one, weights, table) for one in found))


def to_entry(derivation: Derivation, weights: Mapping[str, float], table: PhraseTable | None = None) -> Entry:
    """An entry whose score is that of its features as they stand there."""
    features = {name: tidy(value) for name, value in derivation.features.items()}
    score = derivation.base + sum(weights.get(name, 0.0) * value for name, value in features.items())
    if table is None:
        return Entry(derivation.words, features, score=round(score, DIGITS))
    steps = steps_of(derivation)
    return Entry(
        derivation.words,
        features,
        score=round(score, DIGITS),
        phrases=phrase_spans(steps),
        links=word_links(table, steps),
    )


def phrase_spans(steps: Sequence[Step]) -> tuple[PhraseSpan, ...]:
    """Source and target positions of phrases in target order."""
    spans, place = [], 0
    for step in steps:
        spans.append(PhraseSpan(range(step.begin, step.end), range(place, place + len(step.words))))
        place += len(step.words)
    return tuple(spans)
