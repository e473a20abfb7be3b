"""Phrase-based beam search: stack decoding with cube pruning (Koehn 2004; Huang and Chiang 2007; Hoang et al. 2016).

A hypothesis has translated some words of the source. Stack k holds those with k words. Hypotheses of a stack with the
same words translated and the same last position form a group, best first; a group and a span that may come next form a
*cube*: hypotheses times options. The best cells of all cubes that lead to a stack are taken in order of their score, up
to the pop limit. Hypotheses that no future word can tell apart are one node, and every way to reach it stays as an
edge: the result is a lattice.

A cell waits in the queue with its expected score, from the estimates of its option; the language model is asked only
when the cell comes up, and the cell waits again if it then scores less than the next one.

The words translated are kept as the first gap and a mask of the 63 positions after it: see `toledo.search.options`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.heap import add_entry, grown, power_of_two, remove_first, replace_first, second_key
from toledo.compiled.kernels import inlined, inner_kernel, kernel
from toledo.forest.assemble import Edges, from_edges
from toledo.forest.forest import Forest
from toledo.language_model.automaton import advance, begin_state
from toledo.model import PhraseModel
from toledo.search.beam.cubes import (
    CUBE,
    MIX,
    NODE,
    BeamLimits,
    EdgeArrays,
    Nodes,
    Queue,
    SearchLattice,
    StackGroups,
    cubes_of_group,
    edges_with_room,
    make_cubes,
    nodes_with_room,
    rank_by_group,
    room_for_edges,
    room_for_queue,
    same_group,
)
from toledo.search.features import edge_yields, option_sparse, read_steps, step_features
from toledo.search.options import LN10, NONE, WINDOW, Scoring, SentenceOptions, after_span, future_scores
from toledo.search.search import Search, SearchResult, Translation, WeightedModel, best_translation
from toledo.search.settings import Beam
from toledo.search.steps import NO_PHRASE, pack
from toledo.text.vocabulary import END

ROUNDING = 1e-5  # of a score: forests hold features in single precision


@kernel
def search_sentence(
    options: SentenceOptions, future: NDArray[np.float64], scoring: Scoring, limits: BeamLimits
) -> SearchLattice:
    """Fill the stacks one after the other."""
    length, models, reordering = options.first.shape[0], len(scoring.models), scoring.reordering.shape[0] > 0
    room = 2 + min(limits.pops, 256) * max(length, 1)
    nodes = Nodes(np.empty(room, NODE), np.empty((room, models), np.int32))
    edges, ranked = room_for_edges(room, models), np.empty(room, np.int32)
    cubes, queue, size = np.empty(256, CUBE), room_for_queue(1024, models), limits.pops + 1
    groups = StackGroups(
        np.empty(power_of_two(2 * size + 2), np.int32), np.empty(size + 1, np.int32), np.empty(size + 1, np.int32),
        np.empty(size, np.int32), np.empty(size, np.int32),
    )  # fmt: skip
    first_cube, cube_count = np.full(length + 1, NONE, np.int32), 0
    slots = np.empty(power_of_two(4 * limits.pops + 4), np.int32)
    _begin(nodes, scoring)
    node_count, edge_count, begin = 1, 0, 0
    for k in range(length + 1):
        if k:
            begin = node_count
            nodes = nodes_with_room(nodes, node_count + limits.pops)
            edges = edges_with_room(edges, edge_count + limits.pops)
            ranked = grown(ranked, node_count + limits.pops)
            cells = _count_cubes(cubes, first_cube[k]) + 2 * limits.pops + 2
            if cells > queue.cells.size:
                queue = room_for_queue(2 * cells, models)
            slots[:] = NONE
            node_count, edge_count = _fill_stack(
                options, scoring, limits, cubes, first_cube[k], nodes, edges, ranked, node_count, edge_count, slots,
                queue,
            )  # fmt: skip
        if k < length:
            rank_by_group(nodes, ranked, begin, node_count, groups, reordering)
            first = begin
            while first < node_count:
                cubes = grown(cubes, cube_count + cubes_of_group(options))
                cube_count, first = make_cubes(
                    options, future, scoring, limits, nodes, ranked, first, node_count, cubes, cube_count, first_cube, k
                )
    return _finish(nodes, edges, scoring, begin, node_count, edge_count)


@inner_kernel
def _begin(nodes: Nodes, scoring: Scoring) -> None:
    """Add the hypothesis that has translated nothing."""
    (
        nodes.records[0]["gap"],
        nodes.records[0]["mask"],
        nodes.records[0]["begin"],
        nodes.records[0]["end"],
        nodes.records[0]["option"],
    ) = 0, np.uint64(0), 0, 0, NONE
    nodes.records[0]["score"], nodes.records[0]["rival"], nodes.records[0]["best_edge"] = 0.0, -math.inf, NONE
    for m in range(len(scoring.models)):
        nodes.states[0, m] = begin_state(scoring.models[m])


@inner_kernel
def _count_cubes(cubes: NDArray[Any], cube: int) -> int:
    number = 0
    while cube != NONE:
        number += 1
        cube = cubes[cube]["following"]
    return number


@inner_kernel
def _fill_stack(
    options: SentenceOptions,
    scoring: Scoring,
    limits: BeamLimits,
    cubes: NDArray[Any],
    cube: int,
    nodes: Nodes,
    edges: EdgeArrays,
    ranked: NDArray[np.int32],
    node_count: int,
    edge_count: int,
    slots: NDArray[np.int32],
    queue: Queue,
) -> tuple[int, int]:
    """Take the best cells of all cubes that lead to a stack, of which `cube` is the first."""
    heap = queue.heap
    size = cell = taken = 0
    while cube != NONE:
        row, option = cubes[cube]["first"], cubes[cube]["option_first"]
        _note(queue, cell, cube, row, option)
        size = add_entry(heap, size, _expected_score(options, cubes, nodes, ranked, cube, row, option), cell)
        cell += 1
        cube = cubes[cube]["following"]
    while size and taken < limits.pops:
        best = heap[0]["cell"]
        cube, row, option = queue.cells[best]["cube"], queue.cells[best]["row"], queue.cells[best]["option"]
        if not queue.cells[best]["known"]:
            _evaluate(options, scoring, cubes, nodes, ranked, queue, best)
            value = queue.cells[best]["score"] + cubes[cube]["future"]
            if value < second_key(heap, size):
                replace_first(heap, size, value, best)
                continue
        taken += 1
        node_count = _add_step(options, scoring, nodes, edges, ranked, queue, best, node_count, edge_count, slots)
        edge_count += 1
        if option + 1 < cubes[cube]["option_stop"]:
            _note(queue, cell, cube, row, option + 1)
            replace_first(heap, size, _expected_score(options, cubes, nodes, ranked, cube, row, option + 1), cell)
            cell += 1
        else:
            size = remove_first(heap, size)
        if option == cubes[cube]["option_first"] and row + 1 < cubes[cube]["stop"]:
            _note(queue, cell, cube, row + 1, option)
            value = _expected_score(options, cubes, nodes, ranked, cube, row + 1, option)
            size = add_entry(heap, size, value, cell)
            cell += 1
    return node_count, edge_count


@inlined
def _note(queue: Queue, number: int, cube: int, row: int, option: int) -> None:
    cell = queue.cells[number]
    cell["cube"], cell["row"], cell["option"], cell["known"] = cube, row, option, 0


@inlined
def _expected_score(
    options: SentenceOptions,
    cubes: NDArray[Any],
    nodes: Nodes,
    ranked: NDArray[np.int32],
    cube: int,
    row: int,
    option: int,
) -> float:
    """Return what a cell can be expected to score, before the models are asked."""
    known = nodes.records[ranked[row]]["score"] + cubes[cube]["added"] + cubes[cube]["future"]
    return float(known + options.estimate[option])


@inlined
def _evaluate(
    options: SentenceOptions,
    scoring: Scoring,
    cubes: NDArray[Any],
    nodes: Nodes,
    ranked: NDArray[np.int32],
    queue: Queue,
    cell: int,
) -> None:
    """Score a cell in full."""
    cube, node, option = queue.cells[cell]["cube"], ranked[queue.cells[cell]["row"]], queue.cells[cell]["option"]
    score = nodes.records[node]["score"] + options.static[option] + cubes[cube]["added"]
    begin = options.word_begin[option]
    for m in range(len(scoring.models)):
        state, total = int(nodes.states[node, m]), 0.0
        for i in range(begin, begin + options.lengths[option]):
            step, state = advance(scoring.models[m], state, options.words[i])
            total += step
        queue.model_scores[cell, m], queue.states[cell, m] = total * LN10, state
        score += scoring.model_weights[m] * total * LN10
    if scoring.reordering.shape[0]:
        orientation = cubes[cube]["orientation"]
        if options.pairs[option] >= 0:
            score += scoring.reordering[options.pairs[option], orientation]
        if nodes.records[node]["option"] != NONE and options.pairs[nodes.records[node]["option"]] >= 0:
            score += scoring.reordering[options.pairs[nodes.records[node]["option"]], 3 + orientation]
    queue.cells[cell]["score"], queue.cells[cell]["known"] = score, 1


@inlined
def _add_step(
    options: SentenceOptions,
    scoring: Scoring,
    nodes: Nodes,
    edges: EdgeArrays,
    ranked: NDArray[np.int32],
    queue: Queue,
    cell: int,
    node_count: int,
    edge: int,
    slots: NDArray[np.int32],
) -> int:
    """Record a step, and its hypothesis unless an equal one is there; return the number of hypotheses."""
    tail, option = ranked[queue.cells[cell]["row"]], queue.cells[cell]["option"]
    b, e, gap = options.begin[option], options.end[option], nodes.records[tail]["gap"]
    gap, mask = after_span(gap, nodes.records[tail]["mask"], b, e)
    new = node_count  # written as a new node; counted only if no equal one is found
    (
        nodes.records[new]["gap"],
        nodes.records[new]["mask"],
        nodes.records[new]["begin"],
        nodes.records[new]["end"],
        nodes.records[new]["option"],
    ) = gap, mask, b, e, option
    for m in range(nodes.states.shape[1]):
        nodes.states[new, m] = queue.states[cell, m]
    slot = _slot_of(nodes, new, slots, scoring.reordering.shape[0] > 0)
    head = slots[slot]
    if head == NONE:
        head = new
        slots[slot] = head
        nodes.records[head]["score"], nodes.records[head]["rival"] = -math.inf, -math.inf
        nodes.records[head]["best_edge"] = edge  # whatever its score
        node_count += 1
    _keep_best(nodes, head, queue.cells[cell]["score"], edge)
    edges.heads[edge], edges.tails[edge], edges.options[edge] = head, tail, option
    for m in range(nodes.states.shape[1]):
        edges.model_scores[edge, m] = queue.model_scores[cell, m]
    return node_count


@inlined
def _keep_best(nodes: Nodes, head: int, score: float, edge: int) -> None:
    """Note the score of a new edge, if it is the best or the second best one of its hypothesis."""
    record = nodes.records[head]
    if score > record["score"]:
        record["rival"] = record["score"]
        record["score"], record["best_edge"] = score, edge
    elif score > record["rival"]:
        record["rival"] = score


@inlined
def _slot_of(nodes: Nodes, v: int, slots: NDArray[np.int32], reordering: bool) -> int:
    """Return the slot of the node equal to v, or the empty one where v goes."""
    mixed = (
        nodes.records[v]["mask"]
        ^ (np.uint64(nodes.records[v]["gap"]) << np.uint64(40))
        ^ (np.uint64(nodes.records[v]["end"]) << np.uint64(52))
    )
    for m in range(nodes.states.shape[1]):
        mixed = (mixed ^ np.uint64(nodes.states[v, m])) * MIX
        mixed ^= mixed >> np.uint64(29)
    slot = np.int64((mixed * MIX) >> np.uint64(32)) & (slots.size - 1)
    while slots[slot] != NONE and not _equal(nodes, slots[slot], v, reordering):
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)


@inlined
def _equal(nodes: Nodes, i: int, j: int, reordering: bool) -> bool:
    """Return whether no future step can tell two hypotheses apart."""
    for m in range(nodes.states.shape[1]):
        if nodes.states[i, m] != nodes.states[j, m]:
            return False
    return same_group(nodes, i, j, reordering) and (
        not reordering or nodes.records[i]["option"] == nodes.records[j]["option"]
    )


@kernel
def _finish(
    nodes: Nodes, edges: EdgeArrays, scoring: Scoring, begin: int, node_count: int, edge_count: int
) -> SearchLattice:
    """End every complete hypothesis."""
    edges = edges_with_room(edges, edge_count + node_count - begin)
    nodes = nodes_with_room(nodes, node_count + 1)
    goal = node_count
    last = nodes.records[goal]
    last["score"], last["rival"], last["best_edge"] = -math.inf, -math.inf, NONE
    last["option"], last["begin"], last["end"] = NONE, 0, 0
    for v in range(begin, node_count):
        score = nodes.records[v]["score"]
        for m in range(len(scoring.models)):
            step = advance(scoring.models[m], int(nodes.states[v, m]), END)[0] * LN10
            edges.model_scores[edge_count, m] = step
            score += scoring.model_weights[m] * step
        edges.heads[edge_count], edges.tails[edge_count], edges.options[edge_count] = goal, v, NONE
        _keep_best(nodes, goal, score, edge_count)
        edge_count += 1
    kept = EdgeArrays(
        edges.heads[:edge_count], edges.tails[:edge_count], edges.options[:edge_count], edges.model_scores[:edge_count]
    )
    records = nodes.records[: goal + 1]
    return SearchLattice(
        goal + 1, kept, records["best_edge"].copy(), records["option"].copy(), records[goal]["score"],
        _margin(records, edges.tails),
    )  # fmt: skip


@inlined
def _margin(records: NDArray[Any], tails: NDArray[np.int32]) -> float:
    """Return how much worse the second best derivation is: it leaves the best one at one of its hypotheses."""
    least, node = math.inf, records.size - 1
    while records[node]["best_edge"] != NONE:
        least = min(least, records[node]["score"] - records[node]["rival"])
        node = tails[records[node]["best_edge"]]
    return least


BeamFound = tuple[SentenceOptions, SearchLattice]


class BeamSearch(Search[BeamFound]):
    """Beam search with one model and its weights; translates any number of sentences, in threads."""

    sentences_at_once = 4  # few, so that an interruption is soon noticed

    def __init__(self, model: PhraseModel, settings: Beam = Beam()) -> None:
        super().__init__(model)
        self.settings = settings

    def _search(self, options: SentenceOptions, words: Sequence[str]) -> BeamFound:
        return options, beam_lattice(self._weighted, options, self.settings.pop_limit)

    def _translation(self, found: BeamFound) -> Translation:
        """Return the best derivation, which is the best one of the forest.

        The search and the forest add up scores in another order. Where derivations score the same but for rounding,
        the forest decides, as it does for n-best lists and decision rules.
        """
        options, lattice = found
        if lattice.margin <= ROUNDING * max(1.0, abs(lattice.score)):
            return best_translation(self._forest(found), self.model.weights)
        return Translation(read_steps(self.model, options, best_options(lattice).tolist()), float(lattice.score))

    def _forest(self, found: BeamFound) -> Forest:
        return to_forest(self.model, *found)

    def _result(self, found: BeamFound) -> SearchResult:
        """Return everything about one sentence."""
        options, lattice = found
        forest = to_forest(self.model, options, lattice)
        steps = int(np.count_nonzero(lattice.edges.options != NONE))
        best = best_translation(forest, self.model.weights)
        return SearchResult(best, forest, options.begin.size, steps, lattice.nodes)


def beam_lattice(weighted: WeightedModel, options: SentenceOptions, pop_limit: int) -> SearchLattice:
    """Search a sentence."""
    limits = BeamLimits(pop_limit, weighted.longest_jump)
    return search_sentence(options, future_scores(options, WINDOW), weighted.scoring, limits)


def best_options(lattice: SearchLattice) -> NDArray[np.int32]:
    """Return the options of the best derivation: follow the best edges back from the goal."""
    found, edge = [], int(lattice.best_edge[lattice.nodes - 1])
    while edge != NONE:
        if lattice.edges.options[edge] != NONE:
            found.append(int(lattice.edges.options[edge]))
        edge = int(lattice.best_edge[lattice.edges.tails[edge]])
    return np.array(found[::-1], np.int32)


def to_forest(model: PhraseModel, options: SentenceOptions, lattice: SearchLattice) -> Forest:
    """Return all translations that the search kept; `toledo.search.steps` reads the provenance of the edges."""
    edges = lattice.edges
    chosen = np.concatenate([np.array([NONE], np.int32), edges.options])  # the first edge makes the empty translation
    taken = chosen != NONE
    arity = np.ones(chosen.size, np.int64)
    arity[0] = 0
    previous = np.concatenate([np.array([NONE], np.int32), lattice.node_option[edges.tails]])
    features = step_features(model, options, chosen, previous)
    features[1:, : len(model.language_models)] = edges.model_scores
    provenance = np.full(chosen.size, NO_PHRASE, np.int64)
    provenance[taken] = pack(options.begin, options.end, options.pairs)[chosen[taken]]
    names, sparse = option_sparse(model, options, chosen)
    given = Edges(
        heads=np.concatenate([[0], edges.heads]).astype(np.int32),
        tail_offsets=np.concatenate([[0], np.cumsum(arity)]).astype(np.int32),
        tails=edges.tails,
        yields=edge_yields(options, arity, np.concatenate([[0], np.cumsum(taken)]), chosen[taken]),
        features=features,
        sparse=sparse,
        provenance=provenance,
    )
    return from_edges(given, lattice.nodes - 1, model.feature_names, model.target_vocabulary, names)
