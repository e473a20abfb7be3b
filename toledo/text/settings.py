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
