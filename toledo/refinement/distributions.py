"""The parameters that are trained: families of probability distributions, their prior, and how far they are from it.

A family is a set of parameters cut into groups: all pairs of a source phrase (`phrase.forward`), of a target phrase
(`phrase.backward`), all translations of a word (`lexicon.forward`, `lexicon.backward`). Pruned or smoothed tables have
groups that do not sum to 1. What they sum to stays as it is: parameters are shares of that mass, and each group's
shares sum to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel
from toledo.model import PhraseModel
from toledo.phrases.lexicon import Lexicon
from toledo.phrases.table import SCORE_FEATURES

Vector = NDArray[np.float64]
Values = Mapping[str, Vector]  # the shares of each trained family

PHRASE = ("phrase.forward", "phrase.backward")
LEXICON = ("lexicon.forward", "lexicon.backward")
LOWEST_SHARE = 1e-30  # so that logarithms stay finite


class ShareGroups(NamedTuple):
    """Parameter i belongs to distribution `of[i]`, one of `size`."""

    of: NDArray[np.int32]
    size: int


@dataclass(frozen=True, eq=False)
class Family:
    """Some distributions: groups, the prior's shares, and the mass of each group."""

    name: str
    groups: ShareGroups
    prior: Vector
    mass: Vector

    def __len__(self) -> int:
        return self.prior.size

    def probabilities(self, shares: Vector) -> Vector:
        """Shares times the mass of their group."""
        return shares * self.mass[self.groups.of]

    def divergence(self, shares: Vector) -> float:
        """KL(prior ‖ shares), summed over all groups."""
        return _divergence(self.prior, shares)

    def ratios(self, shares: Vector) -> Vector:
        """Logarithms of shares by the prior, less their mean in each group."""
        return _centred_ratios(self.groups, self.prior, shares)

    def ratio_distance(self, shares: Vector) -> float:
        """Half the sum of squared ratios: Aitchison's distance, which sees rare translations as well as others."""
        return float(np.sum(self.ratios(shares) ** 2)) / 2.0


def phrase_family(model: PhraseModel, name: str) -> Family:
    """The phrase probabilities of one direction."""
    pairs, column = model.table.pairs, model.table.feature_names.index(name)
    forward = name == PHRASE[0]
    groups = ShareGroups(pairs.source, len(pairs.sources)) if forward else ShareGroups(pairs.target, len(pairs.targets))
    return make_family(name, groups, np.exp(model.table.scores[:, column].astype(np.float64)))


def lexicon_family(lexicon: Lexicon, name: str) -> Family:
    """The word probabilities of one direction."""
    rows = lexicon.offsets.size - 1
    of = np.repeat(np.arange(rows, dtype=np.int32), np.diff(lexicon.offsets))
    return make_family(name, ShareGroups(of, rows), lexicon.probabilities.astype(np.float64))


def make_family(name: str, groups: ShareGroups, probabilities: Vector) -> Family:
    """A family from probabilities, which need not sum to 1."""
    if name not in SCORE_FEATURES:
        raise ValueError(f"no family {name!r}: choose from {', '.join(SCORE_FEATURES)}")
    floor = np.maximum(probabilities, LOWEST_SHARE)
    mass = np.bincount(groups.of, floor, groups.size).astype(np.float64)
    return Family(name, groups, np.maximum(floor / mass[groups.of], LOWEST_SHARE), mass)


def prior_values(families: Mapping[str, Family]) -> dict[str, Vector]:
    """The shares that training begins with."""
    return {name: family.prior for name, family in families.items()}


@kernel
def _divergence(prior: Vector, shares: Vector) -> float:
    total = 0.0
    for i in range(prior.size):
        if prior[i] != shares[i]:
            total += prior[i] * np.log(prior[i] / shares[i])
    return total


@kernel
def _centred_ratios(groups: ShareGroups, prior: Vector, shares: Vector) -> Vector:
    ratios, means, sizes = np.empty(prior.size), np.zeros(groups.size), np.zeros(groups.size)
    for i in range(prior.size):
        ratios[i] = np.log(shares[i] / prior[i])
        means[groups.of[i]] += ratios[i]
        sizes[groups.of[i]] += 1.0
    for i in range(prior.size):
        ratios[i] -= means[groups.of[i]] / sizes[groups.of[i]]
    return ratios
