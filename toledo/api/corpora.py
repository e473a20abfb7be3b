"""Sentence pairs as users give them, encoded for training."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from toledo.api.files import read_pairs
from toledo.api.inputs import Texts
from toledo.errors import InputError
from toledo.text.corpus import ParallelCorpus, encode_texts, read_parallel
from toledo.text.vocabulary import Vocabulary

Pairs = str | Path | Iterable[tuple[str, str]]


def encode_pairs(
    sources: Texts | Pairs, targets: Texts | None, vocabularies: tuple[Vocabulary, Vocabulary] | None = None
) -> ParallelCorpus:
    """Encode sources and their targets, or pairs if there are no targets; vocabularies given grow by new words."""
    vocabularies = vocabularies or (Vocabulary(), Vocabulary())
    if isinstance(sources, str | Path) and isinstance(targets, str | Path):
        return read_parallel(sources, targets, vocabularies)
    if targets is None:
        pairs = read_pairs(sources) if isinstance(sources, str | Path) else list(sources)
        sources, targets = _columns(pairs)
    source = encode_texts(sources, vocabularies[0], "sources")  # type: ignore[arg-type]
    target = encode_texts(targets, vocabularies[1], "targets")
    if len(source) != len(target):
        raise InputError(
            f"sources has {len(source)} segments, targets {len(target)}",
            argument="targets",
            remedy="text i of both must belong together",
        )
    return ParallelCorpus(source, target, *vocabularies, np.arange(1, len(source) + 1))


def _columns(pairs: list[Any]) -> tuple[list[str], list[str]]:
    for place, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2:
            raise InputError(
                f"sources[{place}] is {pair!r}, which is not a pair",
                argument="sources",
                segment=place,
                remedy="give `targets`, or pairs of source and target",
            )
    return [source for source, _ in pairs], [target for _, target in pairs]
