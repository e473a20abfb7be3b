"""Decision rules: one translation from a distribution over translations.

decide(MBR("bleu"), forests, weights, scale=0.5)
mbr(hypotheses, evidence, probabilities, GAINS["chrf"])
"""

from toledo.consensus.lists import WeightedTexts, best_texts, sampled_texts
from toledo.consensus.max_translation import MaxTranslation
from toledo.consensus.mbr import GAINS, MBR, Gain, expected_gains, mbr
from toledo.consensus.rule import Decision, Rule, Viterbi, decide

__all__ = [
    "GAINS",
    "MBR",
    "Decision",
    "Gain",
    "MaxTranslation",
    "Rule",
    "Viterbi",
    "WeightedTexts",
    "best_texts",
    "decide",
    "expected_gains",
    "mbr",
    "sampled_texts",
]
