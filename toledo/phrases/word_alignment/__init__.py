"""Word alignment of a parallel corpus: IBM Model 1 and an HMM in both directions, trained to agree, symmetrized.

result = align(corpus)
result.alignments[0]      # links of the first sentence pair: (source position, target position)
result.lexicons.forward   # p(target word | source word) of IBM Model 1
"""
