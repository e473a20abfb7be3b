"""Forests: one search space, its exact expectations, one gradient.

forest = from_nbest([Hypothesis("a house".split(), {"lm": -3.0}), …], ["lm"], Vocabulary())
scores = forest.scores({"lm": 0.5})
viterbi(forest, scores)[0].words
list(islice(k_best(forest, scores), 100))
distribution(forest.shape, scores).posteriors
localise(forest, scores, order=4).expected_counts(…)
"""

from toledo.forest.assemble import Edges, from_edges, keep_edges
from toledo.forest.constructors import (
    Arc,
    ForestBuilder,
    Hypothesis,
    from_confusion_network,
    from_lattice,
    from_nbest,
    from_samples,
)
from toledo.forest.derivation import Derivation, viterbi
from toledo.forest.drawing import to_dot, to_svg
from toledo.forest.envelope import Envelope, envelope
from toledo.forest.inside_outside import Distribution, advantage, distribution
from toledo.forest.joining import join, split
from toledo.forest.kbest import k_best
from toledo.forest.ngrams import NGramForest, localise, rescore
from toledo.forest.pruning import prune_by_posterior, prune_by_score, prune_to_density
from toledo.forest.sampling import sample
from toledo.forest.saving import load_forest, save_forest
from toledo.forest.structure import Forest
from toledo.forest.summary import Summary, log10_derivations, summarise
from toledo.forest.uniting import unite

__all__ = [
    "Arc",
    "Derivation",
    "Distribution",
    "Edges",
    "Envelope",
    "Forest",
    "ForestBuilder",
    "Hypothesis",
    "NGramForest",
    "Summary",
    "advantage",
    "distribution",
    "envelope",
    "from_confusion_network",
    "from_edges",
    "from_lattice",
    "from_nbest",
    "from_samples",
    "join",
    "k_best",
    "keep_edges",
    "load_forest",
    "localise",
    "log10_derivations",
    "prune_by_posterior",
    "prune_by_score",
    "prune_to_density",
    "rescore",
    "sample",
    "save_forest",
    "split",
    "summarise",
    "to_dot",
    "to_svg",
    "unite",
    "viterbi",
]
