"""Scores of lines of text against those of encoded sentences."""

from unittest.mock import patch

import numpy as np
import pytest
from backoff_twin import FIRST_WORD, models, to_arrays
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.language_model import model as lines
from toledo.language_model.arpa import read_arpa
from toledo.language_model.model import LanguageModel
from toledo.text.corpus import Sentences, read_sentences
from toledo.text.vocabulary import Vocabulary

# The models have gaps among the ids FIRST_WORD to FIRST_WORD + 8, so some words of the vocabulary are unknown to them.
WORDS = ["a", "b\0", "eightish", "nine.long", "nine.lone", "ä" * 9, "\u3000", "x" * 40, "\x1f"]
pieces = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from([" ", " ", " ", "\n", "\n", "\t ", "\r\n", "\v\f", "\n\n"]),
    st.sampled_from(["strange", "<unk>", "nine.lon", "\x85"]),
    st.text(st.characters(codec="utf-8"), max_size=12),
)
texts = st.lists(pieces, max_size=60).map("".join)


def vocabulary() -> Vocabulary:
    return Vocabulary([f"filler{n}" for n in range(FIRST_WORD - len(Vocabulary()))] + WORDS)


def sentences_of(words: Vocabulary, block: bytes):
    split = block.split(b"\n")
    return Sentences.from_lengths(*words.encode_lines(split[:-1] if split[-1] == b"" else split, grow=False))


@settings(max_examples=150, deadline=None)
@given(models(), texts, st.integers(1, 40), st.integers(1, 3))
def test_equal_to_scores_of_sentences(content, text, bytes_at_once, threads):
    model, words = LanguageModel(to_arrays(*content)), vocabulary()
    sentences = sentences_of(words, text.encode())
    with patch.object(lines, "BYTES_AT_ONCE", bytes_at_once):
        found = LanguageModel(model.ngrams, words).score_block(text.encode(), threads)
    assert np.array_equal(found.log10, model.score_sentences(sentences))
    assert np.array_equal(found.words, sentences.lengths)
    unknown = [sum((word,) not in content[0] or word == 0 for word in line.tolist()) for line in sentences]
    assert found.unknown.tolist() == unknown


def test_lines_as_strings_and_very_long_ones():
    rng = np.random.default_rng(3)
    model = LanguageModel(to_arrays({**{(n,): (-0.5 - n, -0.25) for n in range(6)}, (3, 4): (-0.125, 0)}, 2))
    words = Vocabulary(["a", "b", "c"])
    text = [" ".join(rng.choice(["a", "b", "c", "d" * 3000], size)) for size in (0, 200_000, 1, 0, 7, 50_000)]
    sentences = sentences_of(words, "\n".join([*text, ""]).encode())
    assert np.array_equal(LanguageModel(model.ngrams, words).score(text), model.score_sentences(sentences))
    assert LanguageModel(model.ngrams, words).score([]).size == 0


def test_a_line_is_one_line():
    words = vocabulary()
    with pytest.raises(ValueError, match="line end"):
        LanguageModel(to_arrays({(n,): (-1, 0) for n in range(4)}, 1), words).score(["a\nb"])


@pytest.mark.parametrize("word", ["<s>", "</s>"])
def test_boundaries_are_refused_with_their_line(tmp_path, word):
    scorer = LanguageModel(to_arrays({(n,): (-1, 0) for n in range(4)}, 1), vocabulary())
    (tmp_path / "text").write_text("a\n" * 9 + f"b\n\na {word} b\n<s>\n")
    with patch.object(lines, "BYTES_AT_ONCE", 5), pytest.raises(InputError, match=f"reserved word {word}") as error:
        list(scorer.score_file(tmp_path / "text"))
    assert (error.value.line, error.value.file) == (12, str(tmp_path / "text"))


def test_a_file(moses_files):
    words = Vocabulary()
    model = read_arpa(moses_files / "lm.3.arpa.gz", words)
    text = read_sentences(moses_files / "val.en", words, grow=False)
    parts = list(LanguageModel(model.ngrams, words).score_file(moses_files / "val.en", threads=2))
    assert np.array_equal(np.concatenate([part.log10 for part in parts]), model.score_sentences(text, threads=1))
    assert sum(int(part.unknown.sum()) for part in parts) == model.sentence_perplexity(text).unknown
