"""Real outputs of WMT22 with two references: gradients of both stages, xBLEU beside CoBLEU, a system of word salad."""

import math
from pathlib import Path

import numpy as np
import pytest

from toledo.combination.alignment import Matcher
from toledo.combination.combiner import Combiner
from toledo.combination.lattice import NetworkLattice, join_networks
from toledo.combination.network import build_networks, distinct_hypotheses
from toledo.combination.settings import CombinationSettings
from toledo.combination.tuners import Ascent, scale_for_entropy
from toledo.combination.tuning import Expander
from toledo.combination.votes import CombinationProblem, uniform, with_votes
from toledo.metrics.bleu import BLEU
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.objective import match
from toledo.objectives.xbleu import XBLEU
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

SETTINGS = CombinationSettings(features=("novel.bigram", "novel.trigram", "support.1"), steps=3, threshold=0.01)


def read(file: Path, size: int) -> list[list[str]]:
    return [line.split() for line in file.read_text("utf-8").splitlines()[:size]]


def lattices_of(systems: list[list[list[str]]], names: list[str], vocabulary: Vocabulary) -> list[NetworkLattice]:
    lattices = []
    for own in zip(*systems, strict=True):
        hypotheses = distinct_hypotheses(own, vocabulary)
        networks = build_networks(hypotheses, vocabulary, Matcher())
        lattices.append(join_networks(networks, hypotheses, names, vocabulary))
    return lattices


@pytest.fixture(scope="module")
def problems(shared_folder: Path) -> list[CombinationProblem]:
    """Those of both stages."""
    folder = shared_folder / "data" / "wmt22-syscomb" / "de-en" / "tune"
    names = ["JDExploreAcademy", "LT22", "Online-A", "PROMT"]
    lattices = lattices_of([read(folder / f"sys.{name}.en", 8) for name in names], names, Vocabulary())
    references = [list(own) for own in zip(*(read(folder / f"ref.{name}.en", 8) for name in "AB"), strict=True)]
    assert any(one != other for one, other in references)
    expander = Expander(SETTINGS, None, threads=1)
    bigrams = expander.to_bigrams(lattices)
    voted = with_votes(bigrams.forest, lattices)
    weights = {
        "word": 0.2,
        "null": -0.1,
        "skeleton": 0.3,
        "novel.bigram": -0.8,
        "novel.trigram": -0.3,
        "support.1": 0.4,
    }

    def start(forest_names: tuple[str, ...]) -> Weights:
        return Weights({name: weights.get(name, 0.1) for name in forest_names})

    assert bigrams.forest.sparse is not None
    sparse = bigrams.forest.sparse.names
    first = CombinationProblem(
        voted, match(bigrams, references), uniform(names, start((*bigrams.forest.feature_names, *sparse))), 1
    )
    stage = Ascent(steps=2).tune(first, 2)
    ngrams = expander.to_order(voted, lattices, stage)
    second = with_votes(ngrams.forest, lattices)
    return [
        first,
        CombinationProblem(
            second, match(ngrams, references), uniform(names, start((*ngrams.forest.feature_names, *sparse))), 1
        ),
    ]


@pytest.mark.parametrize("order", [2, 4])
def test_gradients_are_finite_differences(problems: list[CombinationProblem], order: int) -> None:
    problem = problems[order // 2 - 1]
    random = np.random.default_rng(3)
    point = problem.first + random.normal(0.0, 0.1, problem.first.size)
    scale = scale_for_entropy(problem.voted, problem.weights(point), 3.0, 1)
    _, gradient = problem.value_and_gradient(XBLEU(order), scale, 0.01, point)
    assert np.abs(gradient).max() > 1e-3
    for place in range(point.size):
        step = np.zeros(point.size)
        step[place] = 1e-5
        ends = [problem.value_and_gradient(XBLEU(order), scale, 0.01, point + sign * step)[0] for sign in (1, -1)]
        assert gradient[place] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=2e-6)


@pytest.mark.parametrize("order", [2, 4])
def test_xbleu_is_nearly_cobleu(problems: list[CombinationProblem], order: int) -> None:
    problem = problems[order // 2 - 1]
    scores = problem.voted.scores(problem.start)
    smooth, _ = XBLEU(order).value_and_advantage(problem.matched, scores, 1)
    sharp, _ = CoBLEU(order).value_and_advantage(problem.matched, scores, 1)
    assert smooth == pytest.approx(math.exp(sharp), rel=2e-3)


def test_a_system_of_word_salad_does_no_harm(shared_folder: Path) -> None:
    """On segments that tuning has not seen, against the same combination without it."""
    folder = shared_folder / "data" / "wmt22-syscomb" / "ja-en" / "tune"
    names = ["sys.DLUT", "sys.Online-A", "sys.LanguageX", "broken.AIST"]
    outputs = [list(own) for own in zip(*(read(folder / f"{name}.en", 100) for name in names), strict=True)]
    references = [[text] for text in read(folder / "ref.A.en", 100)]
    metric, seen, unseen = BLEU(smooth_method="none"), slice(40), slice(40, None)

    def bleu(texts: list[list[str]]) -> float:
        return metric.score(metric.corpus_statistics(texts, references[unseen]).sum(axis=0))

    def combined(count: int) -> float:
        some = [own[:count] for own in outputs]
        settings = CombinationSettings(entropy=(1.0,), steps=8)
        combiner = Combiner.tune(some[seen], references[seen], names[:count], Vocabulary(), settings=settings)
        return bleu([list(one.words) for one in combiner.run(some[unseen])])

    salad = bleu([own[3] for own in outputs[unseen]])
    without, with_salad = combined(3), combined(4)
    assert salad < 0.5 * min(bleu([own[system] for own in outputs[unseen]]) for system in range(3))
    assert with_salad > without - 0.5
