"""ITG search against enumeration: all segmentations of short sentences, in all orders that joins can reach."""

from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest
from beam_twin import Steps, contents, derivations, features_of, small_model
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.forest.uniting import unite
from toledo.model import PhraseModel
from toledo.search.beam.search import BeamSearch
from toledo.search.itg import ITGSearch
from toledo.search.settings import ITG
from toledo.search.steps import steps_of
from toledo.weights import Weights

ALL = 1_000_000
models = st.builds(
    small_model,
    contents,
    st.sampled_from([(2,), (3,), (5,), (1, 3), (4, 2)]),
    st.none(),
    st.just(False),
    st.lists(st.floats(-0.5, 1.0), min_size=16, max_size=16),
)
words = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4)
joins = st.fixed_dictionaries({"itg.monotone": st.floats(-0.5, 0.5), "itg.inverted": st.floats(-0.5, 0.5)})


def with_joins(model: PhraseModel, weights: dict[str, float]) -> PhraseModel:
    return model.with_weights(Weights({**model.weights, **weights}))


def join_counts(steps: Steps, longest_span: int = 20) -> tuple[int, int] | None:
    """The monotone and inverted joins that put phrases in this order; None if joins of neighbors cannot.

    Nor do they if a span is turned round that is too long.
    """
    parts: list[tuple[int, int]] = []
    monotone = inverted = 0
    for begin, end, _ in steps:
        parts.append((begin, end))
        while len(parts) > 1 and (parts[-2][1] == parts[-1][0] or parts[-1][1] == parts[-2][0]):
            (first, second) = parts[-2:]
            monotone += first[1] == second[0]
            inverted += second[1] == first[0]
            parts[-2:] = [(min(first[0], second[0]), max(first[1], second[1]))]
            if second[1] == first[0] and parts[-1][1] - parts[-1][0] > longest_span:
                return None
    return (monotone, inverted) if len(parts) == 1 else None


def expected_scores(search: ITGSearch, sentence: Sequence[str]) -> list[float]:
    scores = []
    for steps in derivations(search.model, list(sentence)):
        counts = join_counts(steps, search.settings.longest_span)
        if counts is not None:
            features = features_of(search.model, list(sentence), steps)
            features |= {"itg.monotone": counts[0], "itg.inverted": counts[1]}
            scores.append(sum(search.model.weights[name] * features[name] for name in search.feature_names))
    return sorted(scores)


@settings(max_examples=80)
@given(models, words, joins, st.sampled_from([20, 20, 3, 2, 1]))
def test_a_search_without_a_beam_finds_every_derivation_once(
    model: PhraseModel, sentence: list[str], weights: dict[str, float], longest_span: int
) -> None:
    search = ITGSearch(with_joins(model, weights), ITG(ALL, longest_span=longest_span))
    (forest,) = search.forests([sentence], threads=1)
    found = sorted(one.score for one in k_best(forest, forest.scores(search.model.weights)))
    np.testing.assert_allclose(found, expected_scores(search, sentence), atol=1e-4)
    (translation,) = search.translate([sentence], threads=1)
    assert translation.score == pytest.approx(found[-1], abs=1e-6)


@settings(max_examples=40)
@given(models, st.lists(st.sampled_from("abcd"), min_size=1, max_size=7), joins, st.integers(1, 5), st.integers(1, 4))
def test_narrow_searches_give_true_derivations(
    model: PhraseModel, sentence: list[str], weights: dict[str, float], beam: int, longest_span: int
) -> None:
    search = ITGSearch(with_joins(model, weights), ITG(beam, longest_span=longest_span))
    (forest,) = search.forests([sentence], threads=1)
    for one in islice(k_best(forest, forest.scores(search.model.weights)), 5):
        steps = tuple((step.begin, step.end, step.pair) for step in steps_of(one))
        assert tuple(word for step in steps_of(one) for word in step.words) == one.words
        counts = join_counts(steps)
        assert counts is not None
        features = features_of(search.model, sentence, steps)
        features |= {"itg.monotone": counts[0], "itg.inverted": counts[1]}
        assert one.features == pytest.approx({name: features[name] for name in search.feature_names}, abs=1e-4)


def orders(forest: Forest, weights: Weights) -> list[tuple[object, ...]]:
    return [steps_of(one) for one in islice(k_best(forest, forest.scores(weights)), 2000)]


@settings(max_examples=40)
@given(models, st.lists(st.sampled_from("abcd"), min_size=3, max_size=6), joins, joins, st.integers(1, 20))
def test_no_order_is_there_twice_nor_in_the_union_of_two_searches(
    model: PhraseModel, sentence: list[str], weights: dict[str, float], others: dict[str, float], beam: int
) -> None:
    """So a text is not likelier for having more trees, whatever the beam drops."""
    searches = [ITGSearch(with_joins(model, some), ITG(beam)) for some in (weights, others)]
    forests = [search.forests([sentence], threads=1)[0] for search in searches]
    found = [orders(forest, search.model.weights) for forest, search in zip(forests, searches, strict=True)]
    both = orders(unite(forests), searches[0].model.weights)
    assert all(len(some) == len(set(some)) for some in (*found, both))
    assert set(found[0]) | set(found[1]) <= set(both) or len(both) == 2000


def test_ngrams_are_local_and_threads_change_nothing() -> None:
    content = {(("a",), ("x",)): (-0.1, -0.1, -0.1, -0.1), (("b",), ("y", "z")): (-1.0, 0.0, 0.0, 0.0)}
    search = ITGSearch(small_model(content, (3,), None, False, [0.5] * 16), ITG(20))
    sentences = [["a", "b", "c", "a"], [], ["b"] * 65]
    one, two = (search.local_forests(sentences, threads=threads) for threads in (1, 2))
    for first, second in zip(one, two, strict=True):
        assert np.array_equal(first.forest.features, second.forest.features)
        assert np.array_equal(first.ids, second.ids)
    best = viterbi(one[0].forest, one[0].forest.scores(search.model.weights))[0]
    assert best is not None
    ids = np.concatenate([one[0].ids[one[0].offsets[h] : one[0].offsets[h + 1]] for h in best.edges])
    lengths = one[0].orders[ids - one[0].sentences[0]]
    size = len(best.words)
    assert [int(np.count_nonzero(lengths == n)) for n in range(1, 5)] == [max(size + 1 - n, 0) for n in range(1, 5)]


def test_no_words_are_one_derivation_as_in_beam_search() -> None:
    model = small_model({}, (3,), None, False, [0.5] * 16)
    beam, itg = (search.translate([[]], threads=1)[0] for search in (BeamSearch(model), ITGSearch(model)))
    assert itg.words == beam.words == ()
    assert itg.score == pytest.approx(beam.score)


def test_a_language_model_is_needed() -> None:
    with pytest.raises(InputError, match="needs a language model"):
        ITGSearch(small_model({}, (), None, False, [0.5] * 16))
    with pytest.raises(ValueError, match="at least 1"):
        ITG(beam=0)
