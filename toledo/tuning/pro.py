"""PRO, pairwise ranking optimisation (Hopkins and May 2011, "Tuning as ranking").

Pairs of hypotheses that clearly differ in sentence BLEU are sampled, and a classifier learns which one is better from
the difference of their features: logistic regression with L2 and without a constant, so that a pair and its mirror
image say the same,

    minimise Σ_pairs log(1 + exp(−w · (x_better − x_worse))) + λ/2 |w|²
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

import numpy as np

from toledo.progress import Progress
from toledo.tuning.choices import sentence_gains
from toledo.tuning.pairs import Sampling, sample_pairs
from toledo.tuning.problem import ListProblem, ListTuner
from toledo.tuning.ranking import fit_pairs
from toledo.tuning.rows import Vector
from toledo.tuning.tuner import Tuned

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PRO(ListTuner):
    """Ranking by logistic regression on lists, with any metric; sparse features by the thousand.

    `extra_length` 1 keeps BLEU+1 from preferring short translations (`sentence_gains`). `interpolation` is Ψ: how much
    of the result is new, the rest being the weights it began with; Hopkins and May use 0.1 over 30 rounds. Free
    weights get the L1 norm of those at the start if that costs nothing.
    """

    sampling: Sampling = field(default_factory=Sampling)
    l2: float = 1.0
    extra_length: float = 0.0
    interpolation: float = 1.0

    name = "pro"

    def __post_init__(self) -> None:
        if not (self.l2 >= 0.0 and 0.0 < self.interpolation <= 1.0):
            raise ValueError("PRO: l2 must not be negative, the interpolation above 0 and at most 1")

    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """Weights that rank hypotheses as the metric does; those of the start where no two hypotheses differ."""
        old = problem.parameters.start
        gains = sentence_gains(problem.lists, self.extra_length)
        with progress(self.name, 2) as advance:
            pairs = sample_pairs(gains, problem.lists.offsets, self.sampling, seed, problem.threads)
            advance(1)
            if not pairs.better.size:
                log.warning("PRO: no two hypotheses of a segment differ enough: the weights stay as they are")
                return problem.tuned(old, 0.0, {"pairs": 0.0})
            new, loss = fit_pairs(logistic_loss, pairs, problem.rows, problem.parameters, old, self.l2, problem.threads)
            advance(1)
        new = problem.at_norm_of_start(new)
        values = self.interpolation * new + (1.0 - self.interpolation) * old
        return problem.tuned(values, -loss / pairs.better.size, {"pairs": float(pairs.better.size)})


def logistic_loss(margins: Vector) -> tuple[float, Vector]:
    """Σ log(1 + exp(−m)), and its derivatives."""
    return float(np.logaddexp(0.0, -margins).sum()), -1.0 / (1.0 + np.exp(np.minimum(margins, 700.0)))
