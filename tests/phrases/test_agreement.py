"""Agreement of the two directions against NumPy."""

import numpy as np
import pytest
from alignment_twin import corpora, direction_of
from hypothesis import given

from toledo.phrases.word_alignment.direction import blocks, cooccurrences, matrix
from toledo.phrases.word_alignment.training import NULL_PROBABILITY, agree, initial_hmm, train_together


def both(pairs):
    return direction_of(pairs), direction_of([pair[::-1] for pair in pairs])


@given(corpora)
def test_links_get_the_geometric_mean_and_null_the_rest(pairs):
    directions, rng = both(pairs), np.random.default_rng(len(pairs))
    [forward], [backward] = (list(blocks(direction)) for direction in directions)
    for cells in (forward, backward):
        cells.values[:] = rng.random(cells.values.size) ** 2
    means = [
        np.sqrt(matrix(forward, directions[0], s)[1:] * matrix(backward, directions[1], s)[1:].T)
        for s in range(len(pairs))
    ]
    agree(forward, backward, *directions, 1)
    for s, mean in enumerate(means):
        for cells, direction, values in ((forward, directions[0], mean), (backward, directions[1], mean.T)):
            sums = values.sum(axis=0)
            assert matrix(cells, direction, s)[1:] == pytest.approx(values / np.maximum(sums, 1), abs=1e-5)
            assert matrix(cells, direction, s)[0] == pytest.approx(np.maximum(1 - sums, 0), abs=1e-5)


def test_words_are_found_that_occur_together():
    # Each word has one translation, the order is reversed; one word is added that nothing explains.
    rng = np.random.default_rng(3)
    sentences = [rng.permutation(np.arange(3, 13))[:4].tolist() for _ in range(200)]
    pairs = [(sentence, [*(word + 10 for word in sentence[::-1]), 23]) for sentence in sentences]
    directions = direction_of(pairs, 21), direction_of([pair[::-1] for pair in pairs], 21)
    start = tuple(initial_hmm(direction, cooccurrences(direction)) for direction in directions)
    forward, backward = train_together(start, 8, threads=2)
    for word in range(3, 13):
        row = slice(forward.lexicon.offsets[word], forward.lexicon.offsets[word + 1])
        assert forward.lexicon.words[row][np.argmax(forward.lexicon.probabilities[row])] == word + 10
    assert forward.transitions.null == pytest.approx(0.2, abs=0.03)  # one target word of five
    assert backward.transitions.null < NULL_PROBABILITY
    assert len(forward.likelihoods) == 8
