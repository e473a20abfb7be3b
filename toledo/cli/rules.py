"""Decision rules by the names that commands have for them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toledo.consensus.rule import Rule


ALL = 1_000_000_000  # entries of a list


class RuleName(StrEnum):
    """How to choose a translation."""

    viterbi = "viterbi"
    max_translation = "max-translation"
    mbr = "mbr"
    consensus = "consensus"
    lattice_mbr = "lattice-mbr"


class GainName(StrEnum):
    """What MBR maximises; the same as `toledo.consensus.GAINS`, which is not imported for the sake of `--help`."""

    bleu = "bleu"
    bleu_plus_one = "bleu+1"
    chrf = "chrf"
    ter = "ter"


def named_rule(name: RuleName, gain: GainName, size: int, *, lists: bool = False) -> Rule:
    """The rule of a name with hypotheses from the `size` best texts; lists need no pruning."""
    from toledo.consensus import MBR, Consensus, LatticeMBR, MaxTranslation, Viterbi

    match name:
        case RuleName.viterbi:
            return Viterbi()
        case RuleName.max_translation:
            return MaxTranslation(size)
        case RuleName.mbr:
            return MBR(gain.value, size, ALL if lists else size)
        case RuleName.consensus:
            return Consensus(size=size)
        case RuleName.lattice_mbr:
            return LatticeMBR(density=None) if lists else LatticeMBR()
