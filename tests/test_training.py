"""From text to a model, in one call."""

import logging
from pathlib import Path

import numpy as np
import pytest

from toledo.errors import InputError
from toledo.model import PhraseModel
from toledo.phrases.table import WordLinks
from toledo.phrases.training import PhraseTraining
from toledo.sample.corpus import generate
from toledo.search.beam.search import BeamSearch
from toledo.text.corpus import ParallelCorpus, read_parallel
from toledo.training import Training, train


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> ParallelCorpus:
    folder = tmp_path_factory.mktemp("sample")
    sample = generate(seed=3, train=400, tune=1, test=1)
    (folder / "src").write_text("\n".join(sample.train.sources) + "\n")
    (folder / "trg").write_text("\n".join(sample.train.references[0]) + "\n")
    return read_parallel(folder / "src", folder / "trg")


def test_the_model_translates_what_it_was_trained_on(corpus: ParallelCorpus, tmp_path: Path) -> None:
    model = train(corpus, Training(phrases=PhraseTraining(reordering=True)))
    model.save(tmp_path / "model")
    loaded = PhraseModel.load(tmp_path / "model")
    assert loaded.signature == model.signature
    assert loaded.word_lexicons is not None
    assert loaded.training["sentences"] == 400
    assert "reordering:msd-bidirectional-fe" in loaded.signature
    sentences = [corpus.source_vocabulary.words(corpus.source[i].tolist()) for i in range(20)]
    references = [corpus.target_vocabulary.words(corpus.target[i].tolist()) for i in range(20)]
    found = BeamSearch(loaded).translate(sentences)
    matches = sum(len(set(one.words) & set(reference)) for one, reference in zip(found, references, strict=True))
    assert matches > 0.6 * sum(len(set(reference)) for reference in references)


def test_the_number_of_threads_changes_nothing(corpus: ParallelCorpus, tmp_path: Path) -> None:
    for threads in (1, 2):
        train(corpus, threads=threads).save(tmp_path / str(threads))
    assert (tmp_path / "1" / "model.toml").read_text() == (tmp_path / "2" / "model.toml").read_text()


def test_given_alignments_are_used_and_bad_pairs_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "src").write_text("a b\n\na a a a a a\nb\n")
    (tmp_path / "trg").write_text("x y\nx\nx\ny\n")
    corpus = read_parallel(tmp_path / "src", tmp_path / "trg")
    links = WordLinks(np.array([[0, 0], [1, 1], [0, 0], [0, 0]], np.int32), np.array([0, 2, 2, 3, 4]))
    with caplog.at_level(logging.INFO):
        model = train(corpus, Training(longest=5, lm_order=2), alignments=links)
    assert {(pair.source, pair.target) for pair in model.table} == {
        (("a",), ("x",)),
        (("b",), ("y",)),
        (("a", "b"), ("x", "y")),
    }
    assert "left out 2 pairs" in caplog.text
    assert model.word_lexicons is None


def test_a_corpus_without_usable_pairs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("a a a\n\n")
    (tmp_path / "trg").write_text("\nx\n")
    with pytest.raises(InputError, match="none of the 2 sentence pairs"):
        train(read_parallel(tmp_path / "src", tmp_path / "trg"))


def test_model1_weights_need_its_lexicons(corpus: ParallelCorpus) -> None:
    empty = WordLinks(np.empty((0, 2), np.int32), np.zeros(len(corpus) + 1, np.int64))
    with pytest.raises(InputError, match="need its lexicons"):
        train(corpus, Training(phrases=PhraseTraining(lexical="model1")), alignments=empty)
    model = train(corpus, Training(phrases=PhraseTraining(lexical="model1"), lm_order=1))
    assert np.isfinite(model.table.scores).all()


def test_ten_sentences_are_enough(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("das haus\nein haus\ndas buch\nein buch\nbuch\n" * 2)
    (tmp_path / "trg").write_text("the house\na house\nthe book\na book\nbook\n" * 2)
    model = train(read_parallel(tmp_path / "src", tmp_path / "trg"))
    (translation,) = BeamSearch(model).translate([["das", "buch"]])
    assert str(translation) == "the book"
