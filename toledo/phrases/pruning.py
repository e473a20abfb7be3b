"""Significance of phrase pairs, to prune those that may have met by chance (Johnson, Martin, Foster and Kuhn 2007).

Fisher's exact test on the 2 × 2 table of sentence pairs that hold the source phrase, the target phrase, both or
neither: p = Σ_{k ≥ C(s,t)} hypergeometric(k; N, C(s), C(t)), where a sentence pair counts once. A pair whose phrases
both occur once, together, has −log p = log N = α: the threshold α + ε prunes those, α − ε keeps them.

Smaller phrase tables: for a given text, or with the best options of each source phrase alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from toledo.compiled.hashing import find_pair
from toledo.compiled.kernels import kernel, map_chunks
from toledo.errors import InputError
from toledo.phrases.table import PhrasePairs, PhraseTable
from toledo.phrases.trie import ROOT, Phrases, PhraseTrie, build_trie, occurring_phrases
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus, Sentences

EPSILON = 1e-3  # far above rounding, far below the next possible value
PAIRS_AT_ONCE = 1 << 15
NEGLIGIBLE = 1e-17  # of the largest term


class SentenceLists(NamedTuple):
    """The sentences that hold phrase i, in rising order: `sentences[offsets[i]:offsets[i + 1]]`."""

    offsets: NDArray[np.int64]
    sentences: NDArray[np.int32]


def significance(
    pairs: PhrasePairs, corpus: ParallelCorpus, *, threads: int | None = None, progress: Progress = silent
) -> NDArray[np.float64]:
    """−log p (natural) of each phrase pair: the higher, the less likely by chance."""
    sides = (pairs.sources, corpus.source), (pairs.targets, corpus.target)
    sources, targets = map_chunks(lambda i, _: sentence_lists(*sides[i]), 2, chunk=1, threads=threads)
    factorials = gammaln(np.arange(len(corpus) + 1, dtype=np.float64) + 1.0)

    def test(begin: int, end: int) -> NDArray[np.float64]:
        return _test(pairs.source[begin:end], pairs.target[begin:end], sources, targets, factorials)

    parts = map_chunks(
        test, len(pairs), chunk=PAIRS_AT_ONCE, threads=threads, progress=progress, label="testing phrase pairs"
    )
    return np.concatenate([np.empty(0), *parts])


def threshold(sentences: int, epsilon: float = EPSILON) -> float:
    """α + ε for a corpus of this number of sentence pairs; with a negative ε the pairs that occur once each stay."""
    return float(np.log(sentences)) + epsilon


def sentence_lists(phrases: Phrases, sentences: Sentences) -> SentenceLists:
    """Return where phrases occur, whether or not they were extracted there."""
    longest = int(phrases.lengths.max(initial=0))
    return _sentence_lists(build_trie(phrases), len(phrases), longest, sentences.words, sentences.offsets)


@kernel
def _sentence_lists(
    trie: PhraseTrie, count: int, longest: int, words: NDArray[np.int32], offsets: NDArray[np.int64]
) -> SentenceLists:
    list_offsets = np.zeros(count + 1, np.int64)
    latest = np.full(count, -1, np.int32)
    lists = SentenceLists(list_offsets, np.empty(0, np.int32))
    for s in range(offsets.size - 1):
        _visit(trie, longest, words, offsets, s, latest, lists, False)
    for p in range(count):
        list_offsets[p + 1] += list_offsets[p]
    lists = SentenceLists(list_offsets[:-1].copy(), np.empty(list_offsets[-1], np.int32))
    latest[:] = -1
    for s in range(offsets.size - 1):
        _visit(trie, longest, words, offsets, s, latest, lists, True)
    return SentenceLists(list_offsets, lists.sentences)


@kernel
def _visit(
    trie: PhraseTrie,
    longest: int,
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    sentence: int,
    latest: NDArray[np.int32],
    lists: SentenceLists,
    write: bool,
) -> None:
    """Count a sentence for each phrase in it (one place ahead, for the sums), or write it where the list goes on."""
    end = offsets[sentence + 1]
    for begin in range(offsets[sentence], end):
        node = ROOT
        for i in range(begin, min(begin + longest, end)):
            node = find_pair(trie.children, node, words[i])
            if node < 0:
                break
            phrase = trie.phrase[node]
            if phrase < 0 or latest[phrase] == sentence:
                continue
            latest[phrase] = sentence
            if write:
                lists.sentences[lists.offsets[phrase]] = sentence
                lists.offsets[phrase] += 1
            else:
                lists.offsets[phrase + 1] += 1


@kernel
def _test(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    sources: SentenceLists,
    targets: SentenceLists,
    factorials: NDArray[np.float64],
) -> NDArray[np.float64]:
    values = np.empty(source.size, np.float64)
    for p in range(source.size):
        of_source = sources.sentences[sources.offsets[source[p]] : sources.offsets[source[p] + 1]]
        of_target = targets.sentences[targets.offsets[target[p]] : targets.offsets[target[p] + 1]]
        both = _common(of_source, of_target) if of_source.size < of_target.size else _common(of_target, of_source)
        values[p] = -log_tail(both, of_source.size, of_target.size, factorials)
    return values


@kernel
def _common(short: NDArray[np.int32], long: NDArray[np.int32]) -> int:
    """Return the number of common members of two rising lists, by galloping through the longer one."""
    common, low = 0, 0
    for value in short:
        step = 1
        while low + step < long.size and long[low + step] < value:
            step *= 2
        high = min(low + step, long.size)
        low += step // 2 if step > 1 else 0
        while low < high and long[low] < value:
            middle = (low + high) >> 1
            if long[middle] < value:
                low = middle + 1
            else:
                high = middle
        if low == long.size:
            break
        common += long[low] == value
    return common


@kernel
def log_tail(both: int, first: int, second: int, factorials: NDArray[np.float64]) -> float:
    """Sum the tail k ≥ both of a hypergeometric distribution; the logarithm of it.

    `factorials[i]` is log i!, up to the number of sentences. Terms are summed from the largest one outwards, so that
    nothing overflows.
    """
    total, most = factorials.size - 1, min(first, second)
    if both <= max(0, first + second - total):
        return 0.0
    mode = ((first + 1) * (second + 1)) // (total + 2)
    top = min(max(both, mode), most)
    up = down = term = 1.0
    for k in range(top, most):
        term *= (first - k) / (k + 1) * ((second - k) / (total - first - second + k + 1))
        up += term
        if term < NEGLIGIBLE:
            break
    term = 1.0
    for k in range(top, both, -1):
        term *= k / (first - k + 1) * ((total - first - second + k) / (second - k + 1))
        down += term
        if term < NEGLIGIBLE:
            break
    log_top = (
        factorials[first]
        - factorials[top]
        - factorials[first - top]
        + factorials[total - first]
        - factorials[second - top]
        - factorials[total - first - second + top]
        - factorials[total]
        + factorials[second]
        + factorials[total - second]
    )
    return min(float(log_top + np.log(up + down - 1.0)), 0.0)


def filter_for(table: PhraseTable, sentences: Sentences) -> PhraseTable:
    """Return the pairs whose source phrase occurs in the text, encoded with the table's source vocabulary."""
    if sentences.words.size and sentences.words.min() < 0:
        raise ValueError("word ids are not negative")
    occurs = occurring_phrases(
        table.trie, len(table.pairs.sources), table.longest_source, sentences.words, sentences.offsets
    )
    return select_pairs(table, occurs[table.pairs.source])


def keep_best(table: PhraseTable, limit: int, weights: Mapping[str, float]) -> PhraseTable:
    """Return the `limit` options of each source phrase with the highest weighted score; of equal ones the first."""
    missing = [name for name in table.feature_names if name not in weights]
    if missing:
        raise InputError(f"no weight for {', '.join(missing)}", remedy="give a weight for each score of the table")
    if limit < 1:
        raise InputError(f"a limit of {limit} options leaves nothing", remedy="give a limit of at least 1")
    values = weighted_scores(table.scores, np.array([weights[name] for name in table.feature_names], np.float64))
    return select_pairs(table, best_of_each(table.option_offsets, values, limit))


def select_pairs(table: PhraseTable, keep: NDArray[np.bool_]) -> PhraseTable:
    """Return the pairs where `keep` is true, without unused phrases; counts stay those of the full text."""
    pairs = table.pairs.select(keep)
    used = [np.zeros(len(phrases), np.bool_) for phrases in (pairs.sources, pairs.targets)]
    used[0][pairs.source] = True
    used[1][pairs.target] = True
    compact = replace(
        pairs,
        sources=pairs.sources.select(used[0]),
        targets=pairs.targets.select(used[1]),
        source=_new_numbers(used[0])[pairs.source],
        target=_new_numbers(used[1])[pairs.target],
    )
    return replace(
        table,
        pairs=compact,
        scores=table.scores[keep],
        source_counts=table.source_counts[used[0]],
        target_counts=table.target_counts[used[1]],
        reordering=None if table.reordering is None else table.reordering[keep],
        trie=build_trie(compact.sources),
    )


@kernel
def weighted_scores(scores: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weighted score of each pair, always added up in the order of the features."""
    values = np.zeros(scores.shape[0], np.float64)
    for i in range(scores.shape[0]):
        for k in range(weights.size):
            values[i] += weights[k] * scores[i, k]
    return values


@kernel
def best_of_each(offsets: NDArray[np.int32], values: NDArray[np.float64], limit: int) -> NDArray[np.bool_]:
    """Mark the `limit` highest values of each range `offsets[s]:offsets[s + 1]`; of equal ones the first."""
    keep = np.ones(values.size, np.bool_)
    for s in range(offsets.size - 1):
        begin, end = offsets[s], offsets[s + 1]
        if end - begin > limit:
            keep[begin:end] = False
            order = np.argsort(-values[begin:end], kind="mergesort")
            for rank in range(limit):
                keep[begin + order[rank]] = True
    return keep


def _new_numbers(used: NDArray[np.bool_]) -> NDArray[np.int32]:
    return (np.cumsum(used) - 1).astype(np.int32)
