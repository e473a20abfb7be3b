"""The HMM of word alignment against the enumeration of all alignments."""

from itertools import product

import numpy as np
import pytest
from alignment_twin import HmmTwin, direction_of
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.phrases.word_alignment import direction as blocks_of_cells
from toledo.phrases.word_alignment.direction import Cells, cooccurrences, maximize
from toledo.phrases.word_alignment.hmm import (
    REACH,
    WEIGHTS,
    JumpCounts,
    Transitions,
    infer,
    maximize_jumps,
    uniform_jumps,
    viterbi,
)

# Short sentences with all alignments, and long given sides, whose jumps go beyond REACH.
sizes = st.one_of(
    st.tuples(st.integers(1, 3), st.integers(1, 5)), st.tuples(st.integers(REACH, 2 * REACH + 2), st.integers(1, 2))
)


@st.composite
def problems(draw):
    size, length = draw(sizes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.random((size + 1, length)).astype(np.float32) ** 2
    weights = rng.random((2, WEIGHTS)) ** 2 + 1e-3
    return values, Transitions(weights, draw(st.sampled_from([0.01, 0.2, 0.7])))


def one_pair(values):
    """A block of one sentence pair with the given cells."""
    size, length = values.shape[0] - 1, values.shape[1]
    direction = direction_of([([3] * size, [3] * length)])
    return Cells(0, 1, np.array([0, values.size]), values.ravel().copy()), direction


@given(problems())
def test_posteriors_likelihood_and_jumps_are_those_of_all_alignments(problem):
    values, transitions = problem
    twin = HmmTwin(values, transitions)
    cells, direction = one_pair(values)
    [(likelihood, counts)] = infer(cells, direction, transitions, 1)
    assert likelihood == pytest.approx(np.log(twin.total), abs=1e-9)
    assert cells.values.reshape(values.shape) == pytest.approx(twin.posteriors, abs=1e-6)
    assert counts.taken == pytest.approx(twin.taken, abs=1e-9)
    assert counts.chances == pytest.approx(twin.chances, abs=1e-9)


@given(problems())
def test_viterbi_finds_the_best_of_all_alignments(problem):
    values, transitions = problem
    twin = HmmTwin(values, transitions)
    cells, direction = one_pair(values)
    [links] = viterbi(cells, direction, transitions, 1)
    best = max(twin.probability(a) for a in product(range(twin.size + 1), repeat=twin.length))
    assert twin.probability(tuple((links + 1).tolist())) == pytest.approx(best, rel=1e-9)


def test_very_improbable_words_do_not_underflow():
    cells, direction = one_pair(np.full((41, 200), 1e-30, np.float32))
    [(likelihood, _)] = infer(cells, direction, Transitions(uniform_jumps(), 0.1), 1)
    assert likelihood == pytest.approx(200 * np.log(1e-30), rel=0.01)
    assert cells.values.reshape(41, 200).sum(axis=0) == pytest.approx(np.ones(200), abs=1e-5)


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.lists(st.integers(3, 6), min_size=1, max_size=12)] * 2), min_size=1, max_size=6))
def test_likelihood_never_falls_in_plain_expectation_maximization(pairs):
    direction = direction_of(pairs)
    lexicon, transitions, likelihoods = cooccurrences(direction), Transitions(uniform_jumps(), 0.2), []
    for _ in range(6):
        counts = np.zeros_like(lexicon.probabilities)
        [cells] = blocks_of_cells.blocks(direction)
        blocks_of_cells.fill(cells, direction, lexicon, 1)
        [(likelihood, jumps)] = infer(cells, direction, transitions, 1)
        blocks_of_cells.add(cells, direction, lexicon, counts, 1)
        null = sum(blocks_of_cells.matrix(cells, direction, s)[0].sum() for s in range(len(pairs)))
        transitions = Transitions(maximize_jumps(jumps, prior=1e-9), float(null) / direction.words.size)
        lexicon = maximize(lexicon, counts, 1)
        likelihoods.append(likelihood)
    assert np.all(np.diff(likelihoods) >= -1e-5 * np.abs(likelihoods[1:]))


def test_jumps_that_were_never_seen_keep_some_weight():
    weights = maximize_jumps(JumpCounts(np.eye(2, WEIGHTS), np.ones((2, WEIGHTS))))
    assert weights.sum(axis=1) == pytest.approx([1, 1])
    assert weights.min() > 0
