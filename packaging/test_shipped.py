"""Run the tests on shipped kernels instead of those compiled for this machine.

    python packaging/test_shipped.py dist tests/metrics

The first argument is the directory of the wheel of kernels, all others are for pytest. What the wheel lacks is compiled
into an empty cache; how much that is, is printed at the end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from environments import unpack_kernels


def main() -> None:
    """Unpack the wheel, run pytest, and count."""
    folder, *arguments = sys.argv[1:]
    with TemporaryDirectory(prefix="toledo-shipped-") as place:
        log = Path(place, "log")
        log.touch()
        kernels = {
            "TOLEDO_KERNELS": str(unpack_kernels(Path(folder), Path(place))), "TOLEDO_CACHE": f"{place}/cache",
        }  # fmt: skip
        tested = subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            env={**os.environ, **kernels, "TOLEDO_KERNELS_LOG": str(log)},
            check=False,
        )
        print_counts(log)
    sys.exit(tested.returncode)


def print_counts(log: Path) -> None:
    """Print how many versions of kernels were shipped and compiled, and whose."""
    ways: dict[str, set[tuple[str, ...]]] = {"shipped": set(), "compiled": set(), "kept": set()}
    for line in log.read_text(encoding="utf-8").splitlines():
        how, *kernel, _ = line.split("\t")
        ways[how].add(tuple(kernel))
    own = {kernel for kernel in ways["compiled"] if kernel[0].startswith("toledo.")}
    tests = len(ways["compiled"]) - len(own)
    print(f"{len(ways['shipped'])} versions of kernels were shipped; compiled: {len(own)}, and {tests} of tests:")
    for module, name, types in sorted(own):
        print(f"  {module}.{name}{types}")


if __name__ == "__main__":
    main()
