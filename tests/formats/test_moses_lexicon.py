"""Lexicons as Moses writes them."""

import numpy as np

from toledo.files import read_lines
from toledo.formats.moses_writing import write_lexicon
from toledo.phrases.lexicon import Lexicon
from toledo.text.vocabulary import Vocabulary


def test_lines_are_word_given_word_probability_without_zeros(tmp_path):
    lexicon = Lexicon(
        np.array([0, 1, 1, 1, 4]), np.array([3, 3, 4, 5], np.int32), np.array([1, 0.75, 0.25, 4e-8], np.float32)
    )
    write_lexicon(tmp_path / "lex.gz", lexicon, Vocabulary(["haus"]), Vocabulary(["house", "home", "the"]))
    assert list(read_lines(tmp_path / "lex.gz")) == [
        "house NULL 1.0000000",
        "house haus 0.7500000",
        "home haus 0.2500000",
    ]
