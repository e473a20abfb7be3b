"""Runs on disk: which kind of run a file tells of, by its content, and what it says."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from toledo.cli.consensus.lists import ToForests
from toledo.combination.combiner import DESCRIPTION as COMBINATION
from toledo.combination.stages import TunedStage
from toledo.consensus.decide import Viterbi
from toledo.consensus.fast_consensus import Consensus
from toledo.errors import InputError
from toledo.files import display_name, read_lines
from toledo.formats.hypotheses import NBestList
from toledo.formats.jsonl import json_problem, read_jsonl
from toledo.formats.nbest import read_nbest
from toledo.reports.documents import Course, Point
from toledo.reports.posteriors import Example, shaded
from toledo.reports.runs import Combination, Documents, Lists, Refining, Run, Samples, TuningRuns
from toledo.reports.scores import Scored, Scores
from toledo.runs.checkpoint import read_run
from toledo.runs.history import History
from toledo.storage import read_toml
from toledo.text.vocabulary import Vocabulary

KNOWN = (
    "give what toledo tune, document tune, refine or combine tune kept in their directories, a --trace of toledo"
    " document translate, results of toledo evaluate --json, --diagnostics of a sampler (JSON), or n-best lists"
)
TRACE = 'write it with toledo document translate --trace: {"document": "…", "step": 0, "score": …, "features": {…}}'
N_BEST = re.compile(r"\s*\d+ \|\|\|")
SEED = re.compile(r"seed-\d+")
SECONDS = "cpu_seconds"  # of a system, beside its scores
SUFFIXES = (".json", ".jsonl", ".nbest", ".gz")


@dataclass(frozen=True)
class Reading:
    """How much of n-best lists to show, and the factor of their scores."""

    examples: int = 5
    scale: float = 1.0


def read_runs(places: Sequence[Path], reading: Reading) -> list[Run]:
    """All runs of files and directories; those of one tuning with several seeds together."""
    found: list[Run] = []
    for place in places:
        if place.is_dir():
            own = [run for file in _files(place) if (run := _known(file, reading, place)) is not None]
            if not own:
                raise InputError("there is no run in this directory", file=place, remedy=KNOWN)
            found += own
        else:
            run = _known(place, reading, place.parent)
            if run is None:
                raise InputError("tells of no run that this command knows", file=place, remedy=KNOWN)
            found.append(run)
    return _told_apart(_joined(found))


def _files(directory: Path) -> list[Path]:
    """What may be a run, by its name; that which tells of the whole lies highest, and comes first."""
    return [
        path
        for path in sorted(directory.rglob("*"), key=lambda path: (len(path.parts), path))
        if path.is_file() and (path.suffix in SUFFIXES or path.name == COMBINATION)
    ]


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Seeds of one tuning become one run, in the place of the first."""
    groups: dict[object, list[Run]] = {}
    for number, run in enumerate(runs):
        groups.setdefault(run.task if isinstance(run, TuningRuns) else number, []).append(run)
    return [_together(own) for own in groups.values()]


def _told_apart(runs: Sequence[Run]) -> list[Run]:
    """Runs of one kind that have the same name get numbers, such as those of directories called alike."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for run in runs:
        seen[run.kind, run.name] += 1
        number = seen[run.kind, run.name]
        found.append(run if number == 1 else replace(run, name=f"{run.name} ({number})"))
    return found


def _together(runs: Sequence[Run]) -> Run:
    seeds = [run for run in runs if isinstance(run, TuningRuns)]
    if len(seeds) < 2:
        return runs[0]
    return TuningRuns(seeds[0].name, tuple(history for one in seeds for history in one.histories))


def _known(file: Path, reading: Reading, place: Path) -> Run | None:
    """What a file tells of, or None where it is something else."""
    name = str(file.relative_to(place)) if file != place else file.name
    if file.name == COMBINATION:
        return _combination(file, name)
    lines = read_lines(file)
    first = next(lines, "")
    if N_BEST.match(first):
        return _lists(read_nbest(file), name, reading)
    if not first.lstrip().startswith("{"):
        return None
    try:
        content = json.loads(first)
    except ValueError:  # an object of several lines
        return _of_object(_json("\n".join(chain([first], lines)), file), file, name)
    if {"document", "step"} <= content.keys():
        return Documents(name, read_trace(file))
    if {"hypotheses", "text", "words"} & content.keys():
        return _lists(read_jsonl(file), name, reading)
    return _of_object(content, file, name)


def _json(text: str, file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", None)
        told = f"not valid JSON: {json_problem(error)}"
        raise InputError(told, file=file, line=line, remedy="write the file again") from None
    return found


def _of_object(content: Mapping[str, Any], file: Path, name: str) -> Run | None:
    """What one object tells of, by its keys."""
    try:
        if content.get("kind") == "tuning":
            return TuningRuns(_place(name, file), (read_run(file, History),))
        if content.get("kind") == "refinement":
            return Refining(_place(name, file), read_run(file, History))
        if {"systems", "signatures"} <= content.keys():
            return scores_of(content, name)
        if {"shares", "weights", "bleu"} <= content.keys():
            return Combination(name, content["shares"], content["weights"], content["bleu"])
        if {"summary", "segments"} <= content.keys():
            return Samples(name, content["summary"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        remedy = "write it again with the same version of toledo"
        raise InputError(f"the file is damaged: {_told(error)}", file=file, remedy=remedy) from None
    return None


def _place(name: str, file: Path) -> str:
    """A history, or a combination, is called by its directory, whatever the seed."""
    place = Path(name).parent
    if SEED.fullmatch(file.parent.name):
        place, file = place.parent, file.parent
    return str(place) if place.name else file.resolve().parent.name


def scores_of(content: Mapping[str, Any], name: str) -> Scores:
    """What `toledo evaluate --json` tells."""
    systems = [_scored(one) for one in content["systems"]]
    return Scores(name, systems, content["signatures"], content.get("test", ""))


def _scored(system: Mapping[str, Any]) -> Scored:
    scores, seconds = system["scores"], system.get(SECONDS)
    return Scored(
        str(system["name"]),
        {name: float(one["score"]) for name, one in scores.items()},
        {name: float(one["p_value"]) for name, one in scores.items() if "p_value" in one},
        float(system["length_ratio"]),
        None if seconds is None else float(seconds),
    )


def _combination(file: Path, name: str) -> Combination:
    stages = read_toml(file).get("stages")
    if not isinstance(stages, list) or not stages:
        raise InputError("is no combination that this version can read", file=file, remedy="tune anew")
    weights = TunedStage.from_table(stages[-1], file).weights
    return Combination(_place(name, file), weights.shares, dict(weights.features), {})


def _lists(lists: Iterator[NBestList], name: str, reading: Reading) -> Lists:
    """The first segments with what is best in each, and what consensus decoding would choose."""
    shown = [some for some in islice(lists, reading.examples) if some.entries]
    forests = ToForests(Vocabulary(), None, False, None)(shown)
    examples = []
    for some, forest in zip(shown, forests, strict=True):
        scores = reading.scale * forest.scores({})
        chosen: dict[tuple[int, ...], list[str]] = {}
        for rule in (Viterbi(), Consensus()):
            chosen.setdefault(tuple(rule.decide(forest, scores).words.tolist()), []).append(rule.name)
        texts = {", ".join(rules): words for words, rules in chosen.items()}
        title = f"Segment {some.segment}: {len(some.entries)} hypotheses"
        examples.append(Example(title, shaded(forest, scores, texts)))
    return Lists(name, examples, reading.scale)


def read_trace(path: str | Path) -> list[Course]:
    """The courses of all documents of a trace."""
    points: dict[str, list[Point]] = {}
    for line, text in enumerate(read_lines(path), start=1):
        try:
            found = json.loads(text)
            features = {name: float(value) for name, value in found["features"].items()}
            bleu = float(found["bleu"]) if "bleu" in found else None
            name, point = str(found["document"]), Point(int(found["step"]), float(found["score"]), features, bleu)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"no state of a document: {_told(error)}", file=path, line=line, remedy=TRACE) from None
        known = points.setdefault(name, [])
        if known and known[-1].step >= point.step:
            raise InputError(f"step {point.step} of {name} comes twice or too late", file=path, line=line, remedy=TRACE)
        known.append(point)
    if not points:
        raise InputError("the file is empty", file=display_name(path), remedy=TRACE)
    return [Course(name, 0, tuple(own)) for name, own in points.items()]


def _told(error: Exception) -> str:
    return f"there is no {error}" if isinstance(error, KeyError) else json_problem(error)
