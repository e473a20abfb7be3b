"""IBM Model 1 against dictionaries."""

from functools import partial

import numpy as np
import pytest
from alignment_twin import WORDS, corpora, direction_of
from alignment_twin import ibm1 as twin
from hypothesis import given

from toledo.phrases.lexicon import Lexicon
from toledo.phrases.word_alignment import training
from toledo.phrases.word_alignment.direction import blocks, cooccurrences
from toledo.phrases.word_alignment.training import train_ibm1
from toledo.text.vocabulary import RESERVED


def train(pairs: list[tuple[list[int], list[int]]], iterations: int, threads: int = 1) -> tuple[Lexicon, list[float]]:
    direction = direction_of(pairs)
    return train_ibm1(direction, cooccurrences(direction, threads), iterations, threads)


def as_dictionary(lexicon: Lexicon) -> dict[tuple[int, int], float]:
    rows = np.repeat(np.arange(lexicon.offsets.size - 1), np.diff(lexicon.offsets))
    return dict(zip(zip(rows.tolist(), lexicon.words.tolist(), strict=True), lexicon.probabilities, strict=True))


@given(corpora)
def test_lexicon_and_likelihoods_are_those_of_the_twin(pairs):
    lexicon, likelihoods = train(pairs, 4)
    expected, expected_likelihoods = twin(pairs, len(RESERVED) + WORDS, 4)
    assert as_dictionary(lexicon) == pytest.approx(expected, abs=1e-5)
    assert likelihoods == pytest.approx(expected_likelihoods, rel=1e-5)


@given(corpora)
def test_likelihood_never_falls_and_rows_sum_to_one(pairs):
    lexicon, likelihoods = train(pairs, 8)
    assert np.all(np.diff(likelihoods) >= -1e-5 * np.abs(likelihoods[1:]))
    sums = [row.sum() for row in np.split(lexicon.probabilities, lexicon.offsets[1:-1]) if row.size]
    assert sums == pytest.approx([1.0] * len(sums), abs=1e-5)


def test_small_blocks_and_more_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    pairs = [
        (rng.integers(3, 7, rng.integers(1, 6)).tolist(), rng.integers(3, 7, rng.integers(1, 6)).tolist())
        for _ in range(1200)
    ]
    whole = train(pairs, 3)
    again = train(pairs, 3, threads=3)
    assert whole[1] == again[1]
    assert np.array_equal(whole[0].probabilities, again[0].probabilities)
    monkeypatch.setattr(training, "blocks", partial(blocks, size=500))
    assert train(pairs, 3)[0].probabilities == pytest.approx(whole[0].probabilities, rel=1e-5)


def test_blocks_cover_the_corpus_and_keep_to_their_size():
    direction = direction_of(
        [([3] * given, [4] * words) for given, words in ((1, 1), (2, 3), (30, 30), (1, 2), (1, 1))]
    )
    bounds = [(block.first, block.last) for block in blocks(direction, size=20)]
    assert bounds == [(0, 2), (2, 3), (3, 5)]  # the third pair is larger than a block
