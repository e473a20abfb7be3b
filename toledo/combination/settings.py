"""Settings of system combination; reading them needs neither NumPy nor compiled code."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from toledo.errors import InputError
from toledo.settings import Meta, Settings

BiasCriterion = Literal["perplexity", "bleu"]
CombinationObjective = Literal["lattice-expected-bleu", "list-expected-bleu", "lattice-bleu"]
LengthTarget = Literal["consensus", "reference"]
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
    """How outputs are combined, as far as users choose it; tuning replaces None and several values by what it chose."""

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
    metrics: Annotated[
        tuple[str, ...],
        Meta(
            description="Metric to tune for, as NAME or FACTOR*NAME; error rates count negatively. Other metrics than "
            "bleu need list-expected-bleu or lattice-bleu as the objective. [default: bleu]"
        ),
    ] = ("bleu",)
    features: Annotated[
        tuple[str, ...],
        Meta(
            description="Feature: novel.bigram, support.2 and the like have one weight each; system.2 has one for each "
            "system, words.1 one for each word, words.2 one for each pair of words. [default: novel.bigram]"
        ),
    ] = ("novel.bigram",)
    skeletons: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Largest number of outputs to use as skeletons, those closest to all others. [default: 10]"),
    ] = 10
    entropy: Annotated[
        tuple[Annotated[float, Meta(ge=0.01)], ...],
        Meta(description="Mean entropy per segment, in nats; of several, the best is kept. [default: 3]"),
    ] = (3.0,)
    l2: Annotated[float, Meta(ge=0.0, description="Penalty on uneven shares and on weights far from the start.")] = 1e-4
    sparse_l2: Annotated[
        float, Meta(ge=0.0, description="The same for weights of single systems, words and phrases.")
    ] = 1e-2
    min_segments: Annotated[
        int, Meta(ge=1, description="Tuning segments in which a word or phrase must occur to have a weight.")
    ] = 3
    skeleton_weights: Annotated[bool, Meta(description="Give each system a weight as a skeleton.")] = False
    length: Annotated[
        LengthTarget | None,
        Meta(
            description="Length below which texts are penalized in tuning: that of the consensus (the MBR choice of "
            "the outputs) or that of the reference. [default: consensus with one reference, reference with several]"
        ),
    ] = None
    rule: Annotated[str, Meta(description="Decision rule for `run`, as NAME or NAME:key=value,….")] = "mbr"
    scale: Annotated[
        float, Meta(gt=0.0, description="Factor applied to the tuned scale for this rule, if it has one.")
    ] = 0.3
    folds: Annotated[
        int,
        Meta(
            ge=0,
            description="Parts of the tuning set for cross-validation, which chooses among tuned weights, equal shares "
            "and the MBR choice of the outputs; 0: none.",
        ),
    ] = 2
    select_by: Annotated[
        tuple[str, ...],
        Meta(description="Metric of that choice, as NAME or FACTOR*NAME. [default: bleu and ter, i.e. BLEU − TER]"),
    ] = ("bleu", "ter")
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
        for argument in ("metrics", "select_by"):
            check_goal(argument, getattr(self, argument))
        if self.folds == 1:
            raise InputError("one part cannot be cross-validated", argument="folds", remedy="give 0, or 2 or more")
        if self.objective == "lattice-expected-bleu" and self.metrics != ("bleu",):
            raise InputError(
                f"expected {', '.join(self.metrics)} cannot be tuned on lattices, only BLEU",
                argument="metrics",
                remedy="tune on lists: `objective=list-expected-bleu`; or by simplex: `objective=lattice-bleu`",
            )

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
    """All settings of a combination; `threshold` is the posterior below which edges are pruned between the stages."""

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
    """Return kind and order of a feature: `novel.bigram`, `support.1`, `system.2`, `words.3`, …"""
    kind, _, order = name.partition(".")
    sizes = {size: number for number, size in NGRAM_NAMES.items()}
    if kind == "novel" and order in sizes:
        return kind, sizes[order]
    if kind in ("support", "system", "words") and order.isdecimal() and int(order) > 0:
        return kind, int(order)
    raise InputError(
        f"no feature {name!r}",
        argument="features",
        remedy="name novel.bigram, support.1, system.1, words.1, words.2 or the like",
    )


def parse_part(text: str) -> tuple[float, str]:
    """Return factor and name of a part of a goal: `ter` or `0.5*ter`."""
    factor, star, name = text.partition("*")
    return (float(factor), name.strip()) if star else (1.0, text)


def check_goal(argument: str, parts: tuple[str, ...]) -> None:
    """Refuse a goal without metrics, or with a factor that is no number."""
    remedy = "name metrics, such as bleu or 0.5*ter"
    if not parts:
        raise InputError(f"{argument} is empty", argument=argument, remedy=remedy)
    for part in parts:
        try:
            factor, name = parse_part(part)
        except ValueError:
            raise InputError(f"{part!r} is no metric", argument=argument, remedy=remedy) from None
        if not math.isfinite(factor) or not name:
            raise InputError(f"{part!r} is no metric", argument=argument, remedy=remedy)
