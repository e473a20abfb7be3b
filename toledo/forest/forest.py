"""The one search space: a packed set of derivations as flat arrays.

Nodes are numbered so that children come before parents; the last node is the goal. The edges of node v are
`head_edges[v]:head_edges[v + 1]`. Edge h joins the nodes `tails[tail_offsets[h]:tail_offsets[h + 1]]` (none, one or
several, in target order; the same node may appear twice) and writes the words of its yield: word ids, and −1 − k for
the text of its k-th tail. A derivation scores the sum over its edges of `base + features · weights`.

An n-best list is one node whose edges have no tails. A lattice has one tail per edge. A forest has up to two.

Kernels see arrays; the methods of `Forest` from `from_list` on take and give texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.ragged import are_offsets
from toledo.errors import InputError
from toledo.forest.linear import Rows, SparseArrays, SparseFeatures, Vector, row_scores, rows_of_edges
from toledo.results import Hypothesis
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

Scores = NDArray[np.float64]
NamedWeights = Weights | Mapping[str, float]

DESCRIPTION, FORMAT = "forest.toml", 1  # a forest on disk is a directory of arrays
PIECES, FEWEST_EDGES, MOST_EDGES = 16, 8_192, 131_072  # work for threads: neither too small nor too uneven


class Shape(NamedTuple):
    """What inference sees of one forest or of several: sentence i has nodes `sentences[i]:sentences[i + 1]`."""

    sentences: NDArray[np.int64]
    head_edges: NDArray[np.int32]
    tail_offsets: NDArray[np.int32]
    tails: NDArray[np.int32]


class Yields(NamedTuple):
    """What kernels see of the target side."""

    offsets: NDArray[np.int32]
    words: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Forest:
    """The derivations of one segment, or of several in a row (which methods with texts refuse)."""

    shape: Shape
    yields: Yields
    features: NDArray[np.float32]
    feature_names: tuple[str, ...]
    vocabulary: Vocabulary
    base: Scores | None = None
    sparse: SparseFeatures | None = None
    provenance: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        _check_shape(self.shape)
        _check_yields(self.shape, self.yields, len(self.vocabulary))
        _check_features(self)

    @classmethod
    def from_checked(cls, **values: Any) -> Forest:
        """Return a forest whose arrays are parts of forests: these were checked when they were made."""
        forest = object.__new__(cls)
        for one in fields(cls):
            object.__setattr__(forest, one.name, values[one.name])
        return forest

    def __len__(self) -> int:
        """Return the number of segments."""
        return self.shape.sentences.size - 1

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self.shape.head_edges.size - 1

    @property
    def edges(self) -> int:
        """The number of edges."""
        return self.shape.tail_offsets.size - 1

    def __repr__(self) -> str:
        segments = "" if len(self) == 1 else f"{len(self)} segments, "
        sparse = f" and {len(self.sparse.names)} sparse" if self.sparse else ""
        features = f"{len(self.feature_names)} dense{sparse} features"
        return f"Forest({segments}{self.nodes} nodes, {self.edges} edges, {features})"

    def scores(self, weights: Weights | Mapping[str, float], threads: int | None = None) -> Scores:
        """Return the score of each edge: its base score plus features times weights."""
        return row_scores(self.rows, self.vector(weights), threads)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of all features in the order of weight vectors: dense ones first."""
        dense = set(self.feature_names)
        return (
            *self.feature_names,
            *(name for name in (self.sparse.names if self.sparse else ()) if name not in dense),
        )

    @cached_property
    def rows(self) -> Rows:
        """The features of all edges as rows over a weight vector."""
        return rows_of_edges(self.features, self.base, self.sparse, self.columns)

    def vector(self, weights: Weights | Mapping[str, float]) -> Vector:
        """Return weights in the order of `columns`; a sparse feature without a weight weighs 0."""
        named, dense = weights if isinstance(weights, Weights) else Weights(weights), len(self.feature_names)
        sparse = [named.get(name, 0.0) for name in self.columns[dense:]]
        return np.concatenate([named.array(self.feature_names), np.array(sparse)])

    @classmethod
    def from_list(cls, samples: Iterable[str | Hypothesis | Mapping[str, Any]]) -> Forest:
        """Make a list of the samples of one segment: texts, hypotheses, or mappings with a `text`.

        Hypotheses with features are scored by them. Without features a log probability or else a score is kept as it
        is; a text without either counts as often as it occurs.
        """
        from toledo.forest.constructors import from_texts

        return from_texts([_hypothesis(sample) for sample in samples])

    @classmethod
    def from_lattice(cls, arcs: Iterable[tuple[int, int, str, Mapping[str, float]]]) -> Forest:
        """Make a lattice of arcs (start state, end state, words, features), of which the first leaves the start.

        States that no arc leaves are final. Features are dense if all arcs have them.
        """
        from toledo.forest.constructors import from_arcs

        return from_arcs(list(arcs))

    @classmethod
    def load(cls, path: str | Path) -> Forest:
        """Read a forest that `save` wrote."""
        content, arrays = storage.load(path, DESCRIPTION)
        file = Path(path) / DESCRIPTION
        if content.get("format") != FORMAT:
            found = f"forest format {content.get('format')}, this version reads {FORMAT}"
            raise InputError(found, file=file, remedy="make the forest again")
        with storage.assembling(file, "make the forest again"):
            sparse = None
            if "sparse.offsets" in arrays:
                columns = SparseArrays(*(arrays[f"sparse.{name}"] for name in SparseArrays._fields))
                sparse = SparseFeatures(storage.strings(content, "sparse_features"), columns)
            return cls(
                shape=Shape(*(arrays[name] for name in Shape._fields)),
                yields=Yields(arrays["yield_offsets"], arrays["yield_words"]),
                features=arrays["features"],
                feature_names=storage.strings(content, "features"),
                vocabulary=Vocabulary.from_arrays(arrays["vocabulary.bytes"], arrays["vocabulary.offsets"]),
                base=arrays.get("base"),
                sparse=sparse,
                provenance=arrays.get("provenance"),
            )

    def save(self, path: str | Path) -> None:
        """Write the forest to a directory, atomically."""
        arrays: dict[str, NDArray[Any] | None] = {
            **self.shape._asdict(),
            "yield_offsets": self.yields.offsets,
            "yield_words": self.yields.words,
            "features": self.features,
            **{f"vocabulary.{name}": array for name, array in self.vocabulary.to_arrays().items()},
            "base": self.base,
            "provenance": self.provenance,
        }
        if self.sparse is not None:
            arrays |= {f"sparse.{name}": array for name, array in self.sparse.arrays._asdict().items()}
        content = {
            "format": FORMAT,
            "features": list(self.feature_names),
            "sparse_features": list(self.sparse.names) if self.sparse else [],
        }
        given = {name: array for name, array in arrays.items() if array is not None}
        storage.save(path, DESCRIPTION, content, given)

    def best(self, weights: NamedWeights | None = None) -> Hypothesis:
        """Return the derivation with the highest score."""
        found = self.nbest(1, weights)
        if not found:
            raise InputError("the forest has no derivation", remedy="check the search or the file that it is from")
        return found[0]

    def nbest(self, k: int, weights: NamedWeights | None = None, *, distinct: bool = False) -> list[Hypothesis]:
        """Return the k best derivations, or with `distinct` the k best texts."""
        from toledo.forest.kbest import k_best

        found = islice(k_best(self, self.edge_scores(weights), distinct=distinct), k)
        return [Hypothesis(str(one), one.score, one.features) for one in found]

    def sample(
        self, n: int, seed: int = 1, weights: NamedWeights | None = None, scale: float = 1.0
    ) -> list[Hypothesis]:
        """Draw n derivations; those of equal texts are one hypothesis with their number as `count`."""
        from toledo.forest.derivations import sample

        scores = self.edge_scores(weights)
        drawn = [(str(one), float(scores[one.edges].sum())) for one in sample(self, scale * scores, n, seed)]
        counts, first = Counter(text for text, _ in drawn), dict(reversed(drawn))
        return [Hypothesis(text, first[text], count=count) for text, count in counts.most_common()]

    def entropy(self, scale: float = 1.0, weights: NamedWeights | None = None) -> float:
        """Return the entropy of the derivations in nats."""
        from toledo.forest.inside_outside import distribution

        return float(distribution(self.shape, scale * self.edge_scores(weights)).entropy()[0])

    def posteriors(self, order: int = 1, weights: NamedWeights | None = None, scale: float = 1.0) -> dict[str, float]:
        """Return the probability of each n-gram of an order to occur in the translation, the most likely first."""
        from toledo.forest.inside_outside import distribution
        from toledo.forest.ngrams import localize

        whole = localize(self, self.edge_scores(weights), order)
        chances = whole.occurrence(distribution(whole.forest.shape, scale * whole.forest.edge_scores(weights)))
        texts = (" ".join(self.vocabulary.words(ngram)) for ngram in whole.ngrams(0))
        found = {
            text: min(float(chance), 1.0)
            for text, length, chance in zip(texts, whole.orders.tolist(), chances.tolist(), strict=True)
            if length == order and chance > 0.0
        }
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def prune(self, density: float, weights: NamedWeights | None = None) -> Forest:
        """Return the forest with at most `density` edges for each word of the best translation."""
        from toledo.forest.assemble import prune_to_density

        return prune_to_density(self, self.edge_scores(weights), density)

    def union(self, other: Forest) -> Forest:
        """Return a forest with the derivations of both; what both have is there once."""
        from toledo.forest.uniting import unite

        return unite([self, other._with_vocabulary(self.vocabulary)])

    def to_svg(self, weights: NamedWeights | None = None) -> str:
        """Return a drawing; with weights, or base scores alone, the best derivation stands out."""
        from toledo.forest.drawing import to_svg

        return to_svg(self, self._scores_or_none(weights))

    def to_dot(self, weights: NamedWeights | None = None) -> str:
        """Return a drawing for Graphviz."""
        from toledo.forest.drawing import to_dot

        return to_dot(self, self._scores_or_none(weights))

    def edge_scores(self, weights: NamedWeights | None) -> Scores:
        """Return the scores of the edges of one segment; without weights, base scores alone."""
        if len(self) != 1:
            raise InputError(f"the forest has {len(self)} segments", remedy="split it with `forest.assemble.split`")
        scores = self._scores_or_none(weights)
        if scores is None:
            raise InputError("the forest is scored by features", remedy="give weights", argument="weights")
        return scores

    def _scores_or_none(self, weights: NamedWeights | None) -> Scores | None:
        if weights is not None:
            return self.scores(weights)
        if self.base is not None:
            return self.base
        return None if self.columns else np.zeros(self.edges)

    def _with_vocabulary(self, vocabulary: Vocabulary) -> Forest:
        """Return the forest with its words numbered by another vocabulary, which gets those that it lacks."""
        if vocabulary is self.vocabulary:
            return self
        words = self.yields.words.copy()
        numbers = np.unique(words[words >= 0])
        added = [vocabulary.add(word) for word in self.vocabulary.words(numbers.tolist())]
        words[words >= 0] = np.array(added, np.int32)[np.searchsorted(numbers, words[words >= 0])]
        return replace(self, yields=Yields(self.yields.offsets, words), vocabulary=vocabulary)


def _hypothesis(sample: str | Hypothesis | Mapping[str, Any]) -> Hypothesis:
    if isinstance(sample, Hypothesis):
        return sample
    if isinstance(sample, str):
        return Hypothesis(sample)
    try:
        return Hypothesis(**sample)
    except TypeError:
        known = ", ".join(one.name for one in fields(Hypothesis))
        raise InputError(
            f"{sample!r} is not a hypothesis", remedy=f"give `text`, and of the rest only {known}"
        ) from None


def sentences_at_once(shape: Shape) -> int:
    """Return how many sentences are a good piece of work for a thread, whatever the number of threads."""
    sentences, edges = shape.sentences.size - 1, shape.tail_offsets.size - 1
    piece = min(max(edges // PIECES, FEWEST_EDGES), MOST_EDGES)
    return max(1, piece * sentences // max(edges, 1))


def edges_of_sentences(shape: Shape) -> NDArray[np.int64]:
    """Return where the edges of each sentence begin, and the end."""
    return shape.head_edges[shape.sentences].astype(np.int64)


def check_scores(shape: Shape, scores: Scores, name: str = "scores") -> None:
    """Refuse scores that kernels could not read safely, or that mean nothing. −inf is an impossible edge."""
    edges = shape.tail_offsets.size - 1
    if scores.shape != (edges,):
        raise ValueError(f"{name} of shape {scores.shape} for {edges} edges")
    useless = np.isnan(scores) | np.isposinf(scores)
    if useless.any():
        raise ValueError(f"{name}: that of edge {int(np.argmax(useless))} is NaN or +inf")


def check_offsets(name: str, offsets: NDArray[Any], end: int) -> None:
    """Refuse offsets that do not rise from 0 to `end`."""
    _check_numbers(name, offsets)
    if not are_offsets(offsets, end):
        raise InputError(f"{name} of a forest must rise from 0 to {end}", remedy="make the forest again")


def _check_numbers(name: str, numbers: NDArray[Any]) -> None:
    if numbers.ndim != 1 or numbers.dtype.kind != "i":
        raise InputError(
            f"{name} of a forest must be a vector of integers, not {numbers.dtype} of shape {numbers.shape}",
            remedy="use arrays of int32, and int64 for sentences",
        )


def _check_shape(shape: Shape) -> None:
    nodes, edges = shape.head_edges.size - 1, shape.tail_offsets.size - 1
    check_offsets("sentences", shape.sentences, nodes)
    check_offsets("head_edges", shape.head_edges, edges)
    check_offsets("tail_offsets", shape.tail_offsets, shape.tails.size)
    _check_numbers("tails", shape.tails)
    if np.any(shape.sentences[1:] == shape.sentences[:-1]):
        raise InputError("a segment of a forest has no node", remedy="give it a goal, if need be one without edges")
    heads = np.repeat(np.arange(nodes, dtype=np.int32), np.diff(shape.head_edges))
    arity = np.diff(shape.tail_offsets)
    starts = np.repeat(shape.sentences[:-1], np.diff(shape.sentences))
    tail_heads = np.repeat(heads, arity)
    if shape.tails.size and (np.any(shape.tails >= tail_heads) or np.any(shape.tails < starts[tail_heads])):
        raise InputError(
            "a forest's tail is not an earlier node of its sentence",
            remedy="number the nodes so that children come first",
        )


def _check_yields(shape: Shape, yields: Yields, vocabulary: int) -> None:
    edges = shape.tail_offsets.size - 1
    if yields.offsets.size != edges + 1:
        raise InputError(f"{yields.offsets.size - 1} yields for {edges} edges", remedy="give one per edge")
    check_offsets("yields", yields.offsets, yields.words.size)
    _check_numbers("words", yields.words)
    if np.any(yields.words >= vocabulary):
        raise InputError("a forest's word is not in its vocabulary", remedy="add the word first")
    places = yields.words < 0
    edge_of = np.repeat(np.arange(edges), np.diff(yields.offsets))[places]
    counts = np.bincount(edge_of, minlength=edges)
    if not np.array_equal(counts, np.diff(shape.tail_offsets)) or not np.array_equal(
        -1 - yields.words[places], np.arange(edge_of.size) - shape.tail_offsets[edge_of]
    ):
        raise InputError("a yield must name each tail of its edge once, in order", remedy="write -1, -2, … in it")


def _check_features(forest: Forest) -> None:
    expected = (forest.edges, len(forest.feature_names))
    if forest.features.shape != expected:
        raise InputError(f"features of shape {forest.features.shape}", remedy=f"this forest needs {expected}")
    if len(set(forest.feature_names)) != len(forest.feature_names):
        raise InputError("a feature has two columns", remedy="give each dense feature a unique name")
    if not np.isfinite(forest.features).all():
        edge = int(np.argmin(np.isfinite(forest.features).all(axis=1)))
        raise InputError(f"a feature of edge {edge} is not finite", remedy="use a large negative number")
    for name, values in (("base", forest.base), ("provenance", forest.provenance)):
        if values is not None and values.shape != (forest.edges,):
            raise InputError(
                f"{name} has shape {values.shape}", remedy=f"give one value for each of {forest.edges} edges"
            )
    if forest.base is not None and (np.isnan(forest.base).any() or np.isposinf(forest.base).any()):
        raise InputError("a base score is NaN or +inf", remedy="use finite numbers, or -inf for impossible")
    if forest.sparse is not None:
        forest.sparse.check(forest.edges)
