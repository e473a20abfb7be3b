"""From one format of forests or n-best lists to another."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from toledo.forest import Forest, Hypothesis, from_nbest, k_best
from toledo.formats.forests import (
    LISTS,
    Format,
    SegmentForest,
    read_forests,
    read_lists,
    score_with,
    write_forests,
    write_lists,
)
from toledo.formats.hypotheses import NBestList, from_forest
from toledo.formats.plf import Values

Item = TypeVar("Item")

log = logging.getLogger(__name__)

DEFAULT_SIZE = 100


@dataclass(frozen=True)
class Conversion:
    """What to do on the way: keep only so many derivations (or distinct translations), the best by these weights."""

    size: int | None = None
    distinct: bool = False
    weights: Mapping[str, float] | None = None
    plf_values: Values = "probabilities"


def convert(
    source: str | Path, source_format: Format, target: str | Path, target_format: Format, how: Conversion
) -> int:
    """Convert a file; gives the number of segments.

    N-best lists stay what they are on the way to another format for lists, unless weights are to choose anew. A forest
    becomes a list of its best 100 derivations if no number is given; with a number, it is cut down to that many.
    """
    segments = 0

    def counted(items: Iterable[Item]) -> Iterator[Item]:
        nonlocal segments
        for item in items:
            segments += 1
            yield item

    if {source_format, target_format} <= LISTS and how.weights is None and not how.distinct:
        lists = read_lists(source, source_format)
        write_lists(counted(NBestList(some.segment, some.entries[: how.size]) for some in lists), target, target_format)
        return segments
    forests = read_forests(source, source_format, plf_values=how.plf_values)
    if target_format in LISTS:
        write_lists(counted(_best(forests, how)), target, target_format)
    elif how.size is None:
        write_forests(counted(found.forest for found in forests), target, target_format, plf_values=how.plf_values)
    else:
        write_forests(counted(_cut(forests, how)), target, target_format, plf_values=how.plf_values)
    return segments


def _best(forests: Iterable[SegmentForest], how: Conversion) -> Iterator[NBestList]:
    size = DEFAULT_SIZE if how.size is None else how.size
    arbitrary = False
    for found in forests:
        if how.weights is None and found.weights is None and found.forest.base is None and not arbitrary:
            log.warning("no weights: all derivations score 0, and which of them are kept is arbitrary")
            arbitrary = True
        yield from_forest(found.forest, score_with(found, how.weights), size, found.segment, distinct=how.distinct)


def _cut(forests: Iterable[SegmentForest], how: Conversion) -> Iterator[Forest]:
    """Forests of one node: the best derivations, with their features and what base scores come to."""
    for found in forests:
        forest = found.forest
        derivations = islice(k_best(forest, score_with(found, how.weights), distinct=how.distinct), how.size)
        entries = [Hypothesis(one.words, one.features, one.base) for one in derivations]
        yield from_nbest(entries, forest.feature_names, forest.vocabulary)
