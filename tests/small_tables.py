"""Small phrase tables for tests, from plain dictionaries."""

from collections.abc import Mapping
from itertools import chain

import numpy as np
from hypothesis import strategies as st

from toledo.phrases.table import SCORE_FEATURES, PhrasePairs, PhraseTable
from toledo.phrases.trie import Phrases
from toledo.text.vocabulary import Vocabulary

Words = tuple[str, ...]

phrases = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(tuple)
scores = st.tuples(*[st.integers(-9, 0)] * len(SCORE_FEATURES))
entries = st.dictionaries(st.tuples(phrases, phrases), scores, max_size=25)
sentences = st.lists(st.sampled_from("abcd"), max_size=8)


def flat(sequences: list[Words], vocabulary: Vocabulary) -> Phrases:
    offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    ids = [vocabulary.add(word) for word in chain.from_iterable(sequences)]
    return Phrases(np.array(ids, np.int32), offsets)


def make_table(content: Mapping[tuple[Words, Words], tuple[float, ...]], reordering: bool = False) -> PhraseTable:
    """Every pair is linked 0-0 and seen once."""
    vocabularies = Vocabulary(), Vocabulary()
    sides = [sorted({pair[side] for pair in content}, reverse=True) for side in (0, 1)]
    ordered = sorted(content, key=lambda pair: (sides[0].index(pair[0]), sides[1].index(pair[1])))
    pairs = PhrasePairs(
        flat(sides[0], vocabularies[0]),
        flat(sides[1], vocabularies[1]),
        np.array([sides[0].index(source) for source, _ in ordered], np.int32),
        np.array([sides[1].index(target) for _, target in ordered], np.int32),
        np.ones(len(ordered), np.float32),
        np.arange(len(ordered) + 1, dtype=np.int64),
        np.zeros((len(ordered), 2), np.uint8),
    )
    values = np.array([content[pair] for pair in ordered], np.float32).reshape(-1, len(SCORE_FEATURES))
    six = np.log(np.random.default_rng(1).dirichlet(np.ones(3), (len(ordered), 2)).reshape(-1, 6)).astype(np.float32)
    return PhraseTable.create(pairs, values, *vocabularies, reordering=six if reordering else None)


def content_of(table: PhraseTable) -> dict[tuple[Words, Words], tuple[float, ...]]:
    return {(pair.source, pair.target): tuple(pair.scores.values()) for pair in table}
