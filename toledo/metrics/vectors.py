"""Metrics that turn each text into a vector once and compare vectors, such as cosine similarity or COMET.

The mean vector of the references can stand for all of them (Vamvas and Sennrich 2024; Deguchi et al. 2024). If the
score is linear in the vector of the reference, the score against the mean is the expected score itself: k comparisons
give the exact choice among k texts, not k².
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toledo.errors import InputError
from toledo.metrics.metric import Triple, require_inputs
from toledo.metrics.utility import PairMetric

PAIRS_AT_ONCE = 4096
MOST_BYTES = 1 << 28  # of vectors that are remembered
Rows = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]
Places = NDArray[np.int64]


class VectorMetric(PairMetric):
    """Base of metrics of vectors: subclasses define `encode_texts` and `score_vectors`.

    `linear` says that the score against a mean of references is the mean of the scores. Vectors of sources are given if
    "sources" is among the `needs` of the metric.
    """

    linear = False

    def encode_texts(self, texts: Sequence[str]) -> ArrayLike:
        """Return one row for each text."""
        raise NotImplementedError

    def score_vectors(self, hypotheses: Vectors, references: Vectors, sources: Vectors | None = None) -> ArrayLike:
        """Return the score of each row of hypotheses with the same row of references, and of sources if needed."""
        raise NotImplementedError

    def encode_ahead(self, texts: Sequence[str]) -> None:
        """Encode texts that will be compared soon."""
        self.vectors(texts)

    def vectors(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text; equal ones are encoded once, and not again while they are remembered."""
        known, lock = self._remembered
        with lock:
            if new := [text for text in dict.fromkeys(texts) if text not in known]:
                known.update(zip(new, self._encoded(new), strict=True))
            found = np.array([known[text] for text in texts])
            while len(known) * found.itemsize * found.shape[-1] > MOST_BYTES and len(known) > len(texts):
                del known[next(iter(known))]
        return found

    @cached_property
    def _remembered(self) -> tuple[dict[str, Vectors], Lock]:
        return {}, Lock()

    def _encoded(self, texts: list[str]) -> list[Vectors]:
        rows = np.asarray(self.encode_texts(texts))
        if rows.ndim != 2 or rows.shape[0] != len(texts):
            raise InputError(f"metric {self.name!r} returned shape {rows.shape} for {len(texts)} texts")
        if not np.all(np.isfinite(rows)):
            place = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise InputError(f"metric {self.name!r} returned a vector that is not finite for {texts[place]!r}")
        return [row.copy() for row in rows]

    def pair_scores(self, triples: Sequence[Triple]) -> Rows:
        """Return the score of each triple."""
        with_sources = "sources" in self.needs
        if with_sources and any(source is None for _, _, source in triples):
            require_inputs(self, True, None)
        columns = [[triple[place] or "" for triple in triples] for place in range(2 + with_sources)]
        distinct = {text: place for place, text in enumerate(dict.fromkeys(text for some in columns for text in some))}
        return self._compared(list(distinct), [np.array([distinct[text] for text in some]) for some in columns])

    def pairwise_scores(self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None) -> Rows:
        """Return the score of each hypothesis (row) with each reference (column) as its only one."""
        shape = len(hypotheses), len(references)
        rows, columns = (places.ravel() for places in np.indices(shape))
        sources = self._sources(source)
        places = [rows, shape[0] + columns, *(np.full(rows.size, sum(shape)) for _ in sources)]
        return self._compared([*hypotheses, *references, *sources], places).reshape(shape)

    def expected_scores(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        source: str | None = None,
        weights: ArrayLike | None = None,
    ) -> Rows:
        """Return the expected score of each hypothesis if each reference is right with a probability ∝ its weight."""
        if not self.linear:
            return super().expected_scores(hypotheses, references, source, weights)
        given = np.ones(len(references)) if weights is None else np.asarray(weights, np.float64)
        return self.average_scores(hypotheses, references, given / given.sum(), source)

    def average_scores(
        self, hypotheses: Sequence[str], references: Sequence[str], shares: Rows, source: str | None = None
    ) -> Rows:
        """Return the score of each hypothesis against the mean vector of the references."""
        sources = self._sources(source)
        vectors = self.vectors([*hypotheses, *references, *sources])
        said, known = vectors[: len(hypotheses)], vectors[len(hypotheses) : len(hypotheses) + len(references)]
        mean = np.einsum("i,ij->j", shares, known).astype(vectors.dtype)
        given = np.broadcast_to(vectors[-1], said.shape) if sources else None
        return self._scores(said, np.broadcast_to(mean, said.shape), given)

    def _sources(self, source: str | None) -> list[str]:
        """Return the source, if the metric needs one."""
        if "sources" not in self.needs:
            return []
        require_inputs(self, True, source)
        return [str(source)]

    def _compared(self, texts: Sequence[str], places: Sequence[Places]) -> Rows:
        """Return the scores of texts at the places of hypotheses, references and maybe sources."""
        vectors, found = self.vectors(texts), np.empty(places[0].size)
        for begin in range(0, found.size, PAIRS_AT_ONCE):
            some = slice(begin, begin + PAIRS_AT_ONCE)
            found[some] = self._scores(*(vectors[one[some]] for one in places))
        return found

    def _scores(self, hypotheses: Vectors, references: Vectors, sources: Vectors | None = None) -> Rows:
        return np.asarray(self.score_vectors(hypotheses, references, sources), np.float64).ravel()


def model_name(directory: Path) -> str:
    """Return the name of a model by its directory, which is a digest in the cache of Hugging Face."""
    if directory.parent.name == "snapshots":
        return directory.parents[1].name.rpartition("--")[2]
    return directory.name


def batches_by_length(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    """Yield places of texts in batches of similar lengths, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
    return (order[begin : begin + size] for begin in range(0, len(order), size))


def device_or_best(device: str | None) -> str:
    """Return the device of PyTorch to use: by default a GPU if there is one."""
    import torch

    return device or ("cuda" if torch.cuda.is_available() else "cpu")
