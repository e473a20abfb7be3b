"""Search for BLEU itself (Smith 2015, chapter 3): weights and settings.

In the thesis all weights are 0 but that of BLEU; then operations that ask the sentence model what is likely are of no
use. A *guided* search has the weights of the sentence model, too, and so much for BLEU that it decides alone: at
temperature 1 the model proposes. That finds more BLEU in as many steps, and depends less on where it begins.
"""

from __future__ import annotations

from dataclasses import replace

from toledo.search.document.models import BLEUModel
from toledo.search.document.settings import DocumentSettings, HillClimbing, Operations, Sampling
from toledo.weights import Weights

BLIND = Operations(change=0.4, swap=0.1, move=0.2, resegment=0.3, retranslate=0.0, regroup=0.0, reposition=0.0)
GUIDED_WEIGHT = 1e3  # a word that matches adds 50 / words or more to BLEU; where the model says 1 or 2, that decides


def bleu_weights(weights: Weights, guided: bool = False) -> Weights:
    """Those of a search for BLEU, from those of a model."""
    if guided:
        return Weights({**weights, BLEUModel.name: GUIDED_WEIGHT})
    return Weights({**dict.fromkeys(weights, 0.0), BLEUModel.name: 1.0})


def bleu_settings(settings: DocumentSettings, guided: bool = False) -> DocumentSettings:
    """Operations and acceptance for a search for BLEU; the rest as it is."""
    if guided:
        return replace(settings, acceptance=Sampling(), operations=Operations())
    return replace(settings, acceptance=HillClimbing(), operations=BLIND)
