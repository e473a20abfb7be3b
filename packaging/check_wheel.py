"""Try the wheel in a fresh environment on each Python at hand: README's commands as they stand.

    python packaging/check_wheel.py
    python packaging/check_wheel.py --python python3.12
    python packaging/check_wheel.py --wheels dist

Dependencies come from wherever pip and uv look for them; Toledo itself is a wheel built for this, or that of a
directory that `make wheels` filled. Where that directory has kernels for the Python, nothing may be compiled.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from email.parser import Parser
from pathlib import Path

from environments import KERNELS, PYTHONS, ROOT, at_hand, fresh, uv

sys.path.insert(0, str(ROOT / "tests"))
from readme_files import write_systems

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Build, look into the wheel, then run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="interpreter; may be repeated")
    parser.add_argument("--wheels", type=Path, help="directory of wheels, in place of one that is built")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dist = options.wheels.resolve() if options.wheels else Path(folder, "dist")
        if not options.wheels:
            uv("build", "--quiet", "--wheel", "--out-dir", dist)
        (wheel,) = dist.glob("toledo_mt-*.whl")
        check_content(wheel)
        for python in at_hand(options.python or PYTHONS):
            place = Path(folder, python.name)
            try_readme(python, dist, place)
            print(
                f"{wheel.name} works with {python.name}{compiled(place / 'log', has_kernels(dist, python))}", flush=True
            )


def has_kernels(dist: Path, python: Path) -> bool:
    """Return whether a directory has kernels for a Python."""
    return any(dist.glob(f"{KERNELS}-*-{python.name.replace('python', 'cp').replace('.', '')}-*.whl"))


def compiled(log: Path, shipped: bool) -> str:
    """Return how many kernels were loaded and compiled, if they are shipped; then none may have been compiled."""
    lines = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    counts = Counter(line[0] for line in lines)
    if shipped and counts["compiled"]:
        again = sorted({f"{line[1]}.{line[2]}{line[3]}" for line in lines if line[0] == "compiled"})
        raise SystemExit("\n  ".join(["compiled although kernels are shipped:", *again]))
    return f": {counts['shipped']} kernels loaded from the wheel, none compiled" if shipped else ""


def check_content(wheel: Path) -> None:
    """Check that every file of the package is there and nothing else, and that links on its page lead somewhere."""
    files = [path for path in (ROOT / "toledo").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        page = Parser().parsestr(archive.read(metadata).decode("utf-8")).get_payload()
    if difference := names ^ {path.relative_to(ROOT).as_posix() for path in files}:
        raise SystemExit(f"only in the wheel or only in the checkout: {', '.join(sorted(difference))}")
    if relative := re.findall(r'\]\((?!https:)[^)]*\)|src="(?!https:)[^"]*"', page):
        raise SystemExit(f"links that lead nowhere on the page of the package: {', '.join(relative)}")


def try_readme(python: Path, dist: Path, folder: Path) -> None:
    """Run the blocks of the README in an environment that has only pip, and its line for uvx."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    bin_folder = fresh(folder / "environment", python, "--seed").parent
    here = folder / "here"
    here.mkdir()
    os.chdir(here)
    write_systems()
    found = {"PIP_FIND_LINKS": f"{dist} {os.environ.get('PIP_FIND_LINKS', '')}", "UV_FIND_LINKS": str(dist)}
    kernels = {"TOLEDO_CACHE": str(folder / "cache"), "TOLEDO_KERNELS_LOG": str(folder / "log")}
    environment = os.environ | found | kernels | {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    program = []
    for kind, block in BLOCK.findall(readme):
        if kind == "json":
            Path("samples.jsonl").write_text(block, encoding="utf-8")
        elif kind == "python":
            program.append(block)
        elif kind == "sh" and not block.startswith("make "):
            subprocess.run(["/bin/sh", "-e", "-c", block], check=True, env=environment, stdout=subprocess.DEVNULL)
    subprocess.run(
        [bin_folder / "python", "-c", "\n".join(program)], check=True, env=environment, stdout=subprocess.DEVNULL
    )
    for line in re.findall(r"`uvx (.*?)`", readme):
        uv("tool", "run", "--quiet", "--python", python, *line.split(), **found)


if __name__ == "__main__":
    main()
