"""Forests: one search space, its exact expectations, one gradient.

forest = from_nbest([Hypothesis("a house".split(), {"lm": -3.0}), …], ["lm"], Vocabulary())
scores = forest.scores({"lm": 0.5})
viterbi(forest, scores)[0].words
list(islice(k_best(forest, scores), 100))
distribution(forest.shape, scores).posteriors
localize(forest, scores, order=4).expected_counts(…)
"""
