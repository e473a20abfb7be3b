"""Word vectors by latent semantic analysis, and what a cosine tells (Deerwester et al. 1990; Hardmeier et al. 2012).

A matrix of content words × documents holds log(1 + count), each row times one minus the entropy of its documents
(Dumais 1991); its truncated singular value decomposition gives a vector for each word. In the same text, cosines of
content words with the mean of those before them are counted in bins, and so are those of random words with the same
means. A cosine is worth the logarithm of the ratio of both frequencies: log p(word | context) / p(word) as far as the
cosine can tell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from toledo import storage
from toledo.errors import InputError

DESCRIPTION = "semantic-space.toml"
BINS = 40
SCALE = 1 << 12  # vectors of length 1 become whole numbers up to this
PSEUDO_COUNT = 5.0

Text = Sequence[Sequence[Sequence[str]]]  # documents of sentences of words


@dataclass(frozen=True, eq=False)
class SemanticSpace:
    """Content words with their vectors (whole numbers), and the worth of cosines in bins from −1 to 1."""

    words: tuple[str, ...]
    vectors: NDArray[np.int32]
    worth: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != self.vectors.shape[0] or not self.worth.size:
            raise ValueError("a semantic space has a vector for each word, and worths")

    @classmethod
    def train(
        cls,
        documents: Text,
        dimensions: int = 50,
        common: int = 100,
        least: int = 5,
        context: int = 30,
        seed: int = 1,
    ) -> SemanticSpace:
        """A space from a text; content words are those seen at least so often, but for the most `common` ones."""
        words = _content_words(documents, common, least)
        if len(words) <= dimensions or len(documents) <= dimensions:
            raise InputError(
                f"{len(words)} content words in {len(documents)} documents are too few for {dimensions} dimensions",
                remedy="give a text of more documents, or ask for fewer dimensions",
            )
        numbers = {word: number for number, word in enumerate(words)}
        texts = [[numbers[word] for line in document for word in line if word in numbers] for document in documents]
        start = np.random.default_rng(seed).standard_normal(min(len(words), len(documents)))
        left, values, _ = svds(_weighted_counts(texts, len(words)), k=dimensions, v0=start)
        vectors = left * values
        lengths = np.linalg.norm(vectors, axis=1)
        vectors = np.round(SCALE * vectors / np.maximum(lengths, 1e-12)[:, None]).astype(np.int32)
        kept = np.flatnonzero(np.any(vectors != 0, axis=1))
        space = cls(tuple(words[k] for k in kept), np.ascontiguousarray(vectors[kept]), np.zeros(BINS))
        return cls(space.words, space.vectors, _worth(space, documents, context, seed))

    def save(self, directory: str | Path) -> None:
        """Write a directory."""
        arrays: dict[str, NDArray[Any]] = {"vectors": self.vectors, "worth": self.worth}
        storage.save(directory, DESCRIPTION, {"format": 1, "words": list(self.words)}, arrays)

    @classmethod
    def load(cls, directory: str | Path) -> SemanticSpace:
        """Read what `save` wrote."""
        content, arrays = storage.load(directory, DESCRIPTION)
        try:
            return cls(tuple(content["words"]), np.array(arrays["vectors"]), np.array(arrays["worth"]))
        except (KeyError, ValueError) as error:
            remedy = "train it again"
            raise InputError(f"is no semantic space: {error}", file=Path(directory), remedy=remedy) from None


def _content_words(documents: Text, common: int, least: int) -> list[str]:
    counts = Counter(word for document in documents for line in document for word in line)
    ranked = sorted((word for word in counts if any(map(str.isalpha, word))), key=lambda word: (-counts[word], word))
    return [word for word in ranked[common:] if counts[word] >= least]


def _weighted_counts(texts: Sequence[Sequence[int]], words: int) -> csr_array:
    """Log counts times the weight of each word: 1 if all its occurrences are in one document, 0 if spread evenly."""
    cells = [(word, document, count) for document, text in enumerate(texts) for word, count in Counter(text).items()]
    rows, columns, values = (np.array(column) for column in zip(*cells, strict=True))
    shares = values / np.bincount(rows, values, words)[rows]
    entropies = np.bincount(rows, -shares * np.log(shares), words)
    weights = 1.0 - entropies / np.log(max(len(texts), 2))
    return csr_array((np.log1p(values) * weights[rows], (rows, columns)), shape=(words, len(texts)))


def _worth(space: SemanticSpace, documents: Text, context: int, seed: int) -> NDArray[np.float64]:
    """Log ratios of how often cosines of the words of a text, and of random ones in their place, fall into each bin."""
    numbers, rng = {word: number for number, word in enumerate(space.words)}, np.random.default_rng(seed)
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    texts = [[numbers[word] for line in document for word in line if word in numbers] for document in documents]
    everything = np.array([word for text in texts for word in text])
    counts = np.full((2, BINS), PSEUDO_COUNT)
    for text in texts:
        sums = np.vstack([np.zeros(unit.shape[1]), np.cumsum(space.vectors[text], axis=0)])
        places = np.arange(1, len(text))
        means = sums[places] - sums[np.maximum(places - context, 0)]
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
        for row, words in enumerate((np.array(text, np.int64)[1:], rng.choice(everything, places.size))):
            cosines = np.einsum("ij,ij->i", means, unit[words])
            bins = np.clip((0.5 * (cosines + 1.0) * BINS).astype(np.int64), 0, BINS - 1)
            counts[row] += np.bincount(bins, minlength=BINS)
    shares = counts / counts.sum(axis=1, keepdims=True)
    ratios: NDArray[np.float64] = np.log(shares[0] / shares[1])
    return ratios
