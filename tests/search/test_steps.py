"""Provenance of edges: packed, unpacked, and alive after pruning, joining and saving."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_models import small_model

from toledo.errors import InputError
from toledo.forest.assemble import join, prune_to_density
from toledo.forest.constructors import ListEntry, from_nbest
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.search.beam.search import BeamSearch
from toledo.search.steps import LONGEST_SENTENCE, Step, pack, steps_of, unpack, word_links
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

spans = st.tuples(st.integers(0, LONGEST_SENTENCE - 1), st.integers(1, 255), st.integers(-1, 2**31 - 2))


@given(st.lists(spans, max_size=5))
def test_what_is_packed_is_unpacked(rows: list[tuple[int, int, int]]) -> None:
    begin, length, pair = (np.array([row[k] for row in rows], np.int32) for k in range(3))
    packed = pack(begin, begin + length, pair)
    assert np.all(packed >= 0)  # −1 is taken: no phrase
    for found, given_array in zip(unpack(packed), (begin, begin + length, pair), strict=True):
        np.testing.assert_array_equal(found, given_array)


def test_sentences_too_long_are_refused() -> None:
    begin = np.array([LONGEST_SENTENCE], np.int32)
    with pytest.raises(InputError, match="split the line"):
        pack(begin, begin + 1, np.zeros(1, np.int32))


def test_steps_survive_pruning_joining_and_saving(tmp_path: Path) -> None:
    model = small_model()
    sentences = [["das", "haus", "ist", "klein"], [], ["klein", "x", "das"]]
    results = BeamSearch(model).results(sentences, threads=1)
    join([one.forest for one in results]).save(tmp_path / "forests")
    forest = Forest.load(tmp_path / "forests")
    pruned = prune_to_density(forest, forest.scores(model.weights), 1.0)
    for found in (forest, pruned):
        best = viterbi(found, found.scores(model.weights))
        assert [steps_of(one) for one in best if one] == [one.translation.steps for one in results]


def test_the_translation_is_the_first_of_the_best_list_where_scores_are_equal() -> None:
    model = small_model()
    search = BeamSearch(model.with_weights(Weights({**model.weights, "distortion": 0.0})))
    texts = ("z z ist klein ist x", "haus x klein klein z x ist das", "x ist klein das x z klein")  # in many orders
    sentences = [text.split() for text in texts]
    for found in search.results(sentences, threads=1):
        first = next(k_best(found.forest, found.forest.scores(search.model.weights)))
        assert steps_of(first) == found.translation.steps
        assert first.score == found.translation.score


def test_links_of_phrases_and_copied_words() -> None:
    table = small_model().table
    pair = next(i for i, entry in enumerate(table) if entry.source == ("das", "haus"))
    steps = [Step(2, 3, -1, ("x",)), Step(0, 2, pair, ("the", "house"))]
    assert word_links(table, steps) == ((2, 0), (0, 1))


def test_other_forests_have_no_steps() -> None:
    forest = from_nbest([ListEntry(["a"])], (), Vocabulary())
    forest = type(forest)(forest.shape, forest.yields, forest.features, (), forest.vocabulary)
    (best,) = viterbi(forest, forest.scores({}))
    assert best is not None
    with pytest.raises(ValueError, match="does not know"):
        steps_of(best)
