"""Matrices of utilities: for each segment the score of each sample (row) with each reference or sample (column).

A `.npy` file has one array [segment, row, column]; a `.npz` file has an array [row, column] for each segment, as
`numpy.savez(file, *matrices)` writes them. Nothing is unpickled, and no header is believed before its size is checked.
"""

from __future__ import annotations

import math
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import display_name, file_error

MOST_BYTES = 1 << 30  # of one matrix, which is read as a whole
UNSUITED = (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError)
THREE_AXES = "write an array [segment, row, column], or numpy.savez(file, *matrices) if sizes differ"


def read_matrices(path: str | Path) -> Iterator[NDArray[Any]]:
    """Yield the matrix of each segment."""
    if not Path(path).is_file():
        raise InputError("no such file", file=display_name(path), argument="matrices", remedy="check the name")
    if zipfile.is_zipfile(path):
        yield from _archived(path)
        return
    try:
        stacked = npy.open_memmap(path, mode="r")  # refuses objects, which would have to be unpickled
    except UNSUITED as error:
        remedy = "write it with numpy.save(file, array), numbers only"
        raise file_error(path, None, f"not an array: {error}", remedy) from None
    if stacked.ndim != 3:
        raise file_error(path, None, f"an array of shape {stacked.shape}, expected three axes", THREE_AXES)
    _require_numbers(path, stacked.dtype)
    yield from stacked


def _archived(path: str | Path) -> Iterator[NDArray[Any]]:
    try:
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        remedy = "write the file again with numpy.savez(file, *matrices)"
        raise file_error(path, None, f"damaged: {error}", remedy) from None
    with archive:
        names = archive.namelist()
        numbers = [re.fullmatch(r"arr_([0-9]{1,9})\.npy", name) for name in names]
        if all(numbers):  # as savez names them, in whatever order they are stored
            names = [f"arr_{number}.npy" for number in sorted(int(one[1]) for one in numbers if one)]
        for segment, name in enumerate(names):
            try:
                with archive.open(name) as stream:
                    _check_header(path, segment, stream, archive.getinfo(name).file_size)
                with archive.open(name) as stream:
                    yield npy.read_array(stream, allow_pickle=False)
            except InputError:
                raise
            except UNSUITED as error:
                remedy = "write the file with numpy.savez(file, *matrices), numbers only"
                raise file_error(path, None, f"segment {segment} ({name}): not an array: {error}", remedy) from None


def _check_header(path: str | Path, segment: int, stream: IO[bytes], size: int) -> None:
    """Refuse what is not a matrix of numbers, or larger than the file says, before memory is allocated."""
    version = npy.read_magic(stream)
    read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if read_header is None:
        raise ValueError(f"version {version} of the format")
    shape, _, dtype = read_header(stream)
    _require_numbers(path, dtype)
    if len(shape) != 2:
        raise file_error(path, None, f"segment {segment}: shape {shape}, expected [row, column]", THREE_AXES)
    if math.prod(shape) * dtype.itemsize > min(size, MOST_BYTES):
        raise ValueError(f"{math.prod(shape) * dtype.itemsize:,} bytes are more than the file can have")


def _require_numbers(path: str | Path, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "fiu":
        raise file_error(path, None, f"an array of type {dtype}, expected numbers", "convert it: array.astype(float)")
