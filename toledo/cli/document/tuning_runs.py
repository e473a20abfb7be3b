"""What `toledo document tune` does between options and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toledo.cli.common import tell_if_new
from toledo.cli.document.options import feature_name
from toledo.cli.document.running import space_digest
from toledo.cli.document.runs import document_models
from toledo.errors import InputError
from toledo.formats.documents import read_documents
from toledo.model import Model
from toledo.progress import Progress
from toledo.runs.checkpoint import Checkpoint
from toledo.text.corpus import Document
from toledo.tuning.documents.ranking import DocumentPRO
from toledo.tuning.documents.tune import DocumentGradient, DocumentTask, DocumentTuning, tune_documents
from toledo.tuning.initial import Initial, with_frozen, with_sparse
from toledo.tuning.loop import model_digest

Files = tuple[str, Sequence[str], Path | None]  # source, references, document ids


@dataclass(frozen=True)
class Choices:
    """The options that a result depends on."""

    method: DocumentPRO | DocumentGradient
    initial: str
    frozen: Sequence[str] | None
    models: Mapping[str, float]
    space: Path | None
    sparse: Sequence[str]
    sparse_features: int
    seed: int


def run(
    choices: Choices,
    directory: Path,
    texts: tuple[Files, Files | None],
    work: Path,
    resume: bool,
    threads: int,
    progress: Progress,
) -> tuple[DocumentTuning, Model]:
    """Tune; gives the model with its sparse features, too."""
    documents, other = (None if one is None else _documents(one) for one in texts)
    model = with_sparse(Model.load(directory), choices.sparse, choices.sparse_features)
    added = {feature_name(name): value for name, value in choices.models.items()}
    models = document_models([*added], choices.space, model)
    task = DocumentTask(model, documents or (), models, other, choices.seed, threads)
    weights = Initial(choices.initial).weights(
        model.feature_names,
        model.weights,
        lambda some: replace(some, values_by_name={**added, **some}),
        model.sparse.names if model.sparse else (),
    )
    if choices.frozen is not None:
        weights = with_frozen(weights, choices.frozen)
    start = task.start(choices.method, weights, [*added])
    configuration = {
        **task.configuration(choices.method, start),
        "model": model_digest(directory),
        "semantic_space": choices.space and space_digest(choices.space),
    }
    tell_if_new(work, resume)
    checkpoint = Checkpoint(work / f"seed-{choices.seed}", configuration, resume)
    return tune_documents(task, start, choices.method, checkpoint, progress), model


def _documents(files: Files) -> list[Document]:
    found = list(read_documents(files[0], files[1], files[2]).documents)
    if not any(word for document in found for part in document.segments for text in part.references for word in text):
        raise InputError(
            "each segment has an empty reference", remedy="check that the references belong to this source file"
        )
    return found
