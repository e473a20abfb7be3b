"""The syntax of moses.ini: sections of lines, feature declarations `Kind key=value ...`, weights `Name= number ...`."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from toledo.errors import InputError
from toledo.files import display_name, read_lines
from toledo.vocabulary import split_words

log = logging.getLogger(__name__)

Section = list[tuple[int, str]]  # lines with their numbers

READ = {"input-factors", "mapping", "distortion-limit", "feature", "weight"}
OLD = {"ttable-file", "lmodel-file", "distortion-file", "generation-file", "global-lexical-file"}
OLD_PREFIX = "weight-"


@dataclass(frozen=True)
class Feature:
    """One declaration in the section [feature]."""

    file: str
    line: int
    kind: str
    name: str
    arguments: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The file of the feature."""
        if "path" not in self.arguments:
            raise self.error(f"{self.name} has no path", "write path=FILE")
        return Path(self.arguments["path"])

    def number(self, key: str) -> int | None:
        """A whole number from 0 up, if there is one."""
        text = self.arguments.get(key)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise self.error(f"{key}={text} is not a whole number", f"write {key}= and a number")
        return int(text)

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """So many finite numbers with commas between them."""
        values = [_finite(text) for text in self.arguments[key].split(",")]
        if len(values) != count or None in values:
            raise self.error(f"{key}={self.arguments[key]} is not a list of {count} numbers", "separate them by commas")
        return tuple(value for value in values if value is not None)

    def error(self, message: str, remedy: str) -> InputError:
        """An error in this declaration."""
        return InputError(message, file=self.file, line=self.line, remedy=remedy)


def read_sections(path: str | Path) -> dict[str, Section]:
    """The lines of each section without comments and empty lines; sections that Toledo does not need are named."""
    sections: dict[str, Section] = {}
    lines: Section | None = None
    for number, line in enumerate(read_lines(path), start=1):
        text = " ".join(split_words(line.split("#", 1)[0]))
        if text.startswith("[") and text.endswith("]"):
            _refuse_old(path, number, text[1:-1])
            lines = sections.setdefault(text[1:-1], [])
        elif text and lines is None:
            raise InputError(
                f"{text!r} stands before the first [section]",
                file=display_name(path),
                line=number,
                remedy="give a moses.ini",
            )
        elif text and lines is not None:
            lines.append((number, text))
    if not sections.get("feature"):
        raise InputError("has no section [feature]", file=display_name(path), remedy="give a moses.ini")
    if ignored := sorted(set(sections) - READ):
        log.info("%s: settings that are not used: %s", path, ", ".join(ignored))
    return sections


def read_features(path: str | Path, lines: Section) -> Iterator[Feature]:
    """Feature declarations; one without a name is called after its kind, with a number from 0."""
    unnamed: Counter[str] = Counter()
    for line, text in lines:
        kind, *parts = text.split()
        malformed = [part for part in parts if "=" not in part]
        if malformed:
            raise InputError(
                f"{malformed[0]!r} is not of the form key=value",
                file=display_name(path),
                line=line,
                remedy="write: Kind key=value ...",
            )
        arguments = dict(part.split("=", 1) for part in parts)
        name = arguments.get("name", f"{kind}{unnamed[kind]}")
        unnamed[kind] += 1
        yield Feature(display_name(path), line, kind, name, arguments)


def read_weights(path: str | Path, lines: Section) -> dict[str, tuple[float, ...]]:
    """The weights of each feature by Moses' name."""
    weights: dict[str, tuple[float, ...]] = {}
    for line, text in lines:
        name, equals, rest = text.partition("=")
        name, values = name.strip(), [_finite(number) for number in rest.split()]
        if not equals or not name or not values or None in values or name in weights:
            what = "has weights already" if name in weights else "is not of the form Name= number ..."
            raise InputError(
                f"{text!r} {what}", file=display_name(path), line=line, remedy="write, for example: LM0= 0.5"
            )
        weights[name] = tuple(value for value in values if value is not None)
    return weights


def _refuse_old(path: str | Path, line: int, section: str) -> None:
    if section in OLD or section.startswith(OLD_PREFIX):
        raise InputError(
            f"[{section}] is a section of the old format (before 2013)",
            file=display_name(path),
            line=line,
            remedy="convert the file with Moses' scripts/training/convert-moses-ini-to-v2.perl",
        )


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
