"""What `toledo tune` runs: from files and names to tuning sets, and several seeds in a row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toledo.cli.searches import SearchChoice
from toledo.cli.start_weights import Start
from toledo.corpus import Segment, read_segments
from toledo.errors import InputError
from toledo.files import atomic_writer, display_name, read_lines
from toledo.forest import Forest
from toledo.formats.hypotheses import feature_names, to_forest
from toledo.formats.outputs import read_outputs
from toledo.model import DESCRIPTION, Model
from toledo.phrases.sparse import TEMPLATES, sparse_features
from toledo.progress import Progress
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.history import History, spread
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, tune
from toledo.tuning.tuner import Tuner
from toledo.vocabulary import Vocabulary, split_words
from toledo.weights import Weights

SUMMARY = "summary.json"
DIGITS = 4
NO_REFERENCE, ONE_REFERENCE = "there is no reference to tune for", "give --reference FILE, once for each reference"


@dataclass(frozen=True)
class Task:
    """Everything about a tuning but the seed; `tune` is one that needs only settings, a checkpoint and progress."""

    tune: Callable[..., TuningResult]
    settings: LoopSettings
    configuration: Mapping[str, Any]

    def of_files(self, model: Path) -> Task:
        """The same task for this very model."""
        return replace(self, configuration={**self.configuration, "model_files": model_digest(model)})

    def run(self, seed: int, work: Path, resume: bool, progress: Progress) -> TuningResult:
        """One run, kept in a directory of its own."""
        checkpoint = Checkpoint(work / f"seed-{seed}", {**self.configuration, "seed": seed}, resume)
        return self.tune(replace(self.settings, seed=seed), checkpoint=checkpoint, progress=progress)


@dataclass(frozen=True)
class Text:
    """Lines to translate with their references, and a digest of both."""

    segments: Sequence[Segment]
    digest: str

    def searched(self, model: Model, choice: SearchChoice, threads: int | None, progress: Progress) -> TuningSet:
        """A tuning set for a search."""
        sentences = [segment.words for segment in self.segments]

        def search(weights: Weights) -> Sequence[Forest]:
            return choice.search(model.with_weights(weights)).forests(sentences, threads, progress)

        return TuningSet(search, [segment.references for segment in self.segments], str(choice))


def read_text(source: Path, references: Sequence[Path]) -> Text:
    """A text with at least one reference."""
    if not references:
        raise InputError(NO_REFERENCE, remedy=ONE_REFERENCE)
    segments = read_segments(source, references)
    return Text(segments, digest([asdict(segment) for segment in segments]))


def with_sparse(model: Model, templates: str | None, most: int) -> Model:
    """The model with sparse features of the most frequent phrase pairs, words, …, if any are named."""
    if templates is None:
        return model
    names = templates.replace(",", " ").split()
    if unknown := [name for name in names if name not in TEMPLATES]:
        raise InputError(f"no sparse features {unknown[0]!r}", remedy=f"choose from {', '.join(TEMPLATES)}")
    return replace(model, sparse=sparse_features(model.table, [TEMPLATES[name] for name in names], most))


def task_of_lists(
    files: Sequence[str], references: Sequence[Path], tuner: Tuner, settings: LoopSettings, start: Start
) -> Task:
    """Tune on n-best lists of some system: a search that always finds the same, so there is one round."""
    lists = list(read_outputs(files))
    names = feature_names(lists)
    if not names:
        raise InputError(
            "the lists have no features to weigh", file=display_name(files[0]), remedy="write: 0 ||| text ||| lm= -3.5"
        )
    vocabulary = Vocabulary()
    forests = [to_forest(some.entries, names, vocabulary) for some in lists]
    texts = _reference_texts(references, len(lists))
    weights = start.weights(names, None)
    found = [[(entry.words, dict(entry.features)) for entry in some.entries] for some in lists]
    configuration = {**configuration_of(tuner, settings, weights), "lists": digest([found, texts])}
    tuning = TuningSet(lambda _: forests, list(zip(*texts, strict=True)))
    return Task(partial(tune, tuner, weights, tuning), replace(settings, rounds=1), configuration)


def task_of_model(
    model: Model,
    text: Text,
    held_out: Text | None,
    tuner: Tuner,
    settings: LoopSettings,
    start: Start,
    choice: SearchChoice,
    progress: Progress,
) -> Task:
    """Tune a model with a search."""
    sparse = model.sparse.names if model.sparse else ()
    weights = start.weights(
        model.feature_names, model.weights, lambda some: choice.with_weights(model.with_weights(some)).weights, sparse
    )
    tuning = text.searched(model, choice, settings.threads, progress)
    other = None if held_out is None else held_out.searched(model, choice, settings.threads, progress)
    configuration = {
        **configuration_of(tuner, settings, weights),
        **configuration_of_model(model, asdict(choice), text, held_out),
    }
    return Task(partial(tune, tuner, weights, tuning, held_out=other), settings, configuration)


def configuration_of_model(
    model: Model, search: Mapping[str, Any], text: Text, held_out: Text | None
) -> dict[str, Any]:
    """What a result depends on where a model is searched."""
    return {
        "model": model.signature,
        "sparse": digest(model.sparse.names if model.sparse else ()),
        "search": search,
        "text": text.digest,
        "held_out": held_out.digest if held_out else None,
    }


def configuration_of(tuner: object, settings: LoopSettings, start: Weights) -> dict[str, Any]:
    """What a result depends on, whatever is tuned; the number of rounds may grow and threads do not matter."""
    return {
        "tuner": repr(tuner),
        "metric": settings.metric.name,
        "rule": repr(settings.rule),
        "scale": settings.scale,
        "n_best": settings.n_best,
        "density": settings.density,
        "patience": settings.patience,
        "start": digest(start.to_table()),
        "version": version("toledo-mt"),
    }


def _reference_texts(files: Sequence[Path], segments: int) -> list[list[tuple[str, ...]]]:
    if not files:
        raise InputError(NO_REFERENCE, remedy=ONE_REFERENCE)
    texts = [[tuple(split_words(line)) for line in read_lines(file)] for file in files]
    for file, lines in zip(files, texts, strict=True):
        if len(lines) != segments:
            raise InputError(
                f"{len(lines)} lines for {segments} segments of the lists",
                file=file,
                remedy="give a line for each segment",
            )
    return texts


def model_digest(model: Path) -> str:
    """A short name for a model directory: its description lists the digests of all its arrays."""
    return digest((model / DESCRIPTION).read_text(encoding="utf-8"))


def digest(content: object) -> str:
    """A short name for some content."""
    return hashlib.sha256(json.dumps(content, ensure_ascii=False).encode()).hexdigest()[:16]


def best_run(results: Sequence[TuningResult]) -> TuningResult:
    """The run with the best score, of equal ones the first."""
    sign = 1.0 if results[0].history.higher_is_better else -1.0
    return max(results, key=lambda result: sign * result.history.best_score)


def summarise(histories: Sequence[History]) -> dict[str, Any]:
    """Several runs in a table, and how far apart they are (σ of a sample)."""
    rows = [
        {
            "seed": one.seed,
            "rounds": len(one.rounds),
            "best_round": one.best,
            "start": one.start_score,
            "tuning": _tuning_score(one),
            "held_out": None if one.start_held_out is None else one.best_score,
            "cpu_seconds": one.seconds,
            "stopped": one.stopped,
        }
        for one in histories
    ]
    spreads = {"tuning": spread([_tuning_score(one) for one in histories])}
    if histories[0].start_held_out is not None:
        spreads["held_out"] = spread([one.best_score for one in histories])
    return {
        "tuner": histories[0].tuner,
        "metric": histories[0].metric,
        "runs": rows,
        "spread": {name: asdict(one) for name, one in spreads.items()},
        "deviation": "of a sample (n - 1)",
    }


def _tuning_score(history: History) -> float:
    return history.rounds[history.best - 1].after if history.best else history.start_score


def summary_json(summary: Mapping[str, Any], indent: int | None = None) -> str:
    """A summary as JSON. Only here are its numbers rounded: rounded twice, they would differ from what was printed."""
    return json.dumps(_rounded(summary), indent=indent, ensure_ascii=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write a summary atomically."""
    with atomic_writer(path) as stream:
        stream.write(summary_json(summary, indent=1) + "\n")
