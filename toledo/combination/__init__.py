"""System combination: outputs of several systems in, one better output out (Rosti et al. 2011).

combiner = Combiner.tune(outputs, references, systems, vocabulary, model, Settings(entropy=3.0))
for combined in combiner.run(outputs): print(" ".join(combined.words))
"""
