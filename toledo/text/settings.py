"""Settings for preparing text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from toledo.settings import Meta, Settings


@dataclass(frozen=True)
class Cleaning(Settings):
    """Which sentence pairs are fit for training."""

    min_length: Annotated[int, Meta(ge=0, description="Minimum number of words of a sentence.")] = 1
    max_length: Annotated[int, Meta(ge=1, description="Maximum number of words of a sentence.")] = 80
    ratio: Annotated[float, Meta(ge=1, description="Maximum ratio between the lengths of the two sides.")] = 9.0
    keep_duplicates: Annotated[bool, Meta(description="Keep pairs that occurred before.")] = False
    any_script: Annotated[
        bool, Meta(description="Keep sentences in another script than most of their side, such as Cyrillic.")
    ] = False


@dataclass(frozen=True)
class TextSettings(Settings):
    """The languages of a raw text, and how it becomes words."""

    source_language: Annotated[str | None, Meta(description="ISO code of the source language, such as de.")] = None
    target_language: Annotated[str | None, Meta(description="ISO code of the target language, such as en.")] = None
    source_tokenizer: Annotated[
        str | None, Meta(description="Tokenizer of the source, as NAME or NAME:key=value,…. [default: by language]")
    ] = None
    target_tokenizer: Annotated[
        str | None, Meta(description="Tokenizer of the target, as NAME or NAME:key=value,…. [default: by language]")
    ] = None
