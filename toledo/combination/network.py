"""Confusion networks: columns of alternatives, which systems vote for each, and the paths of texts.

A network is a table: one row per column of the network, one place per output, which holds a word or no word (`NULL`).
Equal outputs are one, with the votes of several systems. The best output of a system votes with a confidence of 1, the
output of rank r in an n-best list with 1 / (1 + r). An empty output does not vote.

One output is the skeleton, to which the others are aligned one after another. Each is aligned to all words that the
outputs before it have put into a column (Rosti et al. 2009); a word that fits nowhere gets a new column. The closest
outputs come first, by the edits with shifts between them and the skeleton: they are the easiest to align well, and each
makes it easier to align the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.combination.alignment import EDIT, NO_COLUMN, SKIP, Aligned, ColumnCosts, Matcher, align
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import Sequences, offsets_of
from toledo.errors import InputError
from toledo.text.vocabulary import Vocabulary

NULL = -1  # no word of an output in a column


@kernel
def costs_beside(
    words: NDArray[np.int32], offsets: NDArray[np.int64], skeleton: int, costs: NDArray[np.int32], shifting: bool
) -> NDArray[np.int64]:
    """Return the cost of each of some texts beside one of them alone.

    Text h is `words[offsets[h]:offsets[h + 1]]`; words are rows of `costs`.
    """
    texts = offsets.size - 1
    table, alone = _skeleton_alone(words, offsets, skeleton)
    distances = np.zeros(texts, np.int64)
    for text in range(texts):
        if text != skeleton:
            own = words[offsets[text] : offsets[text + 1]]
            distances[text] = align(_task(own, table, alone, costs), shifting).cost
    return distances


@kernel
def build_table(
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    skeleton: int,
    distances: NDArray[np.int64],
    costs: NDArray[np.int32],
    shifting: bool,
) -> NDArray[np.int32]:
    """Return the network around one of some texts, to which the others are added by distance: a row per column."""
    table, aligned = _skeleton_alone(words, offsets, skeleton)
    for text in np.argsort(distances, kind="mergesort"):
        if text != skeleton:
            own = words[offsets[text] : offsets[text + 1]]
            table = _with(table, text, own, align(_task(own, table, aligned, costs), shifting))
            aligned[text] = True
    return table


@kernel
def _skeleton_alone(
    words: NDArray[np.int32], offsets: NDArray[np.int64], skeleton: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the network of one text, and which texts it has."""
    plain = words[offsets[skeleton] : offsets[skeleton + 1]]
    table = np.full((plain.size, offsets.size - 1), NULL, np.int32)
    table[:, skeleton] = plain
    aligned = np.zeros(offsets.size - 1, np.bool_)
    aligned[skeleton] = True
    return table, aligned


@kernel
def _task(
    own: NDArray[np.int32], table: NDArray[np.int32], aligned: NDArray[np.bool_], costs: NDArray[np.int32]
) -> ColumnCosts:
    """Return what each word costs in each column: as much as with the most similar word there."""
    width = table.shape[0]
    task = ColumnCosts(np.full((own.size, width), EDIT, np.int32), np.full(width, EDIT, np.int32))
    for j in range(width):
        for text in range(aligned.size):
            if not aligned[text]:
                continue
            word = table[j, text]
            if word == NULL:
                task.columns[j] = SKIP
                continue
            for i in range(own.size):
                task.words[i, j] = min(task.words[i, j], costs[own[i], word])
    return task


@kernel
def _with(table: NDArray[np.int32], text: int, own: NDArray[np.int32], found: Aligned) -> NDArray[np.int32]:
    """Add the words of a text to a table; words without a column get one after that of the word before."""
    new = 0
    for column in found.columns:
        new += column == NO_COLUMN
    result = np.full((table.shape[0] + new, table.shape[1]), NULL, np.int32)
    here = old = 0
    for i in range(own.size):
        column = found.columns[i]
        if column != NO_COLUMN:
            while old <= column:
                result[here] = table[old]
                here, old = here + 1, old + 1
            result[here - 1, text] = own[found.order[i]]
        else:
            result[here, text] = own[found.order[i]]
            here += 1
    result[here:] = table[old:]
    return result


Output = Sequence[str] | Sequence[Sequence[str]]  # of one system for one segment: words, or n-best lists of words
LARGEST_TABLE = 50_000_000  # cells in which two texts are compared


@dataclass(frozen=True, eq=False)
class DistinctOutputs:
    """The distinct outputs for a segment, as word ids, and the confidence of each system in each of them.

    The first `best` are the best outputs of some system: those that may be skeletons.
    """

    texts: Sequences
    confidences: NDArray[np.float32]
    best: int

    def __len__(self) -> int:
        """Return the number of distinct outputs."""
        return len(self.texts)


class Arcs(NamedTuple):
    """The arcs of a network by column: the word (or NULL) of each, and its votes.

    Arc a has the votes `vote_offsets[a]:vote_offsets[a + 1]`, of `systems` with `confidences`.
    """

    columns: NDArray[np.int32]
    words: NDArray[np.int32]
    vote_offsets: NDArray[np.int32]
    systems: NDArray[np.int32]
    confidences: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class ConfusionNetwork:
    """The outputs of a segment aligned to one of them, the `skeleton`: `table[column, output]` is a word id or NULL.

    `edits[output]` counts the edits, with shifts, between an output and the skeleton.
    """

    skeleton: int
    table: NDArray[np.int32]
    edits: NDArray[np.float64]
    hypotheses: DistinctOutputs

    @property
    def columns(self) -> int:
        """The number of columns."""
        return len(self.table)

    def arcs(self) -> Arcs:
        """Return the distinct words of each column, that of the skeleton first, with the systems that vote for them."""
        return _arcs(self.table, self.skeleton, self.hypotheses.confidences)


def distinct_hypotheses(outputs: Sequence[Output], vocabulary: Vocabulary) -> DistinctOutputs:
    """Return the distinct outputs of some systems for one segment; new words join the vocabulary."""
    places: dict[tuple[str, ...], int] = {}
    votes: list[tuple[int, int, float]] = []
    lists = [_as_list(output) for output in outputs]
    for rank in range(max((len(own) for own in lists), default=0)):
        for system, own in enumerate(lists):
            if rank < len(own):
                votes.append((places.setdefault(own[rank], len(places)), system, 1.0 / (1 + rank)))
        if rank == 0:
            best = len(places)
    confidences = np.zeros((len(places), len(outputs)), np.float32)
    for text, system, confidence in votes:
        confidences[text, system] = max(confidences[text, system], confidence)
    words = np.array([vocabulary.add(word) for text in places for word in text], np.int32)
    return DistinctOutputs(
        Sequences(words, offsets_of([len(text) for text in places])), confidences, best if places else 0
    )


def build_networks(
    hypotheses: DistinctOutputs,
    vocabulary: Vocabulary,
    matcher: Matcher,
    *,
    skeletons: int | None = None,
    shifts: bool = True,
) -> list[ConfusionNetwork]:
    """Build a network with each best output as skeleton, or with the `skeletons` closest to all other outputs."""
    texts = hypotheses.texts
    longest = int(texts.lengths.max(initial=0))
    if longest * int(texts.lengths.sum()) > LARGEST_TABLE:
        raise InputError(f"outputs of up to {longest} words cannot be aligned", remedy="split them into sentences")
    used, local = np.unique(texts.symbols, return_inverse=True)
    costs = matcher.costs(vocabulary.words(used.tolist()))
    words = local.astype(np.int32)
    distances = [costs_beside(words, texts.offsets, one, costs, shifts) for one in range(hypotheses.best)]
    totals = [_distance(own / 10.0, hypotheses) for own in distances]
    networks = []
    for skeleton in sorted(np.argsort(totals, kind="stable")[:skeletons].tolist()):
        table = build_table(words, texts.offsets, skeleton, distances[skeleton], costs, shifts)
        spoken = np.where(table == NULL, NULL, used[table]).astype(np.int32)
        networks.append(ConfusionNetwork(skeleton, spoken, distances[skeleton] / 10.0, hypotheses))
    return networks


def _distance(edits: NDArray[np.float64], hypotheses: DistinctOutputs) -> float:
    """Return how many edits away a skeleton is from what the systems say."""
    return float(edits @ hypotheses.confidences.sum(axis=1))


def heuristic_priors(networks: Sequence[ConfusionNetwork]) -> NDArray[np.float64]:
    """Return how much each skeleton can be trusted, from the alignments: e to the minus of the mean edits per word.

    They add up to 1.
    """
    rates = []
    for network in networks:
        weights = network.hypotheses.confidences.sum(axis=1)
        words = float(weights @ network.hypotheses.texts.lengths)
        rates.append(_distance(network.edits, network.hypotheses) / max(words, 1.0))
    trust = np.exp(-np.array(rates))
    return np.asarray(trust / trust.sum())


def _as_list(output: Output) -> list[tuple[str, ...]]:
    """Return the n-best list of a system without empty entries; a sequence of words is a list of one."""
    if isinstance(output, str):
        raise TypeError("an output is a list of words, not a text: split it first")
    if all(isinstance(part, str) for part in output):
        return [tuple(str(part) for part in output)] if output else []
    return [tuple(text) for text in output if text]


@kernel
def _arcs(table: NDArray[np.int32], skeleton: int, confidences: NDArray[np.float32]) -> Arcs:
    width, texts = table.shape
    systems = confidences.shape[1]
    room = width * texts
    arcs = Arcs(
        np.empty(room, np.int32), np.empty(room, np.int32), np.zeros(room + 1, np.int32),
        np.empty(room * systems, np.int32), np.empty(room * systems, np.float32),
    )  # fmt: skip
    seen = np.empty(texts, np.bool_)
    trust = np.empty(systems, np.float32)
    count = votes = 0
    for column in range(width):
        seen[:] = False
        for turn in range(-1, texts):
            first = skeleton if turn < 0 else turn
            if seen[first]:
                continue
            trust[:] = 0.0
            for text in range(texts):
                if table[column, text] == table[column, first]:
                    seen[text] = True
                    trust = np.maximum(trust, confidences[text])
            arcs.columns[count], arcs.words[count] = column, table[column, first]
            for system in range(systems):
                if trust[system] > 0.0:
                    arcs.systems[votes], arcs.confidences[votes] = system, trust[system]
                    votes += 1
            count += 1
            arcs.vote_offsets[count] = votes
    return Arcs(
        arcs.columns[:count].copy(), arcs.words[:count].copy(), arcs.vote_offsets[: count + 1].copy(),
        arcs.systems[:votes].copy(), arcs.confidences[:votes].copy(),
    )  # fmt: skip


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
    """Return the path with most votes of all networks that has these words; None if no network has them."""
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
