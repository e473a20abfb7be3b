"""Texts and sentence pairs as users give them, encoded for training."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from toledo.api.files import read_pairs
from toledo.api.inputs import Texts, read_texts
from toledo.errors import InputError
from toledo.text.corpus import (
    ParallelCorpus,
    Sentences,
    read_parallel,
    read_sentences,
    refuse_reserved_words,
    sentences_from,
)
from toledo.text.encoding import Encoder
from toledo.text.vocabulary import BEGIN, UNKNOWN, Vocabulary

Pairs = str | Path | Iterable[tuple[str, str]]


def encode_texts(texts: Texts, vocabulary: Vocabulary, name: str, *, grow: bool = True) -> Sentences:
    """Encode a file or texts; new words join the vocabulary if it may grow. `name` is the argument, for messages."""
    if isinstance(texts, str | Path):
        return read_sentences(texts, vocabulary, grow)
    lines = read_texts(texts, name)
    if not lines:
        raise InputError(f"{name} is empty", argument=name, remedy="give one text or more")
    for place, line in enumerate(lines):
        if "\n" in line:
            raise InputError(
                f"{name}[{place}] contains a line end", argument=name, segment=place, remedy="give one segment per text"
            )
    words, lengths = Encoder(vocabulary, grow).encode("\n".join([*lines, ""]).encode())
    try:
        refuse_reserved_words(None, 0, words, lengths, UNKNOWN if grow else BEGIN)
    except InputError as error:
        segment = (error.line or 1) - 1
        message = f"{name}[{segment}]: {error.message}"
        raise InputError(message, argument=name, segment=segment, remedy=error.remedy) from None
    return sentences_from(words, lengths)


def encode_pairs(
    sources: Texts | Pairs, targets: Texts | None, vocabularies: tuple[Vocabulary, Vocabulary] | None = None
) -> ParallelCorpus:
    """Encode sources and their targets, or pairs if there are no targets; given vocabularies grow by new words."""
    if isinstance(sources, str | Path) and isinstance(targets, str | Path):
        return read_parallel(sources, targets, vocabularies)
    if targets is None:
        pairs = read_pairs(sources) if isinstance(sources, str | Path) else list(sources)
        sources, targets = _columns(pairs)
    vocabularies = vocabularies or (Vocabulary(), Vocabulary())
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
