"""What all searches share: settings by name, encoded sentences, other weights, and the features of derivations."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_models import small_model

from toledo.errors import InputError, UnknownNameError
from toledo.forest.derivations import viterbi
from toledo.model import PhraseModel
from toledo.phrases.sparse import TEMPLATES, sparse_features
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.document.search import DocumentSearch
from toledo.search.features import Derivations
from toledo.search.gibbs.search import GibbsSearch, default_scale
from toledo.search.itg import itg_weights
from toledo.search.search import Search
from toledo.search.settings import ITG, SEARCHES, Beam, Gibbs
from toledo.text.corpus import Document, Segment
from toledo.weights import Weights

WORDS = ["klein", "ist", "das", "haus", "<s>", "neu"]
SETTINGS = [Beam(), ITG(), Gibbs(iterations=50, burn_in=5)]


def sparse_model() -> PhraseModel:
    model = small_model(reordering=True)
    weights = Weights({**model.weights, "distortion": -0.5})  # jumps are welcome
    return replace(model, weights=weights, sparse=sparse_features(model.table, list(TEMPLATES.values())))


def test_settings_are_named_and_import_no_numba() -> None:
    assert SEARCHES.make("beam:pop_limit=20") == Beam(20)
    assert (SEARCHES.make("itg"), SEARCHES.make("gibbs")) == (ITG(100, 20), Gibbs(2, 5000, 100))
    with pytest.raises(UnknownNameError, match="did you mean 'beam'"):
        SEARCHES.make("bean")
    with pytest.raises(InputError, match="pop_limit of search 'beam' is 0: expected int of at least 1"):
        SEARCHES.make("beam:pop_limit=0")
    code = (
        "import sys; from toledo.search.settings import SEARCHES; SEARCHES.make('gibbs');"
        "sys.exit('numba' in sys.modules or 'numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: type(one).__name__)
def test_sentences_are_encoded_once_for_all_weights(settings: Any) -> None:
    model = small_model()
    other = Weights({**model.weights, "lm": 0.1, "word.penalty": -2.0}, model.weights.frozen)
    search: Search[Any] = settings.search(model, seed=3)
    encoded = search.encode([WORDS, []])
    assert [one.unknown for one in encoded] == [1, 0]
    again = search.with_weights(other)
    assert again.translate(encoded) == settings.search(model, other, seed=3).translate([WORDS, []])
    assert search.translate(encoded) == search.translate([WORDS, []])  # the first search is as it was
    assert [again.model.weights[name] for name in other] == list(other.values())
    with pytest.raises(ValueError, match="another model"):
        settings.search(small_model()).translate(encoded)


def test_a_sampler_takes_another_seed_and_a_scale_that_fits_the_weights() -> None:
    model = small_model()
    search = Gibbs(iterations=50).search(model)
    assert search.scale == default_scale(model) == pytest.approx(4 / model.weights.norm(model.feature_names), rel=1e-2)
    assert search.with_weights(Weights({name: 2 * value for name, value in model.weights.items()})).seed == 1
    (first,), (second,) = (one.samples([WORDS]) for one in (search, search.with_weights(model.weights, seed=2)))
    assert first.visited.tobytes() != second.visited.tobytes()


def test_all_searches_agree_about_the_features_of_a_derivation() -> None:
    model = sparse_model()
    (result,) = Beam().search(model).results([WORDS])
    steps = result.translation.steps
    (best,) = viterbi(result.forest, result.forest.scores(model.weights))
    assert best is not None
    expected = {name: value for name, value in best.features.items() if value}
    assert {"lm", "distortion", "oov"} <= expected.keys()
    assert any(name.startswith("reordering") for name in expected)
    assert any(name not in model.feature_names for name in expected)  # sparse ones

    def agree(found: dict[str, float]) -> None:
        assert {name: value for name, value in found.items() if value} == pytest.approx(expected, rel=1e-6)

    forced = ForcedDecoder(model).derivation(WORDS, [(step.begin, step.end, step.words) for step in steps])
    agree(dict(forced.features))
    (samples,) = GibbsSearch(model, Gibbs(iterations=300)).samples([WORDS])
    number = next(d for d in range(len(samples)) if samples.derivations.steps(d) == steps)
    assert samples.derivations.texts()[number] == str(result.translation)
    row = Derivations.joined(
        model, samples.options, [samples.chosen[samples.offsets[number] : samples.offsets[number + 1]]]
    )
    agree(row.totals())
    np.testing.assert_array_equal(samples.forest.features[number], row.features(single=True)[0].astype(np.float32))
    document = Document("one", (Segment(0, tuple(WORDS)),))
    start = DocumentSearch(model).start(document, [steps])
    agree(start.present.totals())


def test_itg_search_has_the_features_of_phrases_in_common() -> None:
    model = small_model()
    words = ["das", "haus", "ist", "klein"]
    results = [settings.search(model).results([words])[0] for settings in (Beam(), ITG())]
    assert results[0].translation.words == results[1].translation.words
    assert results[0].translation.steps == results[1].translation.steps
    weights = itg_weights(model)
    beam, itg = (viterbi(one.forest, one.forest.scores(weights))[0] for one in results)
    assert beam is not None
    assert itg is not None
    for name in ("lm", "word.penalty", "phrase.penalty", *model.table.feature_names):
        assert itg.features[name] == pytest.approx(beam.features[name], rel=1e-5), name
