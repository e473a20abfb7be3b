"""Lists that are scored again: the derivations of the search with their words and links."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import toledo
from toledo.forest.kbest import DerivationBatch, k_best
from toledo.reranking.reranker import MODEL, NAMES, Reranker, first_weights, linked_words
from toledo.search.settings import ITG, Beam
from toledo.search.steps import steps_of, word_links


@pytest.fixture(scope="module")
def data() -> toledo.ExampleData:
    return toledo.example_data(train=600, tune=60, test=40)


@pytest.fixture(scope="module")
def model(data: toledo.ExampleData) -> toledo.Model:
    return toledo.train(data.train.sources, data.train.targets, tokenized=True, reordering=True)


@pytest.fixture(scope="module")
def reranked(data: toledo.ExampleData, model: toledo.Model) -> toledo.Model:
    tune = data.tune.sources, data.tune.references
    return toledo.rerank(model, data.train.sources, data.train.targets, tune=tune, tokenized=True).model


@pytest.mark.parametrize("kind", [Beam(50), ITG(10)])
def test_links_are_those_of_the_phrases(data: toledo.ExampleData, model: toledo.Model, kind: Beam | ITG) -> None:
    search = kind.search(model.phrase_model)
    sentences = [text.split() for text in [*data.test.sources[:8], "unknown words"]]
    for forest in search.forests(sentences, threads=1):
        found = list(islice(k_best(forest, forest.scores(search.model.weights), distinct=True), 10))
        offsets = np.concatenate([[0], np.cumsum([one.edges.size for one in found])])
        best = DerivationBatch(offsets, np.concatenate([one.edges for one in found]), np.zeros(len(found)))
        links = linked_words(forest, best, model.phrase_model.table)
        for one, own in zip(found, links, strict=True):
            expected = word_links(model.phrase_model.table, steps_of(one))
            assert sorted(map(tuple, own.tolist())) == sorted(expected)


def test_a_list_has_the_best_texts_and_what_the_model_gives_them(
    data: toledo.ExampleData, reranked: toledo.Model
) -> None:
    search = Beam(50).search(reranked.phrase_model)
    sentences = search.encode([text.split() for text in data.test.sources[:5]])
    forests, weights = search.forests(sentences, threads=1), reranked.weights
    assert reranked.reranker is not None
    for forest, found in zip(forests, reranked.reranker.lists(forests, sentences, weights, 1), strict=True):
        best = list(islice(k_best(forest, forest.scores(weights), distinct=True), reranked.reranker.size))
        assert found.feature_names == NAMES
        assert [str(one) for one in k_best(found, found.scores(first_weights(1.0)))] == [str(one) for one in best]
        scores = np.array([one.score for one in best]) / weights.norm(forest.feature_names)
        np.testing.assert_allclose(found.features[:, NAMES.index(MODEL)], scores, rtol=1e-5)


def test_weights_that_change_nothing_change_nothing(data: toledo.ExampleData, reranked: toledo.Model) -> None:
    assert reranked.reranker is not None
    same = reranked.with_reranker(reranked.reranker.with_weights(first_weights(1.0)))
    plain = reranked.with_reranker(None).translate(data.test.sources)
    assert same.translate(data.test.sources) == plain
    assert reranked.translate(data.test.sources) != plain


def test_a_saved_model_translates_alike_and_a_damaged_one_is_refused(
    data: toledo.ExampleData, reranked: toledo.Model, tmp_path: Path
) -> None:
    reranked.with_rule("mbr", 0.5).save(tmp_path / "model")
    again = toledo.load(tmp_path / "model")
    assert again.translate(data.test.sources, threads=2) == reranked.translate(
        data.test.sources, rule="mbr", scale=0.5, threads=1
    )
    again.with_reranker(None).save(tmp_path / "model")
    assert toledo.load(tmp_path / "model").reranker is None
    description = tmp_path / "other/reranker.toml"
    assert reranked.reranker is not None
    reranked.reranker.save(description.parent)
    description.write_text(description.read_text("utf-8").replace("format = 2", "format = 99"), "utf-8")
    with pytest.raises(toledo.ModelError, match="reranker format 99"):
        Reranker.load(description.parent)


def test_a_model_is_saved_with_its_reranker_or_not_at_all(
    reranked: toledo.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Reranker, "save", fail)
    with pytest.raises(OSError, match="no space left"):
        reranked.save(tmp_path / "model")
    assert not [*tmp_path.iterdir()]


def test_the_rule_of_a_model_with_a_reranker_is_chosen_on_its_lists(
    data: toledo.ExampleData, reranked: toledo.Model
) -> None:
    found = toledo.tune_rule(
        reranked, data.tune.references, sources=data.tune.sources, rules=["viterbi", "mbr"], tokenized=True
    )
    assert found.model is not None
    assert found.model.reranker is reranked.reranker
    texts = found.model.translate(data.tune.sources)
    score = toledo.evaluate(texts, data.tune.references, tokenize="none")["bleu"].score
    assert score == pytest.approx(found.best.score)
