"""What training maximises: functions of expectations, with exact gradients."""

from toledo.objectives.cobleu import CoBLEU, ConsensusPrecision
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.gains import Entropy, ExpectedGain, sentence_bleu_gains
from toledo.objectives.gleu import ConsensusGLEU
from toledo.objectives.linear_bleu import LinearBLEU
from toledo.objectives.matching import MatchedForest, match, without_ngrams
from toledo.objectives.objective import Objective, WeightedSum
from toledo.objectives.regularisation import Regularised
from toledo.objectives.statistics import ExpectedStatistics
from toledo.objectives.xbleu import XBLEU

__all__ = [
    "XBLEU",
    "CoBLEU",
    "ConsensusGLEU",
    "ConsensusPrecision",
    "Entropy",
    "ExpectedCounts",
    "ExpectedGain",
    "ExpectedStatistics",
    "LinearBLEU",
    "MatchedForest",
    "Objective",
    "Regularised",
    "WeightedSum",
    "match",
    "sentence_bleu_gains",
    "without_ngrams",
]
