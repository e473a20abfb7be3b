"""Features of whole translations against their definitions in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joint_twin import joint

from toledo.language_model.model import LanguageModel
from toledo.phrases.table import WordLinks
from toledo.phrases.word_alignment.aligner import AlignmentTraining, align
from toledo.reranking.classes import NO_CLASS, word_classes
from toledo.reranking.features import FEATURES, LN10, LinkedTexts, TranslationFeatures, train_features
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import RESERVED, Vocabulary

WORDS = range(len(RESERVED), len(RESERVED) + 8)


def sentences(rows: list[list[int]]) -> Sentences:
    return Sentences.from_lengths(
        np.array([word for row in rows for word in row], np.int32), [len(row) for row in rows]
    )


def corpus(seed: int) -> ParallelCorpus:
    rng = np.random.default_rng(seed)
    rows = [rng.choice(WORDS, rng.integers(1, 7)).tolist() for _ in range(60)]
    translated = [[WORDS[(word * 3) % len(WORDS)] for word in row if rng.random() < 0.8] or [row[0]] for row in rows]
    vocabularies = Vocabulary("abcdefgh"), Vocabulary("stuvwxyz")
    return ParallelCorpus(sentences(rows), sentences(translated), *vocabularies, np.arange(60))


PAIRS = corpus(1)
ALIGNED = align(PAIRS, AlignmentTraining(), threads=1)
TRAINED = train_features(PAIRS, ALIGNED.alignments, seed=1, networks=2)
new_word = max(WORDS) + 5  # a copied word


def pair_of(source: list[int], word: int, place: int, links: list[tuple[int, int]]) -> tuple[int, ...]:
    found = TRAINED.classes[word] if word < TRAINED.classes.size else NO_CLASS
    return (int(found), *(source[i] for i in range(len(source)) if (i, place) in links))


def bilingual(source: list[int], words: list[int], links: list[tuple[int, int]]) -> float:
    """By a model over the names of pairs, trained on the same corpus."""
    rows = zip(PAIRS.source, PAIRS.target, ALIGNED.alignments, strict=True)
    text = [
        " ".join(
            str(pair_of(one.tolist(), word, place, [tuple(link) for link in some.tolist()])).replace(" ", "")
            for place, word in enumerate(other.tolist())
        )
        for one, other, some in rows
    ]
    known = LanguageModel.train(text, order=5)
    names = [str(pair_of(source, word, place, links)).replace(" ", "") for place, word in enumerate(words)]
    return float(known.score(" ".join(names))) * LN10


words = st.lists(st.sampled_from([*WORDS, new_word]), min_size=1, max_size=6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), st.lists(words, min_size=1, max_size=4), st.randoms())
def test_values_are_those_of_the_definitions(source: list[int], texts: list[list[int]], random: object) -> None:
    rng = np.random.default_rng(len(texts))
    links = [
        sorted((i, j) for i in range(len(source)) for j in range(len(text)) if rng.random() < 0.3) for text in texts
    ]
    flat = np.array([link for some in links for link in some], np.int32).reshape(-1, 2)
    linked = LinkedTexts(
        np.array(source, np.int32), sentences(texts), WordLinks.from_lengths(flat, [len(some) for some in links])
    )
    values = TRAINED.values(linked)
    for row, text, some in zip(values.tolist(), texts, links, strict=True):
        found = dict(zip(FEATURES, row, strict=True))
        neural = [joint(one, source, text, some) for one in TRAINED.joint]
        assert neural[0] != neural[1]
        assert found["words"] == len(text)
        assert found["bilingual"] == pytest.approx(bilingual(source, text, some), abs=1e-3)
        assert found["joint"] == pytest.approx(np.mean(neural), abs=1e-3)


def test_what_is_saved_gives_the_same_values() -> None:
    again = TranslationFeatures.from_arrays(TRAINED.to_arrays())
    links = WordLinks.from_lengths(np.array([[0, 0]], np.int32), [1])
    given_texts = LinkedTexts(np.array([3, 4], np.int32), sentences([[5, 6]]), links)
    np.testing.assert_array_equal(again.values(given_texts), TRAINED.values(given_texts))


def test_words_with_the_same_neighbors_are_in_one_class() -> None:
    rng = np.random.default_rng(3)
    rows = [[3, int(rng.choice([4, 5])), 6, int(rng.choice([7, 8, 9]))] for _ in range(200)]
    classes = word_classes(sentences(rows), 12, 5).tolist()
    assert len({classes[4], classes[5]}) == len({classes[7], classes[8], classes[9]}) == 1
    assert len({classes[3], classes[4], classes[6], classes[7]}) == 4
    assert classes[10] == classes[11] == NO_CLASS
