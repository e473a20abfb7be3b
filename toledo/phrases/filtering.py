"""Smaller phrase tables: for a given text, or with the best options of each source phrase alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import Sentences
from toledo.errors import InputError
from toledo.kernels import kernel
from toledo.phrases.look_up import occurring_phrases
from toledo.phrases.pairs import Phrases
from toledo.phrases.table import PhraseTable


def filter_for(table: PhraseTable, sentences: Sentences) -> PhraseTable:
    """Only the pairs whose source phrase stands in the text, encoded with the table's source vocabulary."""
    if sentences.words.size and sentences.words.min() < 0:
        raise ValueError("word ids are not negative")
    occurs = occurring_phrases(
        table.trie, len(table.pairs.sources), table.longest_source, sentences.words, sentences.offsets
    )
    return select_pairs(table, occurs[table.pairs.source])


def keep_best(table: PhraseTable, limit: int, weights: Mapping[str, float]) -> PhraseTable:
    """The `limit` options of each source phrase with the highest weighted score; of equal ones the first."""
    missing = [name for name in table.feature_names if name not in weights]
    if missing:
        raise InputError(f"no weight for {', '.join(missing)}", remedy="give a weight for each score of the table")
    if limit < 1:
        raise InputError(f"a limit of {limit} options leaves nothing", remedy="give a limit of at least 1")
    values = weighted_scores(table.scores, np.array([weights[name] for name in table.feature_names], np.float64))
    return select_pairs(table, best_of_each(table.option_offsets, values, limit))


def select_pairs(table: PhraseTable, keep: NDArray[np.bool_]) -> PhraseTable:
    """The pairs where `keep` is true; phrases that no pair uses are dropped, counts stay those of the full text."""
    pairs = table.pairs.select(keep)
    used = [np.zeros(len(phrases), np.bool_) for phrases in (pairs.sources, pairs.targets)]
    used[0][pairs.source] = True
    used[1][pairs.target] = True
    compact = replace(
        pairs,
        sources=_select_phrases(pairs.sources, used[0]),
        targets=_select_phrases(pairs.targets, used[1]),
        source=_new_numbers(used[0])[pairs.source],
        target=_new_numbers(used[1])[pairs.target],
    )
    return PhraseTable.create(
        compact,
        table.scores[keep],
        table.source_vocabulary,
        table.target_vocabulary,
        table.feature_names,
        table.source_counts[used[0]],
        table.target_counts[used[1]],
        None if table.reordering is None else table.reordering[keep],
    )


@kernel
def weighted_scores(scores: NDArray[np.float32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted score of each pair, always added up in the order of the features."""
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


def _select_phrases(phrases: Phrases, used: NDArray[np.bool_]) -> Phrases:
    lengths = np.diff(phrases.offsets)
    offsets = np.zeros(int(used.sum()) + 1, np.int64)
    np.cumsum(lengths[used], out=offsets[1:])
    return Phrases(offsets, phrases.words[np.repeat(used, lengths)])


def _new_numbers(used: NDArray[np.bool_]) -> NDArray[np.int32]:
    return (np.cumsum(used) - 1).astype(np.int32)
