"""ARPA files: there and back, and everything that may be wrong with them."""

import gzip
import logging

import numpy as np
import pytest
from backoff_twin import encoded, models, to_arrays, to_dictionary
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.language_model.arpa import ngram_lines, read_arpa, write_arpa
from toledo.language_model.backoff import BackoffModel, NGramTable
from toledo.language_model.estimate import estimate
from toledo.language_model.model import LanguageModel
from toledo.text.vocabulary import Vocabulary

GOOD = """\\data\\
ngram 1=5
ngram 2=3
ngram 3=1

\\1-grams:
-2.5\t<unk>
-99\t<s>\t-0.5
-1\t</s>
-0.75\tthe\t-0.25
-1.5\thouse\t0.125

\\2-grams:
-0.25\t<s> the\t-0.5
-1e-1\tthe house
-0.5 house </s>

\\3-grams:
-0.125\t<s> the house

\\end\\
"""


def read(path, content, vocabulary=None):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_arpa(path, Vocabulary() if vocabulary is None else vocabulary)


def test_reading(tmp_path):
    vocabulary = Vocabulary(["else", "house"])
    model = read(tmp_path / "lm", GOOD, vocabulary)
    content = {tuple(vocabulary.words(g)): values for g, values in to_dictionary(model.ngrams).items()}
    assert content == {
        ("<unk>",): (-2.5, 0),
        ("<s>",): (-99, -0.5),
        ("</s>",): (-1, 0),
        ("the",): (-0.75, -0.25),
        ("house",): (-1.5, 0.125),
        ("<s>", "the"): (-0.25, -0.5),
        ("the", "house"): (pytest.approx(-0.1), 0),
        ("house", "</s>"): (-0.5, 0),
        ("<s>", "the", "house"): (-0.125, 0),
    }
    assert list(vocabulary) == ["<unk>", "<s>", "</s>", "else", "house", "the"]
    model.ngrams.check(len(vocabulary))


def test_several_models_share_a_vocabulary(tmp_path):
    vocabulary = Vocabulary()
    first = read(tmp_path / "a", GOOD, vocabulary)
    second = read(tmp_path / "b", GOOD.replace("house", "home"), vocabulary)
    assert first.score_sentences(encoded([vocabulary.ids(["the", "house"])])) == second.score_sentences(
        encoded([vocabulary.ids(["the", "home"])])
    )


def test_line_ends_of_windows_and_a_missing_last_one(tmp_path):
    expected = to_dictionary(read(tmp_path / "lm", GOOD).ngrams)
    assert to_dictionary(read(tmp_path / "lm", GOOD.replace("\n", "\r\n")).ngrams) == expected
    assert to_dictionary(read(tmp_path / "lm", "\n" + GOOD.rstrip("\n")).ngrams) == expected


def test_a_model_without_unknown_word_gets_one(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        model = read(tmp_path / "lm", GOOD.replace("-2.5\t<unk>\n", "").replace("ngram 1=5", "ngram 1=4"))
    assert "no <unk>" in caplog.text
    assert to_dictionary(model.ngrams)[0,] == (-100, 0)
    model.ngrams.check(5)


@settings(max_examples=60, deadline=None)
@given(models())
def test_bytes_and_numbers_come_back(tmp_path_factory, content):
    folder, words = tmp_path_factory.mktemp("arpa"), Vocabulary("abcdef")
    model = LanguageModel(to_arrays(*content))
    write_arpa(folder / "one.arpa", model, words)
    fresh = Vocabulary()
    again = read_arpa(folder / "one.arpa", fresh)
    write_arpa(folder / "two.arpa.gz", again, fresh)
    assert gzip.decompress((folder / "two.arpa.gz").read_bytes()) == (folder / "one.arpa").read_bytes()
    renamed = {tuple(words.words(g)): values for g, values in to_dictionary(model.ngrams).items()}
    assert {tuple(fresh.words(g)): values for g, values in to_dictionary(again.ngrams).items()} == renamed


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(-999, 0, width=32), min_size=1, max_size=50))
def test_numbers_have_the_digits_it_takes(values):
    scores = np.array([value if value < -1e-13 else 0 for value in values], np.float32)
    words = np.arange(scores.size, dtype=np.int32)
    model = BackoffModel((NGramTable(np.zeros_like(words), words, scores, np.empty(0, np.float32)),))
    names = Vocabulary(f"w{i}" for i in range(scores.size))
    (_, text), *_ = ngram_lines(model, 1, names)
    written = [line.split("\t")[0] for line in text.splitlines()]
    assert [np.float32(number) for number in written] == scores.tolist()
    assert all(len(number.partition("e")[0].strip("-0.").replace(".", "")) <= 9 for number in written)
    assert "-0" not in written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-99, "-99"),
        (0, "0"),
        (-0.0, "0"),
        (-1.25, "-1.25"),
        (-4.8954325, "-4.8954325"),
        (-0.05, "-0.05"),
        (-1e-6, "-0.000001"),
        (-1e-7, "-1e-7"),
        (-1.5e-12, "-1.5e-12"),
        (-1e-20, "0"),
    ],
)
def test_numbers_are_short(value, text):
    one = np.array([0], np.int32)
    model = BackoffModel((NGramTable(one, one, np.array([value], np.float32), np.empty(0, np.float32)),))
    assert next(ngram_lines(model, 1, Vocabulary()))[1] == f"{text}\t<unk>\n"


def test_long_words_and_large_sections(tmp_path, monkeypatch):
    """Several blocks of reading, several portions of writing, words beyond 8 bytes."""
    words = [f"{'word' * (i % 5)}{i}ä" for i in range(3000)]
    vocabulary = Vocabulary(words)
    rng = np.random.default_rng(2)
    model = LanguageModel(estimate(encoded(rng.integers(3, 3003, (2000, 9)).astype(np.int32)), 4))
    monkeypatch.setattr("toledo.language_model.arpa.LINES_AT_ONCE", 1000)
    write_arpa(tmp_path / "lm.arpa", model, vocabulary)
    monkeypatch.setattr("toledo.files.read_blocks.__defaults__", (*read_blocks_defaults()[:-1], 100_000))
    again = read_arpa(tmp_path / "lm.arpa", vocabulary)
    for ours, theirs in zip(model.ngrams.orders, again.ngrams.orders, strict=True):
        for name in ("contexts", "words", "scores", "backoffs"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))


def read_blocks_defaults():
    from toledo.files import read_blocks

    return read_blocks.__defaults__


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


BAD = {
    "an empty file": ("", 1, "the file ends before"),
    "no header": (changed("\\data\\", "data"), 1, r"expected \\data\\ at the beginning, found 'data'"),
    "only a header": ("\\data\\\nngram 1=3\n", 2, "the file ends before"),
    "a count that is no number": (changed("ngram 2=3", "ngram 2=x"), 3, "found 'ngram 2=x'"),
    "a count left out": (changed("ngram 2=3\n", ""), 3, "expected the number of 2-grams"),
    "no counts": (changed("ngram 1=5\nngram 2=3\nngram 3=1\n", ""), 3, "order 0"),
    "too high an order": (changed("ngram 3=1\n", "".join(f"ngram {n}=1\n" for n in range(3, 8))), 10, "order 7"),
    "fewer unigrams than announced": (changed("ngram 1=5", "ngram 1=6"), 12, "fewer 1-grams than the header says"),
    "more unigrams than announced": (changed("ngram 1=5", "ngram 1=4"), 11, r"expected \\2-grams: after 4 1-grams"),
    "fewer bigrams than announced": (changed("ngram 2=3", "ngram 2=5"), 17, "fewer 2-grams than the header says"),
    "more trigrams than announced": (changed("ngram 3=1", "ngram 3=0"), 19, r"expected \\end\\ after 0 3-grams"),
    "another section": (changed("\\2-grams:", "\\3-grams:"), 13, r"expected \\2-grams: after 5 1-grams"),
    "no end": (changed("\n\\end\\\n", ""), 19, r"the file ends before \\end"),
    "text after the end": (GOOD + "\nmore\n", 23, "text after the end"),
    "the file ends within a section": (
        GOOD[: GOOD.index("-0.5 house")],
        15,
        "the file ends within the 2-grams: 1 more",
    ),
    "a malformed probability": (changed("-1.5\thouse", "-1.5.0\thouse"), 11, "'-1.5.0' is not a log10 probability"),
    "infinity": (changed("-1.5\thouse", "-inf\thouse"), 11, "'-inf' is not a log10 probability"),
    "not a number": (changed("-1.5\thouse", "nan\thouse"), 11, "'nan' is not a log10 probability"),
    "out of range": (changed("-1.5\thouse", "-1e30\thouse"), 11, "'-1e30' is not a log10 probability"),
    "a malformed back-off weight": (changed("<s> the\t-0.5", "<s> the\tx"), 14, "'x' is not a back-off weight"),
    "a positive log probability": (changed("-0.5 house </s>", "0.5 house </s>"), 16, "0.5 is positive"),
    "too few words": (changed("-0.125\t<s> the house", "-0.125\t<s> the"), 19, "a 3-gram with 3 fields"),
    "too many words": (changed("-1e-1\tthe house", "-1e-1\tthe big house x"), 15, "a 2-gram with 5 fields"),
    "a back-off weight at the highest order": (
        changed("-0.125\t<s> the house", "-0.125\t<s> the house\t-1"),
        19,
        "it should have a log10 probability and 3 words\n",
    ),
    "an unknown word": (changed("-1e-1\tthe house", "-1e-1\tthe home"), 15, "'home' is not among the unigrams"),
    "a context that is missing": (
        changed("-0.125\t<s> the house", "-0.125\t<s> house the"),
        19,
        "first 2 words of this 3-gram are not among the 2-grams",
    ),
    "a unigram twice": (changed("-0.75\tthe", "-0.75\thouse"), 11, "1-gram stands here twice"),
    "a bigram twice": (changed("-1e-1\tthe house", "-1e-1\t<s> the"), 15, "2-gram stands here twice"),
    "no sentence begin": (changed("-99\t<s>", "-99\t<S>"), 11, "no unigram <s>"),
    "no sentence end": (changed("-1\t</s>", "-1\t</S>"), 11, "no unigram </s>"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_their_line(tmp_path, case):
    content, line, message = BAD[case]
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / "lm.arpa", content)
    assert caught.value.line == line
    assert caught.value.file == str(tmp_path / "lm.arpa")
    assert caught.value.remedy


def test_other_bytes_are_refused(tmp_path):
    with pytest.raises(InputError, match="not valid UTF-8") as caught:
        read(tmp_path / "lm", GOOD.encode().replace(b"house", b"h\xe4use"))
    assert caught.value.line == 11
    with pytest.raises(InputError, match="damaged gzip"):
        read(tmp_path / "lm", gzip.compress(GOOD.encode())[:-12])
    with pytest.raises(InputError, match="no such file"):
        read_arpa(tmp_path / "missing", Vocabulary())
    with pytest.raises(InputError, match="binary file of KenLM"):
        read(tmp_path / "lm", b"mmap lm http://kheafield.com/code format version 5\n\0\0\xff\xfe")


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_never_crashes(tmp_path_factory, data):
    """A file with bytes cut out, repeated or changed is either read into a sound model or refused."""
    content = bytearray(GOOD.encode())
    begin = data.draw(st.integers(0, len(content)))
    content[begin : begin + data.draw(st.integers(0, 30))] = data.draw(
        st.one_of(st.binary(max_size=5), st.sampled_from([b"\n", b"\t", b"9", b"-", GOOD.encode()[:90]]))
    )
    vocabulary = Vocabulary()
    try:
        model = read(tmp_path_factory.mktemp("arpa") / "lm", bytes(content), vocabulary)
    except InputError:
        return
    model.ngrams.check(len(vocabulary))


@pytest.mark.parametrize("order", [3, 5])
def test_lines_of_lmplz_are_written_as_lmplz_wrote_them(moses_files, tmp_path, order):
    vocabulary = Vocabulary()
    path = moses_files / f"lm.{order}.arpa.gz"
    write_arpa(tmp_path / "lm.arpa", read_arpa(path, vocabulary), vocabulary)
    with gzip.open(path, "rb") as theirs:
        assert sorted(theirs) == sorted((tmp_path / "lm.arpa").read_bytes().splitlines(keepends=True))
