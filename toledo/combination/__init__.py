"""System combination: outputs of several systems in, one better output out (Rosti et al. 2011).

combiner = Combiner.tune(outputs, references, systems, vocabulary, model, Settings(entropy=3.0))
for combined in combiner.run(outputs): print(" ".join(combined.words))
"""

from toledo.combination.combiner import Combined, Combiner
from toledo.combination.features import (
    NGramFeature,
    SparseNGramFeatures,
    novel,
    of_words,
    support,
    supporters,
    word_pairs,
)
from toledo.combination.lattice import Lattice, join_networks
from toledo.combination.matching import Matcher
from toledo.combination.network import ConfusionNetwork, build_networks, distinct_hypotheses
from toledo.combination.scores import CombinationWeights, VotedForest, with_votes
from toledo.combination.stages import Stage
from toledo.combination.tuning import Settings

__all__ = [
    "CombinationWeights",
    "Combined",
    "Combiner",
    "ConfusionNetwork",
    "Lattice",
    "Matcher",
    "NGramFeature",
    "Settings",
    "SparseNGramFeatures",
    "Stage",
    "VotedForest",
    "build_networks",
    "distinct_hypotheses",
    "join_networks",
    "novel",
    "of_words",
    "support",
    "supporters",
    "with_votes",
    "word_pairs",
]
