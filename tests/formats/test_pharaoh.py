"""Word alignments in Pharaoh format."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.files import write_lines
from toledo.formats import alignments
from toledo.formats.alignments import alignment_lines, read_alignments
from toledo.text.corpus import ParallelCorpus, Sentences
from toledo.text.vocabulary import Vocabulary


def corpus_of(*lengths: tuple[int, int]) -> ParallelCorpus:
    sides = [
        Sentences.from_lengths(np.full(sum(side), 3, np.int32), np.array(side)) for side in zip(*lengths, strict=True)
    ]
    return ParallelCorpus(*sides, Vocabulary(["w"]), Vocabulary(["w"]), np.arange(1, len(lengths) + 1))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "alignments"


def test_links_are_sorted_and_each_one_kept_once(path):
    path.write_text("1-0 0-2  0-0\t0-2 \n\n  \n0-0\r\n")
    found = read_alignments(path, corpus_of((2, 3), (1, 1), (5, 0), (1, 1)))
    assert [found[i].tolist() for i in range(4)] == [[[0, 0], [0, 2], [1, 0]], [], [], [[0, 0]]]


pairs = st.lists(st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=6), min_size=1, max_size=9)


@given(pairs, st.integers(1, 4))
def test_what_is_written_is_read(tmp_path_factory, links, lines_at_once):
    path = tmp_path_factory.mktemp("pharaoh") / "alignments.gz"
    corpus = corpus_of(*[(12, 12)] * len(links))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignments, "LINES_AT_ONCE", lines_at_once)
        path.write_text("".join(" ".join(f"{s}-{t}" for s, t in line) + "\n" for line in links))
        found = read_alignments(path, corpus)
        write_lines(path, alignment_lines(found))
        again = read_alignments(path, corpus)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert lines == [" ".join(f"{s}-{t}" for s, t in sorted(line)) for line in links]
    assert np.array_equal(found.links, again.links)
    assert np.array_equal(found.offsets, again.offsets)


@pytest.mark.parametrize(
    "link", ["0", "0-", "-1", "0--1", "0-1-2", "a-0", "0-0.5", "0p1", "٣-0", "1234567890-0", "0 - 0"]
)
def test_malformed_links_are_errors_with_their_line(path, link):
    path.write_text(f"0-0\n0-0 {link} 1-1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"alignments:2: .* is not a link\n  remedy: write links as source-target"):
        read_alignments(path, corpus_of((2, 2), (2, 2)))


@pytest.mark.parametrize("link", ["2-0", "0-3", "999999999-0"])
def test_links_out_of_the_sentences_are_errors_with_their_line(path, link):
    path.write_text(f"\n0-0 {link}\n0-0\n")
    with pytest.raises(
        InputError, match=f"alignments:2: the link {link} leads out of a sentence pair of 2 and 3 words"
    ):
        read_alignments(path, corpus_of((1, 1), (2, 3), (1, 1)))


@pytest.mark.parametrize("text", ["", "0-0\n", "0-0\n0-0\n\n"])
def test_another_number_of_lines_is_an_error(path, text):
    path.write_text(text)
    with pytest.raises(InputError, match=f"{text.count(chr(10))} lines of alignments for 2 sentence pairs"):
        read_alignments(path, corpus_of((1, 1), (1, 1)))


def test_the_file_of_moses(moses_files):
    from toledo.text.corpus import read_parallel

    corpus = read_parallel(moses_files / "train.de", moses_files / "train.en")
    found = read_alignments(moses_files / "alignments", corpus)
    lines = (moses_files / "alignments").read_text().splitlines()
    assert [set(line.split()) for line in alignment_lines(found)] == [set(line.split()) for line in lines]
