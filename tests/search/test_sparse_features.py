"""Sparse features of phrase pairs: in the table, in the model's directory, in search and in forests."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import small_tables
from beam_twin import derivations, features_of, models, score
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import small_model

from toledo.errors import InputError
from toledo.forest.assemble import join
from toledo.forest.derivations import viterbi
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.model import PhraseModel
from toledo.phrases.sparse import TEMPLATES, PairFeatures, linked_words, pair_identity, sparse_features, target_words
from toledo.phrases.table import PhraseTable
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.weights import Weights

ALL = list(TEMPLATES.values())


def with_sparse(model: PhraseModel, seed: int) -> PhraseModel:
    sparse = sparse_features(model.table, ALL)
    values = np.random.default_rng(seed).normal(0, 2, len(sparse.names))
    known = dict(zip(sparse.names[::2], values.tolist()[::2], strict=True))  # every other one has no weight
    return replace(model, sparse=sparse, weights=Weights({**model.weights, **known}))


@settings(max_examples=40)
@given(models, st.lists(st.sampled_from("abcd"), min_size=1, max_size=4), st.integers(0, 99))
def test_search_and_forest_score_sparse_features_as_defined(model: PhraseModel, words: list[str], seed: int) -> None:
    model = with_sparse(model, seed)
    expected = sorted(score(model, features_of(model, words, steps)) for steps in derivations(model, words))
    search = BeamSearch(model, Beam(100_000))
    (found,) = search.results([words], threads=1)
    assert found.translation.score == pytest.approx(expected[-1], abs=1e-4)
    listed = list(k_best(found.forest, found.forest.scores(model.weights)))
    np.testing.assert_allclose(sorted(one.score for one in listed), expected, atol=1e-4)
    steps = tuple((step.begin, step.end, step.pair) for step in found.translation.steps)
    assert listed[0].score == pytest.approx(found.translation.score, abs=1e-4)
    if len(expected) == 1 or expected[-1] - expected[-2] > 1e-3:
        assert listed[0].features == pytest.approx(features_of(model, words, steps), abs=1e-4)
    phrases = [(step.begin, step.end, step.words) for step in found.translation.steps]
    assert ForcedDecoder(model).derivation(words, phrases).score == pytest.approx(found.translation.score, abs=1e-4)


def test_templates() -> None:
    table = small_model().table
    features = sparse_features(table, [pair_identity, linked_words, target_words])
    rows = {(pair.source, pair.target): names(features, number) for number, pair in enumerate(table)}
    assert rows[("das", "haus"), ("the", "house")] == {
        "pair:das~haus→the~house": 1,
        "word:das→the": 1,
        "target:the": 1,
        "target:house": 1,
    }
    assert len(features) == 6


def test_the_most_frequent_names_stay() -> None:
    table = small_tables.make_table(
        {(("a",), ("x",)): (0,) * 4, (("b",), ("x", "x")): (0,) * 4, (("c",), ("y",)): (0,) * 4}
    )
    features = sparse_features(table, [target_words], most=1)
    assert features.names == ("target:x",)
    assert [names(features, number) for number in range(3)] == [{}, {"target:x": 2}, {"target:x": 1}]


def test_models_keep_them(tmp_path: Path) -> None:
    model = with_sparse(small_model(), 1)
    model.save(tmp_path / "model")
    again = PhraseModel.load(tmp_path / "model")
    assert again.sparse is not None
    assert model.sparse is not None
    assert again.sparse.names == model.sparse.names
    np.testing.assert_array_equal(again.sparse.ids, model.sparse.ids)
    words = ["das", "haus", "☃"]
    assert BeamSearch(again).translate([words])[0].score == BeamSearch(model).translate([words])[0].score


def test_forests_keep_them(tmp_path: Path) -> None:
    model = with_sparse(small_model(), 2)
    found = BeamSearch(model).results([["das", "haus", "ist", "klein"], [], ["das", "ist", "☃"]], threads=1)
    join([one.forest for one in found]).save(tmp_path / "forests")
    forest = Forest.load(tmp_path / "forests")
    best = viterbi(forest, forest.scores(model.weights))
    assert [one.score for one in best if one] == pytest.approx([one.translation.score for one in found], abs=1e-4)


def test_bad_arrays_are_refused() -> None:
    model, one = small_model(), np.ones(1, np.float32)
    good = PairFeatures(("f",), np.array([0, 1], np.int64), np.zeros(1, np.int32), one)
    for broken, message in [
        ({"ids": np.ones(1, np.int32)}, "has no name"),
        ({"values": one * np.nan}, "finite"),
        ({"offsets": np.array([0, 2], np.int64)}, "rise from 0"),
        ({"names": ("f", "f")}, "same name"),
        ({"values": np.ones(2, np.float32)}, "must be a contiguous"),
    ]:
        with pytest.raises(ValueError, match=message):
            replace(good, **broken)
    with pytest.raises(ValueError, match="of 1 phrase pairs for 6"):
        replace(model, sparse=good)
    clash = PairFeatures(("lm",), np.zeros(7, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    with pytest.raises(ValueError, match="lm is the name of a dense feature"):
        replace(model, sparse=clash)


def test_a_damaged_directory_is_refused(tmp_path: Path) -> None:
    with_sparse(small_model(), 1).save(tmp_path / "model")
    np.save(tmp_path / "model" / "sparse.ids.npy", np.full(3, 99, np.int32))
    with pytest.raises(InputError):
        PhraseModel.load(tmp_path / "model")


def test_an_empty_table_has_none() -> None:
    table: PhraseTable = small_tables.make_table({})
    features = sparse_features(table, ALL)
    assert features.names == ()
    assert features.scores({}).size == 0


def names(features: PairFeatures, pair: int) -> dict[str, float]:
    places = range(int(features.offsets[pair]), int(features.offsets[pair + 1]))
    return {features.names[features.ids[place]]: float(features.values[place]) for place in places}
