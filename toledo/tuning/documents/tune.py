"""The right length for what a search finds: the word penalty is matched by decoding.

Weights that are trained for expectations give samples of the right length. The best translations of the same
distribution are shorter as a rule: long ones are many, and each has a small probability. BLEU punishes that, so the
last word on length has what a search really finds.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

import numpy as np

from toledo.metrics.bleu import BLEU
from toledo.tuning.documents.chains import Floats
from toledo.weights import Weights

log = logging.getLogger(__name__)

FIRST_CHANGE, MOST_CHANGE = 0.1, 0.5  # of the weight, as a part of it
CLOSE = 0.001  # to the length of the references, as a part of it

Decode = Callable[[Weights], Floats]


def match_length(decode: Decode, weights: Weights, tries: int = 4, name: str = "word.penalty") -> Weights:
    """Another weight of `name`, so that texts are as long as references; of all that were tried, the best by BLEU.

    `decode` gives the BLEU statistics of what is found with some weights. The secant method looks for a ratio of 1.
    """
    point = weights[name]
    change, found = FIRST_CHANGE * abs(point) or FIRST_CHANGE, list[tuple[float, float, float]]()
    for _ in range(tries):
        statistics = decode(weights.updated([name], np.array([point])))
        ratio = math.log(max(float(statistics[0]), 1.0) / max(float(statistics[1]), 1.0))
        found.append((BLEU(smooth_method="none").score(statistics), point, ratio))
        log.info("%s %.3f: %.3f times as long as references, BLEU %.2f", name, point, math.exp(ratio), found[-1][0])
        if abs(ratio) < CLOSE:
            break
        point = _next(found, change)
    return weights.updated([name], np.array([max(found)[1]]))


def _next(found: list[tuple[float, float, float]], change: float) -> float:
    """Where the length should be right, by the last two points; at first some way in the right direction.

    Less weight makes texts longer: the feature counts words below 0.
    """
    _, point, ratio = found[-1]
    if len(found) > 1:
        _, before, other = found[-2]
        if (ratio - other) * (point - before) < 0.0:
            farthest = max(MOST_CHANGE * abs(point), change)  # a point may be 0
            return point + float(np.clip(-ratio * (point - before) / (ratio - other), -farthest, farthest))
    return point + math.copysign(change, ratio)
