"""Hypotheses as JSON objects, one on each line, for a hypothesis or for a whole segment.

    {"id": 0, "text": "the house", "score": -4.5, "features": {"lm": -1.2}}
    {"id": 0, "hypotheses": [{"text": "the house", "score": -4.5}, {"words": ["a", "house"]}, "a home"]}

`text` is split at white space and also kept as it is; `words` are taken as they are. `score`, `features`, `links`
([[0, 0], …] source and target positions) and `phrases` ([[0, 1, 0, 2], …] first and last source position, first and
last target position) are optional, other keys are ignored, except for `scores` beside `hypotheses`: those are refused.
Objects of segments may leave out `id`: then they are counted from 0. Empty lines at the end are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NoReturn

from msgspec import UNSET, Meta, Struct, UnsetType, ValidationError, convert

from toledo.errors import InputError
from toledo.files import display_name, file_error, read_lines, write_lines
from toledo.formats.fields import LARGEST, fill_gaps, number_text
from toledo.formats.hypotheses import Entry, NBestList, PhraseSpan, in_lists
from toledo.text.vocabulary import split_words

Object = dict[str, Any]
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Place = Annotated[int, Meta(ge=-1)]

SCHEMA = (
    'write {"id": N, "text": "…", "score": …, "features": {…}} '
    'or {"id": N, "hypotheses": ["…", {"text": "…", "score": …}]}, where N is the number of the segment, from 0'
)
EMPTY = 'remove the line, or write {"id": N, "hypotheses": []} for a segment without hypotheses'


class HypothesisObject(Struct):
    """A hypothesis as JSON has it."""

    text: str | None = None
    words: list[Annotated[str, Meta(min_length=1)]] | None = None
    score: Number | None = None
    logprob: Number | None = None
    features: dict[str, Number] | None = None
    links: list[tuple[Place, Place]] | None = None
    phrases: list[tuple[Place, Place, Place, Place]] | None = None

    def entry(self) -> Entry:
        """Return the hypothesis of a list; ValueError if it has no text, or two."""
        if (self.text is None) == (self.words is None):
            raise ValueError("a hypothesis needs a string 'text' or a list of strings 'words', not both")
        return Entry(
            split_words(self.text) if self.text is not None else self.words or [],
            self.features or {},
            score=self.score,
            logprob=self.logprob,
            raw_text=self.text,
            phrases=tuple(PhraseSpan(range(a, b + 1), range(c, d + 1)) for a, b, c, d in self.phrases or ()),
            links=tuple(self.links or ()),
        )


class LineObject(HypothesisObject):
    """A line: a hypothesis with the number of its segment, or all hypotheses of a segment."""

    id: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    hypotheses: list[str | HypothesisObject] | UnsetType = UNSET
    scores: Any = UNSET  # a likely mistake, which would be ignored like other keys


def read_jsonl(path: str | Path) -> Iterator[NBestList]:
    """Read the lists of a file, one segment at a time; `-` is standard input, `.gz` is unpacked."""
    objects = _lines(path)
    first = next(objects, None)
    if first is None:
        return iter(())
    lines = chain([first], objects)
    if first[1].hypotheses is not UNSET:
        return fill_gaps(_segments(lines, path), lambda segment: NBestList(segment, ()), display_name(path))
    return in_lists(_entries(lines, path), path)


def write_jsonl(lists: Iterable[NBestList], path: str | Path) -> None:
    """Write one object for each hypothesis, atomically."""
    write_lines(path, (line for some in lists for line in jsonl_lines(some)))


def jsonl_lines(some: NBestList) -> Iterator[str]:
    """Yield the lines of a list."""
    for entry in some.entries:
        yield json.dumps({"id": some.segment, **_to_object(entry)}, ensure_ascii=False)


def _lines(path: str | Path) -> Iterator[tuple[int, LineObject]]:
    empty = None
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            empty = empty or line
            continue
        if empty is not None:
            raise file_error(path, empty, "empty line", EMPTY)
        yield line, _line(text, path, line)


def _line(text: str, path: str | Path, line: int) -> LineObject:
    try:
        found = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"not valid JSON: {json_problem(error)}", path, line) from None
    if not isinstance(found, dict):
        raise _refusal("not a JSON object", path, line)
    try:
        return convert(found, LineObject)
    except ValidationError as error:
        message, _, place = str(error).replace("`", "").partition(" - at $.")
        raise _refusal(f"{place}: {message[0].lower()}{message[1:]}", path, line) from None


def json_problem(error: Exception) -> str:
    """Return what is wrong and in which column; Python does not know the line of the file."""
    return f"{error.msg} (column {error.colno})" if isinstance(error, json.JSONDecodeError) else str(error)


def _segments(lines: Iterable[tuple[int, LineObject]], path: str | Path) -> Iterator[tuple[int, NBestList]]:
    last = -1
    for line, found in lines:
        segment = last + 1 if isinstance(found.id, UnsetType) else found.id
        if segment <= last:
            raise _refusal(f"segment {segment} follows segment {last}", path, line)
        if isinstance(found.hypotheses, UnsetType):
            raise _refusal("no list of hypotheses, as in the first line", path, line)
        if found.scores is not UNSET:
            message = 'a score belongs to its hypothesis, {"text": "…", "score": …}, not to a list of scores'
            raise _refusal(message, path, line)
        objects = (HypothesisObject(one) if isinstance(one, str) else one for one in found.hypotheses)
        entries = (_entry(one, path, line) for one in objects)
        yield segment, NBestList(segment, tuple(entries))
        last = segment


def _entries(lines: Iterable[tuple[int, LineObject]], path: str | Path) -> Iterator[tuple[int, int, Entry]]:
    for line, found in lines:
        if isinstance(found.id, UnsetType):
            raise _refusal("no id, and no list of hypotheses", path, line)
        yield line, found.id, _entry(found, path, line)


def _entry(found: HypothesisObject, path: str | Path, line: int) -> Entry:
    try:
        return found.entry()
    except ValueError as error:
        raise _refusal(str(error), path, line) from None


def _refusal(message: str, path: str | Path, line: int) -> InputError:
    return file_error(path, line, message, SCHEMA)


def _to_object(entry: Entry) -> Object:
    is_text = split_words(entry.text) == list(entry.words)
    found: Object = {"text": entry.text} if is_text else {"words": list(entry.words)}
    if entry.score is not None:
        found["score"] = float(number_text(entry.score))
    if entry.logprob is not None:
        found["logprob"] = float(number_text(entry.logprob))
    if entry.features:
        found["features"] = {name: float(number_text(value)) for name, value in entry.features.items()}
    if entry.phrases:
        found["phrases"] = [
            [source.start, source.stop - 1, target.start, target.stop - 1] for source, target in entry.phrases
        ]
    if entry.links:
        found["links"] = [list(link) for link in entry.links]
    return found


def _unique_keys(pairs: list[tuple[str, Any]]) -> Object:
    """Refuse an object that repeats a key, as cdec's forests do."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")
