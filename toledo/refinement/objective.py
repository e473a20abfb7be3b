"""The objective to maximize: O(Θ) = log U(Θ) − τ · KL(Θ⁰ ‖ Θ) (He and Deng 2012, formula 9), at fixed weights λ.

Another distance than KL are the squared logarithms of ratios Θ/Θ⁰ (`Family.ratio_distance`) per sentence: a rare
translation costs KL next to nothing when its probability changes, and most translations are rare.

Θ are the shares of some families of distributions (`toledo.refinement.distributions`). For a parameter θ_j of a family
whose feature has the exponent λ in the posterior,

    ∂ log U / ∂ log θ_j = λ γ_j / U,

where γ of a phrase probability is that of its pair and γ of a word probability is what all pairs spread over it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.model import PhraseModel
from toledo.phrases.lexicon import Lexicon
from toledo.refinement.distributions import (
    LEXICON,
    PHRASE,
    Family,
    Values,
    Vector,
    WordPairs,
    lexicon_family,
    lexicons_of,
    log_sums,
    phrase_family,
    spread,
    word_pairs,
)
from toledo.refinement.expected_bleu import Expectation, SearchSpaces

DISTANCES = ("kl", "ratios")
NEGLIGIBLE = 1e-12  # an exponent with which a family has no say


class RefinementPoint(NamedTuple):
    """O at some parameters, with what it is made of: how far they are, and what is expected there."""

    value: float
    divergence: float
    expectation: Expectation


class Evidence(NamedTuple):
    """γ of each parameter of a family, signed by its exponent, and the sum of the negative parts."""

    gains: Vector
    losses: Vector


@dataclass(frozen=True, eq=False)
class TrainedParameters:
    """The trained families of a model beside the phrase pairs that stand in the search spaces.

    Of several tables the first is trained; `used` pairs of others are left out.
    """

    model: PhraseModel
    names: tuple[str, ...]
    used: NDArray[np.int32]
    threads: int | None = None

    def __post_init__(self) -> None:
        if unknown := [name for name in self.names if name not in (*PHRASE, *LEXICON)]:
            raise ValueError(f"{unknown[0]} cannot be trained: choose from {', '.join((*PHRASE, *LEXICON))}")
        require_trainable(self.model, self.names)
        object.__setattr__(self, "used", self.used[self.model.table.of_part(0)[self.used]])

    @cached_property
    def families(self) -> dict[str, Family]:
        """Each trained family by its name."""
        return {
            name: phrase_family(self.model, name) if name in PHRASE else lexicon_family(self._lexicon(name), name)
            for name in self.names
        }

    @cached_property
    def word_pairs(self) -> dict[str, WordPairs]:
        """The words of all used phrase pairs, for each lexicon that is trained."""
        return {
            name: word_pairs(self.model.table.pairs, self.used, self._lexicon(name), name == LEXICON[0])
            for name in self.names
            if name in LEXICON
        }

    @cached_property
    def prior_logs(self) -> dict[str, Vector]:
        """The logarithm of each feature of each used pair before training."""
        return {name: self.logs(name, family.prior) for name, family in self.families.items()}

    def logs(self, name: str, shares: Vector) -> Vector:
        """Return the logarithm of a feature of each used pair."""
        if name in PHRASE:
            return np.asarray(np.log(shares[self.used]))
        return log_sums(self.word_pairs[name], self.families[name].probabilities(shares), self.threads)

    def changes(self, values: Values, exponents: Mapping[str, float]) -> Vector:
        """Return what the score of each phrase pair of the table has changed by."""
        changes = np.zeros(len(self.model.table))
        for name in self.names:
            difference = self.logs(name, values[name]) - self.prior_logs[name]
            changes[self.used] += exponents[name] * difference
        return changes

    def evidence(self, name: str, values: Values, found: Expectation, exponent: float) -> Evidence:
        """Return γ of each parameter of a family; with a negative exponent less probability is more score."""
        gains, losses = found.gains, found.losses
        if exponent < 0.0:
            gains, losses = -gains, gains + losses  # positive parts are the sum plus the negative ones
        if name in PHRASE:
            return Evidence(gains, losses)
        probabilities = self.families[name].probabilities(values[name])
        pairs = self.word_pairs[name]
        return Evidence(*(spread(pairs, probabilities, array[self.used]) for array in (gains, losses)))

    def _lexicon(self, name: str) -> Lexicon:
        return getattr(lexicons_of(self.model), name.removeprefix("lexicon."))  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class RefinementObjective:
    """O for some search spaces, parameters, exponents and τ; `only` names the families to train, None trains all.

    Lexicons may have their own τ.
    """

    space: SearchSpaces
    parameters: TrainedParameters
    exponents: Mapping[str, float]
    strength: float
    only: tuple[str, ...] | None = None
    lexicon_strength: float | None = None
    distance: str = "kl"

    def __post_init__(self) -> None:
        if not min(self.strength, self.lexicon_strength or 0.0) >= 0.0:
            raise ValueError("τ must not be negative")
        if self.distance not in DISTANCES:
            raise ValueError(f"no distance {self.distance!r}: choose from {', '.join(DISTANCES)}")

    @property
    def trainable(self) -> Sequence[str]:
        """Families to train, as far as their features have a say in posteriors."""
        names = self.parameters.names if self.only is None else self.only
        return with_say(names, self.exponents)

    def strength_of(self, name: str) -> float:
        """Return the τ of a family."""
        return self.strength if name in PHRASE or self.lexicon_strength is None else self.lexicon_strength

    def at(self, values: Values) -> RefinementPoint:
        """O at some parameters."""
        changes = self.parameters.changes(values, self.exponents)
        found = self.space.expect(self.exponents, changes, self.parameters.threads)
        if not found.utility > 0.0:
            raise InputError(
                "no hypothesis has anything in common with its reference",
                remedy="check that source and target lines belong together",
            )
        far = {name: self._distance(family, values[name]) for name, family in self.parameters.families.items()}
        penalty = sum(self.strength_of(name) * one for name, one in far.items())
        return RefinementPoint(float(np.log(found.utility)) - penalty, sum(far.values()), found)

    def gradient(self, values: Values, point: RefinementPoint) -> dict[str, Vector]:
        """∂O / ∂ log p of each family that is trained, as if shares need not sum to 1."""
        return {name: self._gradient(name, values, point) for name in self.trainable}

    def _gradient(self, name: str, values: Values, point: RefinementPoint) -> Vector:
        family, exponent, strength = self.parameters.families[name], self.exponents[name], self.strength_of(name)
        gains = self.parameters.evidence(name, values, point.expectation, exponent).gains  # signed already
        slope = abs(exponent) * gains / point.expectation.utility
        if self.distance == "kl":
            return np.asarray(slope + strength * family.prior)
        return np.asarray(slope - strength / self.space.sentences * family.ratios(values[name]))

    def _distance(self, family: Family, shares: Vector) -> float:
        if self.distance == "kl":
            return family.divergence(shares)
        return family.ratio_distance(shares) / self.space.sentences


def with_say(names: Sequence[str], exponents: Mapping[str, float]) -> list[str]:
    """Return the families with non-zero weight in posteriors."""
    return [name for name in names if abs(exponents[name]) > NEGLIGIBLE]


def require_say(names: Sequence[str], exponents: Mapping[str, float]) -> None:
    """Refuse families none of which can be trained at these weights."""
    if not with_say(names, exponents):
        raise InputError(f"the weights of {', '.join(names)} are 0", remedy="tune the model first (toledo tune)")


def require_trainable(model: PhraseModel, names: Sequence[str]) -> None:
    """Refuse a model that lacks a feature to be trained, or the lexicons behind it."""
    if missing := [name for name in names if name not in model.table.feature_names]:
        raise InputError(f"the model has no {missing[0]}", remedy="train other parts, or another model")
    if set(LEXICON) & set(names):
        lexicons_of(model)
