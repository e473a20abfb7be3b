"""Arrays on disk: a directory of `.npy` files and one TOML file that says what must be there.

Nothing is pickled. Every array is listed with its type, shape and SHA-256; a file that is missing, truncated or
changed is refused. Arrays are mapped into memory, not read.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import tomli_w
from numpy.lib import format as npy
from numpy.typing import NDArray

from toledo.errors import InputError, ModelError
from toledo.files import atomic_directory, read_toml

Array = NDArray[Any]
Table = dict[str, Any]

NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")  # no separators: a description must not reach out of its directory

DAMAGE = (AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError)


def save(
    directory: str | Path,
    description: str,
    content: Mapping[str, Any],
    arrays: Mapping[str, Array],
    keep: str = "",
    more: Callable[[Path], object] | None = None,
) -> None:
    """Write a directory atomically; the file `description` (say, model.toml) holds `content` and the manifest.

    A folder `keep` of an older directory stays. `more` may write more into the new directory before it is in its place.
    """
    with atomic_directory(directory, description, keep) as new:
        manifest = {name: _save_array(new / f"{name}.npy", array) for name, array in sorted(arrays.items())}
        text = tomli_w.dumps({**content, "arrays": manifest})
        (new / description).write_text(text, encoding="utf-8")
        if more is not None:
            more(new)


def load(directory: str | Path, description: str) -> tuple[Table, dict[str, Array]]:
    """Read what `save` wrote; arrays are copy-on-write maps of the files, checked against the manifest."""
    folder = Path(directory)
    if (folder / description).exists() and not (folder / description).is_file():  # such as a pipe, which has no end
        raise InputError("is not a file", file=folder / description, remedy="make the directory again")
    content = read_toml(folder / description)
    manifest = content.pop("arrays", None)
    if not isinstance(manifest, dict):
        raise InputError("has no table [arrays]", file=folder / description, remedy="make the directory again")
    for name, expected in manifest.items():
        if not NAME.fullmatch(name) or not isinstance(expected, dict):
            raise InputError(f"{name!r} is not a name of an array", file=folder / description, remedy="make it again")
    files = [folder / f"{name}.npy" for name in manifest]
    arrays = [_load_array(file, expected) for file, expected in zip(files, manifest.values(), strict=True)]
    with ThreadPoolExecutor() as pool:  # checksums release the interpreter lock
        for file, expected, digest in zip(files, manifest.values(), pool.map(_digest, files), strict=True):
            if digest != expected.get("sha256"):
                raise _damaged(file, "its content has changed since it was written")
    return content, dict(zip(manifest, arrays, strict=True))


@contextmanager
def assembling(file: Path, remedy: str = "restore the directory from a copy or make it again") -> Iterator[None]:
    """Name the file in errors about content that does not fit together, of whatever kind they are."""
    try:
        yield
    except InputError as error:
        if error.file is not None:
            raise
        raise ModelError(error.message, file=file, remedy=error.remedy or remedy) from None
    except KeyError as error:
        raise ModelError(f"lacks {error}", file=file, remedy=remedy) from None
    except DAMAGE as error:
        raise ModelError(f"does not fit together: {error}", file=file, remedy=remedy) from None


def strings(content: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of texts; one text is no list of letters."""
    found = content[key]
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"{key} is not a list of texts")
    return tuple(found)


def _save_array(path: Path, array: Array) -> Table:
    """Write an array as NumPy does, but with the system's error if the disk is full."""
    array = np.ascontiguousarray(array)
    with path.open("wb") as stream:
        npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(array))
        stream.write(array.data)
    return {"type": array.dtype.str, "shape": list(array.shape), "sha256": _digest(path)}


def _load_array(path: Path, expected: Table) -> Array:
    if not path.is_file():
        raise _damaged(path, "the file is missing")
    try:
        with path.open("rb") as stream:
            if (version := npy.read_magic(stream)) != (1, 0):
                raise ValueError(f"version {version} of the format of arrays")
            shape, in_columns, dtype = npy.read_array_header_1_0(stream)
            begin, end = stream.tell(), stream.seek(0, os.SEEK_END)
    except (*DAMAGE, SyntaxError, TokenError, OSError) as error:
        raise _damaged(path, str(error)) from None
    if dtype.str != expected.get("type") or list(shape) != expected.get("shape") or in_columns or dtype.hasobject:
        raise _damaged(path, f"it holds {dtype.str}{list(shape)}")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise _damaged(path, f"{end - begin} bytes for {dtype.str}{list(shape)}")
    # Copy-on-write rather than read-only: a kernel then sees one array type and is compiled once.
    return np.asarray(np.memmap(path, dtype, "c", begin, shape)) if end > begin else np.empty(shape, dtype)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(path: Path, reason: str) -> ModelError:
    return ModelError(
        f"damaged array: {reason}", file=path, remedy="restore the directory from a copy or make it again"
    )
