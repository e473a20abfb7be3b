"""Array directories: round trip, and refusal of anything that is not what was written."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toledo import storage
from toledo.errors import InputError


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    arrays = {"a": np.arange(100, dtype=np.int32), "b.c": np.ones((3, 2), np.float32), "empty": np.empty(0, np.int64)}
    storage.save(tmp_path / "model", "model.toml", {"format": 1, "name": "test"}, arrays)
    return tmp_path / "model"


def test_round_trip(saved: Path) -> None:
    content, arrays = storage.load(saved, "model.toml")
    assert content == {"format": 1, "name": "test"}
    assert arrays["a"].tolist() == list(range(100))
    assert arrays["b.c"].shape == (3, 2)
    assert arrays["b.c"].dtype == np.float32
    assert arrays["empty"].size == 0


def test_writing_to_a_loaded_array_does_not_change_the_file(saved: Path) -> None:
    storage.load(saved, "model.toml")[1]["a"][0] = 99
    assert storage.load(saved, "model.toml")[1]["a"][0] == 0


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def truncate_header(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:10])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def change_shape(path: Path) -> None:
    np.save(path, np.arange(101, dtype=np.int32))


def pickle_instead(path: Path) -> None:
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("damage", [truncate, truncate_header, flip_a_bit, change_shape, pickle_instead, Path.unlink])
def test_a_damaged_array_is_refused_with_its_name(saved: Path, damage) -> None:
    damage(saved / "a.npy")
    with pytest.raises(InputError, match="damaged array") as caught:
        storage.load(saved, "model.toml")
    assert caught.value.file == str(saved / "a.npy")
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "not valid TOML"),
        ("a = 1", "has no table"),
        ("[arrays]\na = 1", "not a name of an array"),
        ("\ud800", "not valid UTF-8"),
    ],
)
def test_a_damaged_description_is_refused(saved: Path, text: str, message: str) -> None:
    (saved / "model.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=message):
        storage.load(saved, "model.toml")


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "x/../../a"])
def test_names_that_leave_the_directory_are_refused(saved: Path, name: str) -> None:
    text = (saved / "model.toml").read_text().replace("[arrays.a]", f'[arrays."{name}"]')
    (saved / "model.toml").write_text(text)
    with pytest.raises(InputError, match="not a name"):
        storage.load(saved, "model.toml")


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        storage.load(tmp_path / "nowhere", "model.toml")


def test_a_full_disk_is_told_as_the_system_tells_it(tmp_path: Path) -> None:
    """NumPy would say how many bytes it asked for."""
    code = """
import resource, signal, sys
import numpy as np
from toledo import storage
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    storage.save(sys.argv[1], "model.toml", {}, {"a": np.arange(10_000)})
except OSError as error:
    print(error.errno, error.strerror)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout == f"{errno.EFBIG} {os.strerror(errno.EFBIG)}\n"
    assert not list(tmp_path.iterdir())


def test_arrays_are_written_as_numpy_writes_them(saved: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.ones((3, 2), np.float32))
    assert (saved / "b.c.npy").read_bytes() == (tmp_path / "one.npy").read_bytes()
