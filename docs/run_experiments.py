"""All experiments whose commands stand in the pages, one after the other: `make experiments`.

    python docs/run_experiments.py --list
    python docs/run_experiments.py --work work
    python docs/run_experiments.py --work work --only cobleu

What a command prints is kept in WORK/tables, and what is there is not done again; an interrupted experiment goes on
from its own directory in WORK. A command that fails does not stop the others. At last a table tells the CPU time of
each command, and which numbers in the tables of a page none of its commands has printed. A table is that of the command
named last before it; times are not compared. It takes many hours. docs/experiments.md says what must be in the
folders $DATA and $MOSES.
"""

from __future__ import annotations

import argparse
import hashlib
import os
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
    "choosing",
    "significance",
    "llm",
    "tuning",
    "papers/cobleu",
    "papers/minimum-risk",
    "papers/system-combination",
    "papers/max-expected-bleu",
    "papers/documents",
)
COMMAND = re.compile(r"(?:^    |`)(python experiments/[^`\n#]*)", re.MULTILINE)
NAMED = re.compile(r"^(?:    )?((?:python|toledo) .*)|`(python [^`]*)", re.MULTILINE)
OTHERS = re.compile(r"The (paper|thesis)\b")  # begins the line above a table of somebody else's numbers
TIMES = re.compile(r"CPU|\bms\b")  # in the title of a column: differs from run to run
FIGURE = re.compile(r"[+-]? ?<?\d.*")  # a cell that is a number, maybe with another one in brackets or after ±


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
    if missing := {name for one in experiments for name in re.findall(r"\$(\w+)", one.command)} - {*os.environ}:
        raise SystemExit(f"not set: {', '.join(sorted(missing))}; docs/experiments.md says what they are")
    failed = [one.command for one in experiments if not run(one, options.work)]
    print(summary(experiments, options.work))
    if failed:
        raise SystemExit("\n".join(("failed:", *failed)))


def all_experiments(docs: Path = ROOT / "docs", pages: Iterable[str] = PAGES) -> list[Experiment]:
    """In the order of the pages, each once."""
    found: dict[str, Experiment] = {}
    for page in pages:
        for command in COMMAND.findall((docs / f"{page}.md").read_text(encoding="utf-8")):
            found.setdefault(command.strip(), Experiment(page, command.strip()))
    return [*found.values()]


def run(experiment: Experiment, work: Path) -> bool:
    """Keep what it prints, with its command and its time, and say whether that is there; of a failure nothing is."""
    file = experiment.file(work)
    if file.exists():
        return True
    print(experiment.command, file=sys.stderr)
    before = cpu_seconds()
    result = subprocess.run(experiment.arguments(work), cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        return False
    seconds = cpu_seconds() - before
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"    {experiment.command}\n\nCPU s: {seconds:.0f}\n\n{result.stdout}", encoding="utf-8")
    return True


def cpu_seconds() -> float:
    """Of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary(experiments: Sequence[Experiment], work: Path, docs: Path = ROOT / "docs") -> str:
    """Times, and numbers of pages that were not printed."""
    texts = {one: one.file(work).read_text(encoding="utf-8") for one in experiments if one.file(work).exists()}
    times = {one: text.split("CPU s: ")[1].split()[0] for one, text in texts.items()}
    lines = ["| command | CPU s |", "|---|---|"]
    lines += [f"| `{one.command}` | {times.get(one, 'failed')} |" for one in experiments]
    for page in dict.fromkeys(one.page for one in experiments):
        printed = "\n".join(text for one, text in texts.items() if one.page == page)
        tables = own_tables((docs / f"{page}.md").read_text(encoding="utf-8"))
        missing = [cell for table in tables for cell in not_printed(table, printed)]
        lines += ["", f"{page}, {len(tables)} tables: {'; '.join(missing) or 'every number was printed'}"]
    return "\n".join(lines)


def own_tables(page: str) -> list[list[list[str]]]:
    """Rows of cells, titles first, of all tables that follow a command of an experiment; not a paper's own ones."""
    found, above, command = [], "", ""
    for block in re.split(r"\n\s*\n", page):
        lines = block.strip("\n").splitlines() or [""]
        if all(line.lstrip().startswith("|") for line in lines):
            if COMMAND.match(f"`{command}") and not OTHERS.match(above):
                found.append([cells(line) for number, line in enumerate(lines) if number != 1])
        elif named := NAMED.findall(block):
            command = "".join(named[-1])
        above = lines[-1]
    return found


def cells(line: str) -> list[str]:
    """Those of a line of a table, without typography."""
    plain = re.sub(r"\*\*|%", "", line).replace("−", "-").strip().strip("|")
    return [cell.strip() for cell in plain.split("|")]


def not_printed(table: Sequence[Sequence[str]], printed: str) -> list[str]:
    """Numbers, with the row they are in, that no printed row has together with a number beside them."""
    known = [set(cells(line) if "|" in line else line.split()) for line in printed.splitlines()]
    titles, *rows = table
    found = []
    for name, *others in rows:
        pairs = zip(others, titles[1:], strict=True)
        own = [part for cell, title in pairs if not TIMES.search(title) for part in cell.split(", ")]
        own = [part for part in own if FIGURE.fullmatch(part)]
        for place, part in enumerate(own):
            beside = {*own[max(place - 1, 0) : place], *own[place + 1 : place + 2]}
            if not any(part in row and (not beside or beside & row) for row in known):
                found.append(f"{part} ({name})")
    return found


if __name__ == "__main__":
    main()
