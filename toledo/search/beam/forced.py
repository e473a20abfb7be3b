"""Forced decoding: what the model makes of a given derivation, or of a given translation.

    forced = ForcedDecoder(model)
    forced.derivation("das haus".split(), [(0, 2, ["the", "house"])]).features
    (forest,) = forced.forests(["das haus".split()], ["the house".split()])

Forced decoding uses all options of the table, not only the best ones for each source phrase. All derivations of a
target text are found by dynamic programming over the source words translated and the target position. The language
model is not part of the state: the words before a target position are known.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import find_pair
from toledo.compiled.heap import grown
from toledo.compiled.kernels import inlined, inner_kernel, kernel, map_chunks
from toledo.compiled.ragged import offsets_of
from toledo.errors import InputError
from toledo.forest.derivations import Derivation, viterbi
from toledo.forest.forest import Forest
from toledo.language_model.automaton import advance, begin_state
from toledo.model import PhraseModel
from toledo.phrases.trie import NO_PHRASE, ROOT, PhraseTrie
from toledo.progress import Progress, silent
from toledo.search.beam.cubes import MIX, EdgeArrays, SearchLattice, edges_with_room, room_for_edges
from toledo.search.beam.search import to_forest
from toledo.search.options import (
    LN10,
    NONE,
    UNKNOWN_WORD,
    Scoring,
    SentenceOptions,
    after_span,
    may_follow,
    orientation_of,
    span_mask,
)
from toledo.search.search import EncodedSentence, Sentences, harmless, weigh
from toledo.text.vocabulary import END, UNKNOWN


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
) -> NDArray[np.int32]:
    """Find all phrase pairs of the sentence, and words to be copied, in the target: rows of the columns of `Placed`."""
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
    return rows[:size]


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
def prefix_scores(scoring: Scoring, words: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return in `[i, m]` the natural log probability of the first i words by model m; the last row includes the end."""
    totals = np.zeros((words.size + 2, len(scoring.models)))
    for m in range(len(scoring.models)):
        state, total = begin_state(scoring.models[m]), 0.0
        for i in range(words.size + 1):
            step, state = advance(scoring.models[m], state, words[i] if i < words.size else END)
            total += step * LN10
            totals[i + 1, m] = total
    return totals


class PathScoring(NamedTuple):
    """`Scoring` without the language models, so that kernels are not compiled for each number of them."""

    model_weights: NDArray[np.float64]
    distortion_weight: float
    reordering: NDArray[np.float32]


FORCED_NODE = np.dtype(
    [
        ("mask", np.uint64),  # with `gap`: the source words translated
        ("score", np.float64),
        ("gap", np.int32),
        ("place", np.int32),  # in the target
        ("begin", np.int32),  # of the last span
        ("end", np.int32),
        ("option", np.int32),  # the last one
        ("following", np.int32),  # the next hypothesis at the place
        ("best_edge", np.int32),
    ],
    align=True,
)


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
    """Return the lattice of all derivations, and whether it is complete: of each target position `most` are kept."""
    reordering = scoring.reordering.shape[0] > 0
    models, size = scoring.model_weights.size, prefix.shape[0] - 2
    nodes, edges = np.empty(64, FORCED_NODE), room_for_edges(64, models)
    first_node, counts = np.full(size + 1, NONE, np.int32), np.zeros(size + 1, np.int64)
    slots, all_kept = np.full(256, NONE, np.int32), True
    nodes[0]["place"], nodes[0]["gap"], nodes[0]["mask"], nodes[0]["begin"], nodes[0]["end"] = 0, 0, np.uint64(0), 0, 0
    nodes[0]["option"], nodes[0]["following"], nodes[0]["score"], nodes[0]["best_edge"] = NONE, NONE, 0.0, NONE
    node_count, edge_count, first_node[0], counts[0] = 1, 0, 0, 1
    for j in range(size):
        lowest = -math.inf
        if counts[j] > most:
            lowest, all_kept = _lowest_kept(nodes, first_node[j], counts[j], most), False
        v = first_node[j]
        while v != NONE:
            gap, last = nodes[v]["gap"], nodes[v]["end"]
            for option in range(placed.offsets[j], placed.offsets[j + 1]):
                if nodes[v]["score"] < lowest:
                    break
                b, e = options.begin[option], options.end[option]
                if not may_follow(gap, last, b, e, jump) or nodes[v]["mask"] & span_mask(gap, b, e):
                    continue
                nodes, edges = grown(nodes, node_count + 1), edges_with_room(edges, edge_count + 1)
                if 2 * node_count + 2 > slots.size:
                    slots = _larger_slots(nodes, node_count, 4 * slots.size, reordering)
                new, place = nodes[node_count], j + options.lengths[option]
                new["gap"], new["mask"] = after_span(gap, nodes[v]["mask"], b, e)
                new["place"], new["option"], new["begin"], new["end"] = place, option, b, e
                score = nodes[v]["score"] + options.static[option] - scoring.distortion_weight * abs(b - last)
                for m in range(models):
                    edges.model_scores[edge_count, m] = prefix[place, m] - prefix[j, m]
                    score += scoring.model_weights[m] * (prefix[place, m] - prefix[j, m])
                if reordering:
                    score += _orientation_score(options, scoring, nodes, v, option)
                slot = _slot_of(nodes, node_count, slots, reordering)
                head = slots[slot]
                if head == NONE:
                    head = slots[slot] = node_count
                    new["score"], new["best_edge"], new["following"] = score, edge_count, first_node[place]
                    first_node[place] = node_count
                    counts[place] += 1
                    node_count += 1
                elif score > nodes[head]["score"]:
                    nodes[head]["score"], nodes[head]["best_edge"] = score, edge_count
                edges.heads[edge_count], edges.tails[edge_count], edges.options[edge_count] = head, v, option
                edge_count += 1
            v = nodes[v]["following"]
    return _finish(nodes, edges, scoring, prefix, length, first_node[size], node_count, edge_count), all_kept


@kernel
def _lowest_kept(nodes: NDArray[Any], first: int, count: int, most: int) -> float:
    """Return the score of the last hypothesis that is kept at a place."""
    scores, size = np.empty(count), 0
    while first != NONE:
        scores[size] = nodes[first]["score"]
        size += 1
        first = nodes[first]["following"]
    return float(np.sort(scores[:size])[size - most])


@inner_kernel
def _orientation_score(
    options: SentenceOptions, scoring: PathScoring, nodes: NDArray[Any], v: int, option: int
) -> float:
    score, begin, end = 0.0, options.begin[option], options.end[option]
    orientation = orientation_of(begin, end, nodes[v]["begin"], nodes[v]["end"])
    if options.pairs[option] >= 0:
        score += scoring.reordering[options.pairs[option], orientation]
    if nodes[v]["option"] != NONE and options.pairs[nodes[v]["option"]] >= 0:
        score += scoring.reordering[options.pairs[nodes[v]["option"]], 3 + orientation]
    return score


@inner_kernel
def _slot_of(nodes: NDArray[Any], v: int, slots: NDArray[np.int32], reordering: bool) -> int:
    """Return the slot of the hypothesis equal to v, or the empty slot for it."""
    new = nodes[v]
    mixed = new["mask"] ^ (np.uint64(new["gap"]) << np.uint64(40)) ^ (np.uint64(new["end"]) << np.uint64(52))
    mixed = (mixed * MIX) ^ (np.uint64(new["place"]) << np.uint64(20))
    if reordering:
        mixed ^= np.uint64(new["option"])
    slot = np.int64((mixed * MIX) >> np.uint64(32)) & (slots.size - 1)
    while slots[slot] != NONE:
        old = nodes[slots[slot]]
        if (
            old["place"] == new["place"]
            and old["gap"] == new["gap"]
            and old["mask"] == new["mask"]
            and old["end"] == new["end"]
            and (not reordering or (old["begin"] == new["begin"] and old["option"] == new["option"]))
        ):
            break
        slot = (slot + 1) & (slots.size - 1)
    return int(slot)


@kernel
def _larger_slots(nodes: NDArray[Any], count: int, size: int, reordering: bool) -> NDArray[np.int32]:
    slots = np.full(size, NONE, np.int32)
    for v in range(count):
        slots[_slot_of(nodes, v, slots, reordering)] = v
    return slots


@kernel
def _finish(
    nodes: NDArray[Any],
    edges: EdgeArrays,
    scoring: PathScoring,
    prefix: NDArray[np.float64],
    length: int,
    last: int,
    node_count: int,
    edge_count: int,
) -> SearchLattice:
    """End the hypotheses that have all source words."""
    nodes, goal, size = grown(nodes, node_count + 1), node_count, prefix.shape[0] - 2
    nodes[goal]["score"], nodes[goal]["best_edge"], nodes[goal]["option"] = -math.inf, NONE, NONE
    nodes[goal]["begin"], nodes[goal]["end"] = 0, 0
    while last != NONE:
        if nodes[last]["gap"] == length and nodes[last]["mask"] == 0:
            edges = edges_with_room(edges, edge_count + 1)
            score = nodes[last]["score"]
            for m in range(scoring.model_weights.size):
                edges.model_scores[edge_count, m] = prefix[size + 1, m] - prefix[size, m]
                score += scoring.model_weights[m] * (prefix[size + 1, m] - prefix[size, m])
            edges.heads[edge_count], edges.tails[edge_count], edges.options[edge_count] = goal, last, NONE
            if score > nodes[goal]["score"]:
                nodes[goal]["score"], nodes[goal]["best_edge"] = score, edge_count
            edge_count += 1
        last = nodes[last]["following"]
    kept = EdgeArrays(
        edges.heads[:edge_count], edges.tails[:edge_count], edges.options[:edge_count], edges.model_scores[:edge_count]
    )
    nodes = nodes[: goal + 1]
    return SearchLattice(
        goal + 1, kept, nodes["best_edge"].copy(), nodes["option"].copy(), nodes[goal]["score"], math.inf
    )


log = logging.getLogger(__name__)

SENTENCES_AT_ONCE = 16
MOST_HYPOTHESES = 20_000

Phrase = tuple[int, int, Sequence[str]]  # source words from the first up to the second number, and the target words
Words = Sequence[str]


class ForcedDecoder:
    """Scores given derivations and translations with one model.

    Of hypotheses with the same target words, the best `most` are kept: that matters only if a translation repeats
    few words very often, and is logged.
    """

    def __init__(self, model: PhraseModel, most: int = MOST_HYPOTHESES) -> None:
        if most < 1:
            raise ValueError("at least one hypothesis must be kept")
        self.model, self.most = model, most
        self._weighted = weigh(model)

    def derivation(self, words: Words, phrases: Sequence[Phrase]) -> Derivation:
        """Return the derivation that uses these phrases in target order, within the distortion limit or not.

        A phrase pair that the table does not have is an error; a word that the table does not know must be copied.
        """
        _require_cover(words, phrases)
        rows = [(begin, end, self._pair(words, (begin, end, text)), len(text)) for begin, end, text in phrases]
        begin, end, pairs, lengths = np.array(rows, np.int32).reshape(-1, 4).T.copy()
        target = [self.model.target_vocabulary.add(word) for _, _, text in phrases for word in text]
        offsets = offsets_of(lengths)
        placed = Placed(begin, end, pairs, offsets[:-1].astype(np.int32), lengths, offsets)
        options = self._options(placed, np.array(target, np.int32))
        forest = to_forest(self.model, options, self._path(options))
        (best,) = viterbi(forest, forest.scores(self.model.weights))
        if best is None:
            raise ValueError("a path without a derivation")
        return best

    def encode(self, sentences: Sentences) -> list[EncodedSentence]:
        """Return sentences as ids, once for any number of calls. New words are added: not for threads."""
        return [self._weighted.encode(sentence) for sentence in sentences]

    def forests(
        self, sentences: Sentences, targets: Sequence[Words], threads: int | None = None, progress: Progress = silent
    ) -> list[Forest]:
        """Return for each sentence the lattice of all derivations of its target, without edges if there are none."""
        if len(sentences) != len(targets):
            raise ValueError(f"{len(sentences)} sentences with {len(targets)} targets")
        encoded = self.encode(sentences)
        ids = [self.model.target_vocabulary.ids(words) for words in targets]

        def work(first: int, last: int) -> list[Forest]:
            return [self._forest(encoded[i], ids[i]) for i in range(first, last)]

        parts = map_chunks(
            work, len(encoded), chunk=SENTENCES_AT_ONCE, threads=threads, progress=progress, label="forcing"
        )
        return [forest for part in parts for forest in part]

    def why_not(self, words: Words, target: Words) -> str:
        """Return why a target cannot be reached."""
        placed = self._placed(self._weighted.encode(words), self.model.target_vocabulary.ids(target))
        written, used = np.zeros(len(target), np.bool_), np.zeros(len(words), np.bool_)
        for begin, end, place, length in zip(placed.begin, placed.end, placed.place, placed.length, strict=True):
            written[place : place + length], used[begin:end] = True, True
        if not written.all():
            return f"no phrase gives {_listed(target, ~written)}"
        if not used.all():
            return f"no phrase for {_listed(words, ~used)} stands in the translation"
        return "the phrases that stand in the translation do not fit together within the distortion limit"

    def _forest(self, sentence: EncodedSentence, target: NDArray[np.int32]) -> Forest:
        placed = self._placed(sentence, target)
        options = self._options(placed, target)
        scoring, jump = self._weighted.scoring, self._weighted.longest_jump
        prefix = prefix_scores(scoring, target)
        weights = PathScoring(scoring.model_weights, scoring.distortion_weight, scoring.reordering)
        lattice, all_kept = find_paths(options, placed, sentence.source.size, prefix, weights, jump, self.most)
        if not all_kept:
            log.warning("too many derivations of one translation: the best %d for each word are kept", self.most)
        return to_forest(self.model, options, lattice)

    def _placed(self, sentence: EncodedSentence, target: NDArray[np.int32]) -> Placed:
        table = self.model.table
        copied = ~self._weighted.has_option[sentence.source]
        different = np.where(target == UNKNOWN, -1, target).astype(np.int32)  # unknown words are not all the same
        rows = place_phrases(
            table.trie,
            table.option_offsets,
            table.longest_source,
            table.pairs.target,
            table.pairs.targets.offsets,
            table.pairs.targets.words,
            sentence.source,
            sentence.copies,
            copied,
            different,
        )
        rows = rows[np.argsort(rows[:, 3], kind="stable")]
        offsets = np.searchsorted(rows[:, 3], np.arange(target.size + 1))
        begin, end, pairs, place, length = np.ascontiguousarray(rows.T)
        return Placed(begin, end, pairs, place, length, offsets)

    def _options(self, placed: Placed, target: NDArray[np.int32]) -> SentenceOptions:
        """Return phrases at places of the target as options: their words are those of the target."""
        pairs = placed.pairs
        static = np.full(pairs.size, self._weighted.copy_score)
        static[pairs != UNKNOWN_WORD] = self._weighted.pair_scores[pairs[pairs != UNKNOWN_WORD]]
        nothing = np.zeros((1, 1), np.int32)
        return SentenceOptions(
            begin=placed.begin, end=placed.end, pairs=pairs, static=static, estimate=static, words=target,
            word_begin=placed.place, lengths=placed.length, first=nothing, stop=nothing,
        )  # fmt: skip

    def _path(self, options: SentenceOptions) -> SearchLattice:
        """Return the lattice of one derivation: a node after each phrase, and the goal."""
        size = options.begin.size
        ends = np.cumsum(options.lengths)
        prefix = prefix_scores(self._weighted.scoring, options.words)
        bounds = np.concatenate([[0], ends, [options.words.size + 1]])
        numbers = np.arange(size + 2, dtype=np.int32)
        edges = EdgeArrays(
            heads=numbers[1:],
            tails=numbers[:-1],
            options=np.concatenate([numbers[:size], [NONE]]).astype(np.int32),
            model_scores=np.diff(prefix[bounds], axis=0).astype(np.float32),
        )
        return SearchLattice(
            nodes=size + 2,
            edges=edges,
            best_edge=numbers - 1,
            node_option=np.concatenate([[NONE], numbers[:size], [NONE]]).astype(np.int32),
            score=0.0,
            margin=math.inf,
        )

    def _pair(self, words: Words, phrase: Phrase) -> int:
        """Return the number of a phrase pair in the table, or that of a copied word."""
        begin, end, text = phrase
        table, pairs = self.model.table, self.model.table.pairs
        source, target = table.source_vocabulary.ids(words[begin:end]), table.target_vocabulary.ids(text)
        spans = table.lookup(source)
        number = int(spans.at[0, end - begin - 1]) if end - begin <= table.longest_source else NONE
        if number != NONE and len(text):
            first, stop = int(spans.first[number]), int(spans.stop[number])
            begins, ends = (pairs.targets.offsets[pairs.target[first:stop] + side] for side in (0, 1))
            likely = (ends - begins == len(text)) & (pairs.targets.words[begins] == target[0])
            likely_pairs = (first + np.flatnonzero(likely)).tolist()
            same = [pair for pair in likely_pairs if np.array_equal(pairs.targets[int(pairs.target[pair])], target)]
            if same:  # one for each table that has it
                return int(max(same, key=self._weighted.pair_scores.__getitem__))
        if end - begin == 1 and not self._weighted.has_option[source[0]] and list(text) == [harmless(words[begin])]:
            return UNKNOWN_WORD
        raise InputError(
            f"the phrase table has no pair {' '.join(words[begin:end])!r} → {' '.join(text)!r} (source words {begin} "
            f"to {end - 1})",
            remedy="take phrases of the table; a word that it does not know is copied",
        )


def _require_cover(words: Words, phrases: Sequence[Phrase]) -> None:
    used = [0] * len(words)
    for begin, end, text in phrases:
        if not 0 <= begin < end <= len(words):
            raise InputError(
                f"{' '.join(text)!r} translates words {begin} up to {end} of a sentence of {len(words)} words",
                remedy="positions are counted from 0, and a phrase has at least one word",
            )
        for position in range(begin, end):
            used[position] += 1
    for position, times in enumerate(used):
        if times != 1:
            raise InputError(
                f"source word {position}, {words[position]!r}, is translated {times} times",
                remedy="every source word belongs to exactly one phrase",
            )


def _listed(words: Words, chosen: NDArray[np.bool_]) -> str:
    found = list(dict.fromkeys(words[i] for i in np.flatnonzero(chosen).tolist()))
    return ", ".join(map(repr, found[:5])) + (", …" if len(found) > 5 else "")
