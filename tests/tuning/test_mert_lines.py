"""The score along a line, against brute force over all hypotheses and derivations."""

import math
from itertools import pairwise

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.forest.constructors import ListEntry, from_nbest
from toledo.metrics.bleu import BLEU
from toledo.metrics.chrf import CHRF
from toledo.metrics.ter import TER
from toledo.objectives.lists import make_lists
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Examples
from toledo.tuning.tuner import tuning_problem
from toledo.tuning.tuners.mert_lines import (
    LineOfLists,
    LineSteps,
    best_point,
    forest_lines,
    list_lines,
    statistics_along,
    statistics_at,
)
from toledo.weights import Weights

NUMBERS = st.integers(-4, 4).map(float) | st.floats(-3, 3).filter(lambda value: abs(value) > 1e-3)


def points(steps: LineSteps) -> list[float]:
    """A point within each interval that is wide enough to have one."""
    inner = [start for start in steps.starts.tolist() if math.isfinite(start)]
    middles = [(left + right) / 2 for left, right in pairwise(inner) if right - left > 1e-6]
    return [*middles, *([inner[0] - 1.0, inner[-1] + 1.0] if inner else [0.0])]


def sure_best(values: list[float], rows: np.ndarray) -> np.ndarray | None:
    """The row of the best value; None if rows of others come too close to tell."""
    best = int(np.argmax(values))
    margin = 1e-9 * max(1.0, abs(values[best]))
    close = [row for value, row in zip(values, rows, strict=True) if value > values[best] - margin]
    return rows[best] if all(np.array_equal(row, rows[best]) for row in close) else None


@given(st.data())
def test_the_statistics_on_a_line_are_those_of_the_best_hypotheses_at_each_point(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 7), min_size=1, max_size=4))
    offsets = np.cumsum([0, *sizes])
    scores, slopes = (
        np.array(data.draw(st.lists(NUMBERS, min_size=sum(sizes), max_size=sum(sizes)))) for _ in range(2)
    )
    statistics = np.arange(2.0 * sum(sizes)).reshape(-1, 2) ** 2  # no two sums are the same
    steps = statistics_along(
        LineOfLists(scores.astype(float), slopes.astype(float)[None], np.ones(1), offsets, statistics)
    )
    assert steps.starts[0] == -math.inf
    assert np.all(np.diff(steps.starts) >= 0)
    for gamma in points(steps):
        total, sure = np.zeros(2), True
        for begin, end in pairwise(offsets):
            if begin < end:
                row = sure_best((scores[begin:end] + gamma * slopes[begin:end]).tolist(), statistics[begin:end])
                sure = sure and row is not None
                total += 0.0 if row is None else row
        if sure:
            assert statistics_at(steps, gamma).tolist() == pytest.approx(total.tolist())


def test_a_large_list_against_sorting_by_value() -> None:
    random = np.random.default_rng(7)
    scores, slopes = random.normal(size=3000), random.normal(size=3000)
    scores[::3], slopes[::5] = scores[0], slopes[0]  # equal scores, equal slopes, equal both
    offsets, statistics = np.array([0, 1000, 1000, 3000]), random.integers(0, 1000, (3000, 3)).astype(float)
    steps = statistics_along(LineOfLists(scores, slopes[None], np.ones(1), offsets, statistics))
    assert steps.starts.size > 8
    for gamma in points(steps):
        height = scores + gamma * slopes
        best = [int(np.argmax(height[:1000])), 1000 + int(np.argmax(height[1000:]))]
        assert statistics_at(steps, gamma).tolist() == statistics[best].sum(axis=0).tolist()


REFERENCES = [[["a", "b", "c", "a"]], [["b", "a"], ["d", "c", "c"]]]
METRICS = [BLEU(max_ngram_order=2, smooth_method="add-k"), TER(), CHRF(char_order=2)]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@given(data=st.data())
def test_a_line_of_forests_equals_all_derivations(metric: BLEU, data: st.DataObject) -> None:
    """Statistics, their score, and the best point, against every derivation of two forests."""
    vocabulary = Vocabulary(oracle.WORDS)
    forests = [data.draw(oracle.forests(max_nodes=3, max_edges=2)) for _ in REFERENCES]
    forests = [forest.__class__(**{**forest.__dict__, "vocabulary": vocabulary}) for forest in forests]
    start, direction = (np.array(data.draw(st.lists(NUMBERS, min_size=2, max_size=2))) for _ in range(2))
    examples = Examples(forests, REFERENCES, metric)
    weights = Weights({"f0": start[0], "f1": start[1]})
    lines = forest_lines(tuning_problem(examples, weights, 1), np.array([0, 1]))
    steps = lines.from_point(start)(direction)
    everything = [all_derivations(forest, some, metric) for forest, some in zip(forests, REFERENCES, strict=True)]
    best = -math.inf
    for gamma in points(steps):
        total, sure = np.zeros(metric.size), True
        for features, statistics in everything:
            if len(features):
                row = sure_best((features @ (start + gamma * direction)).tolist(), statistics)
                sure = sure and row is not None
                total += 0.0 if row is None else row
        if sure:
            assert statistics_at(steps, gamma).tolist() == pytest.approx(total.tolist())
            score = metric.score(total)
            best = max(best, score if metric.higher_is_better else -score)
    found = best_point(steps, metric, 1.0)
    assert found.gain >= best - 1e-9
    shown = metric.score(statistics_at(steps, found.gamma))
    assert found.gain == pytest.approx(shown if metric.higher_is_better else -shown)


def all_derivations(forest, references, metric):
    trees = oracle.derivations(forest)
    texts = [forest.vocabulary.words(list(tree.words)) for tree in trees]
    if metric.name.startswith("chrF"):
        rows = [metric.statistics(" ".join(text), [" ".join(one) for one in references]) for text in texts]
    else:
        rows = [metric.statistics(text, references) for text in texts]
    features = [forest.features[list(tree.edges)].sum(axis=0, dtype=np.float64) for tree in trees]
    return np.array(features).reshape(-1, 2), np.array(rows).reshape(-1, metric.size)


@given(st.data())
def test_lists_and_lists_as_forests_agree(data: st.DataObject) -> None:
    vocabulary, words = Vocabulary(oracle.WORDS), st.lists(st.sampled_from(oracle.WORDS), max_size=4)
    features = st.fixed_dictionaries({"f0": NUMBERS, "f1": NUMBERS, "held": NUMBERS})
    entry = st.builds(ListEntry, words, features)
    lists = data.draw(st.lists(st.lists(entry, min_size=1, max_size=5), min_size=2, max_size=2))
    forests = [from_nbest(some, ["f0", "held", "f1"], vocabulary) for some in lists]
    examples = Examples(forests, REFERENCES, BLEU(max_ngram_order=2, smooth_method="none"))
    start = Weights({"f0": 1.0, "f1": -1.0, "held": 0.5}, frozen=frozenset({"held"}))
    problem, free = tuning_problem(examples, start, 1), np.array([0, 2])
    values, direction = np.array([1.0, -1.0]), np.array(data.draw(st.lists(NUMBERS, min_size=2, max_size=2)))
    one = list_lines(problem, free).from_point(values)(direction)
    other = forest_lines(problem, free).from_point(values)(direction)
    for gamma in points(one):
        if np.abs(other.starts - gamma).min() > 1e-6:
            assert statistics_at(one, gamma).tolist() == statistics_at(other, gamma).tolist() or ties(examples, gamma)


def ties(examples: Examples, gamma: float) -> bool:
    """Equal hypotheses with different texts: which one counts is open."""
    lists = make_lists(examples.forest, examples.references, examples.metric)
    for begin, end in pairwise(lists.offsets):
        rows = np.unique(np.round(lists.forest.features[begin:end].astype(float), 6), axis=0)
        if len(rows) < end - begin:
            return True
    return False


def test_of_equal_intervals_the_nearest_and_never_one_too_narrow() -> None:
    metric = BLEU(max_ngram_order=1, smooth_method="none")

    def steps(starts: list[float], matches: list[float]) -> LineSteps:
        return LineSteps(np.array([-math.inf, *starts]), np.array([[10, 10, some, 10] for some in matches], float))

    assert best_point(steps([1, 2, 3, 4], [5, 6, 5, 6, 5]), metric, 1.0) == (1.5, pytest.approx(60))
    assert best_point(steps([-4, -3, 2, 4], [5, 6, 5, 6, 5]), metric, 1.0).gamma == 3.0
    assert best_point(steps([1, 1 + 1e-9], [5, 9, 6]), metric, 1.0) == (pytest.approx(1.5), pytest.approx(60))
    assert best_point(steps([1], [5, 6]), metric, 1.0, high=0.5) == (pytest.approx(0.0, abs=0.5), pytest.approx(50))
    assert best_point(steps([], [5]), metric, 1.0) == (0.0, pytest.approx(50))
