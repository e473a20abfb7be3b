"""Arrays on disk: a directory of `.npy` files and one TOML file that says what must be there.

Nothing is pickled. Every array is listed with its type, shape and SHA-256; a file that is missing, truncated or
changed is refused. Arrays are mapped into memory, not read.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w
from numpy.typing import NDArray

from toledo.errors import InputError, ModelError
from toledo.files import atomic_directory, open_to_read

Array = NDArray[Any]
Table = dict[str, Any]

NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")  # no separators: a description must not reach out of its directory


def save(
    directory: str | Path, description: str, content: Mapping[str, Any], arrays: Mapping[str, Array], keep: str = ""
) -> None:
    """Write a directory atomically; the file `description` (say, model.toml) holds `content` and the manifest.

    A folder `keep` of an older directory stays.
    """
    with atomic_directory(directory, description, keep) as new:
        manifest = {name: _save_array(new / f"{name}.npy", array) for name, array in sorted(arrays.items())}
        text = tomli_w.dumps({**content, "arrays": manifest})
        (new / description).write_text(text, encoding="utf-8")


def load(directory: str | Path, description: str) -> tuple[Table, dict[str, Array]]:
    """Read what `save` wrote; arrays are copy-on-write maps of the files, checked against the manifest."""
    folder = Path(directory)
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


def read_toml(path: Path) -> Table:
    """Parse a TOML file, with an error that names it."""
    with open_to_read(path) as stream:
        content = stream.read()
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("not valid UTF-8", file=path, remedy="save the file as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not valid TOML: {error}", file=path, remedy="correct the file at that place") from None


def _save_array(path: Path, array: Array) -> Table:
    array = np.ascontiguousarray(array)
    np.save(path, array, allow_pickle=False)
    return {"type": array.dtype.str, "shape": list(array.shape), "sha256": _digest(path)}


def _load_array(path: Path, expected: Table) -> Array:
    if not path.is_file():
        raise _damaged(path, "the file is missing")
    try:
        # Copy-on-write rather than read-only: a kernel then sees one array type and is compiled once.
        array = np.asarray(np.load(path, mmap_mode="c" if path.stat().st_size else None, allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        raise _damaged(path, str(error)) from None
    if array.dtype.str != expected.get("type") or list(array.shape) != expected.get("shape"):
        raise _damaged(path, f"it holds {array.dtype.str}{list(array.shape)}")
    return array


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _damaged(path: Path, reason: str) -> ModelError:
    return ModelError(
        f"damaged array: {reason}", file=path, remedy="restore the directory from a copy or make it again"
    )
