"""All experiments whose commands stand in the pages, one after the other: `make experiments`.

    python docs/run_experiments.py --list
    python docs/run_experiments.py --stale
    python docs/run_experiments.py --work work --only cobleu

Each command runs only what `experiments/results` does not have, or has from other code, and stores it there; an
interrupted one goes on from its own directory in WORK. --stale lists what would run. A command that fails does not stop
the others. It takes many hours. `make docs` writes what is stored into the pages. docs/experiments.md says what must be
in the folders $DATA and $MOSES.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "objectives",
    "choosing",
    "significance",
    "llm",
    "tuning",
    "rare-words",
    "word-alignment",
    "results",
    "papers/cobleu",
    "papers/minimum-risk",
    "papers/system-combination",
    "papers/max-expected-bleu",
    "papers/documents",
)
COMMAND = re.compile(r"(?:^    |`)(python experiments/[^`\n#]*)", re.MULTILINE)


@dataclass(frozen=True)
class Experiment:
    """A command, and the page that it stands in."""

    page: str
    command: str

    def arguments(self, work: Path) -> list[str]:
        """With this interpreter, its directory in `work`, and folders in place of variables."""
        words = [sys.executable, *map(os.path.expandvars, shlex.split(self.command)[1:])]
        places = [place for place, word in enumerate(words[:-1]) if word == "--work"]
        return [str(work / word) if place - 1 in places else word for place, word in enumerate(words)]

    @property
    def stores(self) -> bool:
        """Whether its runs are stored; others draw."""
        script = ROOT / shlex.split(self.command)[1]
        return "--figure" not in self.command and "add_options(" in script.read_text(encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing or made by other code, or list it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--only", default="", help="pages whose names have this in them")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    parser.add_argument("--stale", action="store_true", help="only print which runs are missing or made by other code")
    options = parser.parse_args(arguments)
    experiments = [one for one in all_experiments() if options.only in one.page]
    if options.list:
        print("\n".join(one.command for one in experiments))
        return
    if missing := {name for one in experiments for name in re.findall(r"\$(\w+)", one.command)} - {*os.environ}:
        raise SystemExit(f"not set: {', '.join(sorted(missing))}; docs/experiments.md says what they are")
    if options.stale:
        experiments = [one for one in experiments if one.stores]
    failed = [one.command for one in experiments if not run(one, options.work, options.stale)]
    if failed:
        raise SystemExit("\n".join(("failed:", *failed)))


def all_experiments(docs: Path = ROOT / "docs", pages: Iterable[str] = PAGES) -> list[Experiment]:
    """In the order of the pages, each once."""
    found: dict[str, Experiment] = {}
    for page in pages:
        for command in COMMAND.findall((docs / f"{page}.md").read_text(encoding="utf-8")):
            found.setdefault(command.strip(), Experiment(page, command.strip()))
    return [*found.values()]


def run(experiment: Experiment, work: Path, stale: bool = False) -> bool:
    """Whether the command ended well; `stale` makes it list its runs instead."""
    print(experiment.command, file=sys.stderr)
    words = [*experiment.arguments(work), *(["--stale"] if stale else [])]
    return subprocess.run(words, cwd=ROOT, check=False).returncode == 0


if __name__ == "__main__":
    main()
