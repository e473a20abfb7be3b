"""A neural model of each target word given the words before it and source words: a joint model (Devlin et al. 2014).

The source words are those around the one that the target word is linked to; an unlinked word takes the place of the
nearest linked one. A hidden layer sees all of them, and a softmax over all words that are not rare follows. It is
trained by Adam (Kingma and Ba 2015) with dropout; the words that a step compares are those of its batch and some others
at random, which stand for all others (Jean et al. 2015).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs

from toledo.compiled.blas import one_blas_thread
from toledo.compiled.kernels import kernel
from toledo.phrases.table import WordLinks
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import BEGIN, END, RESERVED, UNKNOWN

WINDOW, HISTORY = 5, 4  # source words on either side of the linked one, target words before
SIZE, HIDDEN = 64, 256
LEAST = 2  # occurrences of a word that is not rare
EPOCHS, BATCH, OTHERS = 10, 512, 400
MOST_WORDS = 1_000_000  # of the target text; of a longer one, some sentences are drawn
RATE, LAST_RATE = 1e-3, 2e-5
INPUT_DROPOUT, DROPOUT = 0.2, 0.4
MOMENTUM, SQUARES, TINY = 0.9, 0.999, 1e-8
AT_ONCE = 2048
SOURCES = 2 * WINDOW + 1

Floats = NDArray[np.floating[Any]]
Rows = NDArray[np.int32]


class Layers(NamedTuple):
    """The weights of the network: a row for each word, and what is multiplied with rows."""

    source: Floats
    target: Floats
    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: Floats


class JointModel(NamedTuple):
    """A network, and the row of each word of both vocabularies: that of UNKNOWN if the word is rare."""

    source_rows: Rows
    target_rows: Rows
    layers: Layers

    def scores(self, source: NDArray[np.int32], texts: Sentences, links: WordLinks) -> Floats:
        """Return the log probability of each translation of one source sentence; the end belongs to it."""
        whole = Sentences(source, np.array([0, source.size]))
        contexts, words = self.examples(whole, texts, links)
        rows = np.column_stack([contexts, words])
        distinct, places = np.unique(rows.view(f"V{rows.itemsize * rows.shape[1]}").ravel(), return_inverse=True)
        known = distinct.view(np.int32).reshape(-1, rows.shape[1])
        found = log_probabilities(self.layers, known[:, :-1], known[:, -1])[places.ravel()]
        return np.add.reduceat(found, texts.offsets[:-1] + np.arange(len(texts)))

    def examples(self, sources: Sentences, texts: Sentences, links: WordLinks) -> tuple[Rows, Rows]:
        """Return the rows of the words that each word of the texts, and their ends, depends on, and its own row."""
        given = _rows(self.source_rows, sources.words), sources.offsets, _rows(self.target_rows, texts.words)
        return _examples(*given, texts.offsets, links.offsets, links.links)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return named arrays, for saving."""
        return {"source_rows": self.source_rows, "target_rows": self.target_rows, **self.layers._asdict()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> JointModel:
        """Return what `to_arrays` gave."""
        own = dict(arrays)
        rows = own.pop("source_rows"), own.pop("target_rows")
        return cls(*rows, Layers(**own))


class Batch(NamedTuple):
    """Examples of a step, and the words that it compares: those of the batch first, then `others`.

    Each of the others counts as `weight` words. Masks are what dropout leaves, 0 or the same number everywhere.
    """

    contexts: Rows
    words: NDArray[np.int64]
    compared: NDArray[np.int64]
    others: int
    weight: float
    masks: tuple[Floats, Floats] | None = None


Gradient = tuple[Any, Floats]  # rows that change, or all of them; and the gradient there


def train_joint(
    corpus: ParallelCorpus, links: WordLinks, seed: int | Sequence[int], progress: Progress = silent
) -> JointModel:
    """Train a model on sentence pairs with their word links."""
    random = np.random.default_rng(seed)
    sources = _frequent(corpus.source.words, len(corpus.source_vocabulary))
    targets = _frequent(corpus.target.words, len(corpus.target_vocabulary))
    model = JointModel(sources, targets, first_layers(int(sources.max()) + 1, int(targets.max()) + 1, random))
    used = _drawn(corpus.target, random)
    contexts, words = model.examples(corpus.source.select(used), corpus.target.select(used), links.select(used))
    steps = max(1, EPOCHS * words.size // BATCH)
    adam = Adam(model.layers)
    with one_blas_thread(), progress("training the joint model", total=steps) as advance:
        for number, places in enumerate(_batches(words.size, steps, random)):
            batch = make_batch(model.layers, contexts[places], words[places], random)
            adam.step(gradients(model.layers, batch), RATE + (LAST_RATE - RATE) * number / steps)
            advance(1)
    return model


def first_layers(sources: int, targets: int, random: np.random.Generator) -> Layers:
    """Return random layers for as many rows of source and target words."""
    inputs = (SOURCES + HISTORY) * SIZE

    def normal(deviation: float, *shape: int) -> Floats:
        return (deviation * random.standard_normal(shape)).astype(np.float32)

    return Layers(
        normal(0.1, sources, SIZE),
        normal(0.1, targets, SIZE),
        normal(1.0 / math.sqrt(inputs), inputs, HIDDEN),
        np.zeros(HIDDEN, np.float32),
        normal(0.05, targets, HIDDEN),
        np.zeros(targets, np.float32),
    )


def make_batch(layers: Layers, contexts: Rows, words: Rows, random: np.random.Generator) -> Batch:
    """Return a batch with words to compare and dropout."""
    own, places = np.unique(words, return_inverse=True)
    total = layers.output_bias.size
    others = np.setdiff1d(random.integers(0, total, OTHERS), own)
    weight = (total - own.size) / others.size if others.size else 1.0
    inputs, hidden = layers.hidden.shape
    masks = [
        (random.random((words.size, size), np.float32) >= share) * np.float32(1.0 / (1.0 - share))
        for size, share in ((inputs, INPUT_DROPOUT), (hidden, DROPOUT))
    ]
    return Batch(contexts, places.ravel(), np.concatenate([own, others]), others.size, weight, (masks[0], masks[1]))


def loss(layers: Layers, batch: Batch) -> float:
    """Return the mean of −log p of the words of a batch, among the words compared."""
    logits = _logits(layers, batch, _forward(layers, batch)[1])
    top = logits.max(axis=1, keepdims=True)
    normalizers = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    return float(np.mean(normalizers - logits[np.arange(batch.words.size), batch.words]))


def gradients(layers: Layers, batch: Batch) -> list[Gradient]:
    """Return the gradient of the loss for each of the layers."""
    inputs, hidden = _forward(layers, batch)
    errors = _logits(layers, batch, hidden)
    errors -= errors.max(axis=1, keepdims=True)
    np.exp(errors, out=errors)
    errors /= errors.sum(axis=1, keepdims=True)
    errors[np.arange(batch.words.size), batch.words] -= 1.0
    errors /= batch.words.size
    back = _product(errors, layers.output[batch.compared]) * (hidden > 0.0)
    if batch.masks is not None:
        back *= batch.masks[1]
    below = _product(back, layers.hidden, transpose_b=True)
    if batch.masks is not None:
        below *= batch.masks[0]
    parts = below.reshape(batch.words.size, -1, SIZE)
    return [
        _by_row(batch.contexts[:, :SOURCES], parts[:, :SOURCES]),
        _by_row(batch.contexts[:, SOURCES:], parts[:, SOURCES:]),
        (slice(None), _product(inputs, back, transpose_a=True)),
        (slice(None), back.sum(axis=0)),
        (batch.compared, _product(errors, hidden, transpose_a=True)),
        (batch.compared, errors.sum(axis=0)),
    ]


class Adam:
    """Steps along gradients, each number by its own rate; rows without a gradient stay where they are."""

    def __init__(self, layers: Layers) -> None:
        self.layers, self.steps = layers, 0
        self.means = [np.zeros_like(one) for one in layers]
        self.squares = [np.zeros_like(one) for one in layers]

    def step(self, found: list[Gradient], rate: float) -> None:
        """Change the layers in place."""
        self.steps += 1
        rate *= math.sqrt(1.0 - SQUARES**self.steps) / (1.0 - MOMENTUM**self.steps)
        for layer, means, squares, (rows, gradient) in zip(self.layers, self.means, self.squares, found, strict=True):
            mean = means[rows] = MOMENTUM * means[rows] + (1.0 - MOMENTUM) * gradient
            square = squares[rows] = SQUARES * squares[rows] + (1.0 - SQUARES) * gradient**2
            layer[rows] -= rate * mean / (np.sqrt(square) + TINY)


def log_probabilities(layers: Layers, contexts: Rows, words: Rows) -> Floats:
    """Return log p of each word in its context."""
    found, every = np.empty(words.size, np.float32), np.arange(layers.output_bias.size)
    with one_blas_thread():
        for first in range(0, words.size, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            batch = Batch(contexts[some], words[some].astype(np.int64), every, 0, 1.0)
            logits = _logits(layers, batch, _forward(layers, batch)[1])
            top = logits.max(axis=1)
            own = logits[np.arange(top.size), batch.words] - top
            logits -= top[:, None]
            found[some] = own - np.log(np.exp(logits, out=logits).sum(axis=1))
    return found


def _forward(layers: Layers, batch: Batch) -> tuple[Floats, Floats]:
    """Return what the hidden layer sees, and what it says."""
    sources, targets = batch.contexts[:, :SOURCES], batch.contexts[:, SOURCES:]
    inputs = np.concatenate([layers.source[sources], layers.target[targets]], axis=1).reshape(batch.words.size, -1)
    if batch.masks is not None:
        inputs *= batch.masks[0]
    hidden = np.maximum(_product(inputs, layers.hidden) + layers.hidden_bias, 0.0)
    return inputs, hidden if batch.masks is None else hidden * batch.masks[1]


def _logits(layers: Layers, batch: Batch, hidden: Floats) -> Floats:
    every = batch.compared.size == layers.output_bias.size and not batch.others
    output = layers.output if every else layers.output[batch.compared]
    logits = _product(hidden, output, transpose_b=True) + layers.output_bias[batch.compared]
    logits[:, batch.compared.size - batch.others :] += np.asarray(math.log(batch.weight), logits.dtype)
    return logits


def _product(a: Floats, b: Floats, *, transpose_a: bool = False, transpose_b: bool = False) -> Floats:
    """Return a matrix product by SciPy's BLAS, which `one_blas_thread` reaches: sums do not depend on threads.

    BLAS thinks in columns: for it, our arrays are transposed.
    """
    product: Floats = get_blas_funcs("gemm", (a, b))(1.0, b.T, a.T, trans_a=transpose_b, trans_b=transpose_a)
    return product.T


def _by_row(rows: Rows, values: Floats) -> Gradient:
    """Return the rows that occur, and the sum of the values of each."""
    flat, own = rows.ravel(), values.reshape(-1, SIZE)
    order = np.argsort(flat, kind="stable")
    distinct, first = np.unique(flat[order], return_index=True)
    return distinct, np.add.reduceat(own[order], first, axis=0)


def _frequent(words: NDArray[np.int32], size: int) -> Rows:
    """Return the row of each word of a vocabulary; rare ones share that of UNKNOWN."""
    counts = np.bincount(words, minlength=size)
    counts[: len(RESERVED)] = LEAST
    rows = np.cumsum(counts >= LEAST) - 1
    return np.where(counts >= LEAST, rows, UNKNOWN).astype(np.int32)


def _rows(rows: Rows, words: NDArray[np.int32]) -> Rows:
    """Return the row of each word; words that training did not have are unknown."""
    known = (words >= 0) & (words < rows.size)
    return np.where(known, rows[np.where(known, words, UNKNOWN)], UNKNOWN).astype(np.int32)


def _drawn(text: Sentences, random: np.random.Generator) -> NDArray[np.bool_]:
    """Return which sentences are used: all, or some if the text is long."""
    order, used = random.permutation(len(text)), np.empty(len(text), np.bool_)
    used[order] = np.cumsum(text.lengths[order]) <= MOST_WORDS
    return used


def _batches(examples: int, steps: int, random: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield the places of the examples of each step: all examples in random order, then again."""
    left = np.empty(0, np.int64)
    for _ in range(steps):
        if left.size < min(BATCH, examples):
            left = random.permutation(examples)
        yield left[:BATCH]
        left = left[BATCH:]


@kernel
def _places(links: NDArray[Any], words: int, sources: int) -> NDArray[np.int64]:
    """Return the source position of each target word: the middle one of those linked to it; and that of the end."""
    found = np.full(words + 1, -1, np.int64)
    found[words] = sources
    for j in range(words):
        linked = np.zeros(sources, np.bool_)
        for link in range(links.shape[0]):
            if links[link, 1] == j:
                linked[links[link, 0]] = True
        own = np.flatnonzero(linked)
        if own.size:
            found[j] = own[own.size // 2]
    return _nearest(found)


@kernel
def _nearest(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each place that is missing (−1) the nearest one, of two the one behind it; the last is never missing."""
    found = places.copy()
    for j in range(places.size):
        distance = 0
        while found[j] < 0:
            distance += 1
            if j + distance < places.size and places[j + distance] >= 0:
                found[j] = places[j + distance]
            elif j >= distance and places[j - distance] >= 0:
                found[j] = places[j - distance]
    return found


@kernel
def _examples(
    source: Rows,
    source_offsets: NDArray[np.int64],
    target: Rows,
    target_offsets: NDArray[np.int64],
    link_offsets: NDArray[np.int64],
    links: NDArray[Any],
) -> tuple[Rows, Rows]:
    """Write the context of each target word and of the ends; a single source belongs to all targets."""
    texts = target_offsets.size - 1
    contexts = np.empty((target.size + texts, SOURCES + HISTORY), np.int32)
    words, row = np.empty(target.size + texts, np.int32), 0
    for t in range(texts):
        s = min(t, source_offsets.size - 2)
        own = source[source_offsets[s] : source_offsets[s + 1]]
        text = target[target_offsets[t] : target_offsets[t + 1]]
        places = _places(links[link_offsets[t] : link_offsets[t + 1]], text.size, own.size)
        for j in range(text.size + 1):
            for k in range(SOURCES):
                i = places[j] + k - WINDOW
                contexts[row, k] = BEGIN if i < 0 else END if i >= own.size else own[i]
            for k in range(HISTORY):
                contexts[row, SOURCES + k] = text[j - 1 - k] if j > k else BEGIN
            words[row] = text[j] if j < text.size else END
            row += 1
    return contexts, words
