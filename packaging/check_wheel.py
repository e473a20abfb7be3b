"""Build the wheel and try it in a fresh environment on each Python at hand: README's commands as they stand.

    python packaging/check_wheel.py
    python packaging/check_wheel.py --python python3.12

Dependencies come from wherever pip and uv look for them; Toledo itself is the wheel that was built.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from environments import PYTHONS, ROOT, at_hand, fresh, uv

sys.path.insert(0, str(ROOT / "tests"))
from readme_files import write_systems

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main() -> None:
    """Build, look into the wheel, then run it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="interpreter; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dist = Path(folder, "dist")
        uv("build", "--quiet", "--wheel", "--out-dir", dist)
        (wheel,) = dist.glob("*.whl")
        check_content(wheel)
        for python in at_hand(options.python or PYTHONS):
            try_readme(python, dist, Path(folder, python.name))
            print(f"{wheel.name} works with {python.name}", flush=True)


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
    environment = (
        os.environ | found | {"PATH": f"{bin_folder}:{os.environ['PATH']}", "TOLEDO_CACHE": str(folder / "cache")}
    )
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
