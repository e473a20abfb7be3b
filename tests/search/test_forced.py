"""Forced decoding against enumeration, and against Moses' own derivations."""

import logging
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from beam_twin import Steps, derivations, features_of, models, score, small_model
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import small_model as translation_model

from toledo.errors import InputError
from toledo.files import read_lines
from toledo.forest.derivations import viterbi
from toledo.forest.kbest import k_best
from toledo.formats.moses_model import read_moses_ini
from toledo.formats.moses_table import read_phrase_table
from toledo.formats.nbest import read_nbest
from toledo.language_model.arpa import read_arpa
from toledo.model import PhraseModel, SearchSettings
from toledo.phrases.pruning import filter_for
from toledo.search.beam.forced import ForcedDecoder
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.search.steps import steps_of, word_links
from toledo.text.corpus import Sentences
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

MOSES_NAMES = {
    "Distortion0": "distortion",
    "LM0": "lm",
    "WordPenalty0": "word.penalty",
    "PhrasePenalty0": "phrase.penalty",
    "TranslationModel0_1": "phrase.backward",
    "TranslationModel0_2": "lexicon.backward",
    "TranslationModel0_3": "phrase.forward",
    "TranslationModel0_4": "lexicon.forward",
}


def text_of(model: PhraseModel, words: Sequence[str], steps: Steps) -> tuple[str, ...]:
    return tuple(w for b, _, pair in steps for w in ([words[b]] if pair < 0 else model.table[pair].target))


@settings(max_examples=50)
@given(models, st.lists(st.sampled_from("abcd"), max_size=4), st.integers(0, 10**6))
def test_the_lattice_of_a_translation_has_all_its_derivations(
    model: PhraseModel, words: list[str], choice: int
) -> None:
    by_text: dict[tuple[str, ...], list[Steps]] = {}
    for steps in derivations(model, words):
        by_text.setdefault(text_of(model, words, steps), []).append(steps)
    targets = [*sorted(by_text), ("nothing", "gives", "this"), ("x",), ()]
    target = targets[choice % len(targets)]
    (forest,) = ForcedDecoder(model).forests([words], [target], threads=1)
    found = list(k_best(forest, forest.scores(model.weights)))
    expected = [score(model, features_of(model, words, steps)) for steps in by_text.get(target, [])]
    assert all(one.words == target for one in found)
    np.testing.assert_allclose(sorted(one.score for one in found), sorted(expected), atol=1e-4)
    spans = sorted(tuple((s.begin, s.end, s.pair) for s in steps_of(one)) for one in found)
    assert spans == sorted(by_text.get(target, []))


@settings(max_examples=50)
@given(models, st.lists(st.sampled_from("abcd"), max_size=4))
def test_a_given_derivation_has_the_features_of_the_definition(model: PhraseModel, words: list[str]) -> None:
    forced = ForcedDecoder(model)
    for steps in islice(derivations(model, words), 20):
        phrases = [(b, e, text_of(model, words, ((b, e, pair),))) for b, e, pair in steps]
        found = forced.derivation(words, phrases)
        features = features_of(model, words, steps)
        assert found.features == pytest.approx(features, abs=1e-4)
        assert found.score == pytest.approx(score(model, features), abs=1e-4)
        assert tuple((s.begin, s.end, s.pair) for s in steps_of(found)) == steps


def test_errors_name_the_phrase() -> None:
    forced, words = ForcedDecoder(translation_model()), ["das", "haus", "x"]
    with pytest.raises(InputError, match=r"no pair 'haus' → 'home' \(source words 1 to 1\)"):
        forced.derivation(words, [(0, 1, ["the"]), (1, 2, ["home"]), (2, 3, ["x"])])
    with pytest.raises(InputError, match="no pair 'das haus x' → 'the'"):
        forced.derivation(words, [(0, 3, ["the"])])
    with pytest.raises(InputError, match="no pair 'x' → 'y'"):
        forced.derivation(words, [(0, 2, ["the", "house"]), (2, 3, ["y"])])
    with pytest.raises(InputError, match="no pair 'x' → ''"):
        forced.derivation(words, [(0, 2, ["the", "house"]), (2, 3, [])])
    with pytest.raises(InputError, match="source word 2, 'x', is translated 0 times"):
        forced.derivation(words, [(0, 2, ["the", "house"])])
    with pytest.raises(InputError, match="is translated 2 times"):
        forced.derivation(words, [(0, 2, ["the", "house"]), (1, 3, ["house"])])
    with pytest.raises(InputError, match="words 2 up to 4 of a sentence of 3"):
        forced.derivation(words, [(2, 4, ["x"])])
    with pytest.raises(ValueError, match="1 sentences with 0 targets"):
        forced.forests([words], [])


def test_what_cannot_be_reached_is_explained() -> None:
    forced, words = ForcedDecoder(translation_model()), ["das", "haus", "ist", "klein"]
    assert forced.why_not(words, ["the", "home", "is", "tiny"]) == "no phrase gives 'home', 'tiny'"
    assert forced.why_not(words, ["the", "house", "is"]) == "no phrase for 'klein' stands in the translation"
    assert "do not fit together" in forced.why_not(words, ["the", "house", "is", "small", "the"])
    assert viterbi(*_with_scores(forced, words, ["the", "house", "is", "small", "the"])) == [None]


def test_long_and_repetitive_sentences() -> None:
    content = {(("a",), ("x",)): (-0.1, -0.1, -0.1, -0.1), (("a", "a"), ("x", "x")): (-0.3, -0.1, -0.1, -0.1)}
    model = small_model(content, (3,), 4, False, [0.3] * 16)
    forced = ForcedDecoder(model)
    (best,) = viterbi(*_with_scores(forced, ["a"] * 500, ["x"] * 500))
    assert best is not None
    assert len(best.words) == 500
    assert viterbi(*_with_scores(forced, ["a"] * 500, ["x"] * 499)) == [None]


def test_too_many_hypotheses_are_cut_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    model = small_model({(("a",), ("x",)): (-0.1,) * 4}, (2,), None, False, [0.3] * 16)
    with caplog.at_level(logging.WARNING):
        (best,) = viterbi(*_with_scores(ForcedDecoder(model, most=50), ["a"] * 40, ["x"] * 40))
    assert "the best 50 for each word are kept" in caplog.text
    assert best is not None
    assert [step.begin for step in steps_of(best)] == list(range(40))
    with pytest.raises(ValueError, match="at least one"):
        ForcedDecoder(model, most=0)


@pytest.fixture(scope="module")
def moses(moses_files: Path) -> PhraseModel:
    """Moses' model, as far as the first 100 sentences need it."""
    source, target = Vocabulary(), Vocabulary()
    table = read_phrase_table(moses_files / "phrase-table.gz", source, target)
    sentences = [source.ids(line.split()) for line in islice(read_lines(moses_files / "test2016.de"), 100)]
    lengths = np.array([sentence.size for sentence in sentences])
    table = filter_for(table, Sentences.from_lengths(np.concatenate(sentences), lengths))
    weights = read_moses_ini(moses_files / "weights.mert.ini").weights
    language_model = read_arpa(moses_files / "lm.3.arpa.gz", target)
    return PhraseModel(table, (language_model,), Weights(weights), SearchSettings(6, 20))


def test_features_of_moses_derivations(moses: PhraseModel, moses_files: Path) -> None:
    forced = ForcedDecoder(moses)
    lines = [line.split() for line in islice(read_lines(moses_files / "test2016.de"), 100)]
    count = 0
    for some in read_nbest(moses_files / "out" / "test2016.first100.20best-segmentation.gz"):
        for entry in some.entries:
            phrases = [
                (source.start, source.stop, entry.words[target.start : target.stop]) for source, target in entry.phrases
            ]
            found = forced.derivation(lines[some.segment], phrases)
            features = {name: found.features[ours] for name, ours in MOSES_NAMES.items()}
            assert features == pytest.approx(dict(entry.features), abs=1e-3)
            assert found.score == pytest.approx(entry.score, abs=2e-3)
            assert word_links(moses.table, steps_of(found)) == entry.links
            count += 1
    assert count > 1900


def test_translations_of_moses_are_reached_with_its_score(moses: PhraseModel, moses_files: Path) -> None:
    lines = [line.split() for line in islice(read_lines(moses_files / "test2016.de"), 100)]
    lists = list(islice(read_nbest(moses_files / "out" / "test2016.100best.gz"), 100))
    forests = ForcedDecoder(moses).forests(lines, [some.entries[0].words for some in lists], threads=1)
    for forest, some in zip(forests, lists, strict=True):
        (best,) = viterbi(forest, forest.scores(moses.weights))
        assert best is not None
        assert best.score == pytest.approx(some.entries[0].score, abs=2e-3)


def _with_scores(forced: ForcedDecoder, words: Sequence[str], target: Sequence[str]):  # type: ignore[no-untyped-def]
    (forest,) = forced.forests([words], [target], threads=1)
    return forest, forest.scores(forced.model.weights)


def test_the_search_finds_what_moses_finds_at_its_slowest_setting(moses: PhraseModel, moses_files: Path) -> None:
    """Moses prints six digits, so that its scores beyond -100 are rounded to 0.0005."""
    sentences = [line.split() for line in islice(read_lines(moses_files / "test2016.de"), 100)]
    scores = [float(line) for line in islice(read_lines(moses_files / "out/test2016.default.scores"), 100)]
    found = BeamSearch(moses, Beam(1000)).translate(sentences)
    np.testing.assert_allclose([one.score for one in found], scores, atol=6e-4)
