"""Shipped kernels are used where they fit, never written to, and compiled anew where they do not fit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from toledo.compiled.cache import SHIPPED_PROCESSOR
from toledo.compiled.stamps import SHIPPED_PACKAGE

ROOT = Path(__file__).parents[2]
PROGRAM = """
from toledo.compiled.kernels import kernel

@kernel
def inner(x):
    return x + 1

@kernel
def outer(x):
    return inner(x) * 2

print(outer(10))
"""
FOR_ALL = {"NUMBA_CPU_NAME": SHIPPED_PROCESSOR, "NUMBA_CPU_FEATURES": ""}


def run_program(folder: Path, before: str = "", **environment: str) -> tuple[str, list[list[str]]]:
    """Run the program with a user's cache of its own; return what it prints, and where each kernel came from."""
    (folder / "program.py").write_text(before + PROGRAM)
    log = folder / "log"
    log.write_text("")
    given = {
        "PYTHONPATH": os.pathsep.join(map(str, [folder, ROOT])), "PYTHONDONTWRITEBYTECODE": "1",
        "TOLEDO_CACHE": str(folder / "cache"), "TOLEDO_KERNELS_LOG": str(log), **environment,
    }  # fmt: skip
    command = [sys.executable, "-c", "import program"]
    printed = subprocess.run(command, env=given, check=True, capture_output=True, text=True, cwd=folder).stdout
    lines = [line.split("\t") for line in log.read_text().splitlines()]
    return printed.strip(), [[how, name] for how, _, name, _, _ in lines]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


COMPILED = ("22", [["compiled", "outer"], ["compiled", "inner"]])
SHIPPED = ("22", [["shipped", "outer"]])


@pytest.fixture
def shipped(tmp_path: Path) -> Path:
    """The program's kernels, built for all processors of the level, in a directory that may not be written to."""
    folder = tmp_path / "shipped"
    assert run_program(tmp_path, TOLEDO_CACHE=str(folder), **FOR_ALL) == COMPILED
    return folder


def test_shipped_kernels_are_used_and_left_as_they_are(tmp_path: Path, shipped: Path) -> None:
    before = contents(shipped)
    assert run_program(tmp_path, TOLEDO_KERNELS=str(shipped)) == SHIPPED
    assert contents(shipped) == before
    assert not (tmp_path / "cache").exists()


def test_the_installed_package_is_found(tmp_path: Path, shipped: Path) -> None:
    shipped.rename(tmp_path / SHIPPED_PACKAGE)
    assert run_program(tmp_path) == SHIPPED
    assert run_program(tmp_path, TOLEDO_KERNELS="") == COMPILED
    assert run_program(tmp_path) == ("22", [["kept", "outer"]])  # what was compiled for this machine comes first


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ("import numba; numba.__version__ = '0.1'\n", "another Numba"),
        ("import toledo.compiled.stamps as stamps; stamps.SHIPPED_FEATURES = ('missing',)\n", "an older processor"),
    ],
)
def test_what_does_not_fit_is_compiled(tmp_path: Path, shipped: Path, before: str, reason: str) -> None:
    unchanged = contents(shipped)
    assert run_program(tmp_path, before, TOLEDO_KERNELS=str(shipped)) == COMPILED, reason
    assert contents(shipped) == unchanged


def test_a_changed_source_is_compiled_and_what_it_calls_is_still_found(
    tmp_path: Path, shipped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.PROGRAM", PROGRAM.replace("* 2", "* 3"))
    assert run_program(tmp_path, TOLEDO_KERNELS=str(shipped)) == ("33", [["compiled", "outer"], ["shipped", "inner"]])
    assert [path.name.partition("-")[0] for path in (tmp_path / "cache").rglob("*.nbi")] == ["program.outer"]


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_damaged_files_are_passed_over(tmp_path: Path, shipped: Path, ending: str) -> None:
    for path in shipped.rglob(f"*{ending}"):
        path.write_bytes(path.read_bytes()[:20])
    before = contents(shipped)
    assert run_program(tmp_path, TOLEDO_KERNELS=str(shipped)) == COMPILED
    assert contents(shipped) == before


def test_damaged_files_of_the_user_are_replaced(tmp_path: Path) -> None:
    assert run_program(tmp_path) == COMPILED
    for path in (tmp_path / "cache").rglob("*.nbc"):
        path.write_bytes(b"")
    assert run_program(tmp_path) == COMPILED
    assert run_program(tmp_path) == ("22", [["kept", "outer"]])
