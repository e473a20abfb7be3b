"""Co-occurring words against sets."""

import numpy as np
import pytest
from alignment_twin import NULL, WORDS, corpora, direction_of, encode
from hypothesis import given

from toledo.phrases.word_alignment.direction import cooccurrences, make_direction
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import RESERVED

TYPES = len(RESERVED) + WORDS


@given(corpora)
def test_rows_are_the_sorted_words_beside_each_given_word(pairs):
    expected = [set() for _ in range(TYPES)]
    for sentence, words in pairs:
        for word in [NULL, *sentence]:
            expected[word] |= set(words)
    for threads in (1, 3):
        lexicon = cooccurrences(direction_of(pairs), threads)
        rows = np.split(lexicon.words, lexicon.offsets[1:-1])
        assert [row.tolist() for row in rows] == [sorted(row) for row in expected]
        assert np.all(lexicon.probabilities == np.float32(1 / TYPES))


def test_a_corpus_without_pairs():
    lexicon = cooccurrences(direction_of([]))
    assert lexicon.words.size == 0
    assert lexicon.offsets.tolist() == [0] * (TYPES + 1)


def test_ids_outside_the_vocabulary_are_refused():
    corpus = encode([([3], [4])])
    for types in ((3, TYPES), (TYPES, 4)):
        with pytest.raises(ValueError, match="outside the vocabulary"):
            make_direction(corpus.source, corpus.target, *types)
    null = Sentences.from_lengths(np.array([NULL], np.int32), np.array([1]))
    with pytest.raises(ValueError, match="outside the vocabulary"):
        make_direction(null, corpus.target, TYPES, TYPES)
    with pytest.raises(ValueError, match="differ in length"):
        make_direction(corpus.source, encode([([3], [4])] * 2).target, TYPES, TYPES)
