"""Objectives that are functions of expected n-gram counts.

Two sweeps over pieces of a corpus, with the objective itself between them: the first goes from weights to expected
counts, the second from the derivatives by these counts to the gradient. What only one sweep needs never leaves it.

An objective needs `value_and_derivatives` alone. One that adds up something over segments can do so within the sweeps:
`collect`, `settle` and `differentiate`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.forest.forest import Scores, Shape, check_scores, sentences_at_once
from toledo.forest.inside_outside import edge_advantage, inside, outside
from toledo.forest.linear import Vector, add_rows, score_rows, sum_in_order
from toledo.forest.ngrams import CompletedNGrams, add_expected, add_values
from toledo.objectives.objective import MatchedForest, Objective, Situation


class FirstSweep(NamedTuple):
    """What the second sweep needs of the first one."""

    conditional: Scores  # of each edge
    visits: Scores  # of each node
    expected: NDArray[np.float64]  # count of each n-gram


class ExpectedCounts(Objective):
    """An objective that is a function of the expected counts of n-grams."""

    works_on = ("forests", "lists")
    only_metric = "BLEU"
    order: int = 4

    @abstractmethod
    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value, and its derivative by the expected count of each n-gram."""

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Pay the derivative of each n-gram to the edges that complete it."""
        ngrams = situation.matched.ngrams
        expected = ngrams.expected_counts(situation.distribution, situation.threads)
        value, derivatives = self.value_and_derivatives(situation.matched, expected, situation.threads)
        return value, ngrams.edge_sums(derivatives, situation.threads)

    def collect(self, matched: MatchedForest, expected: NDArray[np.float64], first: int, last: int) -> Any:
        """Return what `settle` wants to know of some segments, found while their expected counts are at hand."""

    def settle(
        self, matched: MatchedForest, expected: NDArray[np.float64], parts: Sequence[Any], threads: int | None
    ) -> tuple[float, Any]:
        """Return the value, and what `differentiate` needs to know of the whole; `parts` are what `collect` gave."""
        return self.value_and_derivatives(matched, expected, threads)

    def differentiate(
        self,
        matched: MatchedForest,
        expected: NDArray[np.float64],
        settled: Any,
        first: int,
        last: int,
        derivatives: NDArray[np.float64],
    ) -> None:
        """Write the derivatives by the expected counts of some segments; here they are known already."""
        own = slice(matched.ngrams.sentences[first], matched.ngrams.sentences[last])
        derivatives[own] = settled[own]

    def value_and_advantage(
        self, matched: MatchedForest, scores: Scores, threads: int | None = None
    ) -> tuple[float, Scores]:
        """Return the value and its derivative by the score of each edge, in two sweeps over pieces of the forest."""
        check_scores(matched.ngrams.forest.shape, scores)
        value, parts = self._sweep(matched, lambda edges: scores[edges], lambda _, advantage: advantage, threads)
        return value, np.concatenate([np.empty(0), *parts])

    def value_and_slopes(
        self, matched: MatchedForest, weights: Vector, threads: int | None = None
    ) -> tuple[float, Vector]:
        """Return the value and its derivative by each weight, in two sweeps over pieces of the corpus."""
        rows = matched.ngrams.forest.rows

        def score(edges: slice) -> Scores:
            scores = np.empty(edges.stop - edges.start)
            score_rows(rows, weights, edges.start, edges.stop, scores)
            if not (scores < np.inf).all():  # NaN too
                raise ValueError("scores of edges are NaN or +inf: the weights are too large")
            return scores

        def slopes(edges: slice, advantage: Scores) -> Vector:
            return add_rows(rows, advantage, edges.start, edges.stop, np.zeros(weights.size))

        value, parts = self._sweep(matched, score, slopes, threads)
        return value, sum_in_order(parts, weights.size)

    def _sweep(
        self,
        matched: MatchedForest,
        score: Callable[[slice], Scores],
        finish: Callable[[slice, Scores], Vector],
        threads: int | None,
    ) -> tuple[float, list[Vector]]:
        """Return the value, and for each piece what `finish` makes of the advantages of its edges."""
        forest, completed = matched.ngrams.forest, matched.ngrams.completed
        shape, pieces = forest.shape, sentences_at_once(forest.shape)
        found = FirstSweep(np.empty(forest.edges), np.zeros(forest.nodes), np.zeros(matched.ngrams.orders.size))
        derivatives = np.empty(found.expected.size)

        def edges_of(first: int, last: int) -> slice:
            return slice(*shape.head_edges[shape.sentences[[first, last]]].tolist())

        def expect(first: int, last: int) -> Any:
            _expect(shape, score(edges_of(first, last)), completed, first, last, found)
            return self.collect(matched, found.expected, first, last)

        def differentiate(first: int, last: int) -> Vector:
            self.differentiate(matched, found.expected, settled, first, last, derivatives)
            return finish(edges_of(first, last), _advantage(shape, completed, first, last, found, derivatives))

        parts = map_chunks(expect, len(forest), chunk=pieces, threads=threads)
        value, settled = self.settle(matched, found.expected, parts, threads)
        return value, map_chunks(differentiate, len(forest), chunk=pieces, threads=threads)


@dataclass(frozen=True)
class CountsFunction(ExpectedCounts):
    """A function of matched forests and expected counts that returns its value and derivatives."""

    function: Callable[[MatchedForest, NDArray[np.float64]], tuple[float, NDArray[np.float64]]]
    order: int = 4

    name = "function"

    def value_and_derivatives(
        self, matched: MatchedForest, expected: NDArray[np.float64], threads: int | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """Call the function."""
        return self.function(matched, expected)


@kernel
def _expect(shape: Shape, scores: Scores, completed: CompletedNGrams, first: int, last: int, found: FirstSweep) -> None:
    """From the scores of the edges of some sentences to expected counts."""
    first_node, nodes_end = shape.sentences[first], shape.sentences[last]
    first_edge, edges_end = shape.head_edges[first_node], shape.head_edges[nodes_end]
    posteriors, log_inside = np.empty(edges_end - first_edge), np.empty(nodes_end - first_node)
    inside(shape, first, last, scores, first_edge, log_inside, first_node, found.conditional)
    outside(shape, first, last, log_inside, first_node, found.conditional, found.visits, posteriors, first_edge)
    add_expected(completed, posteriors, first_edge, edges_end, found.expected)


@kernel
def _advantage(
    shape: Shape, completed: CompletedNGrams, first: int, last: int, found: FirstSweep, derivatives: NDArray[np.float64]
) -> Scores:
    """From derivatives by expected counts to the advantage of the edges of some sentences."""
    first_edge, edges_end = shape.head_edges[shape.sentences[first]], shape.head_edges[shape.sentences[last]]
    rewards, advantage = np.empty(edges_end - first_edge), np.empty(edges_end - first_edge)
    add_values(completed, derivatives, first_edge, edges_end, rewards)
    edge_advantage(shape, first, last, found.conditional, found.visits, rewards, advantage, first_edge)
    return advantage
