"""Batch MIRA (Cherry and Foster 2012, "Batch tuning strategies for statistical machine translation").

An online learner goes through the segments many times. In each it takes the *hope* (best by score plus gain) and the
*fear* (best by score minus gain) and moves the weights just so far that hope beats fear by their difference in gain,
but by no more than C (`toledo.tuning.tuners.mira_lists`). The gain of a hypothesis is what it does for the BLEU of a
pseudo-corpus: the decayed sum of the statistics of earlier hopes. The result is the average of all weights on the way,
of the epoch after which the best hypotheses score highest.

In lattices and forests, hope and fear are found by Viterbi with gains that are linear in n-gram counts. The gain
(|r_B| + |r|) · BLEU(B + s) of a translation with statistics s is linearized around the pseudo-corpus B. With
β = BLEU(B), r and c its lengths, m_n and t_n its matches and n-grams of order n ≤ N, an n-gram of order n is worth

    r β / N · ([it is in a reference] / m_n − 1 / t_n),     and each word also  β r² / c²  if c < r.

(A segment like B itself, of any length, leaves these derivatives as they are.) Matches are not clipped here: that would
not be local to edges. What hope and fear really gain, with clipped matches, decides the step and updates B.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel, map_chunks
from toledo.forest.assemble import prune_to_density
from toledo.forest.forest import Shape, sentences_at_once
from toledo.forest.linear import Rows, Vector, score_rows
from toledo.forest.ngrams import localize
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.objectives.lists import sentence_gains
from toledo.objectives.objective import match
from toledo.progress import Progress
from toledo.settings import Meta, Settings
from toledo.tuning.examples import Examples
from toledo.tuning.tuner import SearchSpace, Tuned, Tuner, TuningProblem, refuse_metric
from toledo.tuning.tuners.mira_lists import (
    Learner,
    ListExamples,
    StepLimits,
    add_row,
    average,
    learn_from_lists,
    new_learner,
    pseudo_gain,
    step,
)
from toledo.tuning.weight_space import finite_rows, weight_space
from toledo.weights import Weights

NONE = -1


@dataclass(frozen=True)
class MIRA(Settings, Tuner):
    """Learn from hope and fear in n-best lists, or in lattices and forests; for thousands of sparse features, too.

    On forests hope and fear are found by Viterbi with linear gains. Metrics other than BLEU need lists: a hypothesis
    then gains its sentence score. Free weights get the L1 norm of those at the start if that costs nothing.
    """

    epochs: Annotated[int, Meta(ge=1, description="Number of passes over the segments.")] = 60
    largest_step: Annotated[float, Meta(gt=0, description="Maximum step of the weights for a segment (C).")] = 0.01
    decay: Annotated[float, Meta(ge=0, lt=1, description="Decay of the pseudo-corpus with each segment.")] = 0.999
    on: Annotated[SearchSpace, Meta(description="Learn from n-best lists, or from lattices and forests.")] = "lists"
    density: Annotated[float, Meta(gt=0, description="Prune forests to this many edges per word.")] = 20.0

    name = "mira"

    @property
    def wants(self) -> SearchSpace:
        """What it learns from."""
        return self.on

    def check_metric(self, metric: Metric) -> None:
        """Refuse metrics other than BLEU on forests."""
        if self.on == "forests" and not isinstance(metric, BLEU):
            raise refuse_metric("mira:on=forests", metric)

    def solve(self, problem: TuningProblem, seed: int, progress: Progress) -> Tuned:
        """Return the average weights of the best epoch; the order of segments is random."""
        segments, metric = len(problem.examples.forests), problem.metric
        if self.on == "forests":
            problem = forests = forest_problem(problem.examples, problem.start, self.density, problem.threads)
            epoch = partial(learn_from_forests, forests.arrays)
        else:
            lists = problem.lists
            gains = np.empty(0) if isinstance(metric, BLEU) else sentence_gains(lists)
            epoch = partial(learn_from_lists, ListExamples(problem.rows, lists.offsets, lists.statistics, gains))
        space, random = problem.space, np.random.default_rng(seed)
        learner, limits = new_learner(space), StepLimits(space.free, space.low, space.high, self.largest_step)
        background = np.ones(metric.size)
        best, best_gain, best_epoch = space.start, -np.inf, 0
        with progress(self.name, self.epochs) as advance:
            for number in range(1, self.epochs + 1):
                epoch(random.permutation(segments), learner, limits, background, self.decay)
                values = average(learner)
                gain = problem.gain(values)
                if gain > best_gain:
                    best, best_gain, best_epoch = values, gain, number
                advance(1)
        return problem.tuned(problem.at_norm_of_start(best), details={"epoch": float(best_epoch)})


class ForestExamples(NamedTuple):
    """Forests whose edges know the n-grams they complete, beside references.

    `edge_counts[h]` has the n-grams of each order that edge h completes and the references have, then all of them.
    """

    shape: Shape
    rows: Rows
    ngram_offsets: NDArray[np.int64]
    ngram_ids: NDArray[np.int32]
    orders: NDArray[np.uint8]
    reference_counts: Vector
    reference_lengths: NDArray[np.float64]
    edge_counts: NDArray[np.float32]


class SegmentArrays(NamedTuple):
    """Memory for one segment at a time: by edge, by node, by n-gram."""

    scores: Vector
    rewards: Vector
    best: Vector
    hope: NDArray[np.int32]
    fear: NDArray[np.int32]
    visits: Vector
    counts: Vector


@kernel
def new_arrays(examples: ForestExamples) -> SegmentArrays:
    """Enough for any segment."""
    shape, nodes, edges = examples.shape, 0, 0
    for segment in range(shape.sentences.size - 1):
        first, last = shape.sentences[segment], shape.sentences[segment + 1]
        nodes, edges = max(nodes, last - first), max(edges, shape.head_edges[last] - shape.head_edges[first])
    return SegmentArrays(
        np.empty(edges),
        np.empty(edges),
        np.empty(nodes),
        np.empty(nodes, np.int32),
        np.empty(nodes, np.int32),
        np.empty(nodes),
        np.zeros(examples.orders.size),
    )


@inner_kernel
def worth_of_ngrams(background: Vector, worth: Vector) -> None:
    """Write for each order what a match is worth, then what any n-gram is: see above."""
    order = worth.size // 2
    c, r, precision = background[0], background[1], 1.0
    for n in range(order):
        precision *= background[2 + n] / background[2 + order + n]
    bleu = precision ** (1.0 / order) * (np.exp(1.0 - r / c) if c < r else 1.0)
    for n in range(order):
        worth[n] = r * bleu / (order * background[2 + n])
        worth[order + n] = -r * bleu / (order * background[2 + order + n])
    if c < r:
        worth[order] += bleu * (r / c) ** 2.0


@inner_kernel
def count_ngrams(
    offsets: NDArray[np.int64],
    ids: NDArray[np.int32],
    orders: NDArray[np.uint8],
    reference_counts: Vector,
    counts: NDArray[np.float32],
) -> None:
    """Fill `edge_counts`."""
    order = counts.shape[1] // 2
    for h in range(offsets.size - 1):
        for i in range(offsets[h], offsets[h + 1]):
            n = int(orders[ids[i]]) - 1
            counts[h, order + n] += 1.0
            if reference_counts[ids[i]] > 0.0:
                counts[h, n] += 1.0


@inner_kernel
def reward_edges(counts: NDArray[np.float32], worth: Vector, begin: int, end: int, rewards: Vector) -> None:
    """Write what the n-grams that the edges `begin:end` complete are worth."""
    for h in range(begin, end):
        total = 0.0
        for k in range(worth.size):
            total += counts[h, k] * worth[k]
        rewards[h - begin] = total


@inner_kernel
def choose_edges(
    shape: Shape, first: int, last: int, room: SegmentArrays, factor: float, edges: NDArray[np.int32]
) -> None:
    """Choose the best edge of each node by score plus factor times reward; NONE where nothing derives it."""
    _, head_edges, tail_offsets, tails = shape
    scores, rewards, best = room.scores, room.rewards, room.best
    begin = head_edges[first]
    for v in range(first, last):
        best[v - first], edges[v - first] = -np.inf, NONE
        for h in range(head_edges[v], head_edges[v + 1]):
            score = scores[h - begin] + factor * rewards[h - begin]
            for t in range(tail_offsets[h], tail_offsets[h + 1]):
                score += best[tails[t] - first]
            if score > best[v - first]:
                best[v - first], edges[v - first] = score, h


@inner_kernel
def trace(
    examples: ForestExamples,
    segment: int,
    room: SegmentArrays,
    edges: NDArray[np.int32],
    statistics: NDArray[np.float64],
) -> float:
    """Count how often the best derivation visits each node; return its clipped statistics and its model score."""
    shape, _, ngram_offsets, ngram_ids, orders, reference_counts, reference_lengths, _ = examples
    visits, counts = room.visits, room.counts
    first, last = shape.sentences[segment], shape.sentences[segment + 1]
    begin, score, order = shape.head_edges[first], 0.0, (statistics.size - 2) // 2
    statistics[:] = 0.0
    visits[: last - first] = 0.0
    visits[last - 1 - first] = 1.0
    for v in range(last - 1, first - 1, -1):
        if visits[v - first] > 0.0:
            h = edges[v - first]
            score += visits[v - first] * room.scores[h - begin]
            for t in range(shape.tail_offsets[h], shape.tail_offsets[h + 1]):
                visits[shape.tails[t] - first] += visits[v - first]
            for i in range(ngram_offsets[h], ngram_offsets[h + 1]):
                counts[ngram_ids[i]] += visits[v - first]
    for v in range(first, last):
        if visits[v - first] > 0.0:
            h = edges[v - first]
            for i in range(ngram_offsets[h], ngram_offsets[h + 1]):
                g = ngram_ids[i]
                n = int(orders[g]) - 1
                statistics[2 + n] += min(counts[g], reference_counts[g])
                statistics[2 + order + n] += counts[g]
                counts[g] = 0.0
    statistics[0] = statistics[2 + order]
    statistics[1] = _closest(statistics[0], reference_lengths[segment])
    return score


@inner_kernel
def _closest(length: float, candidates: Vector) -> float:
    best = candidates[0]
    for candidate in candidates:
        distance, best_distance = abs(candidate - length), abs(best - length)
        if distance < best_distance or (distance == best_distance and candidate < best):
            best = candidate
    return float(best)


@inner_kernel
def add_derivation(
    rows: Rows, first: int, last: int, room: SegmentArrays, edges: NDArray[np.int32], factor: float, learner: Learner
) -> None:
    """Add the features of the derivation traced last to the difference."""
    for v in range(first, last):
        if room.visits[v - first] > 0.0:
            add_row(rows, edges[v - first], factor * room.visits[v - first], learner)


@dataclass(frozen=True, eq=False)
class ForestProblem(TuningProblem):
    """Forests whose best derivations are scored by BLEU."""

    arrays: ForestExamples

    def score(self, values: Vector) -> float:
        """Return the BLEU of the best derivations."""
        statistics = np.zeros((self.arrays.shape.sentences.size - 1, self.metric.size))
        map_chunks(
            lambda begin, end: _best_statistics(self.arrays, values, begin, end, statistics),
            statistics.shape[0],
            chunk=sentences_at_once(self.arrays.shape),
            threads=self.threads,
        )
        return self.metric.score(statistics.sum(axis=0))


def forest_problem(examples: Examples, start: Weights, density: float, threads: int | None) -> ForestProblem:
    """Cut forests down by the weights at the start, split them for n-grams, and count those beside the references."""
    metric = examples.metric
    order = metric.max_ngram_order if isinstance(metric, BLEU) else 4
    pruned = prune_to_density(examples.forest, examples.forest.scores(start, threads), density)
    matched = match(localize(pruned, pruned.scores(start, threads), order, threads=threads), examples.references)
    ngrams = matched.ngrams
    counts = np.zeros((ngrams.forest.edges, 2 * order), np.float32)
    count_ngrams(ngrams.offsets, ngrams.ids, ngrams.orders, matched.reference_counts, counts)
    arrays = ForestExamples(
        ngrams.forest.shape,
        finite_rows(ngrams.forest),
        ngrams.offsets,
        ngrams.ids,
        ngrams.orders,
        matched.reference_counts,
        matched.reference_lengths,
        counts,
    )
    return ForestProblem(examples, start, weight_space(ngrams.forest, start), threads, arrays)


@kernel
def learn_from_forests(
    examples: ForestExamples,
    order: NDArray[np.int64],
    learner: Learner,
    limits: StepLimits,
    background: Vector,
    decay: float,
) -> None:
    """Run one epoch in a given order of segments; changes the learner and the background statistics."""
    shape, rows = examples.shape, examples.rows
    room, worth = new_arrays(examples), np.empty(background.size - 2)
    hope_statistics, fear_statistics = np.empty(background.size), np.empty(background.size)
    for segment in order:
        first, last = shape.sentences[segment], shape.sentences[segment + 1]
        begin, end = shape.head_edges[first], shape.head_edges[last]
        score_rows(rows, learner.weights, begin, end, room.scores)
        worth_of_ngrams(background, worth)
        reward_edges(examples.edge_counts, worth, begin, end, room.rewards)
        choose_edges(shape, first, last, room, 1.0, room.hope)
        choose_edges(shape, first, last, room, -1.0, room.fear)
        if room.hope[last - 1 - first] == NONE:
            continue
        hope_score = trace(examples, segment, room, room.hope, hope_statistics)
        add_derivation(rows, first, last, room, room.hope, 1.0, learner)
        fear_score = trace(examples, segment, room, room.fear, fear_statistics)
        add_derivation(rows, first, last, room, room.fear, -1.0, learner)
        gain = pseudo_gain(background, hope_statistics) - pseudo_gain(background, fear_statistics)
        step(learner, gain - (hope_score - fear_score), limits)
        for k in range(background.size):
            background[k] = decay * background[k] + hope_statistics[k]


@kernel
def _best_statistics(
    examples: ForestExamples, weights: Vector, first: int, last: int, statistics: NDArray[np.float64]
) -> None:
    """BLEU statistics of the best derivations of the segments `first:last`."""
    shape, room = examples.shape, new_arrays(examples)
    room.rewards[:] = 0.0
    for segment in range(first, last):
        nodes, nodes_end = shape.sentences[segment], shape.sentences[segment + 1]
        score_rows(examples.rows, weights, shape.head_edges[nodes], shape.head_edges[nodes_end], room.scores)
        choose_edges(shape, nodes, nodes_end, room, 0.0, room.hope)
        if room.hope[nodes_end - 1 - nodes] != NONE:
            trace(examples, segment, room, room.hope, statistics[segment])
