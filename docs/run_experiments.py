"""All experiments whose commands stand in the pages, one after the other: `make experiments`.

    python docs/run_experiments.py --list
    python docs/run_experiments.py --work work
    python docs/run_experiments.py --work work --only cobleu

What a command prints is kept in WORK/tables, and what is there is not done again; an interrupted experiment goes on
from its own directory in WORK. At last a table tells the CPU time of each command, and which numbers in the tables of a
page no command has printed. It needs ../shared, a folder of real data, and takes some days of one core.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import resource
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    "objectives",
    "consensus",
    "tuning",
    "papers/cobleu",
    "papers/minimum-risk",
    "papers/system-combination",
    "papers/max-expected-bleu",
    "papers/documents",
)
COMMAND = re.compile(r"(?:^    |`)(python experiments/[^`\n#]*)", re.MULTILINE)
TABLE = re.compile(r"^(.*)\n\n((?:\|.*\n)+)", re.MULTILINE)
OTHERS = re.compile(r"The (paper|thesis)\b")  # begins the line above a table of somebody else's numbers
NUMBER = re.compile(r"\d+\.\d+")


@dataclass(frozen=True)
class Experiment:
    """A command, and the page that it stands in."""

    page: str
    command: str

    def arguments(self, work: Path) -> list[str]:
        """With this interpreter, and its directory in `work`."""
        words = [sys.executable, *shlex.split(self.command)[1:]]
        places = [place for place, word in enumerate(words[:-1]) if word == "--work"]
        return [str(work / word) if place - 1 in places else word for place, word in enumerate(words)]

    def file(self, work: Path) -> Path:
        """Where its output is kept."""
        digest = hashlib.sha256(self.command.encode()).hexdigest()[:8]
        return work / "tables" / f"{Path(shlex.split(self.command)[1]).stem}-{digest}.md"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is not there yet, and tell what came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=Path("work"))
    parser.add_argument("--only", default="", help="pages whose names have this in them")
    parser.add_argument("--list", action="store_true", help="only print the commands")
    options = parser.parse_args(arguments)
    experiments = [one for one in all_experiments() if options.only in one.page]
    if options.list:
        print("\n".join(one.command for one in experiments))
        return
    for one in experiments:
        run(one, options.work)
    print(summary(experiments, options.work))


def all_experiments(docs: Path = ROOT / "docs", pages: Iterable[str] = PAGES) -> list[Experiment]:
    """In the order of the pages, each once."""
    found: dict[str, Experiment] = {}
    for page in pages:
        for command in COMMAND.findall((docs / f"{page}.md").read_text(encoding="utf-8")):
            found.setdefault(command.strip(), Experiment(page, command.strip()))
    return [*found.values()]


def run(experiment: Experiment, work: Path) -> None:
    """Keep what it prints, with its command and its time; nothing is kept of a run that fails."""
    file = experiment.file(work)
    if file.exists():
        return
    print(experiment.command, file=sys.stderr)
    before = cpu_seconds()
    result = subprocess.run(experiment.arguments(work), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    seconds = cpu_seconds() - before
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"    {experiment.command}\n\nCPU s: {seconds:.0f}\n\n{result.stdout}", encoding="utf-8")


def cpu_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(experiments: Sequence[Experiment], work: Path, docs: Path = ROOT / "docs") -> str:
    """Times, and numbers of pages that were not printed."""
    texts = {one: one.file(work).read_text(encoding="utf-8") for one in experiments}
    lines = ["| command | CPU s |", "|---|---|"]
    lines += [f"| `{one.command}` | {text.split('CPU s: ')[1].split()[0]} |" for one, text in texts.items()]
    for page in dict.fromkeys(one.page for one in experiments):
        printed = "\n".join(text for one, text in texts.items() if one.page == page)
        missing = not_printed((docs / f"{page}.md").read_text(encoding="utf-8"), printed)
        lines += ["", f"{page}: {', '.join(missing) if missing else 'every number of its tables was printed'}"]
    return "\n".join(lines)


def not_printed(page: str, printed: str) -> list[str]:
    """Numbers with decimals in the tables of a page that are in no output; tables of a paper's own do not count."""
    own = "".join(table for above, table in TABLE.findall(page) if not OTHERS.match(above))
    known = set(NUMBER.findall(printed))
    return [number for number in dict.fromkeys(NUMBER.findall(own)) if number not in known]


if __name__ == "__main__":
    main()
