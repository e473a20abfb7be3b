"""All networks of a segment side by side in one lattice, as a forest.

    start ──skeleton──> network 1 ──> goal
          ──skeleton──> network 2 ──>

Each edge but the first and last ones is an *arc*: a word or NULL in a column of a network, or the way from the start
into a network (its column is −1). The systems vote for arcs; votes for the way in are those of the systems whose output
is the skeleton, times a prior from the alignments (Rosti et al. 2011). The provenance of an edge is the number of its
arc, through all expansion and pruning.

Features: `word` and `null` count arcs of either kind, `skeleton` is the logarithm of the prior, and the sparse
`skeleton.NAME` tells whose output is the skeleton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.combination.network import NULL, Arcs, ConfusionNetwork, DistinctOutputs, heuristic_priors
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import offsets_of
from toledo.forest.forest import Forest, Shape, Yields
from toledo.forest.linear import SparseArrays, SparseFeatures
from toledo.text.vocabulary import Vocabulary

FEATURES = ("word", "null", "skeleton")
SKELETONS = "skeleton."  # before the name of a system
NO_ARC, WAY_IN = -1, -1  # the arc of edges without votes; the column of the way into a network
TAIL = -1  # in a yield: the text of the first tail


class Votes(NamedTuple):
    """Arc a has the votes `offsets[a]:offsets[a + 1]`: of `systems`, with `confidences`."""

    offsets: NDArray[np.int64]
    systems: NDArray[np.int32]
    confidences: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NetworkLattice:
    """The networks of a segment as a forest whose provenance numbers arcs; the votes for them and where they are."""

    forest: Forest
    votes: Votes
    networks: tuple[ConfusionNetwork, ...]
    network_of: NDArray[np.int32]
    column_of: NDArray[np.int32]
    hypotheses: DistinctOutputs
    systems: tuple[str, ...] = ()


def join_networks(
    networks: Sequence[ConfusionNetwork], hypotheses: DistinctOutputs, systems: Sequence[str], vocabulary: Vocabulary
) -> NetworkLattice:
    """Return the lattice of a segment; without any network, it only has the empty text."""
    priors = heuristic_priors(networks)
    parts = [_with_way_in(network, prior) for network, prior in zip(networks, priors, strict=True)]
    columns = np.concatenate([np.empty(0, np.int32), *(part.columns for part in parts)])
    words = np.concatenate([np.empty(0, np.int32), *(part.words for part in parts)])
    heads, tails = _ends([network.columns for network in networks], parts)
    arcs, edges = words.size, words.size + 1 + max(len(parts), 1)
    nodes = 2 + sum(network.columns + 1 for network in networks)
    spoken = np.concatenate([[NULL], words, np.full(edges - 1 - arcs, NULL)])
    features = np.zeros((edges, len(FEATURES)), np.float32)
    inner = np.concatenate([[False], columns != WAY_IN, np.full(edges - 1 - arcs, False)])
    features[:, 0], features[:, 1] = inner & (spoken != NULL), inner & (spoken == NULL)
    ways = 1 + np.flatnonzero(columns == WAY_IN)
    features[ways, 2] = np.log(priors)
    forest = Forest(
        shape=Shape(
            np.array([0, nodes]),
            np.searchsorted(heads, np.arange(nodes + 1)).astype(np.int32),
            np.concatenate([[0], np.arange(edges)]).astype(np.int32),
            tails,
        ),
        yields=_yields(spoken),
        features=features,
        feature_names=FEATURES,
        vocabulary=vocabulary,
        sparse=_skeletons(networks, ways, edges, systems),
        provenance=np.concatenate([[NO_ARC], np.arange(arcs), np.full(edges - 1 - arcs, NO_ARC)]),
    )
    votes = join_votes([Votes(part.vote_offsets.astype(np.int64), part.systems, part.confidences) for part in parts])
    network_of = np.repeat(np.arange(len(parts), dtype=np.int32), [part.words.size for part in parts])
    return NetworkLattice(forest, votes, tuple(networks), network_of, columns, hypotheses, tuple(systems))


def join_votes(votes: Sequence[Votes]) -> Votes:
    """Lay votes end to end."""
    return Votes(
        offsets_of(np.concatenate([np.empty(0, np.int64), *(np.diff(part.offsets) for part in votes)])),
        np.concatenate([np.empty(0, np.int32), *(part.systems for part in votes)]),
        np.concatenate([np.empty(0, np.float32), *(part.confidences for part in votes)]),
    )


def bigram_edges(lattice: NetworkLattice) -> int:
    """Estimate how many edges the lattice will have once nodes are split by their last word."""
    nulls = lattice.forest.features[1 : 1 + lattice.column_of.size, FEATURES.index("null")] > 0.0
    return _bigram_edges(lattice.column_of, nulls)


@kernel
def _bigram_edges(columns: NDArray[np.int32], nulls: NDArray[np.bool_]) -> int:
    edges = contexts = first = 0
    for last in range(columns.size):
        if last + 1 < columns.size and columns[last + 1] == columns[last]:
            continue
        if columns[last] == WAY_IN:
            contexts = 1
        else:
            empty = int(nulls[first : last + 1].sum())
            size = last + 1 - first
            edges += contexts * size
            contexts = size - empty + (contexts if empty else 0)
        first = last + 1
    return edges


def _with_way_in(network: ConfusionNetwork, prior: float) -> Arcs:
    """Return the way into a network, as its first arc, and its arcs."""
    arcs, trust = network.arcs(), network.hypotheses.confidences[network.skeleton]
    voters = np.flatnonzero(trust)
    return Arcs(
        np.concatenate([[WAY_IN], arcs.columns]).astype(np.int32),
        np.concatenate([[NULL], arcs.words]).astype(np.int32),
        np.concatenate([[0], voters.size + arcs.vote_offsets]).astype(np.int32),
        np.concatenate([voters, arcs.systems]).astype(np.int32),
        np.concatenate([prior * trust[voters], arcs.confidences]).astype(np.float32),
    )


def _ends(widths: Sequence[int], parts: Sequence[Arcs]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the heads of all edges and the tails of all but the first; nodes are the start, the networks, the goal."""
    heads: list[NDArray[np.int64]] = [np.zeros(1, np.int64)]
    tails: list[NDArray[np.int64]] = []
    first, lasts = 1, []
    for width, part in zip(widths, parts, strict=True):
        inner = part.columns[1:].astype(np.int64)
        heads += [np.full(1, first), first + 1 + inner]
        tails += [np.zeros(1, np.int64), first + inner]
        first += width + 1
        lasts.append(first - 1)
    heads.append(np.full(max(len(parts), 1), first))
    tails.append(np.array(lasts or [0]))
    return np.concatenate(heads).astype(np.int32), np.concatenate(tails).astype(np.int32)


def _yields(spoken: NDArray[np.int64]) -> Yields:
    """Each edge but the first writes the text so far, and then its word if it has one."""
    has_word, has_tail = spoken != NULL, np.arange(spoken.size) > 0
    offsets = np.concatenate([[0], np.cumsum(has_word.astype(np.int32) + has_tail)]).astype(np.int32)
    words = np.empty(offsets[-1], np.int32)
    words[offsets[:-1][has_tail]] = TAIL
    words[offsets[1:][has_word] - 1] = spoken[has_word]
    return Yields(offsets, words)


def _skeletons(
    networks: Sequence[ConfusionNetwork], ways: NDArray[np.int64], edges: int, systems: Sequence[str]
) -> SparseFeatures:
    """Return, for the way into each network, the systems whose output is its skeleton."""
    counts, ids = np.zeros(edges, np.int64), []
    for way, network in zip(ways.tolist(), networks, strict=True):
        ids.append(np.flatnonzero(network.hypotheses.confidences[network.skeleton] == 1.0))
        counts[way] = ids[-1].size
    flat = np.concatenate([np.empty(0, np.int64), *ids]).astype(np.int32)
    names = tuple(f"{SKELETONS}{system}" for system in systems)
    return SparseFeatures(
        names, SparseArrays(offsets_of(counts).astype(np.int32), flat, np.ones(flat.size, np.float32))
    )
