"""Forests to files of any format, one segment after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from toledo.errors import InputError
from toledo.files import atomic_directory, atomic_writer
from toledo.forest import Forest, join, save_forest
from toledo.formats import plf
from toledo.formats.hypergraph import hypergraph_text
from toledo.formats.plf import plf_text
from toledo.formats.slf import slf_text

MARKER = "0.gz"

WriteForest = Callable[[Forest], None]


@contextmanager
def forest_writer(path: str | Path, form: str, *, plf_values: plf.Values = "probabilities") -> Iterator[WriteForest]:
    """Takes one forest after the other. `path` may end with `/` for one file for each segment (SLF, hypergraph).

    Toledo's own directories hold all forests together, so they are written at the end.
    """
    if form == "toledo":
        forests: list[Forest] = []
        yield forests.append
        if not forests:
            raise InputError("nothing to write: there are no segments", remedy="look at the input")
        save_forest(join(forests), path)
    elif form != "plf" and str(path).endswith("/"):
        with atomic_directory(path, MARKER) as directory:
            yield _files(directory, form)
    else:
        with atomic_writer(path) as stream:
            text = _texts(form, plf_values)
            yield lambda forest: _ignore(stream.write(text(forest)))


def _texts(form: str, plf_values: plf.Values) -> Callable[[Forest], str]:
    """What writes the text of each forest in turn."""
    if form == "plf":
        return lambda forest: plf_text(forest, plf_values)
    if form == "hypergraph":
        return hypergraph_text
    number = -1

    def slf(forest: Forest) -> str:
        nonlocal number
        number += 1
        return slf_text(forest, number)

    return slf


def _files(directory: Path, form: str) -> WriteForest:
    text, number = _texts(form, "probabilities"), -1

    def write(forest: Forest) -> None:
        nonlocal number
        number += 1
        with atomic_writer(directory / f"{number}.gz") as stream:
            stream.write(text(forest))

    return write


def _ignore(_: object) -> None:
    return None
