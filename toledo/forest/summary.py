"""A forest in a few numbers: its size, how many derivations it has, how sure of one the scores are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.forest.derivation import Derivation, viterbi
from toledo.forest.inside_outside import distribution
from toledo.forest.structure import Forest, Scores, Shape


@dataclass(frozen=True)
class Summary:
    """One segment: entropy in nats; no best derivation, and −inf for the count, where there is none at all."""

    nodes: int
    edges: int
    log10_derivations: float
    log_partition: float
    entropy: float
    best: Derivation | None


def log10_derivations(shape: Shape) -> NDArray[np.float64]:
    """How many derivations each segment has, as a decimal logarithm: their total weight if each weighs 1."""
    edges = shape.tail_offsets.size - 1
    return distribution(shape, np.zeros(edges), threads=1).log_partition / math.log(10.0)


def summarise(forest: Forest, scores: Scores) -> Summary:
    """Look at one segment."""
    if len(forest) != 1:
        raise ValueError("one segment is summarised at a time")
    given = distribution(forest.shape, scores, threads=1)
    return Summary(
        nodes=forest.nodes,
        edges=forest.edges,
        log10_derivations=float(log10_derivations(forest.shape)[0]),
        log_partition=float(given.log_partition[0]),
        entropy=float(given.entropy()[0]),
        best=viterbi(forest, scores)[0],
    )
