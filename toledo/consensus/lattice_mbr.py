"""Lattice MBR (Tromble, Kumar, Och and Macherey 2008; Kumar, Macherey, Dyer and Och 2009).

    argmax_e θ_0 |e| + Σ_g θ_|g| c_g(e) p(g),    θ_0 = −1,   θ_n = 1 / (N p r^{n−1})

p(g) is the probability that g occurs at least once in a translation, p the unigram precision and r the ratio of the
precisions of order n + 1 and n. The gain is a sum over n-grams and each n-gram is completed at one edge of the split
forest, so the best of *all* translations is found by one Viterbi pass, exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.decide import NOTHING
from toledo.consensus.rule import Decision, Rule
from toledo.forest.assemble import prune_to_density, with_boundaries
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores, check_scores
from toledo.forest.inside_outside import Distribution, distribution
from toledo.forest.ngrams import NGramForest, localize
from toledo.metrics.bleu import BLEU
from toledo.objectives.linear_bleu import LinearBLEU
from toledo.settings import Meta, Settings

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem


@dataclass(frozen=True, eq=False)
class NGramSpace:
    """A forest whose edges know their n-grams, and the scores of these edges, not scaled."""

    ngrams: NGramForest
    scores: Scores

    def distribution(self, scale: float) -> Distribution:
        """Return the distribution at a scale."""
        return distribution(self.ngrams.forest.shape, scale * self.scores, threads=1)


def ngram_space(
    forest: Forest,
    scores: Scores,
    order: int,
    density: float | None = None,
    beam: int | None = None,
    *,
    boundaries: bool = False,
) -> NGramSpace:
    """Prune a one-segment forest to a density (edges per word) if there is one, and split it by n-grams.

    Lists are never pruned: their entries are few, and all were meant to count. With a `beam` at most that many edges
    are kept for each node: for forests that would grow too large. With `boundaries` each text has `<s>` before it and
    `</s>` behind it, which make n-grams, too.
    """
    if len(forest) != 1:
        raise ValueError("rules decide about one segment at a time")
    check_scores(forest.shape, scores)
    # Only the texts matter from here on; edges remember their number for the scores.
    bare = replace(
        forest,
        features=np.empty((forest.edges, 0), np.float32),
        feature_names=(),
        base=None,
        sparse=None,
        provenance=np.arange(forest.edges),
    )
    if density is not None and forest.shape.tails.size:
        bare = prune_to_density(bare, scores, density)
    if boundaries:
        bare, scores = with_boundaries(bare), np.append(scores, 0.0)  # the score of the edge without number: -1
    ngrams = localize(bare, scores[_numbers(bare)], order, beam=beam, threads=1)
    return NGramSpace(ngrams, scores[_numbers(ngrams.forest)])


def _numbers(forest: Forest) -> NDArray[np.int64]:
    return np.empty(0, np.int64) if forest.provenance is None else forest.provenance


@dataclass(frozen=True)
class LatticeMBR(Settings, Rule):
    """The translation with the highest expected linear BLEU in the whole forest; the value is that gain.

    A lattice or forest is first pruned to a `density` in edges per word (None: not at all; lists never are); a `beam`
    of edges per node keeps large forests small when they are split. `map_weight` times the score of the derivation is
    added to its gain: large values go back to the best derivation.
    """

    precision: Annotated[float, Meta(gt=0, le=1, description="Unigram precision p.")] = 0.85
    ratio: Annotated[float, Meta(gt=0, le=1, description="Ratio r of the precisions of neighboring orders.")] = 0.72
    density: Annotated[float | None, Meta(description="Edges per word that a forest is pruned to.")] = 50.0
    map_weight: Annotated[float, Meta(ge=0, description="Weight of the score of the derivation.")] = 0.0
    order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4
    beam: Annotated[int | None, Meta(description="Edges per node of a forest that is split by n-grams.")] = None
    tokenize: Annotated[str, Meta(description="Tokenizer of texts; forests have words.")] = "13a"

    name = "lattice-mbr"
    forest_scale = 3.0
    worth_trying: ClassVar[Mapping[str, Sequence[Any]]] = {
        "precision": (0.5, 0.6, 0.7, 0.8, 0.85, 0.9),
        "ratio": (0.5, 0.6, 0.72, 0.8, 0.9),
        "density": (10.0, 20.0, 50.0, 100.0),
        "map_weight": (0.0, 0.03, 0.1, 0.3, 1.0, 3.0),
    }

    def values(self, problem: TextProblem) -> NDArray[np.float64]:
        """Return the expected linear BLEU of each text."""
        encoded = BLEU(tokenize=self.tokenize).encode([*problem.texts, *problem.references])
        assert encoded is not None  # noqa: S101 (BLEU compares words)
        words = [encoded.symbols[a:b].tolist() for a, b in pairwise(encoded.offsets.tolist())]
        texts, references = words[: len(problem.texts)], words[len(problem.texts) :]
        factors = LinearBLEU(self.order, self.precision, self.ratio).factors()
        chances: dict[tuple[int, ...], float] = defaultdict(float)
        for some, probability in zip(references, problem.probabilities.tolist(), strict=True):
            for ngram in set(_ngrams(some, self.order)):
                chances[ngram] += probability
        gains = [
            factors[0] * len(some) + sum(factors[len(one)] * chances.get(one, 0.0) for one in _ngrams(some, self.order))
            for some in texts
        ]
        weight = self.map_weight * problem.scale
        scores = 0.0 if problem.scores is None or not weight else weight * problem.scores
        return np.asarray(np.array(gains) + scores, np.float64)

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the best translation of a segment."""
        return self.decide_each(forest, scores, [(self, 1.0)])[0]

    @classmethod
    def decide_each(
        cls, forest: Forest, scores: Scores, candidates: Sequence[tuple[LatticeMBR, float]]
    ) -> list[Decision]:
        """Return the decisions of several such rules, each at its scale; shared work is done once."""
        space_of = cache(lambda order, density, beam: ngram_space(forest, scores, order, density, beam))

        @cache
        def chances(order: int, density: float | None, beam: int | None, scale: float) -> NDArray[np.float64]:
            space = space_of(order, density, beam)
            return space.ngrams.occurrence(space.distribution(scale), threads=1)

        return [
            rule.best(
                space_of(rule.order, rule.density, rule.beam),
                chances(rule.order, rule.density, rule.beam, scale),
                scale,
            )
            for rule, scale in candidates
        ]

    def best(self, space: NGramSpace, chances: NDArray[np.float64], scale: float) -> Decision:
        """Return the best translation, given the chance of each n-gram to occur."""
        factors = LinearBLEU(self.order, self.precision, self.ratio).factors()
        orders = space.ngrams.orders
        values = factors[orders] * chances
        values[orders == 1] += factors[0]  # each word once
        gains = space.ngrams.edge_sums(values, threads=1)
        if self.map_weight:
            gains += self.map_weight * scale * space.scores
        (found,) = viterbi(space.ngrams.forest, np.where(space.scores > -np.inf, gains, -np.inf))
        return NOTHING if found is None else Decision(found.word_ids, found.score)


def _ngrams(words: Sequence[int], order: int) -> Iterator[tuple[int, ...]]:
    for n in range(1, order + 1):
        for begin in range(len(words) - n + 1):
            yield tuple(words[begin : begin + n])
