"""The semantic-space language model (Hardmeier, Nivre and Tiedemann 2012) on a document, kept up to date.

A content word is scored by the cosine of its vector and the mean of those of the `context` content words before it,
in earlier sentences, too. What a cosine is worth lies in a table: see `SemanticSpace`. So a change of some words
matters for them and for `context` content words after them; the work does not depend on the document's length. Vectors
are whole numbers, so sums over words do not depend on the order.

Word vectors are those of latent semantic analysis (Deerwester et al. 1990). A matrix of content words × documents holds
log(1 + count), each row times one minus the entropy of its documents (Dumais 1991); its truncated singular value
decomposition gives a vector for each word. In the same text, cosines of content words with the mean of those before
them are counted in bins, and so are those of random words with the same means. A cosine is worth the logarithm of the
ratio of both frequencies: log p(word | context) / p(word) as far as the cosine can tell.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from toledo import storage
from toledo.compiled.kernels import inner_kernel
from toledo.errors import InputError
from toledo.files import read_lines
from toledo.search.document.arrays import State, Text
from toledo.search.document.models.model import FRACTION, NOTHING, DocumentModel, Known
from toledo.search.options import SentenceOptions
from toledo.text.vocabulary import split_words

PRESENT, SAVED = range(2)  # of `WordVectors.totals`


class WordVectors(NamedTuple):
    """The vector of word i of the options is `vectors[rows[i]]` (NOTHING: it has none); cosines are worth `worth`.

    `totals` is what the document is worth, and was before a proposal; `mean` and `sequence` are room for work.
    """

    rows: NDArray[np.int32]
    vectors: NDArray[np.int32]
    norms: NDArray[np.float64]
    worth: NDArray[np.int64]
    context: int
    mean: NDArray[np.int64]
    sequence: NDArray[np.int32]
    totals: NDArray[np.int64]


def prepare_vectors(known: Known, model: SemanticModel | None) -> WordVectors:
    """Look up the vectors of the words of a document; there are none without a model."""
    space = SemanticSpace((), np.zeros((0, 1), np.int32), np.zeros(1)) if model is None else model.loaded
    context, rows = 1 if model is None else model.context, {word: row for row, word in enumerate(space.words)}
    return WordVectors(
        np.array([rows.get(word, NOTHING) for word in known.spelled], np.int32)[known.types],
        np.ascontiguousarray(space.vectors, np.int32),
        np.linalg.norm(space.vectors.astype(np.float64), axis=1),
        np.round(space.worth * FRACTION).astype(np.int64),
        context,
        np.zeros(space.vectors.shape[1], np.int64),
        np.zeros(2 * context + 2 * known.longest_change + 1, np.int32),
        np.zeros(2, np.int64),
    )


@inner_kernel
def score_contents(vectors: WordVectors, text: Text, state: State, s: int, first: int, old: int, new: int) -> None:
    """Replace what `old` phrases from a place on, and what follows them, are worth by that of `state.phrases.new`."""
    options = text.options
    left = _words_before(vectors, text, state, s, first)
    for turn in range(2):
        end = left
        for k in range(new if turn else old):
            option = state.phrases.new[k] if turn else state.phrases.chosen[text.places[s] + first + k]
            end = _append(vectors, options, option, end)
        end = _words_after(vectors, text, state, s, first + old, end)
        worth = _worth(vectors, left, end)
        vectors.totals[PRESENT] += worth if turn else -worth


@inner_kernel
def score_document(vectors: WordVectors, text: Text, state: State) -> None:
    """Add up what the whole text is worth, sentence by sentence."""
    for s in range(text.words.size - 1):
        left = _words_before(vectors, text, state, s, 1)
        end = left
        for place in range(text.places[s] + 1, text.places[s] + 1 + state.phrases.size[s]):
            end = _append(vectors, text.options, state.phrases.chosen[place], end)
        vectors.totals[PRESENT] += _worth(vectors, left, end)


@inner_kernel
def _append(vectors: WordVectors, options: SentenceOptions, option: int, end: int) -> int:
    """Add the content words of a phrase to the sequence, and return its new end."""
    for i in range(options.word_begin[option], options.word_begin[option] + options.lengths[option]):
        row = vectors.rows[i]
        if row != NOTHING:
            vectors.sequence[end] = row
            end += 1
    return end


@inner_kernel
def _words_before(vectors: WordVectors, text: Text, state: State, s: int, first: int) -> int:
    """Put the last content words before a place into the sequence, in order, and return their number."""
    options, count = text.options, 0
    place = first - 1
    while s >= 0 and count < vectors.context:
        while place > 0 and count < vectors.context:
            option = state.phrases.chosen[text.places[s] + place]
            for k in range(options.lengths[option] - 1, -1, -1):
                row = vectors.rows[options.word_begin[option] + k]
                if row != NOTHING and count < vectors.context:
                    vectors.sequence[count] = row
                    count += 1
            place -= 1
        s -= 1
        if s >= 0:
            place = state.phrases.size[s]
    for k in range(count // 2):
        other = count - 1 - k
        vectors.sequence[k], vectors.sequence[other] = vectors.sequence[other], vectors.sequence[k]
    return count


@inner_kernel
def _words_after(vectors: WordVectors, text: Text, state: State, s: int, place: int, end: int) -> int:
    """Add the first content words from a place on, at most `context`, and return the end of the sequence."""
    options, most = text.options, end + vectors.context
    while s < text.words.size - 1 and end < most:
        while place <= state.phrases.size[s] and end < most:
            end = min(_append(vectors, options, state.phrases.chosen[text.places[s] + place], end), most)
            place += 1
        s += 1
        place = int(text.places[0]) + 1
    return end


@inner_kernel
def _worth(vectors: WordVectors, first: int, end: int) -> int:
    """Return what the words from `first` up to `end` of the sequence are worth after those before them."""
    mean, sequence, total = vectors.mean, vectors.sequence, 0
    for d in range(mean.size):
        mean[d] = 0
    for i in range(max(first - vectors.context, 0), first):
        for d in range(mean.size):
            mean[d] += vectors.vectors[sequence[i], d]
    for i in range(first, end):
        if i:
            dot = norm = 0
            for d in range(mean.size):
                dot += mean[d] * vectors.vectors[sequence[i], d]
                norm += mean[d] * mean[d]
            if norm:
                cosine = dot / (math.sqrt(float(norm)) * vectors.norms[sequence[i]])
                place = int(0.5 * (cosine + 1.0) * vectors.worth.size)
                total += vectors.worth[min(max(place, 0), vectors.worth.size - 1)]
        for d in range(mean.size):
            mean[d] += vectors.vectors[sequence[i], d]
        if i >= vectors.context:
            for d in range(mean.size):
                mean[d] -= vectors.vectors[sequence[i - vectors.context], d]
    return int(total)


DESCRIPTION = "semantic-space.toml"
BINS = 40
SCALE = 1 << 12  # vectors of length 1 become whole numbers up to this
PSEUDO_COUNT = 5.0

TextDocuments = Sequence[Sequence[Sequence[str]]]  # documents of sentences of words


@dataclass(frozen=True, eq=False)
class SemanticSpace:
    """Content words with their vectors (whole numbers), and the worth of cosines in bins from −1 to 1."""

    words: tuple[str, ...]
    vectors: NDArray[np.int32]
    worth: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != self.vectors.shape[0] or not self.worth.size:
            raise ValueError("a semantic space has a vector for each word, and a table of cosines")

    @classmethod
    def train(
        cls,
        texts: Iterable[str] | str | Path,
        *,
        document_ids: Iterable[str] | str | Path,
        dimensions: int = 50,
        stop_words: int = 100,
        min_count: int = 5,
        seed: int = 1,
    ) -> SemanticSpace:
        """Train a space on tokenized texts, of which `document_ids` says the document of each: lists, or files.

        Content words are those that occur at least `min_count` times, without the most frequent `stop_words`.
        """
        lines, ids = (list(read_lines(one) if isinstance(one, str | Path) else one) for one in (texts, document_ids))
        if len(lines) != len(ids):
            remedy = "item i of each must belong together; look for lost or added lines"
            raise InputError(f"texts has {len(lines)} segments, document_ids {len(ids)}", remedy=remedy)
        rest = iter(lines)
        documents = [[split_words(next(rest)) for _ in own] for _, own in groupby(ids)]
        if len(documents) > len(set(ids)):
            raise InputError("document_ids: a document comes back after others", remedy="sort the lines by document")
        return cls.from_documents(documents, dimensions, stop_words, min_count, seed=seed)

    @classmethod
    def from_documents(
        cls,
        documents: TextDocuments,
        dimensions: int = 50,
        stop_words: int = 100,
        min_count: int = 5,
        context: int = 30,
        seed: int = 1,
    ) -> SemanticSpace:
        """Train a space on documents of sentences of words.

        Content words are those that occur at least `min_count` times, without the most frequent `stop_words`.
        """
        words = _content_words(documents, stop_words, min_count)
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
        return cls(space.words, space.vectors, _information(space, documents, context, seed))

    def save(self, directory: str | Path) -> None:
        """Write the space to a directory."""
        arrays: dict[str, NDArray[Any]] = {"vectors": self.vectors, "worth": self.worth}
        storage.save(directory, DESCRIPTION, {"format": 1, "words": list(self.words)}, arrays)

    @classmethod
    def load(cls, directory: str | Path) -> SemanticSpace:
        """Read what `save` wrote."""
        content, arrays = storage.load(directory, DESCRIPTION)
        try:
            return cls(storage.strings(content, "words"), np.array(arrays["vectors"]), np.array(arrays["worth"]))
        except storage.DAMAGE as error:
            remedy = "train it again"
            raise InputError(f"not a semantic space: {error}", file=Path(directory), remedy=remedy) from None


@dataclass(frozen=True, eq=False)
class SpaceModel(DocumentModel):
    """Base of models that use a semantic space (or a directory with it)."""

    space: Annotated[
        SemanticSpace | str | Path | None, Meta(description="Word vectors, or the directory that holds them.")
    ] = None

    def __post_init__(self) -> None:
        if self.space is None:
            name = self.name.removeprefix("document.")
            raise InputError(f"the document model {name} needs word vectors", remedy="train a semantic space")
        if not isinstance(self.space, SemanticSpace):
            object.__setattr__(self, "space", SemanticSpace.load(self.space))

    @property
    def loaded(self) -> SemanticSpace:
        """Return the semantic space."""
        return cast(SemanticSpace, self.space)


@dataclass(frozen=True, eq=False)
class SemanticModel(SpaceModel):
    """How well content words fit the previous `context` content words in a semantic space (or a directory with it)."""

    context: Annotated[int, Meta(ge=1, description="Number of content words that a word is compared with.")] = 30

    name: ClassVar[str] = "document.semantic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.context < 1:
            raise InputError(f"context is {self.context}: expected at least 1", argument="context")


def _content_words(documents: TextDocuments, stop_words: int, min_count: int) -> list[str]:
    counts = Counter(word for document in documents for line in document for word in line)
    ranked = sorted((word for word in counts if any(map(str.isalpha, word))), key=lambda word: (-counts[word], word))
    return [word for word in ranked[stop_words:] if counts[word] >= min_count]


def _weighted_counts(texts: Sequence[Sequence[int]], words: int) -> csr_array:
    """Log counts times the weight of each word: 1 if all its occurrences are in one document, 0 if spread evenly."""
    cells = [(word, document, count) for document, text in enumerate(texts) for word, count in Counter(text).items()]
    rows, columns, values = (np.array(column) for column in zip(*cells, strict=True))
    shares = values / np.bincount(rows, values, words)[rows]
    entropies = np.bincount(rows, -shares * np.log(shares), words)
    weights = 1.0 - entropies / np.log(max(len(texts), 2))
    return csr_array((np.log1p(values) * weights[rows], (rows, columns)), shape=(words, len(texts)))


def _information(space: SemanticSpace, documents: TextDocuments, context: int, seed: int) -> NDArray[np.float64]:
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
