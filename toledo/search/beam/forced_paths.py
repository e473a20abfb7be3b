"""All derivations that give exactly one target text: a dynamic programme over source words done and target position.

The language model plays no part in the state: what was written is known from the target position alone.

Which phrases of a sentence stand in a given target text, and what language models make of that text.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import find_pair
from toledo.compiled.heap import grown
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.language_model.automaton import advance, begin_state
from toledo.phrases.trie import NO_PHRASE, ROOT, PhraseTrie
from toledo.search.beam.cubes import MIX, EdgeArrays, SearchLattice, edges_with_room
from toledo.search.options import (
    DISCONTINUOUS,
    LN10,
    MONOTONE,
    NONE,
    SWAP,
    UNKNOWN_WORD,
    Scoring,
    SentenceOptions,
    after_span,
    may_follow,
    span_mask,
)
from toledo.text.vocabulary import END


class Placed(NamedTuple):
    """Phrases that stand in the target: source words from `begin` up to `end` give `length` words at `place`.

    Those at one place are `offsets[place]:offsets[place + 1]`.
    """

    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    pairs: NDArray[np.int32]
    place: NDArray[np.int32]
    length: NDArray[np.int32]
    offsets: NDArray[np.int64]


@kernel
def place_phrases(
    trie: PhraseTrie,
    option_offsets: NDArray[np.int32],
    longest: int,
    pair_target: NDArray[np.int32],
    target_offsets: NDArray[np.int64],
    target_words: NDArray[np.int32],
    source: NDArray[np.int32],
    copies: NDArray[np.int32],
    copied: NDArray[np.bool_],
    target: NDArray[np.int32],
) -> Placed:
    """All phrase pairs of the sentence, and words to be copied, that stand somewhere in the target."""
    rows, size = np.empty((64, 5), np.int32), 0
    for b in range(source.size):
        node = ROOT
        for e in range(b, min(b + longest, source.size)):
            node = find_pair(trie.children, node, source[e])
            if node < 0:
                break
            phrase = trie.phrase[node]
            if phrase == NO_PHRASE:
                continue
            for pair in range(option_offsets[phrase], option_offsets[phrase + 1]):
                first, stop = target_offsets[pair_target[pair]], target_offsets[pair_target[pair] + 1]
                for j in range(target.size - (stop - first) + 1):
                    if _stands_at(target, j, target_words, first, stop):
                        rows = grown(rows, size + 1)
                        _set_row(rows, size, b, e + 1, pair, j, stop - first)
                        size += 1
        for j in range(target.size if copied[b] else 0):
            if target[j] == copies[b]:
                rows = grown(rows, size + 1)
                _set_row(rows, size, b, b + 1, UNKNOWN_WORD, j, 1)
                size += 1
    return _by_place(rows, size, target.size)


@inlined
def _stands_at(target: NDArray[np.int32], j: int, words: NDArray[np.int32], first: int, stop: int) -> bool:
    same = True
    for k in range(stop - first):
        if target[j + k] != words[first + k]:
            same = False
            break
    return same


@inlined
def _set_row(rows: NDArray[np.int32], row: int, begin: int, end: int, pair: int, place: int, length: int) -> None:
    rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3], rows[row, 4] = begin, end, pair, place, length


@kernel
def _by_place(rows: NDArray[np.int32], size: int, places: int) -> Placed:
    """Sorted by counting; those at one place stay in order."""
    offsets = np.zeros(places + 1, np.int64)
    for i in range(size):
        offsets[rows[i, 3] + 1] += 1
    for j in range(places):
        offsets[j + 1] += offsets[j]
    used, columns = offsets.copy(), np.empty((5, size), np.int32)
    for i in range(size):
        for k in range(5):
            columns[k, used[rows[i, 3]]] = rows[i, k]
        used[rows[i, 3]] += 1
    return Placed(columns[0], columns[1], columns[2], columns[3], columns[4], offsets)


@kernel
def prefix_scores(scoring: Scoring, words: NDArray[np.int32]) -> NDArray[np.float64]:
    """`[i, m]`: the natural log probability of the first i words by model m; the last row has the end as well."""
    totals = np.zeros((words.size + 2, len(scoring.models)))
    for m in range(len(scoring.models)):
        state, total = begin_state(scoring.models[m]), 0.0
        for i in range(words.size + 1):
            step, state = advance(scoring.models[m], state, words[i] if i < words.size else END)
            total += step * LN10
            totals[i + 1, m] = total
    return totals


class PathScoring(NamedTuple):
    """As in `Scoring`, without the language models themselves: their number then needs no compilation of its own."""

    model_weights: NDArray[np.float64]
    distortion_weight: float
    reordering: NDArray[np.float32]


class ForcedHypotheses(NamedTuple):
    """Source words done (`gap`, `mask`), the last span and phrase; `following`: the next one at the place."""

    place: NDArray[np.int32]
    gap: NDArray[np.int32]
    mask: NDArray[np.uint64]
    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    option: NDArray[np.int32]
    following: NDArray[np.int32]
    score: NDArray[np.float64]
    best_edge: NDArray[np.int32]


@kernel
def find_paths(
    options: SentenceOptions,
    placed: Placed,
    length: int,
    prefix: NDArray[np.float64],
    scoring: PathScoring,
    jump: int,
    most: int,
) -> tuple[SearchLattice, bool]:
    """The lattice of all derivations, and whether that is all: of each target position the best `most` are kept."""
    reordering = scoring.reordering.shape[0] > 0
    models, size = scoring.model_weights.size, prefix.shape[0] - 2
    nodes, edges = _room(64), EdgeArrays(
        np.empty(64, np.int32), np.empty(64, np.int32), np.empty(64, np.int32), np.empty((64, models), np.float32)
    )  # fmt: skip
    first_node, counts = np.full(size + 1, NONE, np.int32), np.zeros(size + 1, np.int64)
    slots, all_kept = np.full(256, NONE, np.int32), True
    nodes.place[0], nodes.gap[0], nodes.mask[0], nodes.begin[0], nodes.end[0] = 0, 0, np.uint64(0), 0, 0
    nodes.option[0], nodes.following[0], nodes.score[0], nodes.best_edge[0] = NONE, NONE, 0.0, NONE
    node_count, edge_count, first_node[0], counts[0] = 1, 0, 0, 1
    for j in range(size):
        lowest = -math.inf
        if counts[j] > most:
            lowest, all_kept = _lowest_kept(nodes, first_node[j], counts[j], most), False
        v = first_node[j]
        while v != NONE:
            gap, last = nodes.gap[v], nodes.end[v]
            for option in range(placed.offsets[j], placed.offsets[j + 1]):
                if nodes.score[v] < lowest:
                    break
                b, e = options.begin[option], options.end[option]
                if not _may_follow(gap, nodes.mask[v], last, b, e, jump):
                    continue
                nodes, edges = _with_room(nodes, node_count + 1), edges_with_room(edges, edge_count + 1)
                if 2 * node_count + 2 > slots.size:
                    slots = _larger_slots(nodes, node_count, 4 * slots.size, reordering)
                new = node_count
                new_gap, mask = after_span(gap, nodes.mask[v], b, e)
                place = j + options.lengths[option]
                nodes.place[new], nodes.gap[new], nodes.mask[new], nodes.option[new] = place, new_gap, mask, option
                nodes.begin[new], nodes.end[new] = b, e
                score = nodes.score[v] + options.static[option] - scoring.distortion_weight * abs(b - last)
                for m in range(models):
                    edges.model_scores[edge_count, m] = prefix[place, m] - prefix[j, m]
                    score += scoring.model_weights[m] * (prefix[place, m] - prefix[j, m])
                if reordering:
                    score += _orientation_score(options, scoring, nodes, v, option)
                slot = _slot_of(nodes, new, slots, reordering)
                head = slots[slot]
                if head == NONE:
                    head, slots[slot], nodes.following[new] = new, new, first_node[place]
                    nodes.score[new], nodes.best_edge[new], first_node[place] = score, edge_count, new
                    counts[place] += 1
                    node_count += 1
                elif score > nodes.score[head]:
                    nodes.score[head], nodes.best_edge[head] = score, edge_count
                edges.heads[edge_count], edges.tails[edge_count], edges.options[edge_count] = head, v, option
                edge_count += 1
            v = nodes.following[v]
    return _finish(nodes, edges, scoring, prefix, length, first_node[size], node_count, edge_count), all_kept


@kernel
def _room(size: int) -> ForcedHypotheses:
    return ForcedHypotheses(
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint64), np.empty(size, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size),
        np.empty(size, np.int32),
    )  # fmt: skip


@kernel
def _with_room(nodes: ForcedHypotheses, needed: int) -> ForcedHypotheses:
    if needed <= nodes.gap.size:
        return nodes
    return ForcedHypotheses(
        grown(nodes.place, needed), grown(nodes.gap, needed), grown(nodes.mask, needed), grown(nodes.begin, needed),
        grown(nodes.end, needed), grown(nodes.option, needed), grown(nodes.following, needed),
        grown(nodes.score, needed), grown(nodes.best_edge, needed),
    )  # fmt: skip


@kernel
def _lowest_kept(nodes: ForcedHypotheses, first: int, count: int, most: int) -> float:
    """The score of the last hypothesis that is kept at a place."""
    scores, size = np.empty(count), 0
    while first != NONE:
        scores[size] = nodes.score[first]
        size += 1
        first = nodes.following[first]
    return float(np.sort(scores[:size])[size - most])


@inner_kernel
def _may_follow(gap: int, mask: np.uint64, last: int, b: int, e: int, jump: int) -> bool:
    """Whether the distortion rule allows a span, and none of its words is translated."""
    if not may_follow(gap, last, b, e, jump):
        return False
    return not (mask & span_mask(gap, b, e))


@inner_kernel
def _orientation_score(
    options: SentenceOptions, scoring: PathScoring, nodes: ForcedHypotheses, v: int, option: int
) -> float:
    orientation, score = DISCONTINUOUS, 0.0
    if options.begin[option] == nodes.end[v]:
        orientation = MONOTONE
    elif options.end[option] == nodes.begin[v]:
        orientation = SWAP
    if options.pairs[option] >= 0:
        score += scoring.reordering[options.pairs[option], orientation]
    if nodes.option[v] != NONE and options.pairs[nodes.option[v]] >= 0:
        score += scoring.reordering[options.pairs[nodes.option[v]], 3 + orientation]
    return score


@inner_kernel
def _slot_of(nodes: ForcedHypotheses, v: int, slots: NDArray[np.int32], reordering: bool) -> int:
    """The slot of the hypothesis equal to v, or the empty one where v goes."""
    mixed = nodes.mask[v] ^ (np.uint64(nodes.gap[v]) << np.uint64(40)) ^ (np.uint64(nodes.end[v]) << np.uint64(52))
    mixed = (mixed * MIX) ^ (np.uint64(nodes.place[v]) << np.uint64(20))
    if reordering:
        mixed ^= np.uint64(nodes.option[v])
    slot = np.int64((mixed * MIX) >> np.uint64(32)) & (slots.size - 1)
    while slots[slot] != NONE:
        u = slots[slot]
        if (
            nodes.place[u] == nodes.place[v]
            and nodes.gap[u] == nodes.gap[v]
            and nodes.mask[u] == nodes.mask[v]
            and nodes.end[u] == nodes.end[v]
            and (not reordering or (nodes.begin[u] == nodes.begin[v] and nodes.option[u] == nodes.option[v]))
        ):
            break
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)


@kernel
def _larger_slots(nodes: ForcedHypotheses, count: int, size: int, reordering: bool) -> NDArray[np.int32]:
    slots = np.full(size, NONE, np.int32)
    for v in range(count):
        slots[_slot_of(nodes, v, slots, reordering)] = v
    return slots


@kernel
def _finish(
    nodes: ForcedHypotheses,
    edges: EdgeArrays,
    scoring: PathScoring,
    prefix: NDArray[np.float64],
    length: int,
    last: int,
    node_count: int,
    edge_count: int,
) -> SearchLattice:
    """End the hypotheses that have all source words."""
    nodes, goal, size = _with_room(nodes, node_count + 1), node_count, prefix.shape[0] - 2
    nodes.score[goal], nodes.best_edge[goal], nodes.option[goal] = -math.inf, NONE, NONE
    nodes.begin[goal], nodes.end[goal] = 0, 0
    while last != NONE:
        if nodes.gap[last] == length and nodes.mask[last] == 0:
            edges = edges_with_room(edges, edge_count + 1)
            score = nodes.score[last]
            for m in range(scoring.model_weights.size):
                edges.model_scores[edge_count, m] = prefix[size + 1, m] - prefix[size, m]
                score += scoring.model_weights[m] * (prefix[size + 1, m] - prefix[size, m])
            edges.heads[edge_count], edges.tails[edge_count], edges.options[edge_count] = goal, last, NONE
            if score > nodes.score[goal]:
                nodes.score[goal], nodes.best_edge[goal] = score, edge_count
            edge_count += 1
        last = nodes.following[last]
    kept = EdgeArrays(
        edges.heads[:edge_count], edges.tails[:edge_count], edges.options[:edge_count], edges.model_scores[:edge_count]
    )
    return SearchLattice(goal + 1, kept, nodes.best_edge[: goal + 1], nodes.option[: goal + 1], nodes.score[goal])
