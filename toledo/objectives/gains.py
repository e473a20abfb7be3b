"""Expected gain of whole translations, exact on n-best lists and samples (Smith and Eisner 2006; Arun et al. 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toledo.errors import InputError
from toledo.forest.structure import Forest, Scores, edges_of_sentences
from toledo.metrics.bleu import BLEU
from toledo.metrics.prepared import prepare_references
from toledo.objectives.objective import Objective, Situation
from toledo.sums import sum_of_products

SENTENCE_BLEU = BLEU(smoothing="add-k", value=1.0)


@dataclass(frozen=True, eq=False)
class ExpectedGain(Objective):
    """Σ_i Σ_e P(e) · gain(e): `gains` has one number per edge of the matched forest.

    `sentence_bleu_gains` gives them for sentence BLEU.
    """

    gains: Scores

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Each hypothesis is rewarded by its gain."""
        forest = situation.matched.ngrams.forest
        _require_lists(forest)
        if self.gains.shape != (forest.edges,):
            raise InputError(f"{self.gains.size} gains for {forest.edges} hypotheses", remedy="give one each")
        return float(sum_of_products(self.gains, situation.distribution.posteriors)), self.gains


def sentence_bleu_gains(
    forest: Forest,
    references: Sequence[Sequence[Sequence[str]]],
    metric: BLEU = SENTENCE_BLEU,
    threads: int | None = None,
) -> Scores:
    """The sentence BLEU (0 to 100) of each hypothesis of some n-best lists or samples."""
    _require_lists(forest)
    if len(references) != len(forest):
        raise InputError(
            f"references for {len(references)} segments, but {len(forest)} lists", remedy="give one set each"
        )
    vocabulary = forest.vocabulary
    # A word that no hypothesis has must match nothing: the number after the last word stands for all of them.
    encoded = [
        [
            np.array([vocabulary.id(w) if w in vocabulary else len(vocabulary) for w in reference], np.int32)
            for reference in some
        ]
        for some in references
    ]
    segments = np.repeat(np.arange(len(forest)), np.diff(edges_of_sentences(forest.shape)))
    prepared = prepare_references(metric, encoded)
    return metric.scores(
        prepared.statistics(forest.yields.words, forest.yields.offsets.astype(np.int64), segments, threads)
    )


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
