"""Decision rules: one translation from a distribution over translations.

decide(MBR("bleu"), forests, weights, scale=0.5)
mbr(hypotheses, evidence, probabilities, GAINS["chrf"])
"""
