"""What the programs of this directory share: fresh environments for several Pythons, and wheels of kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13")
KERNELS = "toledo_mt_kernels"


def at_hand(pythons: Sequence[str]) -> Iterator[Path]:
    """Yield the interpreters that can be run; say which cannot."""
    for name in pythons:
        path = shutil.which(name)
        code = "import sys; print(sys.executable)"
        found = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False) if path else None
        if found is None or found.returncode:
            print(f"{name} is not at hand", file=sys.stderr)
        else:
            yield Path(found.stdout.strip())


def uv(*arguments: object, **variables: str) -> None:
    """Run uv, installed beside this Python or elsewhere."""
    beside = Path(sys.executable).parent / "uv"
    program = str(beside) if beside.exists() else shutil.which("uv")
    if program is None:
        raise SystemExit("needs uv: pip install uv")
    subprocess.run([program, *map(str, arguments)], check=True, cwd=ROOT, env=os.environ | variables)


def fresh(folder: Path, python: Path, *options: str) -> Path:
    """Make an environment, in place of an older one, and return its interpreter."""
    uv("venv", "--quiet", "--clear", "--python", python, *options, folder)
    return folder / "bin" / "python"


def python_tag() -> str:
    """Return the tag of this Python, as in the names of wheels."""
    return f"cp{sys.version_info.major}{sys.version_info.minor}"


def newest_kernels(folder: Path) -> Path | None:
    """Return the newest wheel of kernels for this Python in a directory, if any."""
    wheels = folder.glob(f"{KERNELS}-*-{python_tag()}-*.whl")
    return max(wheels, key=lambda path: path.stat().st_mtime, default=None)


def unpack_kernels(folder: Path, place: Path) -> Path:
    """Unpack the newest wheel of kernels for this Python, and return the directory that $TOLEDO_KERNELS may name."""
    wheel = newest_kernels(folder)
    if wheel is None:
        sys.exit(f"no wheel of kernels for this Python in {folder}: make wheels builds one")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place / KERNELS
