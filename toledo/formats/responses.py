"""What a row of a list file says: Toledo's own objects, responses of language models, rows of tables.

    {"id": 0, "text": "the house", "score": -4.5, "features": {"lm": -1.2}}
    {"id": 0, "hypotheses": [{"text": "the house", "score": -4.5}, {"words": ["a", "house"]}, "a home"]}
    {"custom_id": "s7", "response": {"body": {"choices": [{"message": {"content": "the house"}}, …]}}}

`SHAPES` says where responses have their texts; to read another kind of response, add a line. Other rows are read by
the usual names of keys, or by fields that are given: a path such as `candidates[].content.parts[].text`, where `[]`
stands for each item.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from toledo.errors import InputError
from toledo.files import LARGEST_WHOLE
from toledo.formats.fields import LARGEST, parse_number
from toledo.formats.hypotheses import Entry, Extra, PhraseSpan, SegmentId
from toledo.text.vocabulary import split_words

Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Place = Annotated[int, Meta(ge=-1, le=LARGEST_WHOLE)]
Fields = Mapping[str, tuple[str, ...]]

USUAL = {  # names of keys, in the order in which they are looked for
    "samples": "samples candidates translations texts generations responses predictions completions outputs hyps",
    "text": "text generated_text translation_text summary_text sentence mt hypothesis translation output prediction "
    "completion response hyp",
    "score": "score scores expected_score COMET comet",
    "logprob": "logprob logprobs log_prob lprobs cumulative_logprob",
    "id": "id custom_id request_id doc_id segment_id seg_id",
}
REASONS = (  # where a response says why it has no text
    "error.message",
    "result.error.error.message",
    "result.error.message",
    "response.body.error.message",
    "message.refusal",
    "output[].content[].refusal",
    "finish_reason",
    "stop_reason",
    "result.type",
)
ENDED_WELL = ("stop", "end_turn", "eos_token")
STEP = re.compile(r"\[(\d*)\]|([^.\[\]]+)")


class HypothesisObject(Struct):
    """A hypothesis as JSON has it."""

    text: str | None = None
    words: list[Annotated[str, Meta(min_length=1)]] | None = None
    score: Number | None = None
    logprob: Number | None = None
    logprobs: list[Number | None] | None = None  # of tokens
    num_tokens: Annotated[int, Meta(ge=1, le=LARGEST_WHOLE)] | None = None
    features: dict[str, Number] | None = None
    links: list[tuple[Place, Place]] | None = None
    phrases: list[tuple[Place, Place, Place, Place]] | None = None
    system: str | None = None

    def entry(self) -> Entry:
        """Return the hypothesis of a list; ValueError if it has no text, or two."""
        if (self.text is None) == (self.words is None):
            raise ValueError("a hypothesis needs a string 'text' or a list of strings 'words', not both")
        tokens = [] if self.logprobs is None else [value for value in self.logprobs if value is not None]
        return Entry(
            split_words(self.text) if self.text is not None else self.words or [],
            self.features or {},
            score=self.score,
            logprob=math.fsum(tokens) if tokens else self.logprob,
            num_tokens=len(tokens) or self.num_tokens,
            raw_text=self.text,
            phrases=tuple(PhraseSpan(range(a, b + 1), range(c, d + 1)) for a, b, c, d in self.phrases or ()),
            links=tuple(self.links or ()),
            system=self.system,
        )


class RowObject(HypothesisObject):
    """Toledo's own row: a hypothesis with the id of its segment, or all hypotheses of a segment."""

    id: Annotated[int, Meta(ge=0, le=LARGEST_WHOLE)] | str | UnsetType = UNSET
    hypotheses: list[str | HypothesisObject | None] | UnsetType = UNSET
    scores: list[Number | None] | None = None
    logprobs: list[Any] | None = None


class RowContent(NamedTuple):
    """What a row says: hypotheses of one segment, and for what reasons others are missing, by their places.

    `numbered`: the id is the number of the segment, or left out; `is_key`: it is that of the segment, not of a call;
    `whole`: the row has all hypotheses of its segment; `continues`: it has more of those of the row before.
    """

    entries: list[Entry]
    id: SegmentId | None = None
    extra: Extra = MappingProxyType({})
    failures: Mapping[int, str] = MappingProxyType({})
    numbered: bool = False
    is_key: bool = True
    whole: bool = True
    continues: bool = False


@dataclass(frozen=True)
class ResponseShape:
    """Where a response has its samples, and where a sample has its text: alternatives, tried in this order."""

    samples: str
    texts: tuple[str, ...]
    logprobs: tuple[str, ...] = ()  # of tokens, or of the text
    tokens: str | None = None  # as many as the text has, where its log probability is one number
    id: str = "id"
    id_is_key: bool = False


SHAPES = {  # by the key that has the samples
    "choices": ResponseShape(  # OpenAI: chat and completions
        "choices[]",
        ("message.content", "message.content[].text", "text"),
        ("logprobs.content[].logprob", "logprobs.token_logprobs[]"),
    ),
    "output": ResponseShape(  # OpenAI: responses
        "", ("output[].content[].text",), ("output[].content[].logprobs[].logprob",)
    ),
    "content": ResponseShape("", ("content[].text",)),  # Anthropic: messages
    "outputs": ResponseShape(  # vLLM
        "outputs[]", ("text",), ("cumulative_logprob",), "token_ids[]", "request_id", True
    ),
    "resps": ResponseShape("resps[][]", ("",), id="doc_id", id_is_key=True),  # lm-eval
}
TGI = ResponseShape("", ("generated_text",), ("details.tokens[].logprob",))
TGI_OTHERS = ResponseShape("details.best_of_sequences[]", ("generated_text",), ("tokens[].logprob",))


def content_of(value: Any, fields: Fields) -> RowContent:
    """Return what a row says; ValueError if it cannot be read."""
    if names := fields.get("feature"):
        rest = {kind: paths for kind, paths in fields.items() if kind != "feature"}
        return _with_features(content_of(value, rest), value, names)
    if isinstance(value, list | tuple):
        if len(value) == 1 and isinstance(value[0], Mapping) and "details" in value[0]:  # TGI may answer in an array
            return content_of(value[0], fields)
        entries, failures = _entries(value)
        return RowContent(entries, failures=failures)
    if value is None or isinstance(value, str | int | float):
        raise ValueError("not a JSON object or array")
    if fields:
        return _by_fields(value, {**_usual_fields(value), **fields})
    keys = set(value) if isinstance(value, Mapping) else set()
    if keys & {"hypotheses", "words"} or keys >= {"id", "text"}:
        return _own(value)
    if "custom_id" in keys and keys & {"response", "result", "error"}:
        return _batch(value)
    if isinstance(_get(value, "details"), Mapping):
        first, others = (_response(value, shape, {"details", "generated_text"}) for shape in (TGI, TGI_OTHERS))
        more = {place + 1: reason for place, reason in others.failures.items()} if others.entries else {}
        return first._replace(entries=first.entries + others.entries, failures={**first.failures, **more})
    for key, shape in SHAPES.items():
        items = _get(value, key)
        if isinstance(items, list | tuple) and not any(isinstance(one, str) for one in items):
            return _response(value, shape, {key, shape.id})
    return _by_fields(value, _usual_fields(value))


def _with_features(content: RowContent, row: Any, names: Sequence[str]) -> RowContent:
    """Return hypotheses with features from keys of the row (a number, or a list of them) or of each hypothesis."""
    size = len(content.entries) + len(content.failures)
    places = [place for place in range(size) if place not in content.failures]
    found: dict[str, list[Any]] = {name: _column(row, name, size) for name in names}
    entries = []
    for entry, place in zip(content.entries, places, strict=True):
        numbers = {name: _number(values[place]) for name, values in found.items()}
        known = {**{name: number for name, number in numbers.items() if number is not None}, **entry.features}
        if missing := next((name for name in names if name not in known), None):
            raise InputError(
                f"no number {missing!r} for hypothesis {place}",
                remedy=f'write {{"text": "…", "{missing}": 0.5}}, or a column of this name with a number in each row',
            )
        entries.append(replace(entry, features=known))
    extra = {key: value for key, value in content.extra.items() if key not in names}
    return content._replace(entries=entries, extra=extra)


def _column(row: Any, name: str, size: int) -> list[Any]:
    """Return what a row has under a name for each of its hypotheses; None where there is nothing."""
    value = _values(row, [name], 1)
    if isinstance(value, list):
        if len(value) != size:
            raise ValueError(f"{name} has {len(value)} values for {size} texts")
        return value
    if value is not None and size == 1:
        return [value]
    samples = row if isinstance(row, list | tuple) else _get(row, "hypotheses")
    if isinstance(samples, list | tuple) and len(samples) == size:
        return [next(iter(find(sample, name)), None) if isinstance(sample, Mapping) else None for sample in samples]
    return [None] * size


def _own(row: Mapping[str, Any]) -> RowContent:
    """Read Toledo's own objects."""
    found = convert(row, RowObject)
    name = None if isinstance(found.id, UnsetType) else found.id
    extra = {key: value for key, value in row.items() if key not in RowObject.__struct_fields__}
    numbered = not isinstance(name, str)
    if isinstance(found.hypotheses, UnsetType):
        if name is None:
            raise ValueError("no id, and no list of hypotheses")
        return RowContent([found.entry()], name, extra, numbered=numbered, whole=False)
    entries, failures = _entries(found.hypotheses, found.scores, found.logprobs)
    return RowContent(entries, name, extra, failures, numbered)


def _batch(row: Mapping[str, Any]) -> RowContent:
    """Read a row of a batch of OpenAI or Anthropic: a response, or why there is none."""
    name = _segment_id(row["custom_id"])
    body = next((one for path in ("response.body", "result.message") for one in find(row, path)), None)
    extra = {key: value for key, value in row.items() if key not in ("custom_id", "response", "result", "error")}
    if isinstance(body, Mapping) and body and "error" not in {key for key, value in body.items() if value is not None}:
        try:
            record = content_of(body, {})
        except InputError:  # nothing in it is a text
            record = RowContent([], failures={0: "no text"})
        return record._replace(id=name, is_key=True, numbered=False, whole=True, extra={**record.extra, **extra})
    return RowContent([], name, extra, {0: _reason(row)})


def _reason(row: Any) -> str:
    """Return why a row or sample has no text."""
    texts = [one for path in REASONS for one in find(row, path) if isinstance(one, str) and one]
    return next((one for one in texts if one not in ENDED_WELL), "no text")


def _response(row: Any, shape: ResponseShape, used: set[str]) -> RowContent:
    """Read the samples of a response; those without a text have failed."""
    entries: list[Entry] = []
    failures: dict[int, str] = {}
    samples = find(row, shape.samples)
    for place, sample in enumerate(samples):
        text = next(filter(None, (_joined(find(sample, path)) for path in shape.texts)), None)
        if text is None:
            failures[place] = _reason(sample)
            continue
        values = next(filter(None, (find(sample, path) for path in shape.logprobs)), [])
        logprob, tokens = _log_probability(values)
        if shape.tokens is not None and logprob is not None:
            tokens = len(find(sample, shape.tokens)) or None
        entries.append(Entry(split_words(text), logprob=logprob, num_tokens=tokens, raw_text=text))
    if not samples:
        failures[0] = _reason(row) if _get(row, "error") else "no samples"
    name = _segment_id(_get(row, shape.id))
    return RowContent(entries, name, _others(row, {*used, shape.id}), failures, is_key=shape.id_is_key)


def _segment_id(value: Any) -> SegmentId | None:
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise ValueError(f"the id is {value!r}, expected a string or an integer")


def _usual_fields(row: Any) -> dict[str, tuple[str, ...]]:
    """Return the keys of a row that have usual names."""
    found: dict[str, tuple[str, ...]] = {}
    for kind, names in USUAL.items():
        for name in names.split():
            value = _get(row, name)
            many = isinstance(value, list | tuple)
            expected = kind == "samples" or (kind in ("score", "logprob") and "samples" in found)
            if value is not None and (many == expected or (many and kind == "logprob")):
                found[kind] = (name,)
                break
    texts = found.pop("samples", None)
    return found if texts is None else {**found, "text": texts}


def _by_fields(row: Any, fields: Fields) -> RowContent:
    """Read a row by the keys or paths of its fields; several texts are those of several systems."""
    paths = fields.get("text")
    if paths is None:
        if (error := _get(row, "error")) is not None:
            return RowContent([], failures={0: _reason(row) if isinstance(error, Mapping) else str(error)})
        keys = ", ".join(map(str, row)) if isinstance(row, Mapping) else type(row).__name__
        raise InputError(
            f"no text in a row with the keys {keys}", remedy="name the key of the texts: `fields=text=KEY`"
        )
    texts, scores, logprobs = (_values(row, fields.get(kind, ()), len(paths)) for kind in ("text", "score", "logprob"))
    several = isinstance(texts, list)
    entries, failures = _entries(
        texts if several else [texts],
        scores if several or scores is None else [scores],
        logprobs if several or logprobs is None else [logprobs],
        paths if len(paths) > 1 else (),
    )
    name = _segment_id(_values(row, fields.get("id", ()), 1))
    extra = _others(row, {re.split(r"[.\[]", path)[0] for some in fields.values() for path in some})
    rank = _get(row, "rank")  # mbrs writes a line for each rank
    return RowContent(
        entries, name, extra, failures,
        whole=several or (name is None and rank is None), continues=isinstance(rank, int) and rank > 0,
    )  # fmt: skip


def _values(row: Any, paths: Sequence[str], systems: int) -> Any:
    """Return what a path leads to, a list if it has several values; or what several paths lead to."""
    if len(paths) > 1:
        if len(paths) != systems:
            raise ValueError(f"{len(paths)} fields for {systems} texts")
        return [_values(row, [path], 1) for path in paths]
    if not paths:
        return None
    head, each, rest = paths[0].partition("[]")
    found = next(iter(find(row, head)), None)
    if not each:
        return list(found) if isinstance(found, tuple) else found
    if not isinstance(found, list | tuple):
        raise ValueError(f"{head or 'the row'} is not an array")
    values = [find(item, rest.removeprefix(".")) for item in found]
    if "[]" not in rest:
        return [next(iter(some), None) for some in values]
    return [_joined(some) if some and all(isinstance(one, str) for one in some) else some or None for some in values]


def _entries(
    samples: Sequence[Any],
    scores: Sequence[Any] | None = None,
    logprobs: Sequence[Any] | None = None,
    systems: Sequence[str] = (),
) -> tuple[list[Entry], dict[int, str]]:
    """Return hypotheses, and why others are missing, by their places."""
    for name, values in (("scores", scores), ("logprobs", logprobs)):
        if values is not None and (not isinstance(values, list) or len(values) != len(samples)):
            number = len(values) if isinstance(values, list) else 1
            raise ValueError(f"{name} has {number} values for {len(samples)} texts")
    entries: list[Entry] = []
    failures: dict[int, str] = {}
    for place, sample in enumerate(samples):
        found = _sample(sample)
        if found is None:
            failures[place] = "no text"
            continue
        if scores is not None:
            found.score = _number(scores[place])
        if logprobs is not None:
            found.logprob, found.num_tokens = _log_probability(logprobs[place])
        if systems:
            found.system = systems[place]
        if (scores is not None and found.score is None) or (logprobs is not None and found.logprob is None):
            failures[place] = "no score"
            continue
        entries.append(found.entry())
    return entries, failures


def _sample(sample: Any) -> HypothesisObject | None:
    """Return a sample that is a text or an object; None if it has failed."""
    if isinstance(sample, HypothesisObject):
        return sample
    if sample is None or isinstance(sample, str):
        return None if sample is None else HypothesisObject(sample)
    if not isinstance(sample, Mapping):
        raise ValueError(f"a sample is {sample!r}, expected a text or an object")
    if {"text", "words"} & set(sample):
        return convert(sample, HypothesisObject) if sample.get("text", "") is not None else None
    keys = [key for key in USUAL["text"].split() if key in sample]
    if not keys:
        raise ValueError(f"no text in a sample with the keys {', '.join(map(str, sample))}")
    text = sample[keys[0]]
    if isinstance(text, list) and text and isinstance(text[-1], Mapping):  # a chat, whose last message is the answer
        text = text[-1].get("content")
    score = next((sample[key] for key in USUAL["score"].split() if key in sample), None)
    return HypothesisObject(text, score=_number(score)) if isinstance(text, str) else None


def _number(value: Any) -> float | None:
    """Return a finite number, which tables may have as text."""
    if value is None or isinstance(value, bool):
        return None
    number = parse_number(value) if isinstance(value, str) else value
    if not isinstance(number, int | float) or not abs(number) <= LARGEST:
        raise ValueError(f"{value!r} is not a finite number")
    return float(number)


def _log_probability(value: Any) -> tuple[float | None, int | None]:
    """Return the log probability of a text, and the number of its tokens if there is a number for each."""
    if not isinstance(value, list):
        return _number(value), None
    if len(value) == 1 and isinstance(value[0], list):
        return _log_probability(value[0])
    numbers = [number for number in map(_number, value) if number is not None]
    return (math.fsum(numbers), len(numbers)) if numbers else (None, None)


def find(value: Any, path: str) -> list[Any]:
    """Return all values at a path; nothing where a key is missing or its value is null."""
    found = [value]
    for step in _steps(path):
        if isinstance(step, str):
            found = [_get(one, step) for one in found]
        elif step < 0:
            found = [item for one in found if isinstance(one, list | tuple) for item in one]
        else:
            found = [one[step] for one in found if isinstance(one, list | tuple) and step < len(one)]
        if step != -1:
            found = [one for one in found if one is not None]
    return found


@lru_cache
def _steps(path: str) -> tuple[str | int, ...]:
    """Return keys, places in arrays, and −1 for each item."""
    return tuple(match[2] or int(match[1] or -1) for match in STEP.finditer(path))


def _get(value: Any, key: str) -> Any:
    """Return what a key of an object has, or an attribute of a record such as those of OpenAI's and vLLM's packages."""
    if isinstance(value, Mapping):
        return value.get(key)
    if value is None or isinstance(value, str | int | float | list | tuple):
        return None
    return getattr(value, key, None)


def _joined(values: Iterable[Any]) -> str | None:
    """Return the parts of a text together; None if there are none."""
    parts = [one for one in values if isinstance(one, str)]
    return "".join(parts) if parts else None


def _others(row: Any, used: set[str]) -> dict[str, Any]:
    """Return the keys that have not been read."""
    return {str(key): value for key, value in row.items() if key not in used} if isinstance(row, Mapping) else {}
