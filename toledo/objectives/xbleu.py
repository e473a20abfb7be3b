"""xBLEU (Rosti et al. 2011): BLEU with expected counts, clipped and penalized smoothly.

    xBLEU = Π_n (C_n^clip / C_n)^(1/N) · φ(1 − |R| / C_1)

C_n are expected n-gram counts as in `toledo.objectives.cobleu`; clipping and the brevity penalty φ have derivatives
everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

from toledo.objectives.precision import STEEPNESS, Precision, PrecisionObjective
from toledo.settings import Meta, Settings


@dataclass(frozen=True)
class XBLEU(Settings, PrecisionObjective):
    """BLEU with expected counts, between 0 and 1, smooth everywhere (Rosti, Zhang, Matsoukas and Schwartz 2011).

        xBLEU = e^P · B,   P = (1/N) Σ_n (ln Σ_i m_i^n − ln Σ_i h_i^n),   B = φ(1 − Σ r_i / Σ h_i^1)
        φ(x) = (e^x − 1) / (1 + e^{1000 x}) + 1

    Matches m are smoothly clipped (`clip`), over the n-grams of the references only. The counts h are true expected
    counts, also where some paths are shorter than n words. φ may be less steep than with 1000.
    """

    order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4
    steepness: Annotated[float, Meta(gt=0, description="Steepness of the brevity penalty.")] = STEEPNESS

    name, smooth = "xbleu", True

    def gentle(self, steepness: float) -> XBLEU:
        """Return xBLEU with a less steep penalty."""
        return replace(self, steepness=steepness)

    def finish(self, found: Precision) -> tuple[float, float, float]:
        """Apply the brevity penalty."""
        if found.length <= 0.0:
            return 0.0, 0.0, 0.0
        brevity, slope = smooth_brevity(1.0 - found.closest / found.length, self.steepness)
        precision = math.exp(found.value)
        return precision * brevity, precision * brevity, precision * slope * found.closest / found.length**2


def smooth_brevity(x: float, steepness: float = STEEPNESS) -> tuple[float, float]:
    """Return φ(x) and its derivative, without overflow."""
    small = math.exp(-abs(steepness * x))
    gate = (small if x > 0 else 1.0) / (1.0 + small)
    grown = math.expm1(min(x, 1.0))  # x is at most 1
    return grown * gate + 1.0, gate * (math.exp(min(x, 1.0)) - steepness * grown * (1.0 - gate))
