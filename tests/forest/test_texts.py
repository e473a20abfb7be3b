"""Forests at the level of texts, against enumeration."""

import math
from collections import Counter
from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.results import Hypothesis

ARCS = [
    (0, 1, "the", {"lm": -1.0}),
    (0, 1, "a", {"lm": -1.5}),
    (1, 2, "small house", {"lm": -2.0, "rare": 1.0}),
    (1, 2, "house", {"lm": -1.0}),
    (2, 3, "the end", {"lm": -0.5}),
]
WEIGHTS = {"lm": 1.0, "rare": 1.5}


def paths() -> dict[str, float]:
    """All paths of the lattice with their scores."""
    scores = [sum(WEIGHTS[name] * value for name, value in arc[3].items()) for arc in ARCS]
    return {
        f"{ARCS[first][2]} {ARCS[second][2]} the end": scores[first] + scores[second] + scores[4]
        for first in (0, 1)
        for second in (2, 3)
    }


def chances() -> dict[str, float]:
    total = sum(math.exp(score) for score in paths().values())
    return {text: math.exp(score) / total for text, score in paths().items()}


def test_the_best_paths_are_those_of_enumeration() -> None:
    forest, expected = Forest.from_lattice(ARCS), sorted(paths().items(), key=lambda item: -item[1])
    found = forest.nbest(10, WEIGHTS)
    assert [str(one) for one in found] == [text for text, _ in expected]
    assert [one.score for one in found] == pytest.approx([score for _, score in expected])
    assert forest.best(WEIGHTS) == found[0]
    assert found[0].features == pytest.approx({"lm": -3.5, "rare": 1.0})


def test_entropy_and_posteriors_are_those_of_enumeration() -> None:
    forest, all_chances = Forest.from_lattice(ARCS), chances()
    assert forest.entropy(weights=WEIGHTS) == pytest.approx(-sum(p * math.log(p) for p in all_chances.values()))
    assert forest.entropy(scale=0.0, weights=WEIGHTS) == pytest.approx(math.log(4))
    for order in (1, 2):
        expected: Counter[str] = Counter()
        for text, chance in all_chances.items():
            words = text.split()
            for ngram in {" ".join(words[i : i + order]) for i in range(len(words) - order + 1)}:
                expected[ngram] += chance
        assert forest.posteriors(order, WEIGHTS) == pytest.approx(dict(expected))


def test_samples_follow_the_distribution() -> None:
    drawn = Forest.from_lattice(ARCS).sample(20_000, seed=3, weights=WEIGHTS)
    assert sum(one.count for one in drawn) == 20_000
    assert {one.text: one.count / 20_000 for one in drawn} == pytest.approx(chances(), abs=0.015)
    assert all(one.score == pytest.approx(paths()[one.text]) for one in drawn)


def test_texts_count_as_often_as_they_occur() -> None:
    forest = Forest.from_list(["a b", "c", "a b", {"text": "c", "count": 2}])
    assert forest.posteriors() == pytest.approx({"a": 0.4, "b": 0.4, "c": 0.6})
    assert forest.best().text == "c"
    scored = Forest.from_list([Hypothesis("a", score=-1.0), Hypothesis("b", score=-9.0, logprob=-0.5)])
    assert scored.best() == Hypothesis("b", -0.5)


def test_a_forest_is_pruned_united_drawn_and_saved(tmp_path: Path) -> None:
    forest = Forest.from_lattice(ARCS)
    assert [one.text for one in forest.prune(1.0, WEIGHTS).nbest(9, WEIGHTS)] == ["the small house the end"]
    assert "house" in forest.to_svg()
    assert "digraph" in forest.to_dot(WEIGHTS)
    forest.save(tmp_path / "forest")
    assert Forest.load(tmp_path / "forest").nbest(9, WEIGHTS) == forest.nbest(9, WEIGHTS)
    both = Forest.from_list([Hypothesis("a b", -1.0)]).union(
        Forest.from_list([Hypothesis("c", -2.0), Hypothesis("a b", -1.0)])
    )
    assert [(one.text, one.score) for one in both.nbest(9)] == [("a b", -1.0), ("c", -2.0)]


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match="scored by features"):
        Forest.from_lattice(ARCS).best()
    with pytest.raises(InputError, match="no derivation"):
        Forest.from_list([]).best()
    with pytest.raises(InputError, match="is not a hypothesis"):
        Forest.from_list([{"txt": "a"}])
    with pytest.raises(InputError, match="without arcs"):
        Forest.from_lattice([])
