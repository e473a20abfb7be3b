"""Settings for word alignment, phrase tables, and training as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from toledo.settings import Meta, Registry, Settings

Symmetrization = Literal["intersection", "union", "grow", "grow-diag", "grow-diag-final", "grow-diag-final-and"]
Smoothing = Literal["none", "kneser-ney", "good-turing"]
LexicalWeights = Literal["alignment", "model1"]
Decoding = Literal["posterior", "viterbi"]
TableCombination = Literal["either", "back-off", "fill-up", "linear"]
Pruning = Literal["none", "alpha+epsilon", "alpha-epsilon"]
RareWordChoice = Literal["rewrite", "keep"]


@dataclass(frozen=True)
class IBM1(Settings):
    """IBM Model 1 (Brown et al. 1993)."""

    iterations_ibm1: Annotated[int, Meta(ge=1, description="Iterations of IBM Model 1.")] = 5


@dataclass(frozen=True)
class HMM(IBM1):
    """The HMM of Vogel et al. (1996), in both directions, trained to agree (Liang et al. 2006)."""

    iterations_hmm: Annotated[int, Meta(ge=0, description="Iterations of the HMM, after those of IBM Model 1.")] = 5
    decoding: Annotated[Decoding, Meta(description="Link by link, or the best links of a whole pair.")] = "posterior"


@dataclass(frozen=True)
class Eflomal(IBM1):
    """The Gibbs sampler of Östling and Tiedemann (2016), an extra; lexicons are those of IBM Model 1."""


KINDS = (HMM, IBM1, Eflomal)
ALIGNERS: Registry[IBM1] = Registry("aligner", {kind.__name__.lower(): f"{__name__}:{kind.__name__}" for kind in KINDS})


@dataclass(frozen=True)
class TableSettings(Settings):
    """How several phrase tables make one model."""

    combine_tables: Annotated[
        TableCombination,
        Meta(
            description="How to use several phrase tables: either (all, each with scores of its own), back-off (later "
            "ones for source phrases that those before lack), fill-up (the scores of the first table that has a pair), "
            "linear (means of their probabilities)."
        ),
    ] = "either"
    back_off_length: Annotated[
        int, Meta(ge=1, le=255, description="Longest source phrase, in words, to look up in back-off tables.")
    ] = 255


EITHER = TableSettings()


@dataclass(frozen=True)
class TrainSettings(Settings):
    """How a phrase-based model is trained."""

    aligner: Annotated[
        str, Meta(description="Aligner: hmm, ibm1 or eflomal (an extra); settings as in hmm:iterations_hmm=8.")
    ] = "hmm"
    symmetrize: Annotated[
        Symmetrization, Meta(description="Method to symmetrize the alignments of both directions.")
    ] = "grow-diag-final-and"
    max_phrase_length: Annotated[int, Meta(ge=1, le=20, description="Maximum number of words in a phrase.")] = 5
    lexical: Annotated[
        LexicalWeights,
        Meta(description="Lexical weights: from the alignment (Koehn et al. 2003), or sums as in IBM Model 1."),
    ] = "alignment"
    smoothing: Annotated[Smoothing, Meta(description="Smoothing of phrase counts.")] = "none"
    prune_phrases: Annotated[
        float | Pruning,
        Meta(
            description="Drop insignificant phrase pairs (Johnson et al. 2007): alpha-epsilon keeps pairs that occur "
            "once, alpha+epsilon drops them, a number is the threshold itself."
        ),
    ] = "none"
    reordering: Annotated[bool, Meta(description="Train a lexicalized reordering model.")] = False
    lm_order: Annotated[int, Meta(ge=1, le=6, description="Order of the language model.")] = 3
    rare_words: Annotated[
        RareWordChoice | None,
        Meta(
            description="Rare and unknown source words: rewrite them as words that the model knows (parts of a "
            "compound, another form), or keep them. [default: rewrite from 10,000 pairs on, keep with given alignments]"
        ),
    ] = None
    rare_below: Annotated[
        int, Meta(ge=1, description="Source words that the training text has fewer times than this are rare.")
    ] = 5
    max_sentence_length: Annotated[
        int, Meta(ge=1, description="Skip sentence pairs with more words on either side.")
    ] = 100
    distortion_limit: Annotated[
        int | None, Meta(ge=0, description="Maximum distance of a jump between phrases; none for no limit.")
    ] = 6
