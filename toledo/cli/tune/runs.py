"""What `toledo tune` runs: from files and names to tuning sets, and several seeds in a row."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from toledo.cli.translate.searches import SearchChoice
from toledo.cli.tune.start_weights import Start
from toledo.errors import InputError
from toledo.files import display_name, read_segment_lines
from toledo.forest.forest import Forest
from toledo.formats.hypotheses import feature_names, to_forest
from toledo.formats.list_files import guess_format, read_outputs
from toledo.model import DESCRIPTION, Model
from toledo.phrases.sparse import TEMPLATES, sparse_features
from toledo.progress import Progress
from toledo.resumption import Marks, digest, mark, plain
from toledo.text.corpus import Segment, read_segments
from toledo.text.vocabulary import Vocabulary, split_words
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, tune
from toledo.tuning.tuner import Tuner
from toledo.weights import Weights

log = logging.getLogger(__name__)

NO_REFERENCE, ONE_REFERENCE = "there is no reference to tune for", "give --reference FILE, once for each reference"
MOSES_FEATURES = "0 ||| text ||| lm= -3.5"
JSON_FEATURES = '{"id": 0, "text": "text", "features": {"lm": -3.5}}'


@dataclass(frozen=True)
class Task:
    """Everything about a tuning but the seed; `tune` is one that needs only settings, a checkpoint and progress."""

    tune: Callable[..., TuningResult]
    settings: LoopSettings
    configuration: Mapping[str, Any]

    def of_files(self, model: Path) -> Task:
        """The same task for this very model."""
        return replace(self, configuration={**self.configuration, "MODEL": [[str(model), model_digest(model)]]})

    def run(self, seeds: Sequence[int], work: Path, resume: bool, progress: Progress) -> list[TuningResult]:
        """A run for each seed, kept in a directory of its own."""
        try:
            return [self._run(seed, work / f"seed-{seed}", resume, progress) for seed in seeds]
        except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or SIGTERM
            log.warning("interrupted; go on after the last complete round: give the same command with --resume")
            raise

    def _run(self, seed: int, directory: Path, resume: bool, progress: Progress) -> TuningResult:
        checkpoint = Checkpoint(directory, {**self.configuration, "seed": seed}, resume)
        return self.tune(replace(self.settings, seed=seed), checkpoint=checkpoint, progress=progress)


@dataclass(frozen=True)
class Text:
    """Lines to translate with their references, and the files that they are from."""

    segments: Sequence[Segment]
    source: Path
    references: Sequence[Path]

    def marks(self, prefix: str = "--") -> dict[str, Marks]:
        """Of the files, by the options that name them."""
        texts = zip(*(segment.references for segment in self.segments), strict=True)
        pairs = zip(self.references, texts, strict=False)  # no text has no references
        return {
            f"{prefix}source": mark(self.source, [segment.words for segment in self.segments]),
            f"{prefix}reference": [one for file, text in pairs for one in mark(file, text)],
        }

    def searched(self, model: Model, choice: SearchChoice, threads: int | None, progress: Progress) -> TuningSet:
        """A tuning set for a search."""
        sentences = [segment.words for segment in self.segments]

        def search(weights: Weights) -> Sequence[Forest]:
            return choice.search(model.with_weights(weights)).forests(sentences, threads, progress)

        return TuningSet(search, [segment.references for segment in self.segments], str(choice))


Texts = tuple[Text, Text | None]  # to tune on, and to choose the best round by


def read_text(source: Path, references: Sequence[Path]) -> Text:
    """A text with at least one reference."""
    if not references:
        raise InputError(NO_REFERENCE, remedy=ONE_REFERENCE)
    return Text(read_segments(source, references), source, references)


def read_texts(
    source: Path, references: Sequence[Path], held_out: Path | None, held_out_references: Sequence[Path]
) -> Texts:
    """The text to tune on, and that to choose the best round by if there is one."""
    if held_out_references and not held_out:
        raise InputError("references of a held-out set without its text", remedy="give --held-out-source FILE")
    if held_out and not held_out_references:
        raise InputError("there is no reference of the held-out set", remedy="give --held-out-reference FILE")
    return read_text(source, references), read_text(held_out, held_out_references) if held_out else None


def load_model(directory: Path, templates: str | None, most: int) -> Model:
    """The model to tune, with sparse features if any are named."""
    return with_sparse(Model.load(directory), templates, most)


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
    form = guess_format(files[0])  # standard input cannot be looked at afterwards
    lists = list(read_outputs(files))
    names = feature_names(lists)
    if not names:
        remedy = f"write: {JSON_FEATURES if form == 'jsonl' else MOSES_FEATURES}"
        raise InputError("the lists have no features to weigh", file=display_name(files[0]), remedy=remedy)
    vocabulary = Vocabulary()
    forests = [to_forest(some.entries, names, vocabulary) for some in lists]
    texts = _reference_texts(references, len(lists))
    weights = start.weights(names, None)
    found = [[(entry.words, dict(entry.features)) for entry in some.entries] for some in lists]
    configuration = {
        **configuration_of(tuner, settings, start, weights),
        "--n-best-lists": mark(", ".join(files), found),
        "--reference": [one for file, text in zip(references, texts, strict=True) for one in mark(file, text)],
    }
    tuning = TuningSet(lambda _: forests, list(zip(*texts, strict=True)))
    return Task(partial(tune, tuner, weights, tuning), replace(settings, rounds=1), configuration)


def task_of_model(
    model: Model,
    texts: Texts,
    tuner: Tuner,
    settings: LoopSettings,
    start: Start,
    choice: SearchChoice,
    progress: Progress,
) -> Task:
    """Tune a model with a search."""
    choice.tell(model)
    text, held_out = texts
    sparse = model.sparse.names if model.sparse else ()
    weights = start.weights(
        model.feature_names, model.weights, lambda some: choice.with_weights(model.with_weights(some)).weights, sparse
    )
    tuning = text.searched(model, choice, settings.threads, progress)
    other = None if held_out is None else held_out.searched(model, choice, settings.threads, progress)
    configuration = {
        **configuration_of_model(model, plain(choice), texts),
        **configuration_of(tuner, settings, start, weights),
    }
    return Task(partial(tune, tuner, weights, tuning, held_out=other), settings, configuration)


def configuration_of_model(model: Model, search: Mapping[str, Any], texts: Texts) -> dict[str, Any]:
    """What a result depends on where a model is searched."""
    text, held_out = texts
    names = model.sparse.names if model.sparse else ()
    return {
        "--sparse": mark(f"{len(names)} features", names),
        "--search": search,
        **text.marks(),
        **(held_out.marks("--held-out-") if held_out else {}),
    }


def configuration_of(tuner: object, settings: LoopSettings, start: Start, weights: Weights) -> dict[str, Any]:
    """What a result depends on, whatever is tuned; the number of rounds may grow and threads do not matter."""
    return {
        "--objective": plain(tuner),
        "--metric": settings.metric.name,
        "--decide": plain(settings.rule),
        "--scale": settings.scale,
        "--n-best-size": settings.n_best,
        "--density": settings.density,
        "--patience": settings.patience,
        "--frozen": ", ".join(sorted(weights.frozen)),
        "--initial": mark(start.initial, weights.to_table()),
        "version of Toledo": version("toledo-mt"),
    }


def _reference_texts(files: Sequence[Path], segments: int) -> list[list[tuple[str, ...]]]:
    if not files:
        raise InputError(NO_REFERENCE, remedy=ONE_REFERENCE)
    return [[tuple(split_words(line)) for line in read_segment_lines(file, segments)] for file in files]


def model_digest(model: Path) -> str:
    """A short name for a model directory: its description lists the digests of all its arrays."""
    return digest((model / DESCRIPTION).read_text(encoding="utf-8"))
