"""MIRA over lattices and forests: hope and fear by Viterbi with gains that are linear in n-gram counts.

The gain (|r_B| + |r|) · BLEU(B + s) of a translation is linearised around the pseudo-corpus B
(`toledo.tuning.linear_gains`). What hope and fear really gain, with clipped matches, decides the step, and is what the
background adds up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.forest.ngrams import localise
from toledo.forest.pruning import prune_to_density
from toledo.forest.structure import sentences_at_once
from toledo.kernels import kernel, map_chunks
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.objectives.matching import match
from toledo.tuning.choices import sign
from toledo.tuning.examples import Examples
from toledo.tuning.linear_gains import (
    NONE,
    ForestExamples,
    add_derivation,
    choose_edges,
    count_ngrams,
    new_room,
    reward_edges,
    trace,
    worth_of_ngrams,
)
from toledo.tuning.margins import Learner, Limits, pseudo_gain, step
from toledo.tuning.rows import Parameters, Vector, parameters, rows_of, score_rows
from toledo.tuning.tuner import Tuned
from toledo.weights import Weights


@dataclass(frozen=True, eq=False)
class ForestProblem:
    """What is given, and how good weights are: by the BLEU of the best derivations."""

    examples: ForestExamples
    metric: Metric
    start: Weights
    parameters: Parameters
    threads: int | None

    def score(self, values: Vector) -> float:
        """BLEU of the best derivations."""
        statistics = np.zeros((self.examples.shape.sentences.size - 1, self.metric.size))
        map_chunks(
            lambda begin, end: _best_statistics(self.examples, values, begin, end, statistics),
            statistics.shape[0],
            chunk=sentences_at_once(self.examples.shape),
            threads=self.threads,
        )
        return self.metric.score(statistics.sum(axis=0))

    def gain(self, values: Vector) -> float:
        """The same, more being better."""
        return sign(self.metric) * self.score(values)

    def at_norm_of_start(self, values: Vector) -> Vector:
        """Free weights at the norm of those at the start, if that costs nothing."""
        return self.parameters.prefer_norm_of_start(values, self.gain)[0]

    def tuned(self, values: Vector, details: dict[str, float]) -> Tuned:
        """The result; the objective is BLEU."""
        score = self.score(self.parameters.clipped(values))
        weights = self.start.updated(self.parameters.names, values)
        return Tuned(weights, sign(self.metric) * score, {self.metric.name: score, **details})


def forest_problem(examples: Examples, start: Weights, density: float, threads: int | None) -> ForestProblem:
    """Cut forests down by the weights at the start, split them for n-grams, and count those beside the references."""
    metric = examples.metric
    order = metric.order if isinstance(metric, BLEU) else 4
    pruned = prune_to_density(examples.forest, examples.forest.scores(start, threads), density)
    matched = match(localise(pruned, pruned.scores(start, threads), order, threads=threads), examples.references)
    ngrams = matched.ngrams
    given = parameters(ngrams.forest, start)
    counts = np.zeros((ngrams.forest.edges, 2 * order), np.float32)
    count_ngrams(ngrams.offsets, ngrams.ids, ngrams.orders, matched.reference_counts, counts)
    return ForestProblem(
        ForestExamples(
            ngrams.forest.shape,
            rows_of(ngrams.forest, given.names),
            ngrams.offsets,
            ngrams.ids,
            ngrams.orders,
            matched.reference_counts,
            matched.reference_lengths,
            counts,
        ),
        metric,
        start,
        given,
        threads,
    )


@kernel
def learn_from_forests(
    examples: ForestExamples,
    order: NDArray[np.int64],
    learner: Learner,
    limits: Limits,
    background: Vector,
    decay: float,
) -> None:
    """One epoch in a given order of segments; changes the learner and the background statistics."""
    shape, rows = examples.shape, examples.rows
    room, worth = new_room(examples), np.empty(background.size - 2)
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
    shape, room = examples.shape, new_room(examples)
    room.rewards[:] = 0.0
    for segment in range(first, last):
        nodes, nodes_end = shape.sentences[segment], shape.sentences[segment + 1]
        score_rows(examples.rows, weights, shape.head_edges[nodes], shape.head_edges[nodes_end], room.scores)
        choose_edges(shape, nodes, nodes_end, room, 0.0, room.hope)
        if room.hope[nodes_end - 1 - nodes] != NONE:
            trace(examples, segment, room, room.hope, statistics[segment])
