"""Hill climbing crosses plateaus and puts phrases into source order; the thesis' preset; examples of BLEU decoding."""

from pathlib import Path

import numpy as np
import pytest
from beam_twin import small_model
from small_documents import document_of, state_of

import toledo
from toledo.errors import InputError
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import (
    DOCENT,
    DocumentSampling,
    DocumentSettings,
    HillClimbing,
    Operations,
    bleu_settings,
    preset_settings,
)
from toledo.search.features import Derivations
from toledo.tuning.initial import docent_weights

VALUES = [0.3, 0.2, 0.5, 0.4, 0.3, 0.2, 0.3, 0.3, 0.2, 0.4, 0.3, 0.2, 0.1, 0.2, 0.3, 0.4]
CONTENT = {
    (("a",), ("x",)): (-0.1, -0.2, -0.3, -0.4),
    (("a",), ("y",)): (-0.5, -0.2, -0.3, -0.4),
    (("b",), ("x",)): (-0.1, -0.2, -0.3, -0.1),
    (("b",), ("y",)): (-0.1, -0.2, -0.3, -0.1),
    (("c",), ("z",)): (-0.3, -0.2, -0.1, -0.1),
}
MODEL = small_model(CONTENT, (3,), 6, True, VALUES)
RESEGMENT = Operations(0, 0, 0, 1, 0, 0, 0, phrase_resegmentation_decay=0.9)


def test_hill_climbing_walks_on_a_plateau_and_does_not_count_it_as_progress() -> None:
    document = document_of([list("ab")], [[list("vw")]])  # no translation has a word of the reference
    settings = bleu_settings(DocumentSettings(steps=2000, max_rejected=50))
    search = DocumentSearch(MODEL, settings, [BLEUModel("none")], bleu_weights(MODEL.weights))
    result = search.run(search.start(document))
    assert result.best.features["bleu"] == 0.0
    assert result.accepted > 10
    assert result.steps == 50


def _out_of_order(search: DocumentSearch) -> list[tuple[int, int]]:
    state = search.start(document_of([list("abc")]))
    options = {(int(b), int(e)): k for k, (b, e) in enumerate(zip(*state.known.text.options[:2], strict=True))}
    chosen = [np.array([options[span] for span in ((2, 3), (0, 1), (1, 2))], np.int32)]
    search._put(state, Derivations.joined(state.known.model, state.known.text.options, chosen))
    return [(begin, end) for begin, end, _ in state_of(search.run(state).last)[0]]


def test_only_hill_climbing_puts_phrases_into_source_order() -> None:
    """There is no way back by this operation, so that sampling must leave it out."""
    search = DocumentSearch(MODEL, DocumentSettings(HillClimbing(), RESEGMENT, 2000))
    assert _out_of_order(search) == [(0, 1), (1, 2), (2, 3)]
    search = DocumentSearch(MODEL, DocumentSettings(DocumentSampling(100.0), RESEGMENT, 2000))
    assert _out_of_order(search) == [(2, 3), (0, 1), (1, 2)]


def test_a_search_without_the_sentence_model_counts_as_one_with_tiny_weights() -> None:
    """Where all weights of the sentence model are 0 nobody asks it: the way is the same as with next to nothing."""
    document = document_of([list("abcab"), list("cba")], [[list("xyzyx")], [list("zyx")]])
    settings, states = bleu_settings(DocumentSettings(steps=3000)), []
    for weight in (0.0, 1e-14):
        weights = {**dict.fromkeys(MODEL.weights, weight), "bleu": 1.0}
        search = DocumentSearch(MODEL, settings, [BLEUModel()], toledo.Weights(weights))
        state = search.start(document)
        assert state.known.text.unscored is (weight == 0.0)
        states.append(search.run(state))
    assert state_of(states[0].last) == state_of(states[1].last)
    assert states[0].features == states[1].features


def test_the_preset_of_the_thesis() -> None:
    settings = preset_settings("thesis")
    assert (settings.start, settings.steps, settings.operations) == ("random", 1_000_000, DOCENT)
    assert settings.changed({"steps": 5}).steps == 5
    with pytest.raises(InputError, match="preset"):
        preset_settings("theses")
    weights = docent_weights(MODEL.feature_names)
    expected = {"distortion": 0.6, "word.penalty": -1.0, "oov": 1.0, "lm": 0.5, "phrase.forward": 0.2}
    assert {name: weights[name] for name in expected} == expected
    found = toledo.translate_document(MODEL, ["a b c"], preset="thesis", steps=100, tokenized=True)
    score = sum(weights[name] * value for name, value in found.features.items())
    assert found.score == pytest.approx(score)


def test_examples_are_judged_by_the_unseen_reference(tmp_path: Path) -> None:
    found = toledo.bleu_examples(
        MODEL, ["a b", "c a"], [["x y", "z x"]], [["x x", "z y"]], steps=500, start="random", tokenized=True
    )
    assert found.totals["bleu"][1] >= found.totals["bleu"][0]
    assert [one.after for one in found.segments] == ["x y", "z x"]
    assert found.totals["unseen_ter"][1] == pytest.approx(50.0)
    assert found.better + found.worse <= 2
    found.write(tmp_path / "examples.jsonl")
    assert len((tmp_path / "examples.jsonl").read_text().splitlines()) == 2
