"""Samples of document chains as lists, one for each sentence: what all tuners on lists can work on.

The loop of `toledo.tuning.loop` unites the lists of all rounds. On such a pool a gradient is exact and cheap, so that
L-BFGS finds the weights of hundreds of features; what a list lacks, the next round samples with the new weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toledo.forest import Edges, Forest, from_edges
from toledo.forest.scoring import SparseArrays
from toledo.forest.structure import Yields
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.tuning.documents.chains import Chains, DocumentSamples
from toledo.tuning.loop import TuningSet
from toledo.weights import Weights


def chain_lists(model: Model, samples: DocumentSamples) -> list[Forest]:
    """The samples of each sentence with their features; a sentence model's, for sentences are taken one by one."""
    found, rows, states = [], samples.rows, samples.states
    first = len(model.feature_names)
    for s in range(samples.sentences):
        own = slice(s * states, (s + 1) * states)
        begin, end = samples.offsets[own.start], samples.offsets[own.stop]
        words = samples.offsets[own.start : own.stop + 1] - begin
        sparse = None
        if rows.offsets.size:
            places = slice(rows.offsets[own.start], rows.offsets[own.stop])
            offsets = rows.offsets[own.start : own.stop + 1] - rows.offsets[own.start]
            sparse = SparseArrays(offsets.astype(np.int32), rows.columns[places] - first, rows.values[places])
        none = np.zeros(states + 1, np.int32)
        yields = Yields(words.astype(np.int32), samples.words[begin:end])
        edges = Edges(none[1:], none, none[:0], yields, rows.dense[own], sparse=sparse)
        names = model.sparse.names if model.sparse else ()
        found.append(from_edges(edges, 0, model.feature_names, model.target_vocabulary, names))
    return found


def chain_set(chains: Chains, threads: int | None = None, progress: Progress = silent) -> TuningSet:
    """All sentences of the documents of some chains, for the loop of tuners on lists; without document models."""
    if chains.models:
        raise ValueError("lists of sentences have no features of documents")

    def search(weights: Weights) -> Sequence[Forest]:
        samples = chains.sample(range(len(chains.documents)), weights, threads, progress)
        return [forest for one in samples for forest in chain_lists(chains.model, one)]

    references = [segment.references for document in chains.documents for segment in document.segments]
    return TuningSet(search, references, f"document chains, {chains.settings.states} states")
