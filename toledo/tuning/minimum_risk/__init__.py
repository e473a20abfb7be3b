"""Minimum-risk training by sampling (Arun, Haddow and Koehn 2010): expected BLEU by stochastic gradients of samples.

    def search(segments, weights, seed):
        settings = GibbsSettings(iterations=200, seed=seed)
        return GibbsSearch(model.with_weights(weights), settings).forests([sentences[i] for i in segments])

    trainer = MinimumRisk("corpus-expected-bleu", annealing=COOLING)
    result = train(trainer, start, SegmentSource(search, references), LoopSettings(rounds=20))

Each step samples a batch of segments, or of documents, with the weights so far. The covariance of gains and features is
the gradient of the expected gain; steps follow it with a separate gain for each weight.
"""
