"""Networks and the lattice of all of them: their inputs can be read from them again."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from oracle import derivations
from small_outputs import NAMES, SEGMENTS, lattice_of, outputs

from toledo.combination.alignment import EDIT, PARTIAL, Matcher
from toledo.combination.features import expand
from toledo.combination.lattice import NO_ARC, WAY_IN, bigram_edges
from toledo.combination.network import NULL, build_networks, distinct_hypotheses, heuristic_priors
from toledo.errors import InputError
from toledo.forest.derivations import viterbi
from toledo.text.vocabulary import Vocabulary


def words_in(table: np.ndarray, text: int) -> list[int]:
    return [word for word in table[:, text].tolist() if word != NULL]


def test_words_match_by_case_and_stem() -> None:
    costs = Matcher().costs(["car", "Car", "cars", "house"])
    assert costs.tolist()[0] == [0, PARTIAL, PARTIAL, EDIT]
    assert Matcher("").costs(["car", "Car", "cars"]).tolist()[0] == [0, PARTIAL, EDIT]
    assert Matcher("german").costs(["haus", "hauses", "hause"]).tolist()[0] == [0, PARTIAL, PARTIAL]
    assert Matcher("").signature == "exact+case"
    with pytest.raises(InputError, match="no stems"):
        Matcher("klingon")


@given(outputs, outputs.map(lambda some: len(some[0]) % 2 == 0))
def test_every_output_is_in_every_network(own: list[list[str]], shifts: bool) -> None:
    vocabulary = Vocabulary()
    hypotheses = distinct_hypotheses(own, vocabulary)
    networks = build_networks(hypotheses, vocabulary, Matcher(), shifts=shifts)
    assert len(networks) == len({tuple(text) for text in own if text})
    for network in networks:
        assert (network.table != NULL).any(axis=1).all()
        for text in range(len(hypotheses)):
            begin, end = hypotheses.texts.offsets[text : text + 2]
            expected, found = hypotheses.texts.symbols[begin:end].tolist(), words_in(network.table, text)
            assert Counter(found) == Counter(expected)
            if text == network.skeleton or not shifts:
                assert found == expected


@given(outputs)
def test_arcs_are_the_distinct_words_with_the_systems_that_say_them(own: list[list[str]]) -> None:
    vocabulary = Vocabulary()
    hypotheses = distinct_hypotheses(own, vocabulary)
    for network in build_networks(hypotheses, vocabulary, Matcher()):
        arcs = network.arcs()
        found: dict[tuple[int, int], set[int]] = {}
        for arc in range(arcs.words.size):
            votes = arcs.systems[arcs.vote_offsets[arc] : arcs.vote_offsets[arc + 1]]
            found[int(arcs.columns[arc]), int(arcs.words[arc])] = set(votes.tolist())
        expected: dict[tuple[int, int], set[int]] = {}
        for column, row in enumerate(network.table.tolist()):
            for text, word in enumerate(row):
                voters = np.flatnonzero(hypotheses.confidences[text]).tolist()
                expected.setdefault((column, word), set()).update(voters)
        assert found == expected
        assert len(found) == arcs.words.size


def test_equal_outputs_are_one_with_several_votes() -> None:
    hypotheses = distinct_hypotheses([["a", "b"], ["a", "b"], ["c"]], Vocabulary())
    assert len(hypotheses) == hypotheses.best == 2
    assert hypotheses.confidences.tolist() == [[1, 1, 0], [0, 0, 1]]


def test_ranks_of_lists_become_confidences() -> None:
    lists = [[["a"], ["b"], ["a"]], [["b"]], []]
    hypotheses = distinct_hypotheses(lists, Vocabulary())
    assert hypotheses.confidences.tolist() == [[1, 0, 0], [0.5, 1, 0]]
    assert hypotheses.best == 2
    alone = distinct_hypotheses([[["a"], ["b"]]], Vocabulary())
    assert (len(alone), alone.best) == (2, 1)
    without_first = distinct_hypotheses([[[], ["b"]], [[]]], Vocabulary())
    assert (len(without_first), without_first.best) == (1, 1)


def test_a_text_instead_of_words_is_refused() -> None:
    with pytest.raises(TypeError, match="split it"):
        distinct_hypotheses(["a text"], Vocabulary())


def test_a_shifted_phrase_shares_columns() -> None:
    vocabulary = Vocabulary()
    hypotheses = distinct_hypotheses(SEGMENTS[1], vocabulary)
    network = build_networks(hypotheses, vocabulary, Matcher())[0]
    assert network.columns == 4
    assert network.edits.tolist()[:2] == [0.0, 1.0]
    assert vocabulary.words(network.table[:4, 1].tolist()) == ["he", "went", "home", "yesterday"]


def test_stems_share_a_column() -> None:
    vocabulary = Vocabulary()
    table = build_networks(distinct_hypotheses(SEGMENTS[0], vocabulary), vocabulary, Matcher())[0].table
    assert vocabulary.words(table[1].tolist()) == ["cat", "cat", "cats"]


def test_fewer_skeletons_are_those_closest_to_the_others() -> None:
    vocabulary = Vocabulary()
    hypotheses = distinct_hypotheses([["x", "y", "z"], ["a", "b", "c"], ["a", "b", "d"]], vocabulary)
    assert [one.skeleton for one in build_networks(hypotheses, vocabulary, Matcher(), skeletons=2)] == [1, 2]
    priors = heuristic_priors(build_networks(hypotheses, vocabulary, Matcher()))
    assert priors.sum() == pytest.approx(1.0)
    assert priors[0] < priors[1]


def test_very_long_outputs_are_aligned_or_refused() -> None:
    vocabulary = Vocabulary()
    long = distinct_hypotheses([["la"] * 2000, ["a", "la"]], vocabulary)
    assert [network.columns for network in build_networks(long, vocabulary, Matcher())] == [2000, 2000]
    endless = distinct_hypotheses([["la"] * 9000, ["a", "la"]], vocabulary)
    with pytest.raises(InputError, match="9000 words"):
        build_networks(endless, vocabulary, Matcher())


@settings(max_examples=40)
@given(outputs.map(lambda some: [text[:3] for text in some]))
def test_paths_of_the_lattice_are_those_of_its_networks(own: list[list[str]]) -> None:
    vocabulary = Vocabulary()
    lattice = lattice_of(own, vocabulary)
    found = Counter(tree.words for tree in derivations(lattice.forest))
    expected: Counter[tuple[int, ...]] = Counter()
    for network in lattice.networks:
        texts: Counter[tuple[int, ...]] = Counter({(): 1})
        for row in network.table.tolist():
            texts = sum(
                (Counter({(*text, *([] if word == NULL else [word])): count for text, count in texts.items()})
                 for word in dict.fromkeys(row)),
                Counter(),
            )  # fmt: skip
        expected += texts
    assert found == (expected or Counter({(): 1}))


def test_the_size_of_an_expanded_lattice_is_known_before() -> None:
    for own in SEGMENTS:
        lattice = lattice_of(own, Vocabulary())
        inner = expand([lattice.forest], [lattice], 2, None).forest.features[:, :2].sum()
        assert inner <= bigram_edges(lattice) <= 1.5 * inner  # the same word twice is one context


def test_edges_know_their_arcs_and_features() -> None:
    lattice = lattice_of(SEGMENTS[0], Vocabulary())
    forest = lattice.forest
    assert forest.provenance is not None
    for edge, arc in enumerate(forest.provenance.tolist()):
        own = forest.yields.words[forest.yields.offsets[edge] : forest.yields.offsets[edge + 1]]
        word, null, skeleton = forest.features[edge].tolist()
        if arc == NO_ARC:
            assert word == null == skeleton == 0.0
            continue
        network, column = lattice.networks[lattice.network_of[arc]], lattice.column_of[arc]
        if column == WAY_IN:
            assert word == null == 0.0
            assert skeleton < 0.0
        else:
            assert (word, null, skeleton) == ((1, 0, 0) if own[-1] >= 0 else (0, 1, 0))
            assert (own[-1] if own[-1] >= 0 else NULL) in network.table[column]
    assert forest.sparse is not None
    assert forest.sparse.names == tuple(f"skeleton.{name}" for name in NAMES)
    assert forest.sparse.arrays.ids.tolist() == [0, 1, 2]


def test_one_system_says_what_it_says_and_none_says_nothing() -> None:
    for own, text in ((["a", "b"], ("a", "b")), ([], ())):
        forest = lattice_of([own], Vocabulary()).forest
        (best,) = viterbi(forest, np.zeros(forest.edges))
        assert best is not None
        assert best.words == text
