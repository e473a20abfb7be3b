"""Settings of system combination; reading them needs neither NumPy nor compiled code."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from toledo.errors import InputError
from toledo.settings import Meta, Settings

BiasCriterion = Literal["perplexity", "bleu"]
CombinationObjective = Literal["lattice-expected-bleu", "list-expected-bleu", "lattice-bleu"]
LANGUAGE_CODE = re.compile(r"[a-z]{2,3}")  # ISO 639
NGRAM_NAMES = {2: "bigram", 3: "trigram", 4: "fourgram"}
STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch",
    "no": "norwegian", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


@dataclass(frozen=True)
class CombinationOptions(Settings):
    """How outputs are combined, as far as users choose it; tuning replaces `bias` and `entropy` by what it chose."""

    language: Annotated[str, Meta(description="Language code of the outputs, for stems and raw text.")] = "en"
    tokenized: Annotated[bool, Meta(description="The texts are tokenized already.")] = False
    lm_order: Annotated[int, Meta(ge=1, le=6, description="Order of the language models of texts and outputs.")] = 5
    bias: Annotated[
        Annotated[float, Meta(ge=0.0, le=1.0)] | None,
        Meta(description="Weight of a language model of the outputs. [default: chosen on the tuning set]"),
    ] = None
    bias_by: Annotated[
        BiasCriterion,
        Meta(description="How that weight is chosen: lowest perplexity, or highest BLEU (tunes nine times)."),
    ] = "perplexity"
    objective: Annotated[CombinationObjective, Meta(description="Objective of tuning.")] = "lattice-expected-bleu"
    features: Annotated[tuple[str, ...], Meta(description="N-gram feature. [default: novel.bigram]")] = (
        "novel.bigram",
    )
    skeletons: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Number of outputs to use as skeletons. [default: all]")
    ] = None
    entropy: Annotated[
        tuple[Annotated[float, Meta(ge=0.01)], ...],
        Meta(description="Mean entropy per segment, in nats; of several, the one with the best BLEU. [default: 1, 3]"),
    ] = (1.0, 3.0)
    l2: Annotated[float, Meta(ge=0.0, description="Penalty on uneven shares and on weights far from the start.")] = 1e-4
    synonyms: Annotated[
        str | None,
        Meta(description="WordNet's directory, or a list with one set of synonyms per line. [default: none]"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.entropy:
            raise InputError("entropy is empty", argument="entropy", remedy="give at least one value, such as 3.0")
        if not LANGUAGE_CODE.fullmatch(self.language):
            remedy = "give its code, such as de"
            raise InputError(f"no language {self.language!r}", argument="language", remedy=remedy)
        for name in self.features:
            parse_feature(name)

    @property
    def stemmer(self) -> str:
        """Return Snowball's name of the language, or nothing where it has no stemmer."""
        return STEMMERS.get(self.language, "")

    @property
    def raw_language(self) -> str:
        """Return the language of raw text; empty if texts are tokenized."""
        return "" if self.tokenized else self.language


@dataclass(frozen=True)
class CombinationSettings(CombinationOptions):
    """All settings of a combination.

    `skeleton_weights` gives each system a separate weight as a skeleton; `threshold` is the posterior below which
    edges are pruned between the stages.
    """

    skeleton_weights: bool = False
    order: Annotated[int, Meta(ge=2)] = 4
    threshold: Annotated[float, Meta(gt=0.0, lt=1.0)] = 1e-3
    steps: Annotated[int, Meta(ge=1)] = 25
    rounds: Annotated[int, Meta(ge=1)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.features:
            if parse_feature(name)[1] > self.order:
                raise InputError(f"{name}, but n-grams have {self.order} words at most", remedy="leave it out")


def parse_feature(name: str) -> tuple[str, int]:
    """Return kind and order of a feature: `novel.bigram`, `novel.trigram`, `novel.fourgram`, `support.1`, …"""
    kind, _, order = name.partition(".")
    sizes = {size: number for number, size in NGRAM_NAMES.items()}
    if kind == "novel" and order in sizes:
        return kind, sizes[order]
    if kind == "support" and order.isdecimal() and int(order) > 0:
        return kind, int(order)
    raise InputError(
        f"no feature {name!r}", argument="features", remedy="name novel.bigram, support.1, support.2 or the like"
    )
