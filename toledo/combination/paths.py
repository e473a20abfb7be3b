"""The way of a text through a confusion network: which arc of each column it takes, and what the systems say to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.combination.incremental import NULL
from toledo.combination.network import Arcs, ConfusionNetwork

Shares = NDArray[np.float64]
NEVER = -math.inf


@dataclass(frozen=True, eq=False)
class NetworkPath:
    """One arc for each column of a network, by its number; `value` is the sum of the logarithms of their votes."""

    network: ConfusionNetwork
    arcs: tuple[int, ...]
    value: float


def arc_votes(arcs: Arcs, shares: Shares) -> NDArray[np.float64]:
    """Σ_n σ_n conf_n of each arc."""
    weighted = shares[arcs.systems] * arcs.confidences
    owners = np.repeat(np.arange(arcs.words.size), np.diff(arcs.vote_offsets))
    return np.bincount(owners, weighted, arcs.words.size).astype(np.float64)


def best_path(networks: Sequence[ConfusionNetwork], words: Sequence[int], shares: Shares) -> NetworkPath | None:
    """The path with most votes of all networks that has these words; None if no network has them."""
    found = [path for network in networks if (path := _path(network, words, shares)) is not None]
    return max(found, key=lambda path: path.value, default=None)


def _path(network: ConfusionNetwork, words: Sequence[int], shares: Shares) -> NetworkPath | None:
    """After c columns and w words the best way has come with the last arc `back[c][w]`."""
    arcs = network.arcs()
    scores = [math.log(vote) if vote > 0.0 else NEVER for vote in arc_votes(arcs, shares).tolist()]
    begins = np.searchsorted(arcs.columns, np.arange(network.columns + 1)).tolist()
    spoken = arcs.words.tolist()
    values, back = [0.0, *[NEVER] * len(words)], []
    for column in range(network.columns):
        after, taken = [NEVER] * (len(words) + 1), [-1] * (len(words) + 1)
        for arc in range(begins[column], begins[column + 1]):
            step = 0 if spoken[arc] == NULL else 1
            for place in range(len(words) + 1 - step):
                if step and spoken[arc] != words[place]:
                    continue
                value = values[place] + scores[arc]
                if value > after[place + step]:
                    after[place + step], taken[place + step] = value, arc
        values = after
        back.append(taken)
    if values[-1] == NEVER:
        return None
    place, chosen = len(words), []
    for taken in reversed(back):
        chosen.append(taken[place])
        place -= spoken[taken[place]] != NULL
    return NetworkPath(network, tuple(reversed(chosen)), values[-1])
