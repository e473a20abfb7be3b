"""Hypotheses as JSON objects, one on each line, for a hypothesis or for a whole segment.

    {"id": 0, "text": "the house", "score": -4.5, "features": {"lm": -1.2}}
    {"id": 0, "hypotheses": [{"text": "the house", "score": -4.5}, {"words": ["a", "house"]}, "a home"]}

`text` is split at white space and also kept as it is; `words` are taken as they are. `score`, `logprob` (or `logprobs`
of the tokens), `features`, `system`, `links` ([[0, 0], …] source and target positions) and `phrases`
([[0, 1, 0, 2], …] first and last source position, first and last target position) are optional, other keys are handed
through. Objects of segments may leave out `id`: then they are counted from 0. Empty lines at the end are ignored.
Responses of language models are read as well (`toledo.formats.responses`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from toledo.files import write_lines
from toledo.formats.fields import number_text
from toledo.formats.hypotheses import Entry, NBestList
from toledo.formats.records import Reading, lists_of_rows
from toledo.formats.rows import json_rows
from toledo.text.vocabulary import split_words


def read_jsonl(path: str | Path) -> Iterator[NBestList]:
    """Read the lists of a file, one segment at a time; `-` is standard input, `.gz` is unpacked."""
    return lists_of_rows(json_rows(path), path, Reading())


def write_jsonl(lists: Iterable[NBestList], path: str | Path) -> None:
    """Write one object for each hypothesis, atomically."""
    write_lines(path, (line for some in lists for line in jsonl_lines(some)))


def jsonl_lines(some: NBestList) -> Iterator[str]:
    """Yield the lines of a list."""
    for entry in some.entries:
        yield json.dumps({"id": some.segment, **_to_object(entry)}, ensure_ascii=False)


def _to_object(entry: Entry) -> dict[str, Any]:
    is_text = split_words(entry.text) == list(entry.words)
    found: dict[str, Any] = {"text": entry.text} if is_text else {"words": list(entry.words)}
    if entry.score is not None:
        found["score"] = float(number_text(entry.score))
    if entry.logprob is not None:
        found["logprob"] = float(number_text(entry.logprob))
    if entry.num_tokens is not None:
        found["num_tokens"] = entry.num_tokens
    if entry.system is not None:
        found["system"] = entry.system
    if features := entry.all_features:
        found["features"] = {name: float(number_text(value)) for name, value in features.items()}
    if entry.phrases:
        found["phrases"] = [
            [source.start, source.stop - 1, target.start, target.stop - 1] for source, target in entry.phrases
        ]
    if entry.links:
        found["links"] = [list(link) for link in entry.links]
    return found
