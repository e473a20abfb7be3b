"""Sentence pairs for training and alignment: read, prepared, cleaned and encoded."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from toledo.api.inputs import Texts, read_texts, require_as_many
from toledo.errors import InputError
from toledo.files import is_stream, read_lines
from toledo.formats.pairs import read_pairs
from toledo.text.cleaning import Cleaner, CleaningReport
from toledo.text.corpus import ParallelCorpus, encode_texts, read_parallel
from toledo.text.preparation import TOKENIZED, Preparation, TextSide
from toledo.text.settings import Cleaning
from toledo.text.vocabulary import Vocabulary

log = logging.getLogger(__name__)

Pairs: TypeAlias = str | Path | Iterable[tuple[str, str]]
Languages: TypeAlias = tuple[str | None, str | None]
NO_LANGUAGES: Languages = (None, None)
LOOKED_AT = 1000  # lines of a file, to see whether it is tokenized


@dataclass(frozen=True)
class PreparedPairs:
    """Sentence pairs as words separated by spaces, how they were prepared, and what was left out."""

    sources: list[str]
    targets: list[str]
    preparation: Preparation
    report: CleaningReport | None = None

    def encode(self, vocabularies: tuple[Vocabulary, Vocabulary] | None = None) -> ParallelCorpus:
        """Return the pairs as numbers of words; vocabularies given grow by new words."""
        return encode_pairs(self.sources, self.targets, vocabularies)


def read_columns(
    sources: Texts | Pairs, targets: Texts | None, languages: Languages = NO_LANGUAGES
) -> tuple[list[str], list[str]]:
    """Return sources and targets, or both columns of pairs if there are no targets."""
    if targets is None:
        pairs = read_pairs(sources, *languages) if isinstance(sources, str | Path) else list(sources)
        return _columns(pairs)
    left, right = read_texts(sources, "sources"), read_texts(targets, "targets")  # type: ignore[arg-type]
    require_as_many("sources", left, "targets", right)
    return left, right


def prepare_pairs(
    columns: tuple[list[str], list[str]], preparation: Preparation, cleaning: Cleaning | None, *, learn: bool = False
) -> PreparedPairs:
    """Make words of texts, and leave out pairs that are not fit for training.

    With `learn`, the case of words is learned from the pairs that stay; else the preparation is that of a model.
    """
    sides = preparation.source, preparation.target
    tokens = [[side.tokens(text) for text in texts] for side, texts in zip(sides, columns, strict=True)]
    report = None
    if cleaning is not None:
        cleaner = Cleaner(cleaning)
        keep = list(cleaner.clean(zip(zip(*columns, strict=True), zip(*tokens, strict=True), strict=True)))
        tokens, report = [list(compress(lines, keep)) for lines in tokens], cleaner.report
        if not tokens[0]:
            raise InputError(f"no pairs are left: {report}", remedy="check the texts, or give `clean=False`")
    if learn:
        preparation = Preparation(preparation.source.learn_case(tokens[0]), preparation.target.learn_case(tokens[1]))
    sources, targets = _cased(preparation.source, tokens[0]), _cased(preparation.target, tokens[1])
    return PreparedPairs(sources, targets, preparation, report)


def _cased(side: TextSide, tokens: list[str]) -> list[str]:
    return tokens if side.truecaser is None else side.truecaser.apply(tokens)


def encode_words(
    sources: Texts | Pairs,
    targets: Texts | None,
    vocabularies: tuple[Vocabulary, Vocabulary] | None = None,
    languages: Languages = NO_LANGUAGES,
) -> ParallelCorpus:
    """Encode tokenized sources and their targets, or pairs if there are no targets; warn if they look raw."""
    left, right = read_columns(sources, None, languages) if targets is None else (sources, targets)
    corpus = encode_pairs(left, right, vocabularies)  # type: ignore[arg-type]
    _warn_of_raw_text(left, right)
    return corpus


def encode_pairs(
    sources: Texts, targets: Texts, vocabularies: tuple[Vocabulary, Vocabulary] | None = None
) -> ParallelCorpus:
    """Encode sources and their targets, whose words are separated by spaces."""
    vocabularies = vocabularies or (Vocabulary(), Vocabulary())
    if isinstance(sources, str | Path) and isinstance(targets, str | Path):
        return read_parallel(sources, targets, vocabularies)
    source = encode_texts(sources, vocabularies[0], "sources")
    target = encode_texts(targets, vocabularies[1], "targets")
    require_as_many("sources", source, "targets", target)
    return ParallelCorpus(source, target, *vocabularies, np.arange(1, len(source) + 1))


def warn_of_doubt(side: TextSide, texts: Iterable[str], name: str, vocabulary: Vocabulary | None = None) -> bool:
    """Warn, once for all texts, if they do not look as they should; return whether they do not."""
    doubt = side.doubt(list(texts), vocabulary)
    if doubt:
        log.warning("%s: %s", name, doubt)
    return bool(doubt)


def _warn_of_raw_text(sources: Any, targets: Any) -> None:
    """Warn if lists or files of tokenized text look raw; of files, the first lines are looked at."""
    for name, texts in (("sources", sources), ("targets", targets)):
        if isinstance(texts, str | Path) and not is_stream(texts):
            texts = list(islice(read_lines(texts), LOOKED_AT))
        if isinstance(texts, list) and warn_of_doubt(TOKENIZED.source, texts, name):
            return


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
