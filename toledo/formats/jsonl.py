"""Hypotheses as JSON objects, one on each line: of a hypothesis or of a whole segment. For any system's outputs.

    {"id": 0, "text": "the house", "score": -4.5, "features": {"lm": -1.2}}
    {"id": 0, "hypotheses": [{"text": "the house", "score": -4.5}, {"words": ["a", "house"]}, "a home"]}

`text` is cut at white space; `words` are taken as they are. `score`, `features`, `links` ([[0, 0], …] source and target
positions) and `phrases` ([[0, 1, 0, 2], …] first and last source position, first and last target position) are
optional, other keys are ignored, except for `scores` beside `hypotheses`: those are refused. Objects of segments may
leave out `id`: then they are counted from 0. Empty lines at the end are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from toledo.errors import InputError
from toledo.files import atomic_writer, display_name, read_lines
from toledo.formats.fields import LARGEST, fill_gaps, number_text
from toledo.formats.hypotheses import Entry, NBestList, Numbered, PhraseSpan, in_lists
from toledo.text.vocabulary import split_words

Object = dict[str, Any]

SCHEMA = (
    'write {"id": N, "text": "…", "score": …, "features": {…}} '
    'or {"id": N, "hypotheses": ["…", {"text": "…", "score": …}]}, where N is the number of the segment, from 0'
)
ID, TEXT, WORDS, SCORE, FEATURES, LINKS, PHRASES = "id", "text", "words", "score", "features", "links", "phrases"
HYPOTHESES = "hypotheses"
EMPTY = f'take the line out, or write {{"{ID}": N, "{HYPOTHESES}": []}} for a segment without hypotheses'


def read_jsonl(path: str | Path) -> Iterator[NBestList]:
    """The lists of a file, one segment at a time; `-` is standard input, `.gz` is unpacked."""
    objects = _objects(path)
    first = next(objects, None)
    if first is None:
        return iter(())
    lines = chain([first], objects)
    if HYPOTHESES in first[1]:
        return fill_gaps(_segments(lines, path), lambda segment: NBestList(segment, ()), display_name(path))
    return in_lists(_entries(lines, path), path)


def write_jsonl(lists: Iterable[NBestList], path: str | Path, *, per_segment: bool = False) -> None:
    """Write one object for each hypothesis, or for each segment, atomically."""
    with jsonl_writer(path, per_segment=per_segment) as write:
        for some in lists:
            write(some)


@contextmanager
def jsonl_writer(path: str | Path, *, per_segment: bool = False) -> Iterator[Callable[[NBestList], None]]:
    """Takes one list after the other."""
    with atomic_writer(path) as stream:

        def write(some: NBestList) -> None:
            entries = [_to_object(entry) for entry in some.entries]
            numbered = [{ID: some.segment, **entry} for entry in entries]
            objects = [{ID: some.segment, HYPOTHESES: entries}] if per_segment else numbered
            stream.writelines(json.dumps(item, ensure_ascii=False) + "\n" for item in objects)

        yield write


def _objects(path: str | Path) -> Iterator[tuple[int, Object]]:
    empty = None
    for line, text in enumerate(read_lines(path), start=1):
        if not text.strip():
            empty = empty or line
            continue
        if empty is not None:
            raise InputError("empty line", file=display_name(path), line=empty, remedy=EMPTY)
        yield line, _object(text, _refusal(path, line))


def _object(text: str, refuse: Refuse) -> Object:
    try:
        found = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        refuse(f"not valid JSON: {json_problem(error)}")
    if not isinstance(found, dict):
        refuse("not a JSON object")
    return found


def json_problem(error: Exception) -> str:
    """What is wrong and in which column: the line is that of a file, which Python does not know."""
    return f"{error.msg} (column {error.colno})" if isinstance(error, json.JSONDecodeError) else str(error)


def _segments(lines: Iterable[tuple[int, Object]], path: str | Path) -> Iterator[tuple[int, NBestList]]:
    last = -1
    for line, found in lines:
        refuse = _refusal(path, line)
        segment = _segment(found.get(ID, last + 1), refuse)
        if segment <= last:
            refuse(f"segment {segment} follows segment {last}")
        hypotheses = found.get(HYPOTHESES)
        if not isinstance(hypotheses, list):
            refuse(f"no list of {HYPOTHESES}, as in the first line")
        if f"{SCORE}s" in found:  # a likely mistake, which would be ignored like other keys
            refuse(f'a score belongs to its hypothesis, {{"{TEXT}": "…", "{SCORE}": …}}, not to a list of {SCORE}s')
        yield segment, NBestList(segment, tuple(_entry(item, refuse) for item in hypotheses))
        last = segment


def _entries(lines: Iterable[tuple[int, Object]], path: str | Path) -> Iterator[Numbered]:
    for line, found in lines:
        refuse = _refusal(path, line)
        if ID not in found:
            refuse(f"no id, and no list of {HYPOTHESES}: its keys are {', '.join(map(repr, found)) or 'none'}")
        yield Numbered(line, _segment(found[ID], refuse), _entry(found, refuse))


Refuse = Callable[[str], NoReturn]


def _refusal(path: str | Path, line: int) -> Refuse:
    def refuse(message: str) -> NoReturn:
        raise InputError(message, file=display_name(path), line=line, remedy=SCHEMA) from None

    return refuse


def _segment(value: object, refuse: Refuse) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        refuse(f"the id {value!r} is not a number of a segment: 0, 1, 2, …")
    return value


def _entry(found: object, refuse: Refuse) -> Entry:
    if isinstance(found, str):
        return Entry(split_words(found))
    if not isinstance(found, dict):
        refuse(f"a hypothesis is neither a text nor an object but {type(found).__name__}")
    features = found.get(FEATURES) or {}
    if not isinstance(features, dict):
        refuse(f"{FEATURES} must be an object of numbers")
    score = found.get(SCORE)
    return Entry(
        _words(found, refuse),
        {name: _number(value, name, refuse) for name, value in features.items()},
        score=None if score is None else _number(score, SCORE, refuse),
        phrases=tuple(
            PhraseSpan(range(a, b + 1), range(c, d + 1)) for a, b, c, d in _rows(found.get(PHRASES), 4, PHRASES, refuse)
        ),
        links=tuple((source, target) for source, target in _rows(found.get(LINKS), 2, LINKS, refuse)),
    )


def _words(found: Object, refuse: Refuse) -> list[str]:
    text, words = found.get(TEXT), found.get(WORDS)
    if isinstance(text, str) and words is None:
        return split_words(text)
    if not isinstance(words, list) or text is not None or not all(isinstance(word, str) and word for word in words):
        refuse(f"a hypothesis needs a string {TEXT!r} or a list of strings {WORDS!r}, not both")
    return words


def _number(value: object, name: str, refuse: Refuse) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST:
        refuse(f"{name} is {value!r}, not a number")
    return float(value)


def _rows(value: object, size: int, name: str, refuse: Refuse) -> Sequence[Sequence[int]]:
    rows = [] if value is None else value
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == size for row in rows):
        refuse(f"{name} must be a list of lists of {size} positions")
    if not all(isinstance(place, int) and place >= -1 for row in rows for place in row):
        refuse(f"{name} must be a list of lists of {size} positions")
    return rows


def _to_object(entry: Entry) -> Object:
    text = " ".join(entry.words)
    found: Object = {TEXT: text} if split_words(text) == list(entry.words) else {WORDS: list(entry.words)}
    if entry.score is not None:
        found[SCORE] = _tidy(entry.score)
    if entry.features:
        found[FEATURES] = {name: _tidy(value) for name, value in entry.features.items()}
    if entry.phrases:
        found[PHRASES] = [
            [source.start, source.stop - 1, target.start, target.stop - 1] for source, target in entry.phrases
        ]
    if entry.links:
        found[LINKS] = [list(link) for link in entry.links]
    return found


def _tidy(value: float) -> float:
    return float(number_text(value))


def _unique_keys(pairs: list[tuple[str, Any]]) -> Object:
    """What repeats a key is not JSON that one can trust; cdec's forests, for one, do."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number of JSON")
