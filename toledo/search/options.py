"""Translation options: the best pairs of the table for each source phrase, and those of one sentence.

As in Moses, the options of a source phrase are ranked by their weighted scores and an estimate of the language model in
which the words of the phrase see only each other; the best ones (20 by default) are used.

The distortion rule says which phrase may come next. Beam search, forced decoding and the Gibbs sampler share it.

A derivation takes its phrases in target order. `gap` is the first source word that is not yet translated, `last` the
end of the phrase before (0 at the start). The phrase for the source words from `begin` up to `end` may come next if

1. the jump is not too long: |begin − last| ≤ limit, and
2. it starts at the gap, or the gap stays within one jump from its end: end − gap ≤ limit.

The second rule is that of Moses: without it a search could run into states that it cannot finish. It leaves out some
derivations all of whose jumps are within the limit. The jump from the last phrase to the end of the sentence is free.
Without a limit it is WINDOW words, and no phrase ends further than that from the gap: the words translated are kept as
the gap and a mask of the positions after it.

Whether a derivation keeps to the rule depends on its *runs* alone, maximal sequences of phrases that follow each other
in source and target. If the phrases of a run are replaced by others, its first `begin` and its last `end`, which is the
furthest, stay as they are. A derivation without any jump always keeps to the rule.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import find_pair
from toledo.compiled.kernels import inlined, kernel
from toledo.language_model.automaton import Automaton, advance
from toledo.phrases.trie import NO_PHRASE, ROOT, PhraseTrie

LN10 = math.log(10.0)
UNKNOWN_WORD = -1  # in place of a phrase pair: the source word is copied
NONE = -1  # in place of an option: before the first phrase, and at the end of a sentence
OOV = -100.0  # the value of the feature for each unknown word
MONOTONE, SWAP, DISCONTINUOUS = 0, 1, 2  # orientations of a phrase towards the one before it


class Scoring(NamedTuple):
    """What a step scores besides its option: jumps, language models, and reordering by pair if there is such a model.

    `reordering[pair, 3 * side + orientation]` is weighted; side 0 looks at the previous phrase, 1 at the following one.
    """

    models: tuple[Automaton, ...]
    model_weights: NDArray[np.float64]
    distortion_weight: float
    reordering: NDArray[np.float32]


class PreparedTable(NamedTuple):
    """The options of source phrase s are `offsets[s]:offsets[s + 1]`, best first.

    `static` is what an option scores whatever stands before it; `estimate` adds the language model's estimate.
    """

    offsets: NDArray[np.int64]
    pairs: NDArray[np.int32]
    static: NDArray[np.float64]
    estimate: NDArray[np.float64]
    word_begin: NDArray[np.int64]
    lengths: NDArray[np.int32]


class SentenceOptions(NamedTuple):
    """The options of one sentence: those of span (b, n) are `first[b, n - 1]:stop[b, n - 1]`, best first.

    The words of an option are `words[word_begin:word_begin + length]`.
    """

    begin: NDArray[np.int32]
    end: NDArray[np.int32]
    pairs: NDArray[np.int32]
    static: NDArray[np.float64]
    estimate: NDArray[np.float64]
    words: NDArray[np.int32]
    word_begin: NDArray[np.int32]
    lengths: NDArray[np.int32]
    first: NDArray[np.int32]
    stop: NDArray[np.int32]


@kernel
def estimate_words(scoring: Scoring, words: NDArray[np.int32], begin: int, length: int) -> float:
    """Return the weighted natural log probability of words that see only each other."""
    total = 0.0
    for m in range(len(scoring.models)):
        state, score = 0, 0.0
        for i in range(begin, begin + length):
            step, state = advance(scoring.models[m], state, words[i])
            score += step
        total += scoring.model_weights[m] * LN10 * score
    return total


@kernel
def prepare_options(
    option_offsets: NDArray[np.int32],
    occurring: NDArray[np.bool_],
    pair_target: NDArray[np.int32],
    target_offsets: NDArray[np.int64],
    target_words: NDArray[np.int32],
    pair_scores: NDArray[np.float64],
    origin: NDArray[np.uint8],
    scoring: Scoring,
    limit: int,
) -> PreparedTable:
    """Rank the options of each source phrase that occurs, and keep the best `limit` of each table (all if 0).

    `origin` has the table of each pair, and is empty if there is but one.
    """
    phrases = option_offsets.size - 1
    offsets = np.zeros(phrases + 1, np.int64)
    taken = np.zeros(256, np.int64)  # by table
    for s in range(phrases):
        count = option_offsets[s + 1] - option_offsets[s] if occurring[s] else 0
        if limit and count > limit:
            count = _within_limit(origin, option_offsets[s], option_offsets[s + 1], limit, taken)
        offsets[s + 1] = offsets[s] + count
    size = offsets[-1]
    pairs, lengths = np.empty(size, np.int32), np.empty(size, np.int32)
    table = PreparedTable(offsets, pairs, np.empty(size), np.empty(size), np.empty(size, np.int64), lengths)
    for s in range(phrases):
        first, count = option_offsets[s], offsets[s + 1] - offsets[s]
        if count == 0:
            continue
        estimates = np.empty(option_offsets[s + 1] - first)
        for i in range(estimates.size):
            begin, end = target_offsets[pair_target[first + i]], target_offsets[pair_target[first + i] + 1]
            estimates[i] = pair_scores[first + i] + estimate_words(scoring, target_words, begin, end - begin)
        order, place = np.argsort(-estimates, kind="mergesort"), offsets[s]
        if origin.size:
            taken[:] = 0
        for i in range(estimates.size):
            if place == offsets[s + 1]:
                break
            pair = first + order[i]
            if limit and origin.size:
                if taken[origin[pair]] == limit:
                    continue
                taken[origin[pair]] += 1
            table.pairs[place], table.static[place] = pair, pair_scores[pair]
            table.estimate[place] = estimates[order[i]]
            table.word_begin[place] = target_offsets[pair_target[pair]]
            table.lengths[place] = target_offsets[pair_target[pair] + 1] - target_offsets[pair_target[pair]]
            place += 1
    return table


@kernel
def _within_limit(origin: NDArray[np.uint8], first: int, stop: int, limit: int, taken: NDArray[np.int64]) -> int:
    """Return how many pairs of a source phrase are left if each table keeps up to `limit`."""
    if origin.size == 0:
        return min(stop - first, limit)
    taken[:] = 0
    kept = 0
    for pair in range(first, stop):
        if taken[origin[pair]] < limit:
            taken[origin[pair]] += 1
            kept += 1
    return kept


@kernel
def sentence_options(
    trie: PhraseTrie,
    longest: int,
    table: PreparedTable,
    target_words: NDArray[np.int32],
    source: NDArray[np.int32],
    copies: NDArray[np.int32],
    copy_score: float,
    scoring: Scoring,
) -> SentenceOptions:
    """Gather the options of all spans side by side; a word without options is copied (`copies` has its id)."""
    length, longest = source.size, max(longest, 1)
    phrase = np.full((length, longest), NO_PHRASE, np.int32)
    count = words = 0
    for b in range(length):
        node = ROOT
        for e in range(b, min(b + longest, length)):
            node = find_pair(trie.children, node, source[e])
            if node < 0:
                break
            p = trie.phrase[node]
            if p != NO_PHRASE and table.offsets[p + 1] > table.offsets[p]:
                phrase[b, e - b] = p
                count += table.offsets[p + 1] - table.offsets[p]
                for i in range(table.offsets[p], table.offsets[p + 1]):
                    words += table.lengths[i]
        if phrase[b, 0] == NO_PHRASE:
            count += 1
            words += 1
    found = SentenceOptions(
        np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int32),
        np.empty(count), np.empty(count),
        np.empty(words, np.int32), np.empty(count, np.int32), np.empty(count, np.int32),
        np.zeros((length, longest), np.int32), np.zeros((length, longest), np.int32),
    )  # fmt: skip
    place = used = 0
    for b in range(length):
        for n in range(min(longest, length - b)):
            found.first[b, n] = place
            p = phrase[b, n]
            if p != NO_PHRASE:
                for i in range(table.offsets[p], table.offsets[p + 1]):
                    found.begin[place], found.end[place], found.pairs[place] = b, b + n + 1, table.pairs[i]
                    found.static[place], found.estimate[place] = table.static[i], table.estimate[i]
                    found.word_begin[place], found.lengths[place] = used, table.lengths[i]
                    for k in range(table.lengths[i]):
                        found.words[used + k] = target_words[table.word_begin[i] + k]
                    used += table.lengths[i]
                    place += 1
            elif n == 0:
                found.begin[place], found.end[place], found.pairs[place] = b, b + 1, UNKNOWN_WORD
                found.words[used] = copies[b]
                found.word_begin[place], found.lengths[place] = used, 1
                found.static[place] = copy_score
                found.estimate[place] = copy_score + estimate_words(scoring, found.words, used, 1)
                used += 1
                place += 1
            found.stop[b, n] = place
    return found


@kernel
def future_scores(options: SentenceOptions, reach: int) -> NDArray[np.float64]:
    """Return in `[i, n]` the best score of n words from i on by themselves, −inf if nothing covers them.

    For up to `reach` words; the last column is for all words up to the end. So the work grows with the length alone.
    """
    length, longest = options.first.shape
    last = min(reach, length) + 1
    future = np.full((length + 1, last + 1), -math.inf)
    future[:, 0], future[length, last] = 0.0, 0.0
    for i in range(length - 1, -1, -1):
        for n in range(1, min(longest, length - i) + 1):  # the first phrase, and what follows
            if options.stop[i, n - 1] == options.first[i, n - 1]:
                continue
            estimate = options.estimate[options.first[i, n - 1]]
            for words in range(n, last):
                future[i, words] = max(future[i, words], estimate + future[i + n, words - n])
            future[i, last] = max(future[i, last], estimate + future[i + n, last])
    return future


@inlined
def orientation_of(begin: int, end: int, last_begin: int, last_end: int) -> int:
    """Return the orientation of a phrase towards the phrase before it."""
    orientation = DISCONTINUOUS
    if begin == last_end:
        orientation = MONOTONE
    elif end == last_begin:
        orientation = SWAP
    return orientation


WINDOW = 63
ONE = np.uint64(1)


@inlined
def leaves_gap(gap: int, begin: int, end: int, limit: int) -> bool:
    """Return whether the gap could not be reached from the end of a span: the second rule forbids it."""
    return bool(begin > gap and end - gap > limit)


@inlined
def may_follow(gap: int, last: int, begin: int, end: int, limit: int) -> bool:
    """Return whether both rules allow a span of words that are not yet translated."""
    reachable = begin >= gap and abs(begin - last) <= limit and end - gap <= WINDOW
    return bool(reachable and not leaves_gap(gap, begin, end, limit))


@inlined
def span_mask(gap: int, begin: int, end: int) -> np.uint64:
    """Return the words of a span that starts at the gap or after it."""
    return np.uint64(((ONE << np.uint64(end - begin)) - ONE) << np.uint64(begin - gap))


@inlined
def after_span(gap: int, mask: np.uint64, begin: int, end: int) -> tuple[int, np.uint64]:
    """Return the gap and the mask once a span is translated."""
    mask |= span_mask(gap, begin, end)
    while mask & ONE:
        mask >>= ONE
        gap += 1
    return gap, mask
