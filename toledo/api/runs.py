"""What tuning and refining have in common: a model, sets of segments with references, and the directory of a run.

OUTPUT/                     the model that a run led to, when it has ended
OUTPUT/run/                 all steps of the run, to continue from
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from toledo.api.inputs import ReferenceTexts, Texts, read_groups, read_texts
from toledo.api.model import Model, load
from toledo.api.pairs import warn_of_doubt
from toledo.errors import InputError
from toledo.files import require_output_directory
from toledo.model import DESCRIPTION, PhraseModel
from toledo.runs.checkpoint import digest, digest_arrays
from toledo.text.corpus import Segment, WrittenWords
from toledo.text.preparation import TOKENIZED, Preparation
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.loop import model_digest

log = logging.getLogger(__name__)

RUN = "run"

Pair: TypeAlias = tuple[Texts, ReferenceTexts]  # sources and references of a development set
ModelOrPath: TypeAlias = Model | PhraseModel | str | Path


def as_model(model: ModelOrPath) -> PhraseModel:
    """Return the phrase model of a user's model, or of a directory."""
    found = load(model) if isinstance(model, str | Path) else model
    return found.phrase_model if isinstance(found, Model) else found


def digest_model(model: ModelOrPath) -> str:
    """Return a short digest of a model or of its directory."""
    if isinstance(model, str | Path):
        return model_digest(Path(model))
    loaded = as_model(model)
    return digest([loaded.signature, digest_arrays(loaded.table.scores)])


def read_set(
    pair: Pair, name: str = "", text: Preparation = TOKENIZED, vocabulary: Vocabulary | None = None
) -> list[Segment]:
    """Return the segments of sources with references; `name` says which set it is, for messages.

    `text` says how texts become words; a `vocabulary` is that of the model, to see whether it knows them.
    """
    argument = f"{name} sources" if name else "sources"
    texts = read_texts(pair[0], argument)
    if not texts:
        raise InputError(f"{argument} is empty", argument=name or "sources", remedy="give one text or more")
    try:
        groups = read_groups(pair[1], texts, argument)
    except InputError as error:
        if not name:
            raise
        message = error.message.replace("references", f"{name} references")
        raise InputError(message, argument=name, segment=error.segment, remedy=error.remedy) from None
    if not warn_of_doubt(text.source, texts, argument, vocabulary):
        warn_of_doubt(text.target, [one for group in groups for one in group], f"{name} references".strip())
    return [
        Segment(number, WrittenWords(text.source.words(source), source), tuple(_reference(text, one) for one in group))
        for number, (source, group) in enumerate(zip(texts, groups, strict=True))
    ]


def _reference(text: Preparation, reference: str) -> WrittenWords:
    return WrittenWords(text.target.words(reference), reference)


def begin_run(output: str | Path | None, resume: bool, model: object = None, marker: str = DESCRIPTION) -> Path | None:
    """Check the directory of a result before the work for it, and return the folder for the steps of the run.

    `marker` is the file that says that the directory is one of this kind, `model` the one that must not be replaced.
    """
    if output is None:
        if resume:
            raise InputError("there is no run to continue", argument="resume", remedy="give `output`")
        return None
    folder = Path(output)
    if isinstance(model, str | Path):
        given, result = Path(model).resolve(), folder.resolve()
        if given.is_relative_to(result) or result.is_relative_to(given):
            raise InputError("the result would replace the given model", file=folder, remedy="choose another `output`")
    require_output_directory(folder, marker, RUN)
    run = folder / RUN
    if run.exists() and not run.is_dir():
        raise InputError("is a file, not a directory", file=run, remedy="choose another `output`")
    if resume and not (run.is_dir() and any(run.iterdir())):
        log.warning("%s: there is nothing to continue, so a new run begins", folder)
    return run


def save_result(model: PhraseModel, output: str | Path | None, **made: Mapping[str, Any]) -> Model:
    """Save the model that a run led to, if there is an `output`, beside the steps of the run; return it for users.

    `made` is what the model keeps about how it was made.
    """
    model = replace(model, training={**model.training, **made})
    if output is None:
        return Model(model)
    model.save(output, RUN)
    log.info("model: %s", output)
    return Model(model, Path(output).name)
