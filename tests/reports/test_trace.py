"""Traces: what stands in the table of a translation."""

from dataclasses import replace

from small_models import small_model

from toledo.forest.derivations import viterbi
from toledo.phrases.sparse import pair_identity, sparse_features
from toledo.reports.scores import trace
from toledo.search.beam.search import BeamSearch
from toledo.weights import Weights


def test_sparse_features_have_a_column_of_their_own() -> None:
    plain = small_model()
    weights = Weights({**plain.weights, "pair:das~haus→the~house": 2.5})
    model = replace(plain, sparse=sparse_features(plain.table, [pair_identity]), weights=weights)
    words = ["das", "haus", "x"]
    (result,) = BeamSearch(model).results([words], threads=1)
    (best,) = viterbi(result.forest, result.forest.scores(weights))
    lines = trace(7, words, best, weights, {"options": 3}).splitlines()
    assert lines[0] == "segment 7: das haus x"
    head, row = lines[1].split(), next(line for line in lines if "das haus " in line and "0-1" in line).split()
    assert head[-3:] == ["sparse", "score", "total"]
    assert row[-3] == "2.5"
    total = next(line for line in lines if "</s>" in line).split()[-1]
    assert abs(float(total) - result.translation.score) < 1e-3 * abs(result.translation.score)
    assert lines[-2:] == ["  unknown: x", "  3 options"]


def test_nothing_found() -> None:
    assert trace(0, ["a"], None, {}, {"options": 1}) == "segment 0: a\n  no translation\n  1 options\n"
