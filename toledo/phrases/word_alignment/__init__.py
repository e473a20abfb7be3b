"""Word alignment of a parallel corpus: IBM Model 1 and an HMM in both directions, trained to agree, symmetrised.

result = align(corpus)
result.alignments[0]      # links of the first sentence pair: (source position, target position)
result.lexicons.forward   # p(target word | source word) of IBM Model 1
"""

from toledo.phrases.word_alignment.aligner import AlignmentModel, AlignmentResult, AlignmentTraining, Decoding, align
from toledo.phrases.word_alignment.symmetrise import SYMMETRISATIONS, OneWay, Symmetrisation, symmetrise

__all__ = [
    "SYMMETRISATIONS",
    "AlignmentModel",
    "AlignmentResult",
    "AlignmentTraining",
    "Decoding",
    "OneWay",
    "Symmetrisation",
    "align",
    "symmetrise",
]
