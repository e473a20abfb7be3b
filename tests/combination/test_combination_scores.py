"""Scores, features and gradients of expanded lattices: against paths written out one by one, and finite differences."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import derivations, probabilities
from small_outputs import NAMES, REFERENCES, SEGMENTS, lattice_of, outputs

from toledo.combination.features import Feature, each_ngram, expand, novel, of_words, pruned, support, supporters
from toledo.combination.goals import Goal, metrics_of
from toledo.combination.lattice import FEATURES, NO_ARC, NetworkLattice
from toledo.combination.tuners import Ascent, ListAscent, Paths, add_paths, entropy_within_reach, scale_for_entropy
from toledo.combination.votes import CombinationProblem, CombinationWeights, VotedForest, softmax, uniform, with_votes
from toledo.errors import InputError
from toledo.forest.assemble import split
from toledo.forest.forest import Forest
from toledo.forest.inside_outside import distribution
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.objective import match
from toledo.objectives.xbleu import XBLEU
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

SPARSE: list[Feature] = [supporters(2), each_ngram(2)]
DENSE: list[Feature] = [novel(2), support(1), support(2), of_words("long", 1, lambda words: float(len(words[0]) > 3))]


def small_model(lattices: list[NetworkLattice], order: int) -> LanguageModel:
    texts = [lattice.hypotheses.texts for lattice in lattices]
    words = np.concatenate([text.symbols for text in texts])
    return LanguageModel(
        estimate(Sentences.from_lengths(words, np.concatenate([text.lengths for text in texts])), order)
    )


def small_problem(
    order: int = 2, model_order: int = 2
) -> tuple[CombinationProblem, list[NetworkLattice], LanguageModel]:
    vocabulary = Vocabulary()
    lattices = [lattice_of(own, vocabulary) for own in SEGMENTS]
    model = small_model(lattices, model_order)
    ngrams = expand([one.forest for one in lattices], lattices, order, model, [*DENSE, *SPARSE])
    voted = with_votes(ngrams.forest, lattices)
    names = (*ngrams.forest.feature_names, *(ngrams.forest.sparse.names if ngrams.forest.sparse else ()))
    random = np.random.default_rng(5)
    weights = Weights(dict(zip(names, random.normal(0.0, 0.3, len(names)).tolist(), strict=True)))
    start = CombinationWeights(dict(zip(NAMES, softmax(random.normal(size=3)).tolist(), strict=True)), weights)
    return CombinationProblem(voted, match(ngrams, REFERENCES), start, threads=1), lattices, model


def text_ending_with(forest: Forest, edge: int) -> list[int]:
    """The words of the only path that ends with an edge."""
    shape, yields = forest.shape, forest.yields
    own = [word for word in yields.words[yields.offsets[edge] : yields.offsets[edge + 1]].tolist() if word >= 0]
    if shape.tail_offsets[edge] == shape.tail_offsets[edge + 1]:
        return own
    return text_ending_with(forest, int(shape.head_edges[shape.tails[shape.tail_offsets[edge]]])) + own


def parts_of(voted: VotedForest) -> list[tuple[VotedForest, int, int]]:
    return [(VotedForest(part, voted.votes, voted.arcs[a:b]), a, b) for part, a, b in split(voted.forest)]


def test_features_of_paths_are_those_of_their_texts() -> None:
    problem, lattices, model = small_problem(model_order=3)
    forest = problem.voted.forest
    assert forest.feature_names == (*FEATURES, "lm", "novel.bigram", "support.1", "support.2", "long")
    for (part, _, _), lattice in zip(split(forest), lattices, strict=True):
        systems = [text.tolist() for text in _outputs(lattice)]
        for tree in derivations(part)[:200]:
            found = dict(zip(part.feature_names, part.features[list(tree.edges)].sum(axis=0).tolist(), strict=True))
            scored = Sentences.from_lengths(np.array(tree.words, np.int32), np.array([len(tree.words)]))
            assert found["lm"] == pytest.approx(model.score_sentences(scored)[0] * math.log(10.0), abs=1e-4)
            assert found["word"] == len(tree.words)
            assert found["long"] == sum(len(word) > 3 for word in part.vocabulary.words(tree.words))
            had = [set(pairwise(text)) for text in systems]
            pairs = list(pairwise(tree.words))
            assert found["novel.bigram"] == sum(not any(pair in own for own in had) for pair in pairs)
            assert found["support.2"] == pytest.approx(sum(sum(p in own for own in had) for p in pairs) / 3, abs=1e-5)


def _outputs(lattice: NetworkLattice) -> list[np.ndarray]:
    """The output of each system."""
    hypotheses = lattice.hypotheses
    texts = [hypotheses.texts.symbols[a:b] for a, b in pairwise(hypotheses.texts.offsets)]
    chosen = [np.flatnonzero(hypotheses.confidences[:, system]) for system in range(3)]
    return [texts[own[0]] if own.size else np.empty(0, np.int32) for own in chosen]


def test_sparse_features_name_systems_and_pairs() -> None:
    problem, _, _ = small_problem()
    (part, _, _), *_ = split(problem.voted.forest)
    assert part.sparse is not None
    tree = derivations(part)[0]
    totals: dict[str, float] = {}
    for edge in tree.edges:
        for place in range(part.sparse.arrays.offsets[edge], part.sparse.arrays.offsets[edge + 1]):
            name = part.sparse.names[part.sparse.arrays.ids[place]]
            totals[name] = totals.get(name, 0.0) + float(part.sparse.arrays.values[place])
    words = part.vocabulary.words(tree.words)
    pairs = list(pairwise(words))
    expected = {f"words:{a}~{b}": float(pairs.count((a, b))) for a, b in pairs}
    for name, own in zip(NAMES, SEGMENTS[0], strict=True):
        shared = sum(pair in set(pairwise(own)) for pair in pairs)
        expected |= {f"system.2.{name}": float(shared)} if shared else {}
    assert {name: value for name, value in totals.items() if not name.startswith("skeleton")} == expected
    assert sum(value for name, value in totals.items() if name.startswith("skeleton")) == 1.0


@settings(max_examples=30)
@given(outputs.map(lambda some: [text[:3] for text in some]), st.integers(0, 1000))
def test_votes_score_paths_as_the_networks_say(own: list[list[str]], seed: int) -> None:
    vocabulary = Vocabulary()
    lattice = lattice_of(own, vocabulary)
    ngrams = expand([lattice.forest], [lattice], 2, None)
    voted = with_votes(ngrams.forest, [lattice])
    sigma = softmax(np.random.default_rng(seed).normal(size=3))
    scores = voted.voted(sigma)
    for edge, arc in enumerate(voted.arcs.tolist()):
        expected = 0.0
        if arc != NO_ARC:
            places = range(lattice.votes.offsets[arc], lattice.votes.offsets[arc + 1])
            votes = [(lattice.votes.systems[place], lattice.votes.confidences[place]) for place in places]
            expected = math.log(sum(sigma[system] * confidence for system, confidence in votes))
        assert scores[edge] == pytest.approx(expected, abs=1e-6)
    assert np.array_equal(voted.decided(sigma).scores(dict.fromkeys(FEATURES, 0.0)), scores)


@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_gradients_are_finite_differences(scale: float) -> None:
    problem, _, _ = small_problem()
    point = problem.first + np.random.default_rng(1).normal(0.0, 0.2, problem.first.size)
    for objective in (XBLEU(2), XBLEU(2, 30.0)):
        _, gradient = problem.value_and_gradient(objective, scale, 0.01, point)
        assert np.abs(gradient).max() > 1e-3
        for place in range(point.size):
            step = np.zeros(point.size)
            step[place] = 1e-5
            values = [problem.value_and_gradient(objective, scale, 0.01, point + sign * step)[0] for sign in (1, -1)]
            assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("goal", [("bleu",), ("bleu", "0.5*ter", "2*chrf")])
@pytest.mark.parametrize("lengths", [None, np.array([4.0, 6.0, 2.0])])
def test_lists_have_the_best_paths_and_gradients_are_finite_differences(
    goal: tuple[str, ...], lengths: np.ndarray | None
) -> None:
    problem, _, _ = small_problem()
    tuner = ListAscent(Goal(REFERENCES, metrics_of(goal), lengths), size=5)
    parts = split(problem.voted.forest)
    found: list[Paths] = [{} for _ in parts]
    add_paths(parts, problem.voted.scores(problem.start), found, tuner.size, threads=1)
    assert [len(paths) for paths in found] == [5, 5, 1]
    lists = tuner.list_problem(problem, parts, found)
    forest, objective = lists.voted.forest, tuner.objective(lists.voted.forest, found, 2)
    assert [factor for factor, _ in objective.parts] == [1.0, -0.5, 2.0][: len(goal)]
    texts = [text_ending_with(forest, edge) for edge in objective.parts[0][1].last_edges.tolist()]
    assert texts == [np.frombuffer(key, np.int32).tolist() for paths in found for key in paths]
    for begin, part in ((begin, part) for part, begin, _ in split(lists.voted.forest)):
        own = lists.voted.scores(lists.start)[begin : begin + part.edges]
        chances = probabilities(derivations(part), own)
        assert distribution(part.shape, own).entropy()[0] == pytest.approx(-(chances * np.log(chances)).sum())
    _, gradient = lists.value_and_gradient(objective, 0.5, 0.01, lists.first)
    for place in range(12):
        step = np.zeros(gradient.size)
        step[place] = 1e-5
        values = [lists.value_and_gradient(objective, 0.5, 0.01, lists.first + sign * step)[0] for sign in (1, -1)]
        assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, abs=1e-6)


def test_xbleu_with_a_large_slope_is_cobleu_away_from_kinks() -> None:
    problem, _, _ = small_problem()
    scores = problem.voted.scores(problem.start)
    xbleu, slopes = XBLEU(2).value_and_advantage(problem.matched, scores)
    cobleu, log_slopes = CoBLEU(2).value_and_advantage(problem.matched, scores)
    assert xbleu == pytest.approx(math.exp(cobleu), rel=1e-4)
    assert slopes == pytest.approx(xbleu * log_slopes, abs=1e-4)


def test_entropies_are_those_of_all_paths_and_the_scale_meets_a_target() -> None:
    problem, _, _ = small_problem()
    scores = problem.voted.scores(problem.start)
    found = distribution(problem.voted.forest.shape, scores).entropy()
    for number, (part, begin, end) in enumerate(split(problem.voted.forest)):
        chances = probabilities(derivations(part), scores[begin:end])
        assert found[number] == pytest.approx(-(chances * np.log(chances)).sum())
    scale = scale_for_entropy(problem.voted, problem.start, 1.5)
    assert distribution(problem.voted.forest.shape, scale * scores).entropy().mean() == pytest.approx(1.5, abs=0.02)


def test_an_entropy_out_of_reach_leaves_weights_a_say() -> None:
    problem, _, _ = small_problem()
    shape = problem.voted.forest.shape
    scores = problem.voted.scores(problem.start)
    most = distribution(shape, 0.0 * scores).entropy().mean()
    scale = scale_for_entropy(problem.voted, problem.start, 100.0)
    assert distribution(shape, scale * scores).entropy().mean() == pytest.approx(0.8 * most, abs=0.02)
    alone = lattice_of([["a", "b"]], Vocabulary())
    voted = with_votes(expand([alone.forest], [alone], 2, None).forest, [alone])
    assert scale_for_entropy(voted, uniform(["A"], Weights(dict.fromkeys(FEATURES, 0.0))), 3.0) == 1.0
    assert entropy_within_reach(voted, 3.0) == 3.0  # there is nothing to choose from, whatever is asked


def test_no_more_than_a_third_of_the_entropy_of_equal_chances_is_asked_for() -> None:
    problem, _, _ = small_problem()
    numbers = [len(derivations(part)) for part, _, _ in split(problem.voted.forest)]
    most = float(np.log(numbers).mean())
    assert entropy_within_reach(problem.voted, 100.0) == pytest.approx(most / 3)
    assert entropy_within_reach(problem.voted, most / 4) == most / 4


def test_ascent_finds_better_weights_for_any_number_of_threads() -> None:
    problem, _, _ = small_problem()
    how = Ascent(entropy=1.0, steps=5, rounds=1)
    found = how.tune(problem, 2)
    scale = how.scale(problem, problem.first)
    assert found.value > problem.value_and_gradient(XBLEU(2), scale, how.l2, problem.first)[0]
    again = how.tune(CombinationProblem(problem.voted, problem.matched, problem.start, threads=2), 2)
    assert again.to_table() == found.to_table()


def test_pruned_lattices_expand_to_longer_ngrams_with_the_same_votes() -> None:
    problem, lattices, model = small_problem(model_order=3)
    scores = problem.voted.scores(problem.start)
    smaller = pruned(problem.voted.forest, scores, 0.05, FEATURES)
    assert sum(part.edges for part in smaller) < problem.voted.forest.edges
    larger = expand(smaller, lattices, 4, model, [novel(3)])
    assert larger.forest.feature_names == (*FEATURES, "lm", "novel.trigram")
    voted = with_votes(larger.forest, lattices)
    assert {*voted.arcs.tolist()} - {NO_ARC} == {*range(voted.votes.offsets.size - 1)}  # others are dropped
    assert voted.votes.offsets.size < problem.voted.votes.offsets.size
    for (part, _, _), (own, _, _), (old, _, _) in zip(
        parts_of(voted), split(larger.forest), parts_of(problem.voted), strict=True
    ):
        chosen = derivations(own)[0]
        ways = [tree for tree in derivations(old.forest) if tree.words == chosen.words]
        totals = [old.voted(problem.start.sigma)[list(tree.edges)].sum() for tree in ways]
        assert np.isclose(part.voted(problem.start.sigma)[list(chosen.edges)].sum(), totals).any()


def test_shares_must_add_up_and_be_complete() -> None:
    with pytest.raises(InputError, match="add up to 1"):
        CombinationWeights({"A": 0.5})
    problem, _, _ = small_problem()
    with pytest.raises(InputError, match="2 systems"):
        problem.voted.scores(uniform(NAMES[:2], problem.start.features))
