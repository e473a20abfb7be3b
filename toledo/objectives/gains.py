"""Expected gain of whole translations, exact on n-best lists and samples (Smith and Eisner 2006; Arun et al. 2010)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toledo.errors import InputError
from toledo.forest.structure import Forest, Scores
from toledo.objectives.objective import Objective, Situation


@dataclass(frozen=True, eq=False)
class ExpectedGain(Objective):
    """Σ_i Σ_e P(e) · gain(e): `gains` has one number per edge, such as the sentence BLEU of each hypothesis."""

    gains: Scores

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Each hypothesis is rewarded by its gain."""
        forest = situation.matched.ngrams.forest
        _require_lists(forest)
        if self.gains.shape != (forest.edges,):
            raise InputError(f"{self.gains.size} gains for {forest.edges} hypotheses", remedy="give one each")
        return float(self.gains @ situation.distribution.posteriors), self.gains


@dataclass(frozen=True)
class Entropy(Objective):
    """The entropy of the distributions, summed over segments: H = log Z − E[Σ s_h], so an edge's reward is −s_h."""

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """An impossible edge has no reward: nothing uses it."""
        value = float(situation.distribution.entropy().sum())
        return value, np.where(np.isfinite(situation.scores), -situation.scores, 0.0)


def _require_lists(forest: Forest) -> None:
    if forest.shape.tails.size:
        raise InputError(
            "gains of whole translations need n-best lists or samples, not a lattice or forest",
            remedy="use CoBLEU or xBLEU there, or take k-best lists",
        )
