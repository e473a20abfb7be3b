"""Each draw of the Gibbs sampler against its definition: what it chooses from, and with which probabilities."""

import numpy as np
import pytest
from beam_twin import models, small_model
from gibbs_twin import Twin
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.model import PhraseModel
from toledo.search.chain import total_score
from toledo.search.chain_operators import (
    may_swap,
    put_window,
    swap_gain,
    weigh_merge_split,
    weigh_options,
    weigh_places,
    window_at,
)
from toledo.search.gibbs.search import draw_backward, draw_candidates, spread_candidates, sum_forward
from toledo.search.options import NONE
from toledo.search.settings import OPERATORS

PAPER = ("retrans", "merge-split", "reorder")
texts = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)
VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.6, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4]
SPANS = [(word,) for word in "abc"] + [("a", "b"), ("b", "c"), ("a", "b", "c")]
CONTENT = {(span, (text * len(span),)): (0.7 * k - 1.5,) * 4 for span in SPANS for k, text in enumerate("XYZ")}


def probabilities(weights: np.ndarray, count: int, scale: float) -> np.ndarray:
    found = np.exp(scale * (weights[:count] - weights[:count].max()))
    return found / found.sum()


def some_states(twin: Twin, seed: int, size: int = 6) -> list:
    rng = np.random.default_rng(seed)
    return [twin.states[k] for k in rng.integers(0, len(twin.states), size)]


@settings(max_examples=40)
@given(models, texts, st.sampled_from([1.0, 0.3]), st.integers(0, 99))
def test_translations_are_drawn_from_their_conditional(
    model: PhraseModel, words: list[str], scale: float, seed: int
) -> None:
    twin = Twin(model, words, scale)
    for state in some_states(twin, seed):
        twin.put(state)
        for place, (begin, end, _) in enumerate(state, start=1):
            count = weigh_options(twin.sentence, twin.chain, place, place + 1, begin, end)
            expected = twin.conditional(twin.retrans(state, place - 1))
            np.testing.assert_allclose(probabilities(twin.chain.weights, count, scale), expected, atol=1e-5)
        for middle in range(1, len(words)):
            count = weigh_merge_split(twin.sentence, twin.chain, middle)
            window = twin.merge_split(state, middle)
            assert count == len(window)
            if window:
                expected = twin.conditional(window)
                np.testing.assert_allclose(probabilities(twin.chain.weights, count, scale), expected, atol=1e-5)
                _, _, begin, end = window_at(twin.sentence, twin.chain, middle)
                for drawn, other in enumerate(window):
                    size = put_window(twin.sentence, twin.chain, begin, middle, end, drawn)
                    assert {twin.steps[option] for option in twin.chain.new[:size].tolist()} <= set(other)


@pytest.mark.parametrize("seed", range(3))
def test_all_of_many_translations_are_drawn_from_their_conditional(seed: int) -> None:
    """Three options for each span, and orientations that matter."""
    twin = Twin(small_model(CONTENT, (2,), 6, True, VALUES), list("abca"), 0.7)
    windows = 0
    for state in some_states(twin, seed, 12):
        twin.put(state)
        for middle in range(1, 4):
            count = weigh_merge_split(twin.sentence, twin.chain, middle)
            window = twin.merge_split(state, middle)
            assert count == len(window)
            if not window:
                continue
            found = probabilities(twin.chain.weights, count, 0.7)
            np.testing.assert_allclose(found, twin.conditional(window), atol=1e-5)
            place, number, begin, end = window_at(twin.sentence, twin.chain, middle)
            for drawn, other in enumerate(window):
                size = put_window(twin.sentence, twin.chain, begin, middle, end, drawn)
                new = (twin.steps[option] for option in twin.chain.new[:size].tolist())
                assert (*state[: place - 1], *new, *state[place - 1 + number :]) == other
            windows += 1
    assert windows > 5


@settings(max_examples=40)
@given(models, texts, st.integers(0, 99))
def test_orders_are_drawn_from_their_conditional(model: PhraseModel, words: list[str], seed: int) -> None:
    twin = Twin(model, words)
    for state in some_states(twin, seed):
        twin.put(state)
        for j in range(1, len(state) + 1):
            for i in range(1, j):
                swapped = twin.reorder(state, i - 1, j - 1)
                assert may_swap(twin.sentence, twin.chain, i, j) == (len(swapped) == 2)
                if len(swapped) == 2:
                    gain = twin.scores[twin.number[swapped[1]]] - twin.scores[twin.number[state]]
                    assert swap_gain(twin.sentence, twin.chain, i, j) == pytest.approx(gain, abs=1e-4)
        for place in range(1, len(state) + 1):
            allowed = weigh_places(twin.sentence, twin.chain, place)
            places = twin.move(state, place - 1)
            assert allowed == sum(one is not None for one in places)
            found = probabilities(twin.chain.weights, len(state), 1.0)
            assert [one is not None for one in places] == np.isfinite(twin.chain.weights[: len(state)]).tolist()
            expected = twin.conditional([one for one in places if one is not None])
            np.testing.assert_allclose(found[[one is not None for one in places]], expected, atol=1e-5)


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("seed", range(8))
def test_segmentations_are_drawn_in_proportion_to_p_over_the_shares_of_candidates(scale: float, seed: int) -> None:
    twin, draws = Twin(small_model(CONTENT, (2,), 6, False, VALUES), list("abca"), scale), 2000
    state = [one for one in twin.states if list(one[:2]) == sorted(one[:2])][41 * seed]
    twin.put(state)
    twin.chain.random[0] = seed
    spread_candidates(twin.sentence.options, twin.candidates, scale)
    stop = next((k for k in range(1, len(state)) if state[k][0] != state[k - 1][1]), len(state))
    begin, end, options = state[0][0], state[stop - 1][1], twin.candidates.option
    draw_candidates(twin.sentence, twin.candidates, begin, end, twin.chain.random)
    for step in state[:stop]:
        options[step[0], step[1] - step[0] - 1] = twin.option[step]
    possible = [
        phrases
        for phrases in twin._segmentations(begin, end)
        if all(options[step[0], step[1] - step[0] - 1] == twin.option[step] for step in phrases)
    ]
    assert state[:stop] in possible
    shares = [sum(twin.candidates.log_share[twin.option[step]] for step in phrases) for phrases in possible]
    expected = twin.conditional([(*phrases, *state[stop:]) for phrases in possible]) * np.exp(-np.array(shares))
    counts = np.zeros(len(possible))
    for _ in range(draws):
        assert sum_forward(twin.sentence, twin.chain, twin.candidates, 1, stop + 1, scale)
        size = draw_backward(twin.sentence, twin.chain, twin.candidates, stop + 1, scale)
        counts[possible.index(tuple(twin.steps[option] for option in twin.chain.new[:size][::-1].tolist()))] += 1
    np.testing.assert_allclose(counts / draws, expected / expected.sum(), atol=4 / np.sqrt(4 * draws))


@pytest.mark.parametrize("scale", [1.0, 5000.0])
def test_no_segmentation_is_lost_in_sharp_models(scale: float) -> None:
    """Nodes may be thousands of nats below the best one of their position, and yet lead to the best whole."""
    twin = Twin(small_model(CONTENT, (2,), 6, False, VALUES), list("abca"), scale)
    twin.put(next(one for one in twin.states if [step[:2] for step in one] == [(0, 1), (1, 2), (2, 3), (3, 4)]))
    spread_candidates(twin.sentence.options, twin.candidates, 0.3)
    draw_candidates(twin.sentence, twin.candidates, 0, 4, twin.chain.random)
    assert sum_forward(twin.sentence, twin.chain, twin.candidates, 1, 5, scale)
    found, lowest = twin.candidates, 0.0
    for p in range(1, 5):
        edges = slice(found.first_edge[p], found.first_edge[p + 1])
        for node in range(found.first[p], found.first[p + 1]):
            weights = found.weight[edges][found.head[edges] == node]
            lowest = min(lowest, weights.max() - found.weight[edges].max())
            np.testing.assert_allclose(found.inside[node], np.logaddexp.reduce(weights))
    assert scale == 1.0 or lowest < -1000.0


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_candidates_are_drawn_by_their_shares(scale: float) -> None:
    twin, draws = Twin(small_model(CONTENT, (2,), 6, False, VALUES), list("abca"), scale), 2000
    options, estimate = twin.sentence.options, twin.sentence.options.estimate
    spread_candidates(options, twin.candidates, scale)
    counts = np.zeros(options.begin.size)
    for _ in range(draws):
        draw_candidates(twin.sentence, twin.candidates, 0, 4, twin.chain.random)
        counts[twin.candidates.option[twin.candidates.option != NONE]] += 1
    for begin, end in {step[:2] for step in twin.steps}:
        span = [twin.option[step] for step in twin.options_of(begin, end)]
        expected = probabilities(estimate[span], len(span), scale)
        np.testing.assert_allclose(np.exp(twin.candidates.log_share[span]), expected)
        np.testing.assert_allclose(counts[span] / draws, expected, atol=4 / np.sqrt(4 * draws))


@settings(max_examples=40)
@given(models, texts, st.integers(0, 99))
def test_all_operators_together_connect_all_derivations(model: PhraseModel, words: list[str], seed: int) -> None:
    twin = Twin(model, words)
    for operators in (OPERATORS, ("retrans", "move", "resegment")):
        assert twin.component(some_states(twin, seed, 1)[0], operators) == set(twin.states)


def test_a_long_phrase_without_parts_needs_resegmenting() -> None:
    content = {((word,), (word.upper(),)): (-0.1, 0.0, 0.0, 0.0) for word in "abc"}
    twin = Twin(small_model(content | {(("a", "b", "c"), ("X",)): (0.0,) * 4}, (2,), 6, False, VALUES), list("abc"))
    whole = next(state for state in twin.states if len(state) == 1)
    assert twin.component(whole, PAPER) == {whole}
    assert len(twin.component(whole, (*PAPER, "resegment"))) == len(twin.states)
    twin.put(whole)
    assert set(twin.run(20_000)) == set(range(len(twin.states)))


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, None])
def test_moves_bring_every_derivation_into_source_order(limit: int | None) -> None:
    """The proof in the sampler's module, step by step: each derivation on the way keeps to the distortion rule."""
    content = {((word,), (word.upper(),)): (-0.1, 0.0, 0.0, 0.0) for word in "abc"}
    content |= {(("b", "c"), ("X",)): (0.0,) * 4, (("a", "b", "a"), ("Y",)): (0.0,) * 4}
    twin = Twin(small_model(content, (1,), limit, False, VALUES), list("abaca"))
    for start in twin.states:
        state, ordered = start, sorted(start)
        while list(state) != ordered:
            place = next(k for k, step in enumerate(state) if step != ordered[k])
            moved = twin.move(state, state.index(ordered[place]))[place]
            assert moved is not None
            state = moved


@settings(max_examples=30)
@given(models, texts, st.lists(st.sampled_from(OPERATORS), min_size=1, max_size=12), st.integers(0, 99))
def test_scores_of_changes_add_up(model: PhraseModel, words: list[str], operators: list[str], seed: int) -> None:
    twin = Twin(model, words)
    twin.put(some_states(twin, seed, 1)[0])
    twin.chain.random[0] = seed
    for operator in operators:
        (number,) = twin.run(1, (operator,))
        assert twin.states[number] == twin.state
        assert total_score(twin.sentence, twin.chain) == pytest.approx(twin.scores[number], abs=1e-4)
        kept = [array.copy() for array in (twin.chain.model_scores, twin.chain.rows[: len(twin.state) + 1])]
        gaps = twin.chain.gaps[1 : len(twin.state) + 2].copy()
        twin.put(twin.state)  # from nothing
        size = len(twin.state) + 2
        np.testing.assert_allclose(kept[0][1:size], twin.chain.model_scores[1:size], atol=1e-12)
        np.testing.assert_array_equal(kept[1], twin.chain.rows[: len(twin.state) + 1])
        np.testing.assert_array_equal(gaps, twin.chain.gaps[1 : len(twin.state) + 2])
