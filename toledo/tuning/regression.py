"""Linear regression (Bazrafshan, Chung and Gildea 2012, "Tuning as linear regression").

As PRO, but the differences of features predict *by how much* one hypothesis is better than another:

    minimise Σ_pairs ½ (w · (x_better − x_worse) − (gain_better − gain_worse))² + λ/2 |w|²
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace

import numpy as np

from toledo.progress import Progress
from toledo.tuning.choices import sentence_gains
from toledo.tuning.lbfgs import dot
from toledo.tuning.pairs import Sampling, sample_pairs
from toledo.tuning.problem import ListProblem, ListTuner
from toledo.tuning.ranking import fit_pairs
from toledo.tuning.rows import Vector
from toledo.tuning.tuner import Tuned

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Regression(ListTuner):
    """Ridge regression on sampled pairs, with any metric.

    Scores that predict differences of gains have a scale of their own. So frozen weights and base scores take no part
    in the fit, of limits only the signs do, and free weights get the L1 norm of those at the start. `extra_length` is
    that of PRO.
    """

    sampling: Sampling = field(default_factory=Sampling)
    l2: float = 1.0
    extra_length: float = 0.0

    name = "regression"

    def __post_init__(self) -> None:
        if not self.l2 >= 0.0:
            raise ValueError("regression: l2 must not be negative")

    def solve(self, problem: ListProblem, seed: int, progress: Progress) -> Tuned:
        """Weights that predict differences of gains; those of the start where no two hypotheses differ."""
        given = problem.parameters
        gains = sentence_gains(problem.lists, self.extra_length)
        with progress(self.name, 2) as advance:
            pairs = sample_pairs(gains, problem.lists.offsets, self.sampling, seed, problem.threads)
            advance(1)
            if not pairs.better.size:
                log.warning("regression: no two hypotheses of a segment differ enough: the weights stay as they are")
                return problem.tuned(given.start, 0.0, {"pairs": 0.0})

            def loss(margins: Vector) -> tuple[float, Vector]:
                errors = margins - pairs.differences
                return 0.5 * dot(errors, errors), errors

            rows, zero = problem.rows._replace(base=np.empty(0)), np.zeros(len(given.names))
            low, high = np.where(given.low >= 0.0, 0.0, -np.inf), np.where(given.high <= 0.0, 0.0, np.inf)
            alone = replace(given, start=zero, low=low, high=high)
            values, total = fit_pairs(loss, pairs, rows, alone, zero, self.l2, problem.threads)
            advance(1)
        values = given.at_norm_of_start(values)
        return problem.tuned(values, -total / pairs.better.size, {"pairs": float(pairs.better.size)})
