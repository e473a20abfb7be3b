"""Variational decoding (Li, Eisner and Khudanpur 2009): the best text under an n-gram model of the distribution.

The n-gram model q of a given order that is nearest to p, in that it minimizes KL(p ‖ q), has the conditional
probabilities of expected counts,

    q(w | h) = E[c(h w)] / E[c(h)]

with `<s>` before each text and `</s>` behind it, both counted. Under q, unlike under p, all derivations of a text are
one, and the best text can be found: its score is a sum over n-grams, each n-gram is completed at one edge of the split
forest, and one Viterbi pass sees all texts. Logarithms of models of several orders may be added up, each with a weight,

    argmax_e Σ_n θ_n log q_n(e) + θ_length |e| + θ_map score(d)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import Sequences, offsets_of
from toledo.consensus.decide import NOTHING
from toledo.consensus.fast_consensus import list_counts, ngram_numbers
from toledo.consensus.lattice_mbr import NGramSpace, ngram_space
from toledo.consensus.rule import Decision, Rule
from toledo.consensus.texts import WeightedTexts
from toledo.errors import InputError
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest, Scores
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex
from toledo.metrics.bleu import BLEU
from toledo.metrics.expected import split_sequences
from toledo.settings import Meta, Settings
from toledo.text.vocabulary import BEGIN, END

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem

Floats = NDArray[np.float64]
UNSEEN = -100.0  # logarithm of the probability of an n-gram that q does not know: a text with fewer of them is better


@dataclass(frozen=True)
class Variational(Settings, Rule):
    """The best text of the whole forest under n-gram models of its distribution; the value is its weighted logarithm.

    `order_weights` are those of the models of order 1, 2, …: (0, 0, 1) is a trigram model alone. A lattice or forest is
    first pruned to a `density` in edges per word (None: not at all; lists never are); a `beam` of edges per node keeps
    large forests small when they are split.
    """

    order_weights: Annotated[
        tuple[float, ...], Meta(min_length=1, description="Weight of the n-gram model of each order, from 1 on.")
    ] = (0.0, 0.0, 1.0)
    length_weight: Annotated[float, Meta(description="Weight of the number of words.")] = 0.0
    map_weight: Annotated[float, Meta(ge=0, description="Weight of the score of the derivation.")] = 0.0
    density: Annotated[float | None, Meta(description="Edges per word that a forest is pruned to.")] = 50.0
    beam: Annotated[int | None, Meta(description="Edges per node of a forest that is split by n-grams.")] = None
    tokenize: Annotated[str, Meta(description="Tokenizer of texts; forests have words.")] = "13a"

    name = "variational"
    forest_scale = 3.0
    worth_trying: ClassVar[Mapping[str, Sequence[Any]]] = {
        "order_weights": ((0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 1.0, 1.0), (1.0,) * 4),
        "length_weight": (-0.5, 0.0, 0.5),
        "map_weight": (0.0, 0.03, 0.1, 0.3, 1.0),
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.order_weights) < 0.0 or not max(self.order_weights) > 0.0:
            raise InputError(
                "order_weights must be 0 or more, and one of them above 0", argument="order_weights",
                remedy="[0, 0, 1] is a trigram model, [1, 1, 1, 1] adds up models of four orders",
            )  # fmt: skip

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.order_weights)

    def values(self, problem: TextProblem) -> Floats:
        """Return the weighted logarithm of each text."""
        encoded = BLEU(tokenize=self.tokenize).encode([*problem.texts, *problem.references])
        assert encoded is not None  # noqa: S101 (BLEU compares words)
        texts, references = split_sequences(_with_boundaries(encoded), len(problem.texts))
        expected = list_counts(WeightedTexts(references, problem.probabilities), self.order)
        worth = self.worth(expected.index, expected.counts)
        numbers = ngram_numbers(texts.symbols, texts.offsets, expected.index, self.order)
        values = np.array([self._text_value(numbers[a:b], worth) for a, b in pairwise(texts.offsets.tolist())])
        if problem.scores is not None and self.map_weight:
            values += self.map_weight * problem.scale * problem.scores
        return values

    def _text_value(self, numbers: NDArray[np.int32], worth: Floats) -> float:
        """Return the value of a text; row i has the numbers of the n-grams that begin at word i, `<s>` being word 0."""
        size = len(numbers)
        places, orders = np.nonzero(np.add.outer(np.arange(size), np.arange(self.order)) < size)
        found = numbers[places, orders]
        factors = self._factors(orders + 1, places == 0)
        known = np.where(found == NO_NGRAM, np.where(factors > 0.0, factors * UNSEEN, 0.0), worth[found])
        lost = self.length_weight * np.count_nonzero(found[orders == 0] == NO_NGRAM)  # `worth` has the length of others
        return float(known.sum() + lost)

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the best text of a segment."""
        return self.decide_each(forest, scores, [(self, 1.0)])[0]

    @classmethod
    def decide_each(
        cls, forest: Forest, scores: Scores, candidates: Sequence[tuple[Variational, float]]
    ) -> list[Decision]:
        """Return the decisions of several such rules, each at its scale; shared work is done once."""
        space_of = cache(
            lambda order, density, beam: ngram_space(forest, scores, order, density, beam, boundaries=True)
        )
        return [rule.best(space_of(rule.order, rule.density, rule.beam), scale) for rule, scale in candidates]

    def best(self, space: NGramSpace, scale: float) -> Decision:
        """Return the best text of a forest whose texts have their boundaries."""
        counts = space.ngrams.expected_counts(space.distribution(scale), threads=1)
        gains = space.ngrams.edge_sums(self.worth(space.ngrams.indexes[0], counts), threads=1)
        if self.map_weight:
            gains += self.map_weight * scale * space.scores
        (found,) = viterbi(space.ngrams.forest, np.where(space.scores > -np.inf, gains, -np.inf))
        return NOTHING if found is None else Decision(found.word_ids[1:-1], found.score)

    def worth(self, index: NGramIndex, counts: Floats) -> Floats:
        """Return what each n-gram adds to the value of a text."""
        size = counts.size
        prefixes, words, orders = index.prefixes[:size], index.words[:size], index.orders[:size]
        begins = words == BEGIN
        for order in range(2, self.order + 1):  # an n-gram begins as its first n - 1 words do
            own = np.flatnonzero(orders == order)
            begins[own] = begins[prefixes[own]]
        single = orders == 1
        total = counts[single & ~begins].sum()
        given = np.where(single, total, counts[prefixes])
        factors = self._factors(orders, begins)
        with np.errstate(divide="ignore", invalid="ignore"):  # where nothing is counted
            logarithms = np.where(counts > 0.0, np.log(counts / given), -np.inf)
            worth = np.where(factors > 0.0, factors * logarithms, 0.0)
        worth[single & ~begins & (words != END)] += self.length_weight
        return worth

    def _factors(self, orders: NDArray[np.integer], begins: NDArray[np.bool_]) -> Floats:
        """Return the weight of the logarithm of n-grams: of their own order, and of longer ones where a text begins."""
        weights = np.array([0.0, *self.order_weights])
        longer = np.cumsum(weights[::-1])[::-1]  # of this order and all longer ones
        factors: Floats = np.where(begins, np.where(orders == 1, 0.0, longer[orders]), weights[orders])
        return factors


def _with_boundaries(texts: Sequences) -> Sequences:
    """Return texts with `<s>` and `</s>`, their words renumbered so that these two are free."""
    rows = [[BEGIN, *(texts.symbols[a:b] + END + 1), END] for a, b in pairwise(texts.offsets.tolist())]
    return Sequences(np.array([word for row in rows for word in row], np.int32), offsets_of(map(len, rows)))
