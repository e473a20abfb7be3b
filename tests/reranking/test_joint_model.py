"""The joint model: gradients, training, and what does not depend on threads."""

import numpy as np
import pytest

from toledo.phrases.table import WordLinks
from toledo.reranking import joint
from toledo.reranking.joint import Batch, Layers, gradients, loss, make_batch, train_joint
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import END, RESERVED, UNKNOWN, Vocabulary

FIRST = len(RESERVED)


def corpus(size: int) -> tuple[ParallelCorpus, WordLinks]:
    """Sentences whose translation is word by word, in reversed order; the last word of each vocabulary is rare."""
    rng = np.random.default_rng(2)
    rows = [rng.integers(FIRST, FIRST + 7, rng.integers(2, 7)).tolist() for _ in range(size)]
    rows[0] = [FIRST + 7, FIRST]
    sides = [
        Sentences.from_lengths(np.array([word for row in some for word in row], np.int32), [len(row) for row in some])
        for some in (rows, [row[::-1] for row in rows])
    ]
    links = [[(i, len(row) - 1 - i) for i in range(len(row))] for row in rows]
    flat = np.array([link for some in links for link in some], np.int32)
    vocabularies = Vocabulary("abcdefgh"), Vocabulary("stuvwxyz")
    return ParallelCorpus(*sides, *vocabularies, np.arange(size)), WordLinks.from_lengths(
        flat, [len(row) for row in rows]
    )


@pytest.fixture(autouse=True)
def small_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "SIZE", 16)
    monkeypatch.setattr(joint, "HIDDEN", 32)


@pytest.fixture(scope="module")
def pairs() -> tuple[ParallelCorpus, WordLinks]:
    return corpus(800)


def test_gradients_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(1)
    layers = Layers(*(one.astype(np.float64) for one in joint.first_layers(9, 40, rng)))
    contexts = rng.integers(0, 9, (20, joint.SOURCES + joint.HISTORY)).astype(np.int32)
    batch = make_batch(layers, contexts, rng.integers(0, 40, 20).astype(np.int32), rng)
    assert batch.others
    for number, (rows, gradient) in enumerate(gradients(layers, batch)):
        layer = layers[number]
        whole = np.zeros_like(layer)
        whole[rows] = gradient
        for place in [np.unravel_index(rng.integers(layer.size), layer.shape) for _ in range(12)]:
            before, differences = layer[place], []
            for step in (1e-6, -1e-6):
                layer[place] = before + step
                differences.append(loss(layers, batch))
            layer[place] = before
            assert whole[place] == pytest.approx((differences[0] - differences[1]) / 2e-6, abs=1e-7)


def test_words_that_stand_for_others_count_as_these() -> None:
    rng = np.random.default_rng(1)
    layers = joint.first_layers(9, 200, rng)._replace(output_bias=np.zeros(200, np.float32))
    layers.output[:] = 0.0
    contexts = np.zeros((4, joint.SOURCES + joint.HISTORY), np.int32)
    batch = Batch(contexts, np.array([0, 0, 1, 1]), np.array([3, 4, 50, 60]), 2, 99.0)
    assert loss(layers, batch) == pytest.approx(np.log(200.0), rel=1e-6)


def test_a_trained_model_knows_the_translations(
    pairs: tuple[ParallelCorpus, WordLinks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "BATCH", 64)
    model = train_joint(*pairs, seed=1)
    source, right = np.array([FIRST, FIRST + 3], np.int32), [FIRST + 3, FIRST]
    texts = Sentences.from_lengths(np.array([*right, FIRST + 5, FIRST, *right], np.int32), [2, 2, 2])
    links = WordLinks.from_lengths(np.array([[1, 0], [0, 1]] * 3, np.int32), [2, 2, 2])
    scores = model.scores(source, texts, links)
    assert scores[0] > scores[1] + 1.0
    assert scores[0] == scores[2]
    assert model.target_rows[FIRST + 7] == UNKNOWN
    assert model.target_rows[END] == END


def test_training_is_the_same_again(pairs: tuple[ParallelCorpus, WordLinks]) -> None:
    first, second = (train_joint(*pairs, seed=3) for _ in range(2))
    assert all(np.array_equal(one, other) for one, other in zip(first.layers, second.layers, strict=True))
    other = train_joint(*pairs, seed=4)
    assert not np.array_equal(first.layers.hidden, other.layers.hidden)


def test_of_a_long_text_some_sentences_are_used(
    pairs: tuple[ParallelCorpus, WordLinks], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "MOST_WORDS", 50)
    used = joint._drawn(pairs[0].target, np.random.default_rng(1))
    assert 0 < pairs[0].target.lengths[used].sum() <= 50
