"""Rerank: the best translations of a forest as a list with the model's score and features of whole translations.

The list is a forest, so decision rules, tuners and everything else can go on with it. Its weights are its own: they are
tuned on lists, while those of the search stay as they are. `model` is the score of the search over the norm of its
weights, so that other weights of the search do not change what it is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.kernels import kernel, map_chunks
from toledo.errors import ModelError
from toledo.forest.assemble import from_edges, list_edges
from toledo.forest.derivations import texts_of_derivations
from toledo.forest.forest import Forest, Shape, Yields
from toledo.forest.kbest import DerivationBatch, k_best_batches
from toledo.phrases.table import PhraseTable, WordLinks
from toledo.progress import Progress, silent
from toledo.reranking.features import FEATURES, LinkedTexts, TranslationFeatures
from toledo.search.search import EncodedSentence
from toledo.search.steps import NO_PHRASE, Origins, unpack
from toledo.text.corpus import Sentences
from toledo.weights import Weights

MODEL = "model"
NAMES = (MODEL, *FEATURES)
DESCRIPTION, FORMAT = "reranker.toml", 2
SIZE = 100
SEGMENTS_AT_ONCE = 4


@dataclass(frozen=True, eq=False)
class Reranker:
    """Features of whole translations, their weights, and the number of translations in a list."""

    features: TranslationFeatures
    weights: Weights
    size: int = SIZE

    def lists(
        self,
        forests: Sequence[Forest],
        sentences: Sequence[EncodedSentence],
        weights: Weights,
        threads: int | None = None,
        progress: Progress = silent,
    ) -> list[Forest]:
        """Return the best translations of each forest as a list with NAMES as features; `weights` made the forests."""

        def work(first: int, last: int) -> list[Forest]:
            given = zip(forests[first:last], sentences[first:last], strict=True)
            return [self._list(forest, sentence, weights) for forest, sentence in given]

        parts = map_chunks(
            work, len(forests), chunk=SEGMENTS_AT_ONCE, threads=threads, progress=progress, label="reranking"
        )
        return [one for part in parts for one in part]

    def _list(self, forest: Forest, sentence: EncodedSentence, weights: Weights) -> Forest:
        best = _best(forest, forest.scores(weights, threads=1), self.size)
        words, offsets = texts_of_derivations(forest.yields, best.edges, best.offsets)
        links = linked_words(forest, best, sentence.table)
        values = np.empty((best.scores.size, len(NAMES)), np.float32)
        values[:, 0] = best.scores / (weights.norm(forest.feature_names) or 1.0)
        values[:, 1:] = self.features.values(LinkedTexts(sentence.source, Sentences(words, offsets), links))
        edges = list_edges(Yields(offsets.astype(np.int32), words), values)
        return from_edges(edges, 0, NAMES, forest.vocabulary)

    def with_weights(self, weights: Weights) -> Reranker:
        """Return the same features with other weights."""
        return replace(self, weights=weights)

    def save(self, directory: str | Path) -> None:
        """Write a directory atomically."""
        content = {"format": FORMAT, "size": self.size, **self.weights.to_table()}
        storage.save(directory, DESCRIPTION, content, self.features.to_arrays())

    @classmethod
    def load(cls, directory: str | Path) -> Reranker:
        """Map a directory into memory; missing, damaged or inconsistent files are refused."""
        file = Path(directory) / DESCRIPTION
        content, arrays = storage.load(directory, DESCRIPTION)
        remedy = "train and tune it again, or remove its directory"
        if content.get("format") != FORMAT:
            raise ModelError(
                f"reranker format {content.get('format')}, this version reads {FORMAT}", file=file, remedy=remedy
            )
        try:
            return cls(TranslationFeatures.from_arrays(arrays), Weights.from_table(content, file), int(content["size"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"does not fit together: {error}", file=file, remedy=remedy) from None


def first_weights(norm: float) -> Weights:
    """Return the weights of NAMES that change nothing: the model alone, as sharp as weights of this norm make it."""
    return Weights({MODEL: norm, **dict.fromkeys(FEATURES, 0.0)})


def linked_words(forest: Forest, best: DerivationBatch, table: PhraseTable) -> WordLinks:
    """Return the word links of some derivations, copied words among them."""
    if forest.provenance is None:
        raise ValueError("the forest does not know where its edges came from")
    taken = forest.provenance != NO_PHRASE
    origins = Origins(*(np.where(taken, one, NO_PHRASE) for one in unpack(np.maximum(forest.provenance, 0))))
    found = _links(
        forest.shape, forest.yields, best.edges, best.offsets, origins, table.pairs.link_offsets, table.pairs.links
    )
    return WordLinks(found[1], found[0])


def _best(forest: Forest, scores: NDArray[np.float64], size: int) -> DerivationBatch:
    """Return the best derivation of each of the best texts."""
    edges, lengths, totals = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0)]
    for batch in k_best_batches(forest, scores, distinct=True):
        edges.append(batch.edges)
        lengths.append(np.diff(batch.offsets))
        totals.append(batch.scores)
        if sum(one.size for one in totals) >= size:
            break
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths)[:size])]).astype(np.int64)
    return DerivationBatch(offsets, np.concatenate(edges)[: offsets[-1]], np.concatenate(totals)[:size])


@kernel
def _links(
    shape: Shape,
    yields: Yields,
    edges: NDArray[np.int32],
    offsets: NDArray[np.int64],
    origins: Origins,
    link_offsets: NDArray[np.int64],
    links: NDArray[np.uint8],
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the links of derivations, whose edges are given top down and left to right.

    A phrase is written when the tails of its edge are: edges that wait for their tails are on a stack.
    """
    ends, size = np.zeros(offsets.size, np.int64), 0
    for place in range(edges.size):
        pair = origins.pair[edges[place]]
        size += link_offsets[pair + 1] - link_offsets[pair] if pair >= 0 else 1
    found, filled = np.empty((size, 2), np.int32), 0
    for number in range(offsets.size - 1):
        most = offsets[number + 1] - offsets[number]
        waiting, left = np.empty(most, np.int32), np.empty(most, np.int32)
        depth = written = 0
        for place in range(offsets[number], offsets[number + 1]):
            h = edges[place]
            waiting[depth], left[depth] = h, shape.tail_offsets[h + 1] - shape.tail_offsets[h]
            depth += 1
            while depth and left[depth - 1] == 0:
                h = waiting[depth - 1]
                depth -= 1
                if depth:
                    left[depth - 1] -= 1
                begin, pair = origins.begin[h], origins.pair[h]
                if begin != NO_PHRASE and pair < 0:
                    found[filled, 0], found[filled, 1] = begin, written
                    filled += 1
                elif begin != NO_PHRASE:
                    for link in range(link_offsets[pair], link_offsets[pair + 1]):
                        found[filled, 0], found[filled, 1] = begin + links[link, 0], written + links[link, 1]
                        filled += 1
                for word in range(yields.offsets[h], yields.offsets[h + 1]):
                    written += yields.words[word] >= 0
        ends[number + 1] = filled
    return ends, found[:filled]
