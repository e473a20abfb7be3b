"""Expected BLEU on n-best lists of paths: the second baseline of Rosti et al. (2011), nbExpBLEU.

The best paths are taken out of the lattices with the weights so far, joined with those of the rounds before, and kept
as paths of their own, edge by edge, so that they are scored as lattices are. The statistics of BLEU belong to whole
paths there: they are clipped path by path before the expectation is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from toledo.combination.ascent import Ascent
from toledo.combination.problem import Problem, References
from toledo.combination.scores import VotedForest
from toledo.combination.stages import Stage
from toledo.forest.assemble import Edges, from_edges, gather_rows, sparse_rows
from toledo.forest.joining import join, split
from toledo.forest.kbest import k_best
from toledo.forest.structure import Forest, Scores, Shape, Yields
from toledo.kernels import kernel, map_chunks
from toledo.metrics.bleu import BLEU
from toledo.objectives import Objective, without_ngrams
from toledo.objectives.objective import Situation
from toledo.sums import row_products, sum_of_products
from toledo.tuning.text_statistics import TextStatistics

SEGMENTS_AT_ONCE = 8
Paths = dict[bytes, NDArray[np.int32]]  # the edges of a path, by its words


@dataclass(frozen=True, eq=False)
class ExpectedPathStatistics(Objective):
    """BLEU, 0 to 1, of the expected statistics of paths; `last_edges` are edges that belong to one path each."""

    last_edges: NDArray[np.int64]
    statistics: NDArray[np.float64]
    metric: BLEU

    def rewards(self, situation: Situation) -> tuple[float, Scores]:
        """Each path is rewarded, at an edge of its own, by what its statistics add."""
        expected = sum_of_products(situation.distribution.posteriors[self.last_edges], self.statistics)
        rewards = np.zeros(situation.scores.size)
        rewards[self.last_edges] = row_products(self.statistics, 0.01 * self.metric.gradient(expected))
        return 0.01 * self.metric.score(expected), rewards


@dataclass(frozen=True)
class ListAscent:
    """Finds lists of `size` paths and the weights of highest expected BLEU on them in turn."""

    references: References
    ascent: Ascent = field(default_factory=Ascent)
    size: int = 300
    merges: int = 3

    def tune(self, problem: Problem, order: int) -> Stage:
        """The weights with the highest expected BLEU on all lists."""
        parts = split(problem.voted.forest)
        found: list[Paths] = [{} for _ in parts]
        point, stage = problem.first, None
        for _ in range(self.merges):
            scores = problem.voted.scores(problem.weights(point), problem.threads)
            self.add_paths(parts, scores, found, problem.threads)
            lists = self.list_problem(problem, parts, found)
            objective = self.objective(lists.voted.forest, order)
            stage = replace(self.ascent, rounds=1).follow(lists, [objective], point)
            point = replace(problem, start=stage.weights).first
        if stage is None:
            raise ValueError("lists are merged at least once")
        return replace(stage, scale=self.ascent.scale(problem, point))

    def add_paths(
        self, parts: Sequence[tuple[Forest, int, int]], scores: Scores, found: list[Paths], threads: int | None
    ) -> None:
        """Add the best paths of each segment to those found so far, if their words are new."""

        def work(first: int, last: int) -> None:
            for number in range(first, last):
                forest, begin, end = parts[number]
                for path in islice(k_best(forest, scores[begin:end], distinct=True), self.size):
                    found[number].setdefault(path.word_ids.tobytes(), path.edges)

        map_chunks(work, len(parts), chunk=SEGMENTS_AT_ONCE, threads=threads)

    def list_problem(self, problem: Problem, parts: Sequence[tuple[Forest, int, int]], found: list[Paths]) -> Problem:
        """The paths of all segments as lattices, with the votes of their arcs."""
        own = [
            (replace(part, provenance=problem.voted.arcs[begin:end]), paths)
            for (part, begin, end), paths in zip(parts, found, strict=True)
        ]
        forest = join([as_paths(part, list(paths.values())) for part, paths in own])
        arcs = np.empty(0, np.int64) if forest.provenance is None else forest.provenance
        voted = VotedForest(forest, problem.voted.votes, arcs)
        return replace(problem, voted=voted, matched=without_ngrams(forest))

    def objective(self, forest: Forest, order: int) -> ExpectedPathStatistics:
        """The expected BLEU of paths that stand side by side."""
        metric = BLEU(order)
        goals = forest.shape.sentences[1:] - 1
        last = [
            np.arange(forest.shape.head_edges[goal], forest.shape.head_edges[goal + 1], dtype=np.int64)
            for goal in goals.tolist()
        ]
        ends = np.concatenate(last)
        known = TextStatistics(metric, self.references, forest.vocabulary)
        segments = np.repeat(np.arange(len(last)), [own.size for own in last])
        words, offsets = path_texts(forest.shape, forest.yields, ends)
        return ExpectedPathStatistics(ends, known.of(words, offsets, segments), metric)


def as_paths(forest: Forest, paths: Sequence[NDArray[np.int32]]) -> Forest:
    """Some paths of a one-segment lattice, each with edges and nodes of its own up to the goal, which they share."""
    edges = np.concatenate([np.empty(0, np.int32), *(path[::-1] for path in paths)])  # from the start on
    sizes = np.array([path.size for path in paths], np.int64)
    ends = np.cumsum(sizes)
    heads = np.arange(edges.size)
    heads[ends - 1] = goal = edges.size
    firsts = np.zeros(edges.size, np.bool_)
    firsts[ends - sizes] = True
    tail_offsets = np.concatenate([[0], np.cumsum(~firsts)]).astype(np.int32)
    chosen = Edges(
        heads=heads.astype(np.int32),
        tail_offsets=tail_offsets,
        tails=(np.flatnonzero(~firsts) - 1).astype(np.int32),
        yields=Yields(*gather_rows(forest.yields.offsets, forest.yields.words, edges)),
        features=forest.features[edges],
        base=None if forest.base is None else forest.base[edges],
        sparse=None if forest.sparse is None else sparse_rows(forest.sparse.arrays, edges),
        provenance=None if forest.provenance is None else forest.provenance[edges],
    )
    names = forest.sparse.names if forest.sparse else ()
    return from_edges(chosen, goal, forest.feature_names, forest.vocabulary, names)


@kernel
def path_texts(shape: Shape, yields: Yields, ends: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The words of the one path that ends with each of some edges, and where they begin and end."""
    offsets = np.zeros(ends.size + 1, np.int64)
    words = np.empty(0, np.int32)
    for filling in (False, True):
        if filling:
            words = np.empty(offsets[-1], np.int32)
        for path in range(ends.size):
            edge, place, count = ends[path], offsets[path + 1], 0
            while True:
                for k in range(yields.offsets[edge + 1] - 1, yields.offsets[edge] - 1, -1):
                    if yields.words[k] >= 0:
                        count += 1
                        if filling:
                            words[place - count] = yields.words[k]
                if shape.tail_offsets[edge] == shape.tail_offsets[edge + 1]:
                    break
                edge = np.int64(shape.head_edges[shape.tails[shape.tail_offsets[edge]]])
            if not filling:
                offsets[path + 1] = offsets[path] + count
    return words, offsets
