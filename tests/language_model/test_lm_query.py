"""The automaton and batch scoring against walking through a dictionary, and against KenLM."""

from unittest.mock import patch

import numpy as np
import pytest
from backoff_twin import FIRST_WORD, Model, encoded, models, sentence_score, to_arrays, to_dictionary
from backoff_twin import score as twin_score
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.compiled.kernels import kernel
from toledo.errors import InputError
from toledo.language_model import automaton
from toledo.language_model.arpa import read_arpa
from toledo.language_model.automaton import advance, begin_state
from toledo.language_model.backoff import BackoffModel
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences, read_sentences
from toledo.text.vocabulary import BEGIN, END, Vocabulary

words = st.one_of(st.just(0), st.integers(FIRST_WORD, FIRST_WORD + 8))
sentences = st.lists(st.lists(words, max_size=8), min_size=1, max_size=40)


@kernel
def line_score(tables, line):
    """How other kernels use a model."""
    total, state = 0.0, begin_state(tables)
    for word in line:
        score, state = advance(tables, state, word)
        total += score
    return total + advance(tables, state, END)[0]


@settings(max_examples=100, deadline=None)
@given(models(), st.lists(st.one_of(words, st.just(END), st.just(-5)), max_size=10))
def test_advance_is_backing_off(content, line):
    model, order = content
    language_model = LanguageModel(to_arrays(model, order))
    state, history = language_model.begin, [BEGIN]
    for word in line:
        found, state = advance(language_model.automaton, state, word)
        assert found == pytest.approx(twin_score(model, order, history, word), abs=1e-5)
        history.append(word)


@settings(max_examples=100, deadline=None)
@given(models(), sentences)
def test_scores_of_many_sentences(content, text):
    model, order = content
    found = LanguageModel(to_arrays(model, order)).score_sentences(encoded(text))
    assert found.tolist() == pytest.approx([sentence_score(model, order, line) for line in text], abs=1e-5)


def test_long_searches_in_a_table_that_is_nearly_full():
    rng = np.random.default_rng(4)
    vocabulary = range(12)
    model: Model = {(word,): (-1.5, -0.25) for word in vocabulary}
    model.update({(u, v): (-1.0, -0.5) for u in vocabulary for v in vocabulary if rng.random() < 0.7})
    model.update(
        {(*g, w): (-0.125 * w, 0.0) for g in list(model) for w in vocabulary if len(g) == 2 and rng.random() < 0.5}
    )
    text = [rng.choice([0, *range(3, 12)], rng.integers(0, 12)).tolist() for _ in range(200)]
    language_model = LanguageModel(to_arrays(model, 3))
    with patch.object(automaton, "LOAD", 0.99):
        slots = language_model.automaton.transitions.size
    assert slots < len(model) * 1.02
    expected = [sentence_score(model, 3, line) for line in text]
    assert language_model.score_sentences(encoded(text)).tolist() == pytest.approx(expected, abs=1e-5)
    assert [line_score(language_model.automaton, np.array(line, np.int32)) for line in text] == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(models())
def test_only_contexts_that_matter_are_states(content):
    model, order = content
    states = {g for g in model if len(g) < order and (model[g][1] != 0 or any(h[:-1] == g for h in model))}
    contexts = LanguageModel(to_arrays(model, order)).automaton.contexts
    assert contexts.size == 1 + len(states)
    assert contexts["shorter"].max() < contexts.size


@settings(max_examples=50, deadline=None)
@given(models(), sentences)
def test_perplexity_counts_unknown_words(content, text):
    model, order = content
    language_model = LanguageModel(to_arrays(model, order))
    result = language_model.sentence_perplexity(encoded(text))
    lines = [[BEGIN, *(w if (w,) in model else 0 for w in line), END] for line in text]
    places = [(line[:i], line[i]) for line in lines for i in range(1, len(line))]
    unknown = [twin_score(model, order, *place) for place in places if place[1] == 0]
    assert (result.tokens, result.unknown) == (len(places), len(unknown))
    assert result.log10 == pytest.approx(sum(twin_score(model, order, *place) for place in places), abs=1e-4)
    assert result.unknown_log10 == pytest.approx(sum(unknown), abs=1e-4)


def test_perplexities():
    result = LanguageModel(
        to_arrays({(0,): (-3, 0), (1,): (0, 0), (2,): (-1, 0), (3,): (-1, 0)}, 1)
    ).sentence_perplexity(encoded([[3, 9], [3]]))
    assert result.value == pytest.approx(10 ** (7 / 5))
    assert result.without_unknown == pytest.approx(10)


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(5)
    model = LanguageModel(
        to_arrays({(0,): (-3, 0), (1,): (0, -0.3), (2,): (-1.1, 0), (3,): (-0.7, -0.2), (3, 3): (-0.1, 0)}, 2)
    )
    lengths = rng.integers(0, 9, 3500)
    text = Sentences.from_lengths(rng.integers(3, 6, lengths.sum()).astype(np.int32), lengths)
    assert np.array_equal(model.score_sentences(text, threads=1), model.score_sentences(text, threads=3))
    assert model.sentence_perplexity(text, threads=1) == model.sentence_perplexity(text, threads=3)


def test_texts_with_boundaries_are_refused_and_empty_ones_are_not():
    model = LanguageModel(to_arrays({(word,): (-1, 0) for word in range(4)}, 1))
    with pytest.raises(ValueError, match="not <s> or </s>"):
        model.score_sentences(encoded([[3, END]]))
    nothing = Sentences(np.empty(0, np.int32), np.zeros(1, np.int64))
    assert model.score_sentences(nothing).size == 0
    assert model.sentence_perplexity(nothing).tokens == 0


SENTENCES = [
    "a man in a blue shirt is standing on a ladder cleaning a window .",
    "",
    "two zebras .",
    "a a a a a a",
    "xyzzy plugh man",
]
KENLM = {  # kenlm.Model("lm.3.arpa.gz").score(sentence) and so on, by the kenlm package 0.3
    3: [-12.15335, -3.70483, -8.54578, -16.20132, -16.32516],
    5: [-9.27524, -3.70483, -8.5265, -16.18122, -16.32516],
}


@pytest.mark.parametrize("order", [3, 5])
def test_scores_of_kenlm(moses_files, order):
    vocabulary = Vocabulary()
    model = read_arpa(moses_files / f"lm.{order}.arpa.gz", vocabulary)
    lines = [vocabulary.ids(line.split()) for line in SENTENCES]
    assert model.score_sentences(encoded(lines)).tolist() == pytest.approx(KENLM[order], abs=2e-5)
    assert [line_score(model.automaton, line) for line in lines] == pytest.approx(KENLM[order], abs=2e-5)


def test_perplexity_of_kenlm(moses_files):
    """What `query -v summary lm.5.arpa.gz < val.en` prints."""
    vocabulary = Vocabulary()
    model = read_arpa(moses_files / "lm.5.arpa.gz", vocabulary)
    text = read_sentences(moses_files / "val.en", vocabulary, grow=False)
    result = model.sentence_perplexity(text)
    assert (result.tokens, result.unknown) == (14322, 168)
    assert result.value == pytest.approx(36.12060843804739, rel=1e-6)
    assert result.without_unknown == pytest.approx(32.29835875551751, rel=1e-6)
    assert model.score_sentences(text).tolist() == pytest.approx(
        [line_score(model.automaton, line) for line in text], abs=1e-9
    )


SOUND = {
    (0,): (-3, 0),
    (1,): (0, -0.5),
    (2,): (-1, 0),
    (4,): (-1, -0.25),
    (1, 4): (-0.5, -0.125),
    (1, 4, 4): (-0.25, 0),
}


@settings(max_examples=30, deadline=None)
@given(models())
def test_arrays_come_back(content):
    model, order = content
    again = LanguageModel.from_arrays(LanguageModel(to_arrays(model, order)).to_arrays(), 20)
    assert to_dictionary(again.ngrams) == model


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("1.words", None, "lacks the array 1.words"),
        ("2.backoffs", None, "lacks the array 2.backoffs"),
        ("2.scores", np.zeros(1), "another type"),
        ("2.scores", np.zeros((1, 1), np.float32), "another type"),
        ("1.words", np.array([0, 1, 2, 9], np.int32), "not in the vocabulary"),
        ("1.words", np.array([0, 1, 3, 4], np.int32), "does not begin with <unk>"),
        ("1.words", np.array([0, 1, 2, -7], np.int32), "not in the vocabulary"),
        ("1.words", np.array([0, 1, 2, 2], np.int32), "1-grams out of order or twice"),
        ("2.words", np.array([3], np.int32), "2-grams with words that are not unigrams"),
        ("2.words", np.array([-1], np.int32), "2-grams with words that are not unigrams"),
        ("2.words", np.array([10**6], np.int32), "2-grams with words that are not unigrams"),
        ("2.contexts", np.array([4], np.int32), "2-grams whose context is not in the model"),
        ("3.contexts", np.array([-1], np.int32), "3-grams whose context is not in the model"),
        ("2.scores", np.array([0.5], np.float32), "2-grams whose log probability is positive"),
        ("2.scores", np.array([np.nan], np.float32), "2-grams whose log probability is positive or no number"),
        ("2.scores", np.zeros(2, np.float32), "2-grams with arrays of different lengths"),
        ("3.backoffs", np.zeros(1, np.float32), "3-grams with arrays of different lengths"),
        ("2.backoffs", np.array([np.inf], np.float32), "2-grams whose back-off weight is not a number"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value, message):
    arrays = to_arrays(SOUND, 3).to_arrays()
    BackoffModel.from_arrays(arrays, 5)
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    with pytest.raises(InputError, match=message):
        BackoffModel.from_arrays(arrays, 5)


def test_words_can_be_renumbered():
    ids = np.array([0, 1, 2, 9, 3], np.int32)
    model = {
        (0,): (-3, 0),
        (1,): (0, -0.5),
        (2,): (-1, 0),
        (3,): (-2, -0.5),
        (4,): (-1, -0.25),
        (3, 4): (-1, 0),
        (4, 3): (-2, 0),
    }
    moved = to_arrays(model, 2).renumber_words(ids)
    moved.check(10)
    assert to_dictionary(moved) == {tuple(ids[list(g)].tolist()): values for g, values in model.items()}
