"""The translations of source words, numbered: what lexical consistency counts."""

from __future__ import annotations

from collections import Counter

import numpy as np

from toledo.search.document.models.counts import FRACTION, NOTHING, Consistency, Known
from toledo.search.document.models.kinds import LexicalConsistency
from toledo.search.steps import word_links_of_pair


def number_translations(known: Known, wanted: LexicalConsistency | None) -> Consistency:
    """Number the translations of source words that occur more than once."""
    options, counts = known.text.options, Counter[str]()
    if wanted is not None:
        counts.update(word for source in known.sources for word in source if _matters(word, wanted))
    repeated = {word for word, count in counts.items() if count > 1}
    lengths = options.end - options.begin
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    cells = np.full(int(offsets[-1]), NOTHING, np.int32)
    numbers: dict[tuple[str, tuple[int, ...]], int] = {}
    for s, source in enumerate(known.sources if repeated else ()):
        for option in known.options_of(s):
            begin, end = int(options.begin[option]), int(options.end[option])
            for k in range(begin, end):
                if source[k] in repeated:
                    key = source[k], _translation(known, option, k - begin)
                    cells[offsets[option] + k - begin] = numbers.setdefault(key, len(numbers))
    shares = np.array([FRACTION // (counts[word] - 1) for word, _ in numbers], np.int64)
    occurrences = sum(counts[word] for word in repeated)
    return Consistency(offsets, cells, shares, np.zeros(len(numbers), np.int32), occurrences)


def _matters(word: str, wanted: LexicalConsistency) -> bool:
    return sum(map(str.isalpha, word)) >= wanted.shortest and word not in wanted.ignored


def _translation(known: Known, option: int, k: int) -> tuple[int, ...]:
    """The target words that an option links to its k-th source word."""
    options = known.text.options
    begin, pair = int(options.word_begin[option]), int(options.pairs[option])
    words = options.words[begin : begin + int(options.lengths[option])].tolist()
    if pair < 0:
        return tuple(words)
    return tuple(words[target] for source, target in word_links_of_pair(known.model.table, pair) if source == k)
