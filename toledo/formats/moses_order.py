"""The order that Moses' tools want: lines sorted by their bytes (`LC_ALL=C sort`).

A line is words with single spaces between them, `|||` after each phrase. As no word has a space in it, the order of
lines is the order of sequences of words, if words are compared with the space that follows them and `|||` is a word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toledo.phrases.pairs import Phrases
from toledo.phrases.table import PhraseTable
from toledo.sorting import rank_pairs, sort_pairs
from toledo.vocabulary import Vocabulary

SEPARATOR = "|||"


def line_order(table: PhraseTable) -> NDArray[np.int32]:
    """The pairs of a table in the order of their lines."""
    source = _phrase_ranks(table.pairs.sources, _word_ranks(table.source_vocabulary))
    target = _phrase_ranks(table.pairs.targets, _word_ranks(table.target_vocabulary))
    return sort_pairs(source[table.pairs.source], target[table.pairs.target])


def _word_ranks(vocabulary: Vocabulary) -> NDArray[np.int32]:
    """The rank of each word among all words, and last that of the separator."""
    keys = [f"{word} ".encode() for word in (*vocabulary, SEPARATOR)]
    ranks = np.empty(len(keys), np.int32)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys), dtype=np.int32)
    return ranks


def _phrase_ranks(phrases: Phrases, word_ranks: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rank of each phrase: suffixes from position k are ranked by word k and the rank of what follows."""
    begins, lengths = phrases.offsets[:-1], np.diff(phrases.offsets)
    ranks = np.zeros(len(phrases), np.int32)
    for position in range(int(lengths.max(initial=0)), -1, -1):
        reaching = np.flatnonzero(lengths >= position)
        heads = np.full(reaching.size, word_ranks[-1])
        inside = lengths[reaching] > position
        heads[inside] = word_ranks[phrases.words[begins[reaching[inside]] + position]]
        ranks[reaching] = rank_pairs(heads, ranks[reaching]).of
    return ranks
