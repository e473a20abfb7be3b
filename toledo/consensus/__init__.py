"""Decision rules: one translation from a distribution over translations.

decide(MBR("bleu"), forests, weights, scale=0.5)
mbr(hypotheses, evidence, probabilities, GAINS["chrf"])
"""

from toledo.consensus.expected_counts import Consensus
from toledo.consensus.lattice_mbr import LatticeMBR
from toledo.consensus.lists import WeightedTexts, best_texts, sampled_texts
from toledo.consensus.max_translation import MaxTranslation
from toledo.consensus.mbr import GAINS, MBR, Gain, expected_gains, mbr, rank_all
from toledo.consensus.rule import Decision, Rule, Viterbi, decide
from toledo.consensus.scale import Candidate, ScaleTable, choose_rule, choose_sampled_scale, choose_scale

__all__ = [
    "GAINS",
    "MBR",
    "Candidate",
    "Consensus",
    "Decision",
    "Gain",
    "LatticeMBR",
    "MaxTranslation",
    "Rule",
    "ScaleTable",
    "Viterbi",
    "WeightedTexts",
    "best_texts",
    "choose_rule",
    "choose_sampled_scale",
    "choose_scale",
    "decide",
    "expected_gains",
    "mbr",
    "rank_all",
    "sampled_texts",
]
