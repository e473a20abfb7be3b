"""Decision rules by the names that commands have for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import refuse_named
from toledo.errors import InputError

if TYPE_CHECKING:
    from toledo.consensus.rule import Rule


ALL = 1_000_000_000  # entries of a list
PRECISION, RATIO = 0.85, 0.72  # those of `toledo.consensus.LatticeMBR`, which is not imported for the sake of `--help`


class RuleName(StrEnum):
    """How to choose a translation."""

    viterbi = "viterbi"
    max_derivation = "max-derivation"
    max_translation = "max-translation"
    mbr = "mbr"
    consensus = "consensus"
    forest_consensus = "forest-consensus"
    lattice_mbr = "lattice-mbr"


class GainName(StrEnum):
    """What MBR maximises; the same as `toledo.consensus.GAINS`, which is not imported for the sake of `--help`."""

    bleu = "bleu"
    bleu_plus_one = "bleu+1"
    bleu_plus_little = "bleu+0.01"
    chrf = "chrf"
    ter = "ter"


OF_LATTICES = {RuleName.consensus, RuleName.forest_consensus, RuleName.lattice_mbr}
OF_LISTS = {RuleName.max_translation, RuleName.mbr, RuleName.consensus, RuleName.forest_consensus}
OF_DISTRIBUTIONS = OF_LATTICES | OF_LISTS
TAKES = {  # rules by the parameters of commands that they look at
    "gain": {RuleName.mbr},
    "hypotheses": OF_LISTS,
    "precision": {RuleName.lattice_mbr},
    "ratio": {RuleName.lattice_mbr},
    "decide_density": OF_LATTICES,
    "scale": OF_DISTRIBUTIONS,
    "choose_scale": OF_DISTRIBUTIONS,
    "scales": OF_DISTRIBUTIONS,
}
SCALES = ("scale", "choose_scale", "scales")

CHOICE = "Choosing"  # a panel of `--help`

Decide = Annotated[RuleName, typer.Option(help="How to choose the translation.", rich_help_panel=CHOICE)]
Gain = Annotated[GainName, typer.Option(help="What MBR maximises.", rich_help_panel=CHOICE)]
Scale = Annotated[
    float, typer.Option(help="Factor of scores, another for each rule; below 1 flattens.", rich_help_panel=CHOICE)
]
Hypotheses = Annotated[int, typer.Option(help="Choose from so many best texts.", min=1, rich_help_panel=CHOICE)]
Precision = Annotated[float, typer.Option(help="p of lattice MBR: unigram precision.", rich_help_panel=CHOICE)]
Ratio = Annotated[
    float, typer.Option(help="r of lattice MBR: how precision falls with each order.", rich_help_panel=CHOICE)
]


@dataclass(frozen=True)
class RuleSettings:
    """What rules can be told: MBR its gain, lattice MBR p and r, those that look at lattices how far to prune them."""

    gain: GainName = GainName.bleu
    size: int = 1000
    precision: float = PRECISION
    ratio: float = RATIO
    density: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("precision", self.precision), ("ratio", self.ratio)):
            if not 0.0 < value <= 1.0:
                raise InputError(f"--{name} {value:g} for lattice MBR", remedy="give a number above 0, at most 1")


def refuse_other_rules(context: typer.Context, rule: RuleName, *, samples: bool = False) -> None:
    """Refuse options that a rule does not look at; samples have a scale whatever the rule is."""
    known = {parameter.name for parameter in context.command.params}
    for name, rules in TAKES.items():
        if name in known and rule not in rules and not (samples and name in SCALES):
            listed = ", ".join(one.value for one in RuleName if one in rules)
            refuse_named(context, f"not for --decide {rule.value}, only for {listed}", name)


def lattice_scale(rule: RuleName, given: float | None) -> float:
    """The scale for a lattice: rules that see all of it want a sharper distribution than those that see a list."""
    if given is not None:
        require_scale(given)
        return given
    return 1.0 if rule in (RuleName.viterbi, RuleName.max_translation, RuleName.mbr) else 3.0


def require_scale(scale: float) -> None:
    """Refuse what is no scale."""
    from toledo.consensus.rule import check_scale

    try:
        check_scale(scale)
    except ValueError as error:
        raise InputError(f"the scale is {scale:g}", remedy=f"{error}; try --scale 0.5") from None


def named_rule(name: RuleName, settings: RuleSettings, *, lists: bool = False, samples: bool = False) -> Rule:
    """The rule of a name with hypotheses from the `size` best texts; lists need no pruning.

    With samples, MBR chooses from the texts that were sampled most often, by whatever derivation.
    """
    from toledo.consensus.decide import MaxTranslation, Viterbi
    from toledo.consensus.fast_consensus import Consensus
    from toledo.consensus.lattice_mbr import LatticeMBR
    from toledo.consensus.mbr import MBR

    match name:
        case RuleName.viterbi | RuleName.max_derivation:
            return Viterbi()
        case RuleName.max_translation:
            return MaxTranslation(settings.size)
        case RuleName.mbr:
            evidence = ALL if lists or samples else settings.size
            return MBR(settings.gain.value, settings.size, evidence, likeliest=samples)
        case RuleName.consensus:
            return Consensus(size=settings.size, density=settings.density)
        case RuleName.forest_consensus:
            return Consensus(size=settings.size, density=settings.density, whole_forest=True)
        case RuleName.lattice_mbr:
            rule = LatticeMBR(precision=settings.precision, ratio=settings.ratio)
            return rule if settings.density is None else replace(rule, density=settings.density)
