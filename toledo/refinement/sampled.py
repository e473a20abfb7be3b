"""Lists of what document chains went through: samples of the model's whole distribution, not its best translations.

A list of the best translations of beam search has many that are nearly the same; samples differ more. They are drawn as
sharp as the distribution is whose expected BLEU is to be raised. Each derivation is kept once: how much it counts is
known from its score.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Document, Segment
from toledo.metrics.sequences import offsets_of
from toledo.model import Model
from toledo.refinement.expectation import normalised
from toledo.refinement.lists import ListArrays, PhraseLists
from toledo.refinement.sentence_bleu import COLUMNS
from toledo.sums import row_products
from toledo.tuning.documents.chains import Chains, ChainSettings, DocumentSamples
from toledo.weights import Weights

SENTENCES_IN_CHAIN = 30  # any number will do: without document models the sentences of a chain are independent


@dataclass(frozen=True)
class SampleSettings:
    """States that a chain keeps (each a text of all its sentences), and the L1 norm of the weights that it samples by.

    `every` is the number of steps per source word between states, `first` that before the first one.
    """

    states: int = 40
    scale: float = 20.0
    every: float = 2.0
    first: float = 60.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise ValueError("the scale must be positive")
        self.chains()

    def chains(self) -> ChainSettings:
        """The same for document chains; they start at random, and so owe nothing to beam search."""
        return ChainSettings(self.states, self.every, self.first, start="random", seed=self.seed)


def sampled_lists(
    model: Model,
    weights: Weights,
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    settings: SampleSettings,
    rows: NDArray[np.int32] | None,
    table_size: int,
    threads: int | None = None,
) -> PhraseLists:
    """The different derivations of each sentence, the best one first.

    `rows` has the number of each phrase pair of this model in the trained table, of `table_size` pairs.
    """
    sharp = replace(weights, values_by_name=normalised(weights, model.feature_names, settings.scale))
    chains = Chains(model.with_weights(sharp), _documents(sources, references), (), settings.chains())
    samples = chains.sample(range(len(chains.documents)), sharp, threads)
    parts = [_distinct(one, sharp.array(model.feature_names), rows) for one in samples]
    arrays = ListArrays(
        offsets_of(np.concatenate([one.hypotheses for one in parts])),
        offsets_of(np.concatenate([one.lengths for one in parts])),
        np.concatenate([one.pairs for one in parts]),
        np.concatenate([one.features for one in parts]),
        np.concatenate([one.statistics for one in parts]),
    )
    return PhraseLists(arrays, model.feature_names, table_size)


@dataclass(frozen=True)
class _Lists:
    """The lists of a document: hypotheses of each sentence; of each hypothesis the number of pairs, and the rest."""

    hypotheses: NDArray[np.int64]
    lengths: NDArray[np.int64]
    pairs: NDArray[np.int32]
    features: NDArray[np.float32]
    statistics: NDArray[np.int32]


def _distinct(samples: DocumentSamples, weights: NDArray[np.float64], rows: NDArray[np.int32] | None) -> _Lists:
    features, offsets = samples.rows.dense, samples.pair_offsets
    scores, chosen, sizes = row_products(features.astype(np.float64), weights), list[int](), list[int]()
    for first in range(0, features.shape[0], samples.states):
        # Pairs alone do not tell: the same phrases may stand in another order.
        found = {
            (samples.pairs[offsets[row] : offsets[row + 1]].tobytes(), features[row].tobytes()): row
            for row in range(first, first + samples.states)
        }
        chosen += sorted(found.values(), key=lambda row: (-scores[row], row))
        sizes.append(len(found))
    known = [pairs[pairs >= 0] for pairs in (samples.pairs[offsets[row] : offsets[row + 1]] for row in chosen)]
    pairs = np.concatenate([np.empty(0, np.int32), *known])
    return _Lists(
        np.array(sizes, np.int64),
        np.array([one.size for one in known], np.int64),
        (pairs if rows is None else rows[pairs]).astype(np.int32),
        features[chosen],
        samples.statistics[chosen, :COLUMNS].astype(np.int32),
    )


def _documents(sources: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> list[Document]:
    segments = [
        Segment(number, tuple(words), (tuple(reference),))
        for number, (words, reference) in enumerate(zip(sources, references, strict=True))
    ]
    cuts = range(0, len(segments), SENTENCES_IN_CHAIN)
    return [Document(str(cut), tuple(segments[cut : cut + SENTENCES_IN_CHAIN])) for cut in cuts]
