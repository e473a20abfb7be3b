"""The eflomal aligner (Östling and Tiedemann 2016), a Gibbs sampler, as an optional extra.

It draws its own random numbers and cannot be seeded: two runs differ a little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from toledo.corpus import ParallelCorpus, Sentences
from toledo.errors import InputError, ToledoError


def require_eflomal() -> None:
    """Say what to do if eflomal is not installed."""
    if find_spec("eflomal") is None:
        raise InputError(
            "the aligner eflomal is not installed",
            remedy='install it with: pip install "toledo-mt[eflomal]", or use the model hmm',
        )


def align_with_eflomal(corpus: ParallelCorpus) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The source position of each target word and the target position of each source word, −1 for none."""
    from eflomal import Aligner

    with TemporaryDirectory() as folder:
        forward, backward = Path(folder) / "forward", Path(folder) / "backward"
        Aligner().align(
            _lines(corpus.source),
            _lines(corpus.target),
            links_filename_fwd=str(forward),
            links_filename_rev=str(backward),
        )
        return (
            _read(forward, corpus, linked=corpus.target, column=1),
            _read(backward, corpus, linked=corpus.source, column=0),
        )


def _lines(sentences: Sentences) -> Iterator[str]:
    """Numbers instead of words: eflomal lower-cases words and joins those that are then the same."""
    return (" ".join(map(str, sentence.tolist())) + "\n" for sentence in sentences)


def _read(path: Path, corpus: ParallelCorpus, linked: Sentences, column: int) -> NDArray[np.int32]:
    """One-way links for each word of `linked`, whose positions are in that column of a link `source-target`."""
    result = np.full(linked.words.size, -1, np.int32)
    lines = path.read_text(encoding="ascii").splitlines()
    if len(lines) != len(corpus):
        raise ToledoError(f"eflomal aligned {len(lines)} sentence pairs of {len(corpus)}")
    for offset, line in zip(linked.offsets.tolist(), lines, strict=False):
        for link in _links(line.split()):
            result[offset + link[column]] = link[1 - column]
    return result


def _links(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    for text in texts:
        source, _, target = text.partition("-")
        yield int(source), int(target)
