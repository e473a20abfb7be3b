"""The document models that come with the toolkit; a model's weight is that of its `name`. See `values` for formulas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from toledo.metrics.bleu import METHODS
from toledo.search.document.models.counts import FEATURES
from toledo.search.document.models.semantic import SemanticSpace


@dataclass(frozen=True)
class LengthParity:
    """Sentences should all have an odd number of words, or all an even one: a model to try things with."""

    name: ClassVar[str] = FEATURES[0]


@dataclass(frozen=True)
class TypeTokenRatio:
    """Distinct words per word."""

    name: ClassVar[str] = FEATURES[1]


@dataclass(frozen=True)
class OVIX:
    """The word variation index: the higher, the richer the vocabulary."""

    name: ClassVar[str] = FEATURES[2]


@dataclass(frozen=True)
class LIX:
    """The readability index: the lower, the easier to read; so a negative weight makes a text easier."""

    name: ClassVar[str] = FEATURES[3]


@dataclass(frozen=True)
class LexicalConsistency:
    """One translation per discourse: how often two occurrences of a source word have the same translation.

    The translation of a word are the target words that the phrase pair links to it. Words with fewer letters than
    `shortest` are left out, and `ignored` ones: function words have many translations for good reasons.
    """

    shortest: int = 4
    ignored: frozenset[str] = frozenset()

    name: ClassVar[str] = FEATURES[4]


@dataclass(frozen=True, eq=False)
class SemanticModel:
    """How well content words fit the `context` ones before them, by their vectors."""

    space: SemanticSpace
    context: int = 30

    name: ClassVar[str] = FEATURES[5]

    def __post_init__(self) -> None:
        if self.context < 1:
            raise ValueError("a context has at least one word")


@dataclass(frozen=True)
class BLEUModel:
    """BLEU of the document with the references of its segments, smoothed as in `toledo.metrics.BLEU`."""

    smoothing: str = "exp"

    name: ClassVar[str] = FEATURES[6]

    def __post_init__(self) -> None:
        if self.smoothing not in METHODS:
            raise ValueError(f"no smoothing {self.smoothing!r}: choose from {', '.join(METHODS)}")


DocumentModel = LengthParity | TypeTokenRatio | OVIX | LIX | LexicalConsistency | SemanticModel | BLEUModel
