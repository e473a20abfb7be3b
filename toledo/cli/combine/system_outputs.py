"""Files of several systems: their names, and what each says to each segment."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, read_lines
from toledo.formats.hypotheses import Entry
from toledo.formats.jsonl import read_jsonl
from toledo.formats.list_files import guess_format, side_by_side
from toledo.formats.nbest import read_nbest

log = logging.getLogger(__name__)

RESULT = "combination"  # beside the names of systems
PREFIX = "sys."  # of files such as sys.ONLINE.en


def named_systems(given: Sequence[str]) -> dict[str, str]:
    """Files by the names of their systems: NAME=FILE, or the name of the file without its ending."""
    if not given:
        raise InputError("no system is given", remedy="name a file of outputs for each system: --systems A.en B.en")
    named = [_named(one) for one in given]
    names = [name for name, _ in named]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            f"two systems have the name {', '.join(twice)}", remedy="give them names: --systems first=A.en second=B.en"
        )
    if RESULT in names:
        raise InputError(f"no system can be called {RESULT}", remedy=f"give it a name: first={dict(named)[RESULT]}")
    if [file for _, file in named].count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be read only once", remedy="name files, and - at most once")
    return dict(named)


def _named(one: str) -> tuple[str, str]:
    name, sign, file = one.partition("=")
    if sign and name and not Path(one).exists():
        return name, file
    path = Path(one)
    whole = path.name.removesuffix(".gz")
    return (whole.rsplit(".", 1)[0] if "." in whole else whole).removeprefix(PREFIX) or whole, one


def in_order(systems: Mapping[str, str], wanted: Sequence[str]) -> list[str | None]:
    """The files of the systems that were tuned with, None for those that are not here."""
    if unknown := sorted(set(systems) - set(wanted)):
        raise InputError(
            f"the combination was not tuned with {', '.join(unknown)}",
            remedy=f"it knows {', '.join(wanted)}: give these names (NAME=FILE), or tune anew",
        )
    if missing := [name for name in wanted if name not in systems]:
        log.warning("no output of %s: the others decide alone", ", ".join(missing))
    return [systems.get(name) for name in wanted]


def read_systems(files: Sequence[str | None]) -> Iterator[list[list[str]]]:
    """For each segment, what each system says: one line, an n-best list (Moses' or JSONL), or nothing."""
    present = [file for file in files if file is not None]
    for said in side_by_side([_hypotheses(file) for file in present], present):
        rest = iter(said)
        yield [[] if file is None else next(rest) for file in files]


def _hypotheses(file: str) -> Iterator[list[str]]:
    """The texts for each segment, best first; an empty line is none."""
    form = guess_format(file)
    if form == "text":
        for line in read_lines(file):
            yield [line] if line.strip() else []
    else:
        for some in read_jsonl(file) if form == "jsonl" else read_nbest(file):
            yield [" ".join(entry.words) for entry in _ranked(some.entries) if entry.words]


def _ranked(entries: Sequence[Entry]) -> Sequence[Entry]:
    """Best first: by their scores, if all have one; otherwise in the order of the file."""
    scores = {place: entry.score for place, entry in enumerate(entries) if entry.score is not None}
    if len(scores) < len(entries):
        return entries
    return [entries[place] for place in sorted(scores, key=lambda place: -scores[place])]
