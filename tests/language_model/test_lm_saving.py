"""Language models as directories."""

import pytest
from backoff_twin import encoded

from toledo import storage
from toledo.errors import InputError
from toledo.language_model.estimate import estimate
from toledo.language_model.model import DESCRIPTION, LanguageModel, load_language_model
from toledo.text.vocabulary import Vocabulary


@pytest.fixture
def directory(tmp_path):
    model = LanguageModel(estimate(encoded([[3, 4, 5], [4, 3], [5, 4, 4]]), 3))
    LanguageModel(model.ngrams, Vocabulary("abc")).save(tmp_path / "lm")
    return tmp_path / "lm"


@pytest.mark.parametrize("words", ["", "abc", "xcb"])
def test_a_directory_joins_any_vocabulary(directory, words):
    own, other = Vocabulary(), Vocabulary(words)
    model, moved = load_language_model(directory, own), load_language_model(directory, other)
    moved.ngrams.check(len(other))
    for line in (["a", "b", "c"], ["c", "c", "b"], ["x", "b", "a"]):
        assert (
            moved.score_sentences(encoded([other.ids(line)]))[0] == model.score_sentences(encoded([own.ids(line)]))[0]
        )


def test_other_formats_are_refused(directory):
    content, arrays = storage.load(directory, DESCRIPTION)
    arrays = {name: array.copy() for name, array in arrays.items()}
    storage.save(directory, DESCRIPTION, {**content, "format": 99}, arrays)
    with pytest.raises(InputError, match="format 99"):
        load_language_model(directory, Vocabulary())
    del arrays["vocabulary.bytes"]
    storage.save(directory, DESCRIPTION, content, arrays)
    with pytest.raises(InputError, match="lacks the vocabulary"):
        load_language_model(directory, Vocabulary())
