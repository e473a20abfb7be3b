"""Build the wheels of a release for this Python: Toledo itself, and its kernels, compiled ahead.

    python packaging/build_wheels.py --output dist

The wheel of kernels (`toledo-mt-kernels`) is for one Python and one version of Numba, and for any processor of the
level x86-64-v3. It has what all commands of the documentation load: the warm-up, the demo, and the tests that run the
pages. They run twice, first to compile, then to see what is loaded and what is still compiled. Only what is loaded goes
into the wheel; kernels that are only called by others are part of those. What is missing is printed. Kernels of an
earlier wheel in the output directory that are still the same are not compiled again, nor are those of a build that
failed or that Ctrl-C stopped.

Names of source files stay in compiled code. So all is built in a copy of the checkout in a directory that says nothing
about who built it, and no other path may be in the result.

Toledo's own wheel asks for the wheel of kernels on each Python whose kernels lie in the output directory. A checkout
does not: there kernels may be changed, and the wheel may not be published yet.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from environments import KERNELS, ROOT, newest_kernels, python_tag

PLACE = Path("/tmp/toledo-mt")  # noqa: S108 (the same for everybody; it must not exist before)
PROJECT = "toledo-mt-kernels"
PLATFORM = "platform_system == 'Linux' and platform_machine == 'x86_64' and implementation_name == 'cpython'"
FOR_ALL = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
COMPILED = {"TOLEDO_SMALL_KERNELS": "machine"}  # also those that might run as plain Python on small inputs
OURS = ("NUMBA_", "TOLEDO_", "PYTHON")  # beginnings of variables that change what is compiled
FILE_NAME = re.compile(rb"/[\w.+-]+(?:/[\w.+-]+)+\.(?:py|so)\b")
SUMMARY = "Kernels of Toledo (toledo-mt), compiled ahead for processors of the level x86-64-v3"
INIT = '"""Compiled kernels of Toledo, which finds them by their content. Nothing here is imported."""\n'

ABOUT = """
import importlib, json, pkgutil
from importlib.metadata import distribution
import toledo
from toledo.compiled.kernels import KERNELS

for one in pkgutil.walk_packages(toledo.__path__, "toledo."):
    if one.name != "toledo.__main__":
        importlib.import_module(one.name)
found = [name for name, kernel in KERNELS.items() if kernel.kind != "inlined"]
numba = distribution("numba")
tags = [line.split()[1] for line in numba.read_text("WHEEL").splitlines() if line.startswith("Tag:")]
print(json.dumps({"numba": numba.version, "tags": tags, "kernels": sorted(found)}))
"""
PAGES = (
    "import sys; sys.path[:0] = ['tests', 'tests/docs']; import test_every_command as t; print(*{*t.TESTS.values()})"
)


def main() -> None:
    """Build both wheels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("dist"))
    output: Path = parser.parse_args().output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    with copy_of_checkout():
        python = make_environment()
        about = json.loads(run(python, "-c", ABOUT))
        kernels, cache = PLACE / "kernels", PLACE / "cache"
        is_first = not unpack_earlier(output, kernels)
        with kept_if_stopped(output, kernels):
            compiled = run_documentation(python, TOLEDO_CACHE=str(kernels), TOLEDO_KERNELS="", **FOR_ALL, **COMPILED)
            loaded = run_documentation(python, TOLEDO_CACHE=str(cache), TOLEDO_KERNELS=str(kernels), **COMPILED)
        files = used_files(kernels, loaded)
        refuse_other_paths(files)
        wheel = write_wheel(output, files, about)
        print_summary(wheel, files, loaded)
        if is_first:  # kernels that are only called by others are not seen where those are not compiled
            print_unused(about, compiled)
        build_toledo(python, output)


@contextmanager
def copy_of_checkout() -> Iterator[None]:
    """Copy all files that git knows, for a while."""
    try:
        PLACE.mkdir(mode=0o700)
    except FileExistsError:
        sys.exit(f"{PLACE} exists: another build is running, or was stopped; remove it if none is")
    try:
        listed = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)  # noqa: S607
        for name in listed.split("\0"):
            if (ROOT / name).is_file():
                (PLACE / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, PLACE / name)
        yield
    finally:
        shutil.rmtree(PLACE)


def make_environment() -> Path:
    """Install the copy, with what the tests need; return the Python that has it."""
    folder = PLACE / "venv"
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--editable", ".[development]")
    return python


def run(python: Path, *arguments: str, **environment: str) -> str:
    """Run Python in the copy and return what it prints; if it fails, show that and stop."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    finished = subprocess.run(
        [python, *arguments], cwd=PLACE, env={**kept, **environment}, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT if "pytest" in arguments else None,
    )  # fmt: skip
    if finished.returncode:
        sys.exit(f"{finished.stdout}\nfailed: {' '.join(map(str, arguments))}")
    return finished.stdout


def unpack_earlier(output: Path, kernels: Path) -> bool:
    """Copy kernels of a build that was stopped, or of the newest wheel for this Python; say if there are any."""
    if unfinished(output).exists():
        print("kernels of a build that was stopped are used again where they are the same", flush=True)
        shutil.copytree(unfinished(output), kernels)
        return True
    wheel = newest_kernels(output)
    if wheel is None:
        return False
    print("kernels of", wheel.name, "are used again where they are the same", flush=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            package, _, rest = name.partition("/")
            if package == KERNELS and rest.endswith((".nbi", ".nbc")):
                (kernels / rest).parent.mkdir(parents=True, exist_ok=True)
                (kernels / rest).write_bytes(archive.read(name))
    return True


def unfinished(output: Path) -> Path:
    """Return where the kernels of a build for this Python are that was stopped."""
    return output / f"unfinished-{python_tag()}"


@contextmanager
def kept_if_stopped(output: Path, kernels: Path) -> Iterator[None]:
    """Keep what is compiled for the next build, unless this one ends well."""
    try:
        yield
    except BaseException:
        if kernels.exists():
            shutil.copytree(kernels, unfinished(output), dirs_exist_ok=True)
        raise
    shutil.rmtree(unfinished(output), ignore_errors=True)


def run_documentation(python: Path, **environment: str) -> list[list[str]]:
    """Run all that the documentation shows; return where each kernel came from, as `toledo.compiled.cache` logs it."""
    log = PLACE / "log"
    log.unlink(missing_ok=True)
    tests = run(python, "-c", PAGES).split()
    for arguments in (
        ["-m", "toledo", "warm-up"],
        ["-m", "toledo", "demo", "--size", "2000", "--threads", "1"],
        ["-m", "pytest", "-p", "no:cacheprovider", "--numprocesses", "2", "--dist", "loadfile", *tests],
    ):
        print("running", *arguments[1:3], flush=True)
        run(python, *arguments, TOLEDO_KERNELS_LOG=str(log), **environment)
    lines = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line[1].startswith("toledo.")]  # tests have kernels, too


def used_files(kernels: Path, loaded: Iterable[list[str]]) -> dict[str, Path]:
    """Return the files that were loaded and their indexes, by their names in the wheel."""
    files = {}
    for how, module, _, _, name in loaded:
        if how == "shipped":
            index = f"{name.rsplit('.', 2)[0]}.nbi"
            files |= {f"{KERNELS}/{module}/{one}": kernels / module / one for one in (name, index)}
    return files


def refuse_other_paths(files: dict[str, Path]) -> None:
    """Stop if compiled code names a file outside the copy."""
    for name, path in files.items():
        for found in FILE_NAME.findall(path.read_bytes()):
            if not found.startswith(f"{PLACE}/".encode()):
                sys.exit(f"{name} names a file of this machine: {found.decode()}")


def toledo_version() -> str:
    """Return the version of the checkout, which both wheels have."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    return version


def write_wheel(output: Path, files: dict[str, Path], about: dict) -> Path:
    """Write the wheel of kernels, with the platform of Numba's own wheel: code needs nothing that Numba does not."""
    version, python = toledo_version(), f"{sys.version_info.major}.{sys.version_info.minor}"
    information, tag = f"{KERNELS}-{version}.dist-info", python_tag()
    platforms = [tag.split("-")[2] for tag in about["tags"]]
    content = {name: path.read_bytes() for name, path in sorted(files.items())}
    content[f"{KERNELS}/__init__.py"] = INIT.encode()
    content[f"{information}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    content[f"{information}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: {PROJECT}\nVersion: {version}\nSummary: {SUMMARY}\n"
        f"License-Expression: Apache-2.0\nLicense-File: LICENSE\n"
        f"Requires-Python: =={python}.*\nRequires-Dist: numba=={about['numba']}\n"
    ).encode()
    tags = "".join(f"Tag: {tag}-{tag}-{platform}\n" for platform in platforms)
    content[f"{information}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: toledo {version}\nRoot-Is-Purelib: false\n{tags}".encode()
    )
    record = "".join(f"{name},sha256={digest(value)},{len(value)}\n" for name, value in content.items())
    content[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n".encode()
    wheel = output / f"{KERNELS}-{version}-{tag}-{tag}-{'.'.join(platforms)}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, value in content.items():
            archive.writestr(zipfile.ZipInfo(name), value, zipfile.ZIP_DEFLATED)
    return wheel


def digest(content: bytes) -> str:
    """Return a digest as the list of a wheel's files has it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def print_summary(wheel: Path, files: dict[str, Path], loaded: list[list[str]]) -> None:
    """Say what the wheel has, and what it lacks although it is used."""
    again = sorted({f"{module}.{name}{types}" for how, module, name, types, _ in loaded if how == "compiled"})
    versions = sum(name.endswith(".nbc") for name in files)
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, {versions} versions of {len(files) - versions} kernels")
    print(f"{len(again)} are missing although the documentation uses them:", *again, sep="\n  ")


def print_unused(about: dict, compiled: list[list[str]]) -> None:
    """Say which kernels the wheel lacks because nothing uses them."""
    known, tried = set(about["kernels"]), {f"{module}.{name}" for _, module, name, _, _ in compiled}
    print(f"{len(known & tried)} of {len(known)} kernels are used by the documentation, some of them only by others")
    unused = sorted(known - tried)
    print(f"{len(unused)} are missing because the documentation does not use them:", *unused, sep="\n  ")


def build_toledo(python: Path, output: Path) -> None:
    """Build Toledo's own wheel, which asks for the wheels of kernels beside it."""
    version, project = toledo_version(), PLACE / "pyproject.toml"
    tags = sorted({path.name.split("-")[2] for path in output.glob(f"{KERNELS}-{version}-*.whl")})
    pythons = " or ".join(f"python_version == '{tag[2]}.{tag[3:]}'" for tag in tags)
    line = f'  "{PROJECT}=={version}; {PLATFORM} and ({pythons})",\n'
    before, start, after = project.read_text(encoding="utf-8").partition("\ndependencies = [\n")
    project.write_text(before + start + line + after, encoding="utf-8")
    run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(output), str(PLACE))
    print(*sorted(path.name for path in output.glob("*.whl")), sep="\n")


if __name__ == "__main__":
    main()
