"""What a model chooses from lists, and how good hypotheses are one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.kernels import kernel
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.tuning.examples import Lists

NONE = -1


def corpus_score(lists: Lists, scores: NDArray[np.float64]) -> float:
    """The metric's score of the best hypotheses."""
    chosen = best_hypotheses(scores, lists.offsets)
    return lists.metric.score(lists.statistics[chosen[chosen != NONE]].sum(axis=0))


def sentence_gains(lists: Lists, extra_length: float = 0.0) -> NDArray[np.float64]:
    """How good each hypothesis is alone, as a rule from 0 to 1 and more is better: sentence BLEU+1 (Lin and Och 2004).

    BLEU+1 smooths precisions but not lengths, so it prefers shorter hypotheses than BLEU; `extra_length` is added to
    the length of references against that (1 in Nakov, Guzmán and Vogel 2012). Other metrics give their own score of
    the segment, error rates with a minus sign.
    """
    metric, statistics = lists.metric, lists.statistics
    if isinstance(metric, BLEU):
        statistics = statistics.copy()
        statistics[:, 1] += extra_length
        return BLEU(metric.order, smoothing="add-k", value=1.0).scores(statistics) / 100.0
    return sign(metric) * metric.scores(statistics) / 100.0


def sign(metric: Metric) -> float:
    """What turns a score into something to maximise."""
    return 1.0 if metric.higher_is_better else -1.0


@kernel
def best_hypotheses(scores: NDArray[np.float64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The hypothesis with the highest score of each segment, the first among equals; NONE in an empty list."""
    best = np.full(offsets.size - 1, NONE, np.int64)
    for segment in range(best.size):
        for h in range(offsets[segment], offsets[segment + 1]):
            if best[segment] == NONE or scores[h] > scores[best[segment]]:
                best[segment] = h
    return best
