"""Scores kept up to date against scores from scratch, and what no operation may break."""

import numpy as np
import pytest
from beam_twin import contents, derivations, small_model
from document_twin import document_features
from hypothesis import given, settings
from hypothesis import strategies as st
from small_documents import FEATURE_WEIGHTS, MODELS, document_of, references_of, search_of, spelled, state_of

from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.readability import LIX, TypeTokenRatio
from toledo.search.document.models.semantic import PRESENT
from toledo.search.document.settings import (
    OPERATIONS,
    DocumentAnnealing,
    DocumentSampling,
    DocumentSettings,
    HillClimbing,
    Operations,
)

sentences = st.lists(st.sampled_from("abcd"), max_size=6)
mixes = st.sampled_from([*({name: 1.0} for name in OPERATIONS), {}])
acceptances = st.sampled_from(
    [HillClimbing(), DocumentAnnealing(5.0, 0.1), DocumentSampling(2.0), DocumentSampling(1000.0)]
)


def only(**weights: float) -> Operations:
    return Operations(**(dict.fromkeys(OPERATIONS, 0.0) | weights)) if weights else Operations()


@settings(max_examples=40)
@given(
    content=contents,
    sources=st.lists(sentences, min_size=1, max_size=4),
    limit=st.sampled_from([0, 1, 2, 4, None]),
    reordering=st.booleans(),
    values=st.lists(st.floats(-0.5, 1.0), min_size=16, max_size=16),
    mix=mixes,
    acceptance=acceptances,
    start=st.sampled_from(["beam", "random"]),
    seed=st.integers(0, 9),
    smoothing=st.sampled_from(["exp", "none", "floor", "add-k"]),
)
def test_scores_are_those_from_scratch(
    content, sources, limit, reordering, values, mix, acceptance, start, seed, smoothing
) -> None:
    content = {(source, spelled(target)): scores for (source, target), scores in content.items()}
    model = small_model(content, (3,), limit, reordering, values)
    references = [[spelled(text) for text in texts] for texts in references_of(sources)]
    models = [*MODELS[:-1], BLEUModel(smoothing)]
    plan = DocumentSettings(acceptance, only(**mix), 300, start=start, seed=seed)
    search = search_of(model, plan, models)
    document = document_of(sources, references)
    state = search.start(document)
    for steps in (0, 1, 50, 249):
        result = search.run(state, steps)
        for snapshot in (result.best, result.last):
            found = state_of(snapshot)
            for source, phrases in zip(sources, found, strict=True):
                assert phrases in set(derivations(model, source))  # each word once, and within the distortion limit
            expected = document_features(model, sources, found, models, references)
            assert dict(snapshot.features) == pytest.approx(expected, abs=1e-6)
            weights = {**model.weights, **FEATURE_WEIGHTS}
            exact = sum(weights[name] * value for name, value in snapshot.features.items())
            # Searches weigh reordering scores in single precision.
            assert snapshot.score == pytest.approx(exact, abs=1e-5 if reordering else 1e-9)
        assert result.best.score >= result.last.score - 1e-8


def test_nothing_drifts_in_a_long_run() -> None:
    """After 300,000 steps, most of them accepted, everything equals what is counted anew."""
    rng = np.random.default_rng(3)
    sources = [list(rng.choice(list("abcd"), 6)) for _ in range(5)]
    table = {(source, spelled(target)): scores for (source, target), scores in LONG.items()}
    model = small_model(table, (3,), 3, True, [0.3, *rng.uniform(0.1, 0.5, 15).tolist()])
    search = search_of(model, DocumentSettings(DocumentSampling(20.0), steps=300_000, start="random"), MODELS)
    state = search.start(document_of(sources, references_of(sources)))
    result = search.run(state)
    assert result.accepted > 50_000
    words = [word for translation in result.last.translations for word in translation.words]
    assert {"yellowy", "."} <= set(words)
    fresh = state.elsewhere(state.present)
    for part, kept in zip(fresh.measures[-8:], state.measures[-8:], strict=True):
        if hasattr(part, "counts"):
            np.testing.assert_array_equal(part.counts, kept.counts)
    assert fresh.measures.odd == state.measures.odd
    np.testing.assert_array_equal(fresh.measures.words.totals, state.measures.words.totals)
    assert fresh.measures.translations.total == state.measures.translations.total
    assert fresh.measures.clusters.total == state.measures.clusters.total
    np.testing.assert_array_equal(fresh.measures.cache.totals, state.measures.cache.totals)
    np.testing.assert_array_equal(fresh.measures.topic.total, state.measures.topic.total)
    np.testing.assert_array_equal(fresh.measures.read.states[:-1], state.measures.read.states[:-1])
    assert fresh.measures.read.totals[PRESENT] == state.measures.read.totals[PRESENT]
    assert fresh.measures.vectors.totals[PRESENT] == state.measures.vectors.totals[PRESENT]
    np.testing.assert_array_equal(fresh.measures.references.totals, state.measures.references.totals)
    np.testing.assert_allclose(fresh.arrays.totals[:2], state.arrays.totals[:2], rtol=0, atol=1e-9)
    np.testing.assert_array_equal(fresh.arrays.scores, state.arrays.scores)


LONG = {
    (tuple(source), tuple(target)): (-0.1 * len(target), -0.2, -0.3, -0.1 * len(source))
    for source in ("a", "b", "c", "ab", "bc", "ca", "abc", "dd")
    for target in ("x", "y", "xy", "zx")
}


def test_long_words_and_what_is_no_word() -> None:
    """The readability index counts letters, and punctuation is no word."""
    content = {(("a",), spelled([letter])): (-0.1, -0.2, -0.3, -0.4) for letter in "xyz"}
    model = small_model(content, (2,), 2, False, [0.3] * 9)
    search = search_of(
        model, DocumentSettings(DocumentSampling(50.0), steps=1000, start="random"), [LIX(), TypeTokenRatio()]
    )
    state, seen = search.start(document_of([["a", "a"]])), {}
    for _ in range(200):
        last = search.run(state, 5).last
        seen[last.translations[0].words] = last.features["document.lix"], last.features["document.type-token"]
    assert len(seen) == 9
    assert seen[".", "."] == (0.0, 0.0)
    assert seen["yellowy", "."] == (1.0 + 100.0, 1.0)
    assert seen["six-six", "yellowy"] == (2.0 + 50.0, 1.0)
    assert seen["six-six", "six-six"] == (2.0, 0.5)
