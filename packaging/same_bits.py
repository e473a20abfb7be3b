"""Compare shipped kernels with those compiled for this processor, bit for bit, on all calls of the warm-up.

    python packaging/same_bits.py dist

The argument is the directory of the wheel of kernels. `toledo warm-up` runs every command on a few sentences, here
three times: twice on code for this processor, then on the wheel's. For each kernel that Python calls, the arguments
before and after each call and what it returns must be the same; kernels within it are compared with it. Where the first
two runs differ, for example in memory that nobody has filled, nothing can be said, and the kernel is listed. So are
those of the wheel that the warm-up does not call: they are compared only as far as `make test-shipped` tests them.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from environments import unpack_kernels

RECORD = "--record"
FILLED = {"MALLOC_PERTURB_": "90"}  # the C library fills new memory, so that what nobody fills is the same in all runs
Calls = dict[str, list[str]]  # digests of the calls of each kernel


def main() -> None:
    """Run three times, compare, and say what was not compared; fail if anything differs."""
    if sys.argv[1:] == [RECORD]:
        print(json.dumps(record()))
        return
    (folder,) = sys.argv[1:]
    with TemporaryDirectory(prefix="toledo-bits-") as place:
        kernels = unpack_kernels(Path(folder), Path(place))
        log = Path(place, "log")
        own, again = (calls(TOLEDO_KERNELS="") for _ in range(2))
        shipped = calls(TOLEDO_KERNELS=str(kernels), TOLEDO_CACHE=f"{place}/cache", TOLEDO_KERNELS_LOG=str(log))
        lines = [line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()]
        used = {f"{module}.{name}" for how, module, name, _, _ in lines if how == "shipped"}
        every = {
            f"{path.parent.name}.{path.name.partition('-')[0].partition('.')[2]}" for path in kernels.rglob("*.nbi")
        }
    sys.exit(print_comparison(own, again, shipped, used, every))


def calls(**environment: str) -> Calls:
    """Return what another process records."""
    done = subprocess.run(
        [sys.executable, __file__, RECORD],
        env={**os.environ, **FILLED, **environment},
        check=True,
        stdout=subprocess.PIPE,
    )
    found: Calls = json.loads(done.stdout)
    return found


def record() -> Calls:
    """Run the warm-up in one thread, so that arrays that threads fill together are the same after each call."""
    from toledo import warm_up
    from toledo.compiled.kernels import Kernel

    found: Calls = defaultdict(list)
    run = Kernel.__call__

    def recorded(kernel: Kernel, *arguments: Any) -> Any:
        digest = hashlib.sha256()
        add(digest, arguments)
        result = run(kernel, *arguments)
        add(digest, (arguments, result))
        found[f"{kernel.__module__}.{kernel.__qualname__}"].append(digest.hexdigest())
        return result

    Kernel.__call__ = recorded  # type: ignore[method-assign]
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    warm_up()
    return found


def add(digest: Any, value: Any) -> None:
    """Add all bits of arrays, tuples and numbers to a digest."""
    if isinstance(value, tuple):
        digest.update(f"({len(value)}".encode())
        for one in value:
            add(digest, one)
    elif isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        digest.update(value.tobytes())
    else:
        digest.update(repr(value).encode())


def print_comparison(own: Calls, again: Calls, shipped: Calls, used: set[str], every: set[str]) -> int:
    """Print what is the same, what is not, and what cannot be said; return the number of kernels that differ."""
    unsure = {name for name in own if own[name] != again.get(name)}
    compared = used & own.keys() - unsure
    different = {name for name in compared if own[name] != shipped.get(name)}
    number = sum(len(own[name]) for name in compared)
    print(f"{len(compared)} of {len(every)} shipped kernels were compared, in {number} calls; {len(different)} differ")
    for title, names in (
        ("different", different),
        ("not compared, since two runs on this processor differ", unsure & every),
        ("not compared, since the warm-up does not call them", every - used),
    ):
        if names:
            print(f"{title}:", *sorted(names), sep="\n  ")
    return len(different)


if __name__ == "__main__":
    main()
