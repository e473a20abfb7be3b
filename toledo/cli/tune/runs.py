"""What `toledo tune` runs: from files and names to tuning sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from toledo.cli.translate.sampling import SamplingChoice
from toledo.cli.translate.searches import SearchChoice
from toledo.cli.tune.tuners import OF_LISTS, ObjectiveName, TunerOptions
from toledo.errors import InputError
from toledo.files import display_name, read_segment_lines
from toledo.formats.hypotheses import feature_names, to_forest
from toledo.formats.list_files import guess_format, read_outputs
from toledo.model import Model
from toledo.progress import Progress
from toledo.runs.checkpoint import KIND, digest, plain
from toledo.search.gibbs.search import GibbsSettings
from toledo.text.corpus import Segment, read_segments
from toledo.text.vocabulary import Vocabulary, split_words
from toledo.tuning.initial import Initial
from toledo.tuning.loop import LoopSettings, TuningSet, TuningTask, configuration_of, digest_segments, tune
from toledo.tuning.minimum_risk.trainer import COOLING, MinimumRisk
from toledo.tuning.minimum_risk.training import SegmentSource, train
from toledo.tuning.tuner import Tuner
from toledo.weights import Weights

NO_REFERENCE, ONE_REFERENCE = "there is no reference to tune for", "give --reference FILE, once for each reference"
MOSES_FEATURES = "0 ||| text ||| lm= -3.5"
JSON_FEATURES = '{"id": 0, "text": "text", "features": {"lm": -3.5}}'

Texts = tuple[Sequence[Segment], Sequence[Segment] | None]  # to tune on, and to choose the best round by


def named_trainer(name: ObjectiveName, options: TunerOptions) -> MinimumRisk:
    """The trainer for one of the two expected BLEUs; nothing else can be trained by samples."""
    if name not in OF_LISTS:
        listed = " or ".join(sorted(one.value for one in OF_LISTS))
        raise InputError(
            f"{name.value} does not work by samples", remedy=f"with --search gibbs give --objective {listed}"
        )
    given = options.given(name)
    if "optimiser" in given:
        raise InputError(
            "--optimiser: samples are noisy, so they have an optimiser of their own", remedy="leave --optimiser out"
        )
    if "annealing" in given:
        given["annealing"] = COOLING
    objective: Any = name.value
    return MinimumRisk(objective, **given)


def read_text(source: Path, references: Sequence[Path]) -> Sequence[Segment]:
    """A text with at least one reference."""
    if not references:
        raise InputError(NO_REFERENCE, remedy=ONE_REFERENCE)
    return read_segments(source, references)


def read_texts(
    source: Path, references: Sequence[Path], held_out: Path | None, held_out_references: Sequence[Path]
) -> Texts:
    """The text to tune on, and that to choose the best round by if there is one."""
    if held_out_references and not held_out:
        raise InputError("references of a held-out set without its text", remedy="give --held-out-source FILE")
    if held_out and not held_out_references:
        raise InputError("there is no reference of the held-out set", remedy="give --held-out-reference FILE")
    return read_text(source, references), read_text(held_out, held_out_references) if held_out else None


def task_of_lists(
    files: Sequence[str], references: Sequence[Path], tuner: Tuner, settings: LoopSettings, start: Initial
) -> TuningTask:
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
        **configuration_of(tuner, settings, weights),
        "lists": digest(found),
        "references": digest(texts),
    }
    tuning = TuningSet(lambda _: forests, list(zip(*texts, strict=True)))
    return TuningTask(partial(tune, tuner, weights, tuning), replace(settings, rounds=1), configuration)


def task_of_model(
    model: Model, texts: Texts, tuner: Tuner, settings: LoopSettings, start: Initial, choice: SearchChoice,
    progress: Progress,
) -> TuningTask:  # fmt: skip
    """Tune a model with a search."""
    choice.tell(model)
    sparse = model.sparse.names if model.sparse else ()
    weights = start.weights(
        model.feature_names, model.weights, lambda some: choice.with_weights(model.with_weights(some)).weights, sparse
    )

    def search(own: Weights) -> Any:
        return choice.search(model.with_weights(own))

    def searched(some: Sequence[Segment]) -> TuningSet:
        return TuningSet.searched(some, search, str(choice), settings.threads, progress)

    tuning, other = searched(texts[0]), None if texts[1] is None else searched(texts[1])
    configuration = {**_configuration(model, plain(choice), texts), **configuration_of(tuner, settings, weights)}
    return TuningTask(partial(tune, tuner, weights, tuning, held_out=other), settings, configuration)


def task_of_samples(
    model: Model, texts: Texts, trainer: MinimumRisk, settings: LoopSettings, start: Initial, sampling: SamplingChoice,
    progress: Progress,
) -> TuningTask:  # fmt: skip
    """Train a model by samples; the scale is 1, for sharpness is learnt."""
    weights = start.weights(model.feature_names, model.weights, sparse=model.sparse.names if model.sparse else ())
    gibbs = GibbsSettings(sampling.iterations, sampling.chains, sampling.burn_in, seed=sampling.seed)
    how = {name: getattr(sampling, name) for name in ("chains", "iterations", "burn_in")}
    search = {KIND: "gibbs", **how}
    configuration = {**_configuration(model, search, texts), **configuration_of(trainer, settings, weights)}
    source = SegmentSource.gibbs(model, texts[0], gibbs, texts[1], settings.threads, progress)
    return TuningTask(partial(train, trainer, weights, source), settings, configuration)


def _configuration(model: Model, search: dict[str, Any], texts: Texts) -> dict[str, Any]:
    """What a result depends on where a model is searched."""
    return {
        "model": model.signature,
        "features": digest(model.sparse.names if model.sparse else ()),
        "search": search,
        **digest_segments(texts[0]),
        **(digest_segments(texts[1], "dev_") if texts[1] else {}),
    }


def _reference_texts(files: Sequence[Path], segments: int) -> list[list[tuple[str, ...]]]:
    if not files:
        raise InputError(NO_REFERENCE, remedy=ONE_REFERENCE)
    return [[tuple(split_words(line)) for line in read_segment_lines(file, segments)] for file in files]
