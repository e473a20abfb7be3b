"""Corpora: parallel text, references, documents, and what is wrong with them."""

import os
from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.text.corpus import (
    Document,
    Segment,
    cut_documents,
    documents_of,
    read_line_pairs,
    read_parallel,
    read_segments,
    read_sentences,
    require_parallel,
)
from toledo.text.vocabulary import Vocabulary


def write(folder: Path, **texts: str) -> dict[str, Path]:
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {name: folder / name for name in texts}


def test_parallel_text(tmp_path: Path) -> None:
    files = write(tmp_path, de="das haus\n\nein haus am see\n", en="the house\nx\na house at the lake\n")
    corpus = read_parallel(files["de"], files["en"])
    assert len(corpus) == 3
    assert corpus.source_vocabulary.words(corpus.source[2]) == ["ein", "haus", "am", "see"]
    clean = corpus.select(corpus.usable(max_length=4))
    assert (clean.lines.tolist(), len(clean.source)) == ([1], 1)
    assert clean.target_vocabulary.words(clean.target[0]) == ["the", "house"]


def test_unequal_line_counts_are_refused_with_both_numbers(tmp_path: Path) -> None:
    files = write(tmp_path, de="a\nb\n", en="a\n")
    with pytest.raises(InputError, match=r"de has 2, .*en has 1"):
        read_parallel(files["de"], files["en"])
    with pytest.raises(InputError, match=r"de has 2, .*en has 1"):
        list(read_line_pairs(files["de"], files["en"]))
    with pytest.raises(InputError, match=r"de has 2, .*en has 1"):
        read_segments(files["de"], [files["en"]])


def test_what_is_cheap_is_checked_before_anything_is_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("toledo.text.corpus.Encoder")
    files = write(tmp_path, de="a\nb", en="a\n", empty="", same="x\ny\n")
    for other, told in (("en", "en has 1"), ("empty", "the file is empty"), ("absent", "no such file")):
        with pytest.raises(InputError, match=told):
            read_parallel(files["de"], tmp_path / other)
    require_parallel(files["de"], files["same"])
    os.mkfifo(tmp_path / "pipe")
    require_parallel(files["de"], tmp_path / "pipe", "-")


def test_empty_files_are_refused(tmp_path: Path) -> None:
    files = write(tmp_path, empty="")
    with pytest.raises(InputError, match="the file is empty"):
        read_sentences(files["empty"], Vocabulary())
    with pytest.raises(InputError, match="the file is empty"):
        read_segments(files["empty"])


def test_reserved_words_are_refused_with_their_line(tmp_path: Path) -> None:
    files = write(tmp_path, text="a\n\nb <s> c\n")
    with pytest.raises(InputError, match="reserved word <s>") as caught:
        read_sentences(files["text"], Vocabulary())
    assert caught.value.line == 3


def test_unknown_words_are_no_reserved_words_in_a_text_that_adds_none(tmp_path: Path) -> None:
    files = write(tmp_path, text="new words\n")
    assert read_sentences(files["text"], Vocabulary(), grow=False).words.tolist() == [0, 0]


def test_segments_with_references_and_documents(tmp_path: Path) -> None:
    files = write(tmp_path, de="a\nb\nc\n", r0="A\nB\nC\n", r1="A A\n\nC C\n", ids="x\nx\ny\n")
    segments = read_segments(files["de"], [files["r0"], files["r1"]], files["ids"])
    assert segments[1].references == (("B",), ())
    documents = documents_of(segments)
    assert [(document.identifier, len(document.segments)) for document in documents] == [("x", 2), ("y", 1)]


def test_documents_are_cut_into_pieces() -> None:
    segments = [Segment(number, (str(number),)) for number in range(7)]
    pieces = cut_documents(
        [Document("x", tuple(segments[:5])), Document("y", ()), Document("z", tuple(segments[5:]))], 2
    )
    found = [(one.identifier, [part.index for part in one.segments]) for one in pieces]
    assert found == [("x:1", [0, 1]), ("x:2", [2, 3]), ("x:3", [4]), ("z:1", [5, 6])]


def test_offsets_are_checked() -> None:
    import numpy as np

    from toledo.text.corpus import Sentences

    with pytest.raises(ValueError, match="offsets"):
        Sentences(np.zeros(2, np.int32), np.array([0, 3]))
