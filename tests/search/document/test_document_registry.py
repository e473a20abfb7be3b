"""Document models by name, and functions of users as models."""

import subprocess
import sys
import tomllib

import numpy as np
import pytest
from beam_twin import small_model
from small_documents import document_of

from toledo.errors import InputError, UnknownNameError
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.consistency import LexicalConsistency
from toledo.search.document.models.counts import COUNTED
from toledo.search.document.models.model import MODELS, DocumentModel
from toledo.search.document.models.readability import TypeTokenRatio
from toledo.search.document.models.semantic import SemanticModel, SemanticSpace
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import (
    DocumentAnnealing,
    DocumentSampling,
    DocumentSettings,
    bleu_settings,
    options_of,
    write_options,
)
from toledo.weights import Weights


def test_models_are_made_by_name(tmp_path) -> None:
    assert MODELS.names() == [
        "parity", "type-token", "ovix", "lix", "consistency", "clusters", "cache", "topic", "semantic", "context",
        "bleu",
    ]  # fmt: skip
    assert [MODELS.get(name) for name in MODELS.names()] == list(COUNTED)
    assert MODELS.make("consistency:shortest=2") == LexicalConsistency(2)
    SemanticSpace(("a",), np.ones((1, 2), np.int32), np.zeros(3)).save(tmp_path / "space")
    made = MODELS.make(f"semantic:space={tmp_path / 'space'},context=7")
    assert isinstance(made, SemanticModel)
    assert (made.loaded.words, made.context) == (("a",), 7)
    with pytest.raises(UnknownNameError, match="did you mean 'consistency'"):
        MODELS.make("consistence")
    with pytest.raises(InputError, match="needs word vectors"):
        MODELS.make("semantic")
    with pytest.raises(UnknownNameError, match="no smoothing"):
        BLEUModel("none at all")


def test_a_function_is_a_model_with_the_values_of_a_compiled_one() -> None:
    """A search with a function as its model takes the same steps as one with the model of the toolkit."""

    def variety(sentences: list[list[str]]) -> float:
        words = [word for sentence in sentences for word in sentence]
        return len(set(words)) / max(len(words), 1)

    content = {((source,), tuple(target)): (-0.1, -0.2, -0.3, -0.4) for source in "ab" for target in ("x", "xy", "z")}
    model, document = small_model(content, (2,), 2, False, [0.3] * 9), document_of([["a", "b", "a"], ["b", "a"]])
    settings, results = DocumentSettings(DocumentSampling(), steps=300, start="random"), []
    for one in (MODELS.make(variety), TypeTokenRatio()):
        assert isinstance(one, DocumentModel) == isinstance(one, TypeTokenRatio)
        search = DocumentSearch(model, settings, [one], Weights({**model.weights, one.name: 5.0}))
        results += search.search([document])
    assert results[0].last.score == pytest.approx(results[1].last.score, abs=1e-9)
    assert results[0].last.translations == results[1].last.translations
    assert 0 < results[0].accepted == results[1].accepted


def test_settings_are_written_as_options(tmp_path) -> None:
    settings = DocumentSettings(
        "annealing:schedule=[4,2,1],every=10", {"swap": 1, "swap_distance_decay": 0.25}, record=5, seed=0, seconds=1.5
    )
    assert settings.accept == DocumentAnnealing(schedule=(4.0, 2.0, 1.0), every=10)
    assert (settings.weighted_operations.swap, settings.weighted_operations.change) == (1.0, 0.0)
    for one in (settings, DocumentSettings(), DocumentSettings(DocumentSampling(0.1)), bleu_settings(settings, True)):
        write_options(tmp_path / "f.toml", "translate", options_of(one, {"parity": 0.5}), "signature")
        read = tomllib.loads((tmp_path / "f.toml").read_text())["document"]["translate"]
        assert read.pop("document-model") == ["parity=0.5"]
        operations = {name: float(value) for name, _, value in (text.partition("=") for text in read.pop("operation"))}
        given = {name.replace("-", "_"): value for name, value in read.items()}
        assert DocumentSettings().changed({**given, "operations": operations}) == one


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": -1}, "steps is -1: expected int of at least 0"),
        ({"steps": "many"}, "expected int, got str"),
        ({"accept": "sampling:temperature=0"}, "expected float above 0.0"),
        ({"operations": {"swapp": 1}}, "no operation 'swapp': did you mean 'swap'"),
        ({"start": "bean"}, "no start 'bean': did you mean 'beam'"),
    ],
)
def test_mistakes_are_named(given: dict, message: str) -> None:
    with pytest.raises(InputError) as caught:
        DocumentSettings().changed(given)
    assert message in caught.value.message


def test_settings_need_neither_numpy_nor_numba() -> None:
    code = "import sys, toledo.search.document.settings; print({'numpy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
