"""The model as a directory."""

from pathlib import Path

import numpy as np
import pytest
from small_models import small_model

from toledo.errors import InputError
from toledo.model import PhraseModel, default_weights
from toledo.search.beam.search import BeamSearch
from toledo.weights import Weights


@pytest.mark.parametrize("reordering", [False, True])
def test_saving_and_loading(tmp_path: Path, reordering: bool) -> None:
    model = small_model(reordering)
    model.save(tmp_path / "model")
    loaded = PhraseModel.load(tmp_path / "model")
    assert loaded.feature_names == model.feature_names
    assert loaded.weights == model.weights
    assert loaded.settings == model.settings
    assert loaded.signature == model.signature
    assert list(loaded.table) == list(model.table)
    assert list(loaded.target_vocabulary) == list(model.target_vocabulary)
    assert loaded.language_models[0].order == 3
    assert loaded.word_lexicons is not None
    assert model.word_lexicons is not None
    np.testing.assert_array_equal(loaded.word_lexicons.backward.words, model.word_lexicons.backward.words)
    files = {file.name for file in (tmp_path / "model").iterdir()}
    assert "model.toml" in files
    assert all(name.endswith(".npy") for name in files - {"model.toml"})


def test_words_that_searches_copy_are_not_saved(tmp_path: Path) -> None:
    model = small_model()
    model.save(tmp_path / "before")
    words = list(model.target_vocabulary)
    (found,) = BeamSearch(model).translate([["unheard-of", "zweifellos"]])
    assert found.words == ("unheard-of", "zweifellos")
    assert len(model.target_vocabulary) == len(words) + 2
    model.save(tmp_path / "after")
    for file in (tmp_path / "before").iterdir():
        assert file.read_bytes() == (tmp_path / "after" / file.name).read_bytes(), file.name
    assert list(PhraseModel.load(tmp_path / "after").target_vocabulary) == words


def test_saving_again_replaces_the_whole_directory(tmp_path: Path) -> None:
    small_model(reordering=True).save(tmp_path / "model")
    small_model(reordering=False).save(tmp_path / "model")
    assert PhraseModel.load(tmp_path / "model").table.reordering is None
    assert not (tmp_path / "model" / "table.reordering.npy").exists()


def test_no_distortion_limit_survives(tmp_path: Path) -> None:
    from dataclasses import replace

    from toledo.model import SearchSettings

    replace(small_model(), settings=SearchSettings(None, 0)).save(tmp_path / "model")
    assert PhraseModel.load(tmp_path / "model").settings == SearchSettings(None, 0)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 99", "model format 99"),
        ("lm = 0.55", "lm = nan", "weight of lm is nan"),
        ("lm = 0.55", 'lm = "much"', "no table"),
        ("lm = 0.55", "tm = 0.55", "no weight for lm"),
        ("[search]", "[other]", "lacks 'search'"),
        ("table_limit = 10", 'x = "y"', "lacks 'table_limit'"),
        ("table_limit = 10", 'table_limit = "ten"', "not a whole number"),
        ("table_limit = 10", "table_limit = -1", "not a whole number"),
        ('"phrase.backward",', "", "fit|damaged|does not"),
    ],
)
def test_a_tampered_description_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    small_model().save(tmp_path / "model")
    edit(tmp_path / "model" / "model.toml", old, new)
    with pytest.raises(InputError, match=message):
        PhraseModel.load(tmp_path / "model")


@pytest.mark.parametrize(
    "name", ["table.scores", "lm0.3.words", "source.bytes", "table.trie_keys", "lexicon_forward.words"]
)
def test_a_damaged_array_is_refused_by_name(tmp_path: Path, name: str) -> None:
    small_model().save(tmp_path / "model")
    file = tmp_path / "model" / f"{name}.npy"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(InputError, match="damaged array") as caught:
        PhraseModel.load(tmp_path / "model")
    assert caught.value.file == str(file)


def consistent_lie(folder: Path, name: str, array: np.ndarray) -> None:
    """Replace an array and its checksum: only the checks of the content are left."""
    import hashlib

    file = folder / f"{name}.npy"
    old = hashlib.sha256(file.read_bytes()).hexdigest()
    np.save(file, array)
    edit(folder / "model.toml", old, hashlib.sha256(file.read_bytes()).hexdigest())


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("table.pair_target", lambda array: array + 1000),
        ("table.pair_source", lambda array: array - 1),
        ("table.trie_values", lambda array: array * 0 + 99_999),
        ("table.source_words", lambda array: array + 1000),
        ("table.link_offsets", lambda array: array[::-1].copy()),
        ("lm0.2.contexts", lambda array: array + 1000),
        ("lm0.1.words", lambda array: array + 1000),
        ("lexicon_forward.words", lambda array: array + 1000),
        ("lexicon_backward.offsets", lambda array: array + 7),
        ("target.offsets", lambda array: array[::-1].copy()),
    ],
)
def test_arrays_that_would_lead_out_of_bounds_are_refused(tmp_path: Path, name: str, change) -> None:
    small_model().save(tmp_path / "model")
    consistent_lie(tmp_path / "model", name, change(np.load(tmp_path / "model" / f"{name}.npy")))
    with pytest.raises(InputError):
        PhraseModel.load(tmp_path / "model")


def test_every_feature_needs_a_weight() -> None:
    with pytest.raises(InputError, match="no weight for"):
        small_model().with_weights(Weights({"lm": 1.0}))


def test_default_weights_are_those_of_moses() -> None:
    weights = default_weights(small_model(reordering=True).feature_names)
    assert (weights["lm"], weights["word.penalty"], weights["distortion"], weights["oov"]) == (0.5, -1.0, 0.3, 1.0)
    assert weights["lexicon.forward"] == 0.2
    assert weights["reordering.previous.swap"] == 0.3
    assert weights.frozen == {"oov"}
