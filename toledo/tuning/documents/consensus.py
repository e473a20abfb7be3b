"""Minimum Bayes risk on samples of document chains: for each sentence the text that agrees most with all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toledo.consensus.mbr import GAINS, mbr
from toledo.metrics.sequences import Sequences
from toledo.tuning.documents.chains import DocumentSamples
from toledo.vocabulary import Vocabulary


def consensus_texts(
    samples: DocumentSamples,
    vocabulary: Vocabulary,
    others: Sequence[Sequence[str]] | None = None,
    gain: str = "bleu+0.01",
) -> list[tuple[str, ...]]:
    """For each sentence the sample with the highest expected gain; `others` are one more hypothesis for each.

    Evidence are the samples alone.
    """
    found = []
    for s in range(samples.sentences):
        rows = samples.offsets[s * samples.states : (s + 1) * samples.states + 1]
        evidence = Sequences(samples.words[rows[0] : rows[-1]], rows - rows[0])
        hypotheses = evidence
        if others is not None:
            more = np.array([vocabulary.id(word) for word in others[s]], np.int32)
            symbols = np.concatenate([more, evidence.symbols])
            hypotheses = Sequences(symbols, np.concatenate([[0], evidence.offsets + more.size]))
        best, _ = mbr(hypotheses, evidence, np.full(samples.states, 1.0 / samples.states), GAINS[gain])
        begin, end = hypotheses.offsets[best : best + 2]
        found.append(tuple(vocabulary.words(hypotheses.symbols[begin:end].tolist())))
    return found
