"""What a benchmark printed, stored with its origin: for pages that show it as it is.

    python experiments/printed.py "benchmarks/ter.py $DATA/wmt22-syscomb/cs-en/tune $DATA/wmt22-syscomb/cs-en/test"

The result is the last output of that command; its times are those of the machine that ran it.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys

from origin import ROOT
from stored import Stored, add_options


def main() -> None:
    """Run each command, unless its output is there and made by the same code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="+", help="a script and its options, in quotes")
    add_options(parser)
    options = parser.parse_args()
    for command in options.commands:
        script, *words = shlex.split(command)
        stored = Stored(ROOT / script, options.results, listing=options.stale, closed=options.table, name="printed")
        if not stored.done(command=command):
            run = [sys.executable, script, *map(os.path.expandvars, words)]
            printed = subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
            stored.add({"command": command}, data=[], scores={"printed": printed})


def tables(stored: Stored) -> dict[str, str]:
    """The last output of each command."""
    return {run["key"]["command"]: run["scores"]["printed"] for run in stored.all()}


if __name__ == "__main__":
    main()
