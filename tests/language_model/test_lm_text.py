"""Language models from text to numbers: training, scoring, saving, mixing."""

from pathlib import Path

import numpy as np
import pytest

from toledo.errors import InputError
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary

TEXTS = ["the cat sat on the mat", "the dog sat on the cat", "a cat and a dog", "the mat", "a dog sat"]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel.train(TEXTS, order=3)


def test_text_and_word_ids_have_the_same_scores(model: LanguageModel, tmp_path: Path) -> None:
    vocabulary = Vocabulary()
    words, lengths = vocabulary.encode_lines([text.encode() for text in TEXTS])
    sentences = Sentences.from_lengths(words, lengths)
    by_id = LanguageModel(estimate(sentences, 3))
    assert np.array_equal(model.score(TEXTS), by_id.score_sentences(sentences))
    assert model.score(TEXTS[1]) == model.score(TEXTS)[1]
    assert model.perplexity(TEXTS) == by_id.sentence_perplexity(sentences)
    (tmp_path / "text").write_text("\n".join(TEXTS) + "\n")
    assert np.array_equal(model.score(tmp_path / "text"), model.score(iter(TEXTS)))
    assert model.perplexity(tmp_path / "text").value == model.perplexity(TEXTS).value
    assert LanguageModel.train(tmp_path / "text").score("a dog") == model.score("a dog")


def test_full_scores_add_up_and_name_what_was_found(model: LanguageModel) -> None:
    found = list(model.full_scores("the cat sat zyx"))
    assert [one.ngram_length for one in found] == [2, 3, 3, 1, 1]
    assert [one.oov for one in found] == [False, False, False, True, False]
    assert sum(one.log10 for one in found) == pytest.approx(model.score("the cat sat zyx"), abs=1e-12)
    inner = list(model.full_scores("cat sat", bos=False, eos=False))
    assert [one.ngram_length for one in inner] == [1, 2]
    assert model.score("cat sat", bos=False, eos=False) == sum(one.log10 for one in inner)
    assert model.score(["cat sat"], eos=False)[0] != model.score("cat sat")


def test_what_the_model_knows(model: LanguageModel) -> None:
    assert model.order == 3
    assert "cat" in model
    assert "zyx" not in model
    assert "<unk>" not in model
    result = model.perplexity(["cat zyx"])
    assert (result.tokens, result.unknown) == (3, 1)
    assert result.to_dict()["value"] == round(result.value, 6) != result.without_unknown


@pytest.mark.parametrize("name", ["lm.arpa", "lm.arpa.gz", "lm"])
def test_a_saved_model_gives_the_same_scores(model: LanguageModel, tmp_path: Path, name: str) -> None:
    model.save(tmp_path / name)
    loaded = LanguageModel.load(tmp_path / name)
    assert loaded.score(TEXTS) == pytest.approx(model.score(TEXTS), abs=1e-6)
    assert "cat" in loaded
    assert [one.ngram_length for one in loaded.full_scores("the cat sat")] == [2, 3, 3, 2]


def test_a_mixture_suits_the_text_better_than_each_part(model: LanguageModel) -> None:
    other = LanguageModel.train(["a bird sat on a tree", "the bird and the tree", "a tree"], order=2)
    text = ["the cat sat on a tree", "a bird and a dog"]
    mixed = LanguageModel.mix([model, other], text)
    assert "bird" in mixed
    assert "cat" in mixed
    assert mixed.perplexity(text).value < min(one.perplexity(text).value for one in (model, other))


def test_kenlm_counts_the_same_ngrams(moses_files: Path) -> None:
    model = LanguageModel.load(moses_files / "lm.3.arpa.gz")
    assert model.score("a a a a a a") == pytest.approx(-16.20132, abs=2e-5)
    assert model.score("xyzzy plugh man") == pytest.approx(-16.32516, abs=2e-5)
    assert [one.oov for one in model.full_scores("xyzzy plugh man")] == [True, True, False, False]


def test_what_is_refused(model: LanguageModel) -> None:
    with pytest.raises(InputError, match="texts is empty"):
        LanguageModel.train([])
    with pytest.raises(InputError, match="no such file"):
        LanguageModel.train("train.en")
    with pytest.raises(InputError, match="reserved word </s>"):
        model.perplexity(["a </s>"])
    with pytest.raises(InputError, match="1 model to mix"):
        LanguageModel.mix([model], TEXTS)
    with pytest.raises(ValueError, match="by number only"):
        LanguageModel(model.ngrams).score("a")
