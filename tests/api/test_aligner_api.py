"""An aligner that is kept for sentence pairs that come later."""

from pathlib import Path

import numpy as np
import pytest

from toledo.api.align import Aligner, align
from toledo.errors import InputError, ModelError, UnknownNameError
from toledo.phrases.settings import ALIGNERS, HMM
from toledo.sample.corpus import generate

NAMES = ["hmm", "ibm1", "hmm:decoding=viterbi,iterations_hmm=2"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("sample")
    generate(train=300, tune=1, test=1).save(folder)
    return folder / "train.src", folder / "train.trg"


@pytest.mark.parametrize("name", NAMES)
def test_the_training_text_gets_the_links_of_training(texts: tuple[Path, Path], name: str) -> None:
    found = align(*texts, aligner=name, threads=2)
    again = found.aligner.align(*texts, threads=1)
    assert list(again) == list(found)
    lines = [path.read_text().splitlines() for path in texts]
    assert list(found.aligner.align(*(side[40:60] for side in lines))) == again[40:60]


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_aligner_gives_the_same_links(texts: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    aligner = Aligner.train(*texts, aligner=name, symmetrize="union")
    aligner.save(tmp_path / "aligner")
    loaded = Aligner.load(tmp_path / "aligner")
    assert loaded.config == aligner.config
    assert loaded.signature == aligner.signature
    assert list(loaded.align(*texts)) == list(aligner.align(*texts))
    assert np.array_equal(loaded.lexicons.forward.probabilities, aligner.lexicons.forward.probabilities)


def test_new_words_are_aligned_with_new_words() -> None:
    sources = ["das haus", "das buch", "ein haus", "ein buch", "das kind", "ein kind"] * 3
    targets = ["the house", "the book", "a house", "a book", "the child", "a child"] * 3
    aligner = Aligner.train(sources, targets)
    before = len(aligner.vocabularies[0])
    assert aligner.align(["das flugzeug"], ["the plane"])[0] == [(0, 0), (1, 1)]
    assert aligner.align(["flugzeug haus", "", "x y"], ["plane house", "a", ""])[0] == [(0, 0), (1, 1)]
    assert len(aligner.vocabularies[0]) == before


def test_settings_are_named() -> None:
    assert ALIGNERS.make("hmm:iterations_hmm=3") == HMM(iterations_hmm=3)
    with pytest.raises(UnknownNameError, match="did you mean 'hmm'"):
        Aligner.train(["a"], ["b"], aligner="hm")
    with pytest.raises(InputError, match="at least 1"):
        ALIGNERS.make("ibm1:iterations_ibm1=0")


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sources has 2 segments, targets 1"):
        Aligner.train(["a", "b"], ["c"])
    with pytest.raises(InputError, match="eflomal cannot be kept"):
        Aligner.train(["a"], ["b"], aligner="eflomal")
    with pytest.raises(ModelError, match="is not an aligner"):
        Aligner.load(tmp_path)
    Aligner.train(["a"], ["b"]).save(tmp_path / "aligner")
    (tmp_path / "aligner" / "aligner.toml").write_text(
        (tmp_path / "aligner" / "aligner.toml").read_text().replace("format = 1", "format = 9")
    )
    with pytest.raises(ModelError, match="format 9"):
        Aligner.load(tmp_path / "aligner")


def test_raw_text_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Links count words separated by spaces: punctuation at a word would be a part of it."""
    raw = ["Das Haus.", "Ein Hund."], ["The house.", "A dog."]
    aligner = align(["das Haus .", "ein Hund ."], ["the house .", "a dog ."]).aligner
    assert not caplog.records
    aligner.align(*raw)
    align(list(zip(*raw, strict=True)))
    assert [one.message.partition(" (")[0] for one in caplog.records] == ["sources: the text looks raw"] * 2
