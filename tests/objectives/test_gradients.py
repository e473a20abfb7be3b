"""Gradients beyond the dense features of small forests: sparse ones, other orders, threads, the eight passes."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from toledo.forest.assemble import join
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.forest import Forest
from toledo.forest.ngrams import localize
from toledo.objectives.cobleu import CoBLEU, ConsensusPrecision
from toledo.objectives.expected_counts import ExpectedCounts
from toledo.objectives.gleu import ConsensusGLEU
from toledo.objectives.linear_bleu import LinearBLEU
from toledo.objectives.objective import MatchedForest, match
from toledo.objectives.xbleu import XBLEU
from toledo.text.vocabulary import Vocabulary

TEXTS = ["a b c d e", "a b d c", "b c d e f g", "z a b c", "c d", ""]
REFERENCE = ["a", "b", "c", "d", "f"]
OBJECTIVES: list[type[ExpectedCounts]] = [CoBLEU, XBLEU, LinearBLEU, ConsensusGLEU, ConsensusPrecision]


def lists(copies: int = 1) -> Forest:
    vocabulary = Vocabulary()
    parts = []
    for number in range(copies):
        entries = [
            ListEntry(text.split(), {"x": math.sin(rank + number), f"sparse{rank % 3}": 1.0, "all": rank / 3})
            for rank, text in enumerate(TEXTS)
        ]
        parts.append(from_nbest(entries, ["x"], vocabulary))
    return join(parts)


def matched(order: int, copies: int = 1) -> MatchedForest:
    forest = lists(copies)
    return match(localize(forest, np.zeros(forest.edges), order), [[REFERENCE]] * copies)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_weights_of_sparse_features_have_the_right_gradient(kind: type[ExpectedCounts]) -> None:
    given = matched(2)
    at = {"x": 0.4, "sparse0": -0.2, "sparse1": 0.3, "sparse2": 0.0, "all": -0.5}
    gradient = kind(2).value_and_gradient(given, at)[1]
    assert set(gradient) == set(at)
    step = 1e-6
    for name in at:
        up, down = (kind(2).value_and_gradient(given, {**at, name: at[name] + sign * step})[0] for sign in (1, -1))
        assert gradient[name] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_longer_ngrams_than_the_objective_wants_do_not_count(kind: type[ExpectedCounts]) -> None:
    at = {"x": 0.4, "all": 0.1}
    value, gradient = kind(2).value_and_gradient(matched(2), at)
    longer, other = kind(2).value_and_gradient(matched(6), at)
    assert longer == pytest.approx(value)
    assert other == pytest.approx(gradient)
    with pytest.raises(ValueError, match="order 3 needs a forest split for it"):
        kind(3).value_and_gradient(matched(2), at)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_threads_do_not_change_a_digit(kind: type[ExpectedCounts]) -> None:
    given = matched(3, copies=70)
    at = {"x": 0.4, "sparse1": 0.2, "all": 0.1}
    assert kind(3).value_and_gradient(given, at, threads=1) == kind(3).value_and_gradient(given, at, threads=2)


def test_the_eight_passes_of_the_paper_give_the_same_gradient() -> None:
    file = Path(__file__).parents[2] / "benchmarks" / "forest.py"
    spec = importlib.util.spec_from_file_location("forest_benchmark", file)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    rng = np.random.default_rng(4)
    vocabulary = Vocabulary(f"w{i}" for i in range(30))
    some = [benchmark.random_lattice(rng, vocabulary, words=7, ways=2) for _ in range(3)]
    paths = [forest.yields.words[forest.yields.words >= 0][::2] for forest in some]
    references = [[vocabulary.words(path.tolist() * 2)] for path in paths]  # too long, so that brevity counts
    corpus = join(some)
    given = match(localize(corpus, np.zeros(corpus.edges), 4), references)
    weights = rng.normal(size=benchmark.FEATURES) / 3
    slow = benchmark.eight_passes(given, weights)
    gradient = CoBLEU().value_and_gradient(given, dict(zip(benchmark.NAMES, weights.tolist(), strict=True)))[1]
    np.testing.assert_allclose([gradient[name] for name in benchmark.NAMES], slow, rtol=1e-9, atol=1e-12)
