"""What must hold at the edges: input that kernels could not read, dead goals, forests of enormous size, many names."""

import math
from itertools import islice

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.forest.assemble import Edges, from_edges, join, prune_by_posterior, prune_by_score, prune_to_density
from toledo.forest.constructors import Arc, ListEntry, from_lattice, from_nbest
from toledo.forest.derivations import sample, viterbi
from toledo.forest.envelope import envelope
from toledo.forest.forest import Forest, Yields
from toledo.forest.inside_outside import distribution
from toledo.forest.kbest import k_best
from toledo.forest.ngrams import localize
from toledo.objectives.cobleu import CoBLEU
from toledo.objectives.objective import match
from toledo.objectives.xbleu import XBLEU
from toledo.text.vocabulary import Vocabulary

READERS = {
    "viterbi": viterbi,
    "k-best": k_best,
    "localize": lambda forest, scores: localize(forest, scores, 2),
    "distribution": lambda forest, scores: distribution(forest.shape, scores),
    "by score": lambda forest, scores: prune_by_score(forest, scores, 1.0),
    "by posterior": lambda forest, scores: prune_by_posterior(forest, scores, 0.1),
    "to density": lambda forest, scores: prune_to_density(forest, scores, 1.0),
    "sample": lambda forest, scores: sample(forest, scores, 1, seed=1),
    "intercepts": lambda forest, scores: envelope(forest, scores, np.zeros(forest.edges)),
    "slopes": lambda forest, scores: envelope(forest, np.zeros(forest.edges), scores),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("bad", [np.zeros(4), np.zeros((5, 1)), np.array([0.0, 0.0, math.nan, 0.0, 0.0])], ids=str)
def test_scores_that_do_not_fit_the_edges_never_reach_a_kernel(reader: str, bad: np.ndarray) -> None:
    forest = oracle.chain(depth=2, ways=2)
    with pytest.raises(ValueError, match=r"shape|NaN"):
        READERS[reader](forest, bad)


def test_a_distribution_over_another_forest_is_refused() -> None:
    forest = oracle.chain(depth=3, ways=3)
    ngrams = localize(forest, np.zeros(forest.edges), 2)
    other = distribution(forest.shape, np.zeros(forest.edges))
    for method in (ngrams.expected_counts, ngrams.occurrence):
        with pytest.raises(ValueError, match="take that of the split forest"):
            method(other)
    with pytest.raises(ValueError, match="n-grams"):
        ngrams.edge_sums(np.zeros(ngrams.orders.size - 1))
    assert ngrams.number(0, (-1,)) == -1
    with pytest.raises(ValueError, match="1 to 255"):
        localize(forest, np.zeros(forest.edges), 256)


def edges(yield_offsets: list[int]) -> Edges:
    return Edges(
        np.zeros(2, np.int32),
        np.zeros(3, np.int32),
        np.empty(0, np.int32),
        Yields(np.array(yield_offsets, np.int32), np.array([3], np.int32)),
        np.zeros((2, 0), np.float32),
    )


@pytest.mark.parametrize("offsets", [[0, 1], [0, 9, 1], [0, 2**31 - 1, 5 - 2**31], [0, 0, 7]])
def test_edges_whose_words_do_not_fit_are_refused(offsets: list[int]) -> None:
    vocabulary = Vocabulary(["a"])
    assert from_edges(edges([0, 0, 1]), 0, (), vocabulary).edges == 2
    with pytest.raises(InputError, match="offsets of words"):
        from_edges(edges(offsets), 0, (), vocabulary)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (
            "head_edges",
            np.array([0, 99, 3, 5], np.uint32),
            "a vector of integers",
        ),  # whose differences are never negative
        ("head_edges", np.array([[0, 1, 3, 5]], np.int32), "a vector of integers"),
        ("tails", np.array([0.0, 0.0, 1.0, 1.0]), "a vector of integers"),
        ("sentences", np.array([0, 0, 3]), "has no node"),
    ],
)
def test_shapes_that_kernels_could_not_read_are_refused(field: str, value: np.ndarray, message: str) -> None:
    forest = oracle.chain(depth=2, ways=2)
    shape = forest.shape._replace(**{field: value})
    with pytest.raises(InputError, match=message):
        Forest(shape, forest.yields, forest.features, forest.feature_names, forest.vocabulary)


def test_a_dense_feature_has_one_column() -> None:
    with pytest.raises(InputError, match="two columns"):
        from_nbest([ListEntry(["a"], {"x": 1.0})], ["x", "x"], Vocabulary())


def test_a_final_state_that_is_named_twice_counts_once() -> None:
    forest = from_lattice([Arc(0, 1, ["a"])], 0, [1, 1], (), Vocabulary())
    assert len(list(k_best(forest, np.zeros(forest.edges)))) == 1


def test_a_goal_that_only_impossible_edges_reach_stays_dead() -> None:
    arcs = [Arc(0, 1, ["a"]), Arc(1, 2, ["b"], base=-math.inf)]
    forest = from_lattice(arcs, 0, [2], (), Vocabulary())
    ngrams = localize(forest, forest.scores({}), 2)
    scores = ngrams.forest.scores({})
    found = distribution(ngrams.forest.shape, scores)
    assert found.log_partition.tolist() == [-math.inf]
    assert viterbi(ngrams.forest, scores) == [None]
    assert ngrams.expected_counts(found).sum() == 0.0
    assert ngrams.occurrence(found).sum() == 0.0


def test_nothing_occurs_where_later_scores_make_all_impossible() -> None:
    forest = oracle.chain(depth=2, ways=2)
    ngrams = localize(forest, np.zeros(forest.edges), 2)
    scores = np.full(ngrams.forest.edges, -math.inf)
    assert ngrams.occurrence(distribution(ngrams.forest.shape, scores)).tolist() == [0.0] * ngrams.orders.size


@given(st.permutations([0.0, 1.0, 2.0, 3.0]))
def test_splitting_leaves_a_list_in_its_order(values: list[float]) -> None:
    """Gains and other things known of hypotheses stay with them."""
    entries = [ListEntry([f"w{rank}"], {"x": value}) for rank, value in enumerate(values)]
    forest = from_nbest(entries, ["x"], Vocabulary())
    ngrams = localize(forest, forest.scores({"x": 1.0}), 2)
    assert ngrams.forest.yields.words.tolist() == forest.yields.words.tolist()
    assert ngrams.forest.features.tolist() == forest.features.tolist()
    assert ngrams.forest.provenance is not None
    assert ngrams.forest.provenance.tolist() == [0, 1, 2, 3]


def test_words_that_look_like_boundaries_are_words() -> None:
    forest = from_nbest([ListEntry(["<s>", "a", "</s>"])], (), Vocabulary())
    ngrams = localize(forest, np.zeros(1), 2)
    names = {" ".join(forest.vocabulary.words(ngram)) for ngram in ngrams.ngrams(0)}
    assert names == {"<s>", "a", "</s>", "<s> a", "a </s>"}


def test_pruning_by_posterior_keeps_likely_edges_only() -> None:
    entries = [ListEntry([f"w{rank}"], base=math.log(p)) for rank, p in enumerate([0.05, 0.5, 0.3, 0.15])]
    forest = from_nbest(entries, (), Vocabulary())
    for threshold, kept in [(0.0, 4), (0.1, 3), (0.2, 2), (0.9, 1)]:
        assert prune_by_posterior(forest, forest.scores({}), threshold).edges == kept


def test_pruning_where_no_derivation_could_be_written_out() -> None:
    forest = oracle.doubling_forest(depth=300)  # its derivations have 2^300 words
    scores = np.zeros(forest.edges)
    scores[1::2] = -1.0
    for pruned in (
        prune_by_score(forest, scores, 0.0),
        prune_by_posterior(forest, scores, 1.0),
        prune_to_density(forest, scores, 1e-300),
    ):
        assert 301 <= pruned.edges < forest.edges
        assert np.isfinite(distribution(pruned.shape, np.zeros(pruned.edges)).log_partition[0])


def test_pruning_by_score_keeps_the_best_derivation_whatever_cancels_out() -> None:
    """Where large numbers cancel, max-marginals differ by more than the last digits of the result."""
    arcs = [Arc(0, 1, ["a"], base=1e17), Arc(1, 2, ["b"], base=0.3), Arc(2, 3, ["c"], base=-1e17)]
    forest = from_lattice(arcs, 0, [3], (), Vocabulary())
    kept = prune_by_score(forest, forest.scores({}), 0.0)
    assert [str(one) for one in k_best(kept, kept.scores({}))] == ["a b c"]


def test_all_results_on_a_deep_forest_with_more_than_1e300_derivations() -> None:
    forest = oracle.chain(depth=310, ways=10)
    scores = np.random.default_rng(3).normal(size=forest.edges) * 1000.0
    scores[0] = 0.0
    best = viterbi(forest, scores)[0]
    assert best is not None
    assert next(k_best(forest, scores)).score == pytest.approx(best.score)
    assert len(list(islice(k_best(forest, scores, distinct=True), 50))) == 50
    assert len(sample(forest, scores, 3, seed=1)) == 3
    assert prune_to_density(forest, scores, 2.0).edges <= 620
    line = envelope(forest, scores, np.linspace(-1, 1, forest.edges))
    at_zero = line.at(0.0)
    assert line.intercepts[at_zero] == pytest.approx(best.score)
    ngrams = localize(forest, scores, 2)
    found = distribution(ngrams.forest.shape, np.zeros(ngrams.forest.edges))
    assert found.log_partition[0] == pytest.approx(310 * math.log(10))
    counts, chances = ngrams.expected_counts(found), ngrams.occurrence(found)
    assert counts[ngrams.orders == 1].sum() == pytest.approx(310.0)
    assert counts[ngrams.orders == 2].sum() == pytest.approx(309.0)
    word = ngrams.number(0, [forest.vocabulary.id("w3")])
    assert chances[word] == pytest.approx(1 - 0.9**310)
    matched = match(ngrams, [[["w1", "w2"] * 150]])
    for objective in (CoBLEU(2), XBLEU(2)):
        value, gradient = objective.value_and_advantage(matched, np.zeros(ngrams.forest.edges))
        assert math.isfinite(value)
        assert np.isfinite(gradient).all()


def test_parts_of_a_forest_share_their_sparse_names() -> None:
    vocabulary = Vocabulary()
    parts = [
        from_nbest([ListEntry(["a"], {"x": 1.0}), ListEntry(["b"], {f"y{i}": 2.0})], (), vocabulary) for i in range(2)
    ]
    corpus = join(parts)
    again = localize(corpus, np.zeros(corpus.edges), 1).forest
    weights = {"x": 1.0, "y0": 10.0, "y1": 100.0}
    assert again.scores(weights).tolist() == corpus.scores(weights).tolist() == [1.0, 20.0, 1.0, 200.0]
