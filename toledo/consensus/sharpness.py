"""How sharp a distribution is: the scale times the norm of the weights, whatever that norm is.

Scores become probabilities by p(d) ∝ exp(scale · w · f(d)): weights twice as large at half the scale are the same
distribution. Tuners leave norms that are ten times apart, so scales to choose from must go by the norm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from toledo.weights import Weights

SCALES = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)  # for scores without weights
SHARPNESS = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 20.0, 30.0)  # scale × norm


def norm_of(weights: Weights | Mapping[str, float], names: Collection[str]) -> float:
    """The L1 norm of the weights of these features without frozen ones, if there are others.

    Frozen ones such as that of unknown words are the same for all translations of a sentence.
    """
    frozen = weights.frozen if isinstance(weights, Weights) else frozenset[str]()
    known = [name for name in names if name in weights]
    free = [name for name in known if name not in frozen]
    return sum(abs(weights[name]) for name in free or known)


def scales_for(weights: Weights | Mapping[str, float], names: Collection[str]) -> Sequence[float]:
    """Scales worth trying for these (dense) features: some of all degrees of sharpness, in three digits."""
    norm = norm_of(weights, names)
    return [float(f"{one / norm:.3g}") for one in SHARPNESS] if norm else SCALES
