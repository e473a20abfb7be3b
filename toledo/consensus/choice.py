"""What was chosen for a segment, or for many, and how sure the choice is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

from toledo.consensus.votes import SystemVotes
from toledo.files import atomic_writer
from toledo.results import Result, TableResult, plain, table


@dataclass(frozen=True)
class Ranked(Result):
    """A distinct text: `index` of its first sample, `count` of its samples, expected score, probability."""

    text: str
    index: int
    count: int
    score: float
    probability: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Choice(Result):
    """The chosen text; `index` is that of the first sample with this text, None if there was no sample.

    `confidence` is the probability that the choice beats the second in expectation, from the mean and the variance of
    their differences over the references. It says how stable the choice is under other samples, not how good it is.
    """

    text: str
    index: int | None = None
    score: float | None = None
    confidence: float | None = None
    margin: float | None = None
    ranking: tuple[Ranked, ...] = field(default=(), repr=False)
    rule: str = "mbr"
    metric: str | None = None
    scale: float = 1.0
    segment: int = 0
    num_samples: int = 0
    sign: str = field(default="", repr=False)
    system: str | None = None  # whose text it is, where samples come from named systems
    id: int | str | None = None  # of the segment, where its list has one
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)  # the other keys of its list
    num_calls: int = 0  # pairs of texts that the metric compared

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the choice was made."""
        return self.sign

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        numbers = [("score", self.score), ("confidence", self.confidence)]
        known = "".join(f", {name}={value:.2f}" for name, value in numbers if value is not None)
        return f"Choice({self.text!r}, index={self.index}{known})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that the command line writes as JSON."""
        names = ("segment", "text", "index", "score", "confidence", "margin")
        found = {name: plain(getattr(self, name)) for name in names}
        for name in ("system", "id"):
            if getattr(self, name) is not None:
                found[name] = getattr(self, name)
        if self.extra:
            found["extra"] = dict(self.extra)
        return {**found, "num_calls": self.num_calls, "ranking": plain(self.ranking), "signature": self.signature}

    def show(self) -> None:
        """Print the ranking."""
        print(self.table())

    def table(self) -> str:
        """Return the ranking as a table."""
        header = ["rank", "index", "count", f"expected {self.metric}" if self.metric else "value", "p", "text"]
        rows = [
            [str(rank), str(one.index), str(one.count), f"{one.score:.2f}", f"{one.probability:.3f}", one.text]
            for rank, one in enumerate(self.ranking, start=1)
        ]
        return "\n".join(table([header, *rows], left=[4, 5]))


@dataclass(frozen=True)
class Choices(TableResult, Sequence[Choice]):
    """The choices of many segments, in order."""

    choices: tuple[Choice, ...]
    votes: SystemVotes | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.choices)

    @overload
    def __getitem__(self, place: int) -> Choice: ...
    @overload
    def __getitem__(self, place: slice) -> Choices: ...
    def __getitem__(self, place: int | slice) -> Choice | Choices:
        return self.choices[place] if isinstance(place, int) else Choices(self.choices[place], self.votes)

    def __iter__(self) -> Iterator[Choice]:
        return iter(self.choices)

    @property
    def texts(self) -> list[str]:
        """The chosen texts."""
        return [one.text for one in self.choices]

    @property
    def indices(self) -> list[int | None]:
        """The place of each choice among its samples."""
        return [one.index for one in self.choices]

    @property
    def scores(self) -> list[float | None]:
        """The expected scores."""
        return [one.score for one in self.choices]

    @property
    def confidences(self) -> list[float | None]:
        """How sure each choice is."""
        return [one.confidence for one in self.choices]

    @property
    def num_calls(self) -> int:
        """How many pairs of texts the metric compared."""
        return sum(one.num_calls for one in self.choices)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the first choice was made."""
        return next((one.signature for one in self.choices if one.signature), "")

    @property
    def systems(self) -> dict[str, int]:
        """How many texts of each system were chosen; empty unless samples come from named systems."""
        counts = {one.system: 0 for one in self.votes.votes} if self.votes is not None else {}
        for choice in self.choices:
            if choice.system is not None:
                counts[choice.system] = counts.get(choice.system, 0) + 1
        return counts

    def unsure(self, below: float = 0.6) -> list[Choice]:
        """Return the choices with a lower confidence."""
        return [one for one in self.choices if one.confidence is not None and one.confidence < below]

    def write(self, path: Path | str) -> None:
        """Write one line for each segment: texts, or JSON if the name of the file ends in `.jsonl`."""
        with atomic_writer(path) as stream:
            for one in self.choices:
                stream.write(json_line(one) if str(path).endswith(".jsonl") else " ".join(one.text.splitlines()) + "\n")

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each segment."""
        optional = [name for name in ("system", "id") if any(getattr(one, name) is not None for one in self.choices)]
        names = ("segment", "text", "index", "score", "confidence", "margin", *optional)
        return [{name: getattr(one, name) for name in names} for one in self.choices]

    def to_dict(self) -> dict[str, Any]:
        """Return all choices."""
        found: dict[str, Any] = {"choices": [one.to_dict() for one in self.choices]}
        if self.votes is not None:
            found |= {"votes": self.votes.to_dict(), "systems": self.systems}
        return {**found, "signature": self.signature}

    def __str__(self) -> str:
        samples = sum(one.num_samples for one in self.choices)
        made = next((one for one in self.choices if one.score is not None), None)
        if made is None:
            return f"{len(self)} segments, no samples"
        metric = f", metric {made.metric}" if made.metric else ""
        segments = f"{len(self)} segment{'s' if len(self) != 1 else ''}"
        counted = f", {samples} samples" if samples else ""  # forests have none
        lines = [f"{segments}{counted}, rule {made.rule}{metric}"]
        if made.metric:
            known = [one for one in self.scores if one is not None]
            unsure = len(self.unsure())
            count = f"{unsure} segment{'s' if unsure != 1 else ''}"
            lines.append(f"mean expected {made.metric} {sum(known) / len(known):.2f}; confidence below 0.6: {count}")
        if self.votes is not None:
            lines += [str(self.votes), chosen_systems(self.systems)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Choices({len(self)} segments)"


def chosen_systems(counts: Mapping[str, int]) -> str:
    """Say whose texts were chosen, most often first."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return "chosen: " + ", ".join(f"{name} {count}" for name, count in ranked)


def json_line(result: Result) -> str:
    """Return a result as one line of JSON."""
    return json.dumps(result.to_dict(), ensure_ascii=False) + "\n"
