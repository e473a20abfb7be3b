"""Models that are served: words come and go, searches are kept for some weights."""

import pytest
from small_models import small_model
from small_server import SENTENCE, model

import toledo
from toledo.errors import InputError
from toledo.serve.models import SEARCHES, ServedModel


def test_unknown_words_do_not_grow_the_model_forever():
    served = ServedModel("m", toledo.Model(small_model(), "m"), new_words=10)
    first = len(served.model.phrase_model.target_vocabulary)
    forests = []
    for number in range(100):
        search, encoded = served.encode({}, [["das", f"neu{number}"]])
        assert len(search.model.target_vocabulary) <= first + 12
        (forest,) = search.forests(encoded, threads=1)
        forests.append((number, forest, search.model.weights))
    for number, forest, weights in forests:
        assert f"neu{number}" in forest.best(weights).text


def test_searches_are_kept_for_the_last_weights():
    served = ServedModel("m", model())
    first, _ = served.encode({}, [])
    assert served.encode({}, [])[0] is first
    for number in range(SEARCHES):
        search, _ = served.encode({"lm": float(number)}, [])
        assert search.model.weights["lm"] == number
    assert served.encode({}, [])[0] is not first


def test_unknown_features_are_refused():
    with pytest.raises(InputError, match="no feature"):
        ServedModel("m", model()).check({"nothing": 1.0})


def test_text_is_translated_as_by_the_model():
    served = ServedModel("m", model())
    search, encoded = served.encode({}, [SENTENCE.split()])
    assert str(search.translate(encoded)[0]) == model().translate(SENTENCE)
    about = served.about()
    assert (about.name, about.rule, about.metric) == ("m", "viterbi", "bleu")
