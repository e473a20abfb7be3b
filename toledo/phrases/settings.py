"""Settings of word aligners, and the registry that makes them by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from toledo.settings import Meta, Registry, Settings

Decoding = Literal["posterior", "viterbi"]
IterationsIBM1 = Annotated[int, Meta(ge=1, description="Iterations of IBM Model 1.")]


@dataclass(frozen=True)
class HMM(Settings):
    """HMMs of both directions, trained to agree after IBM Model 1."""

    iterations_ibm1: IterationsIBM1 = 5
    iterations_hmm: Annotated[int, Meta(ge=0, description="Iterations of the HMM.")] = 5
    decoding: Annotated[Decoding, Meta(description="Link by link, or the best links of a whole pair.")] = "posterior"

    name = "hmm"


@dataclass(frozen=True)
class IBM1(Settings):
    """IBM Model 1 alone."""

    iterations_ibm1: IterationsIBM1 = 5

    name = "ibm1"


@dataclass(frozen=True)
class Eflomal(Settings):
    """The aligner eflomal, an extra to install; lexicons are those of IBM Model 1."""

    iterations_ibm1: IterationsIBM1 = 5

    name = "eflomal"


ALIGNERS: Registry[Any] = Registry(
    "aligner",
    {
        "hmm": "toledo.phrases.settings:HMM",
        "ibm1": "toledo.phrases.settings:IBM1",
        "eflomal": "toledo.phrases.settings:Eflomal",
    },
)
