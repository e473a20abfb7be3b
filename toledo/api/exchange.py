"""Models from and for Moses, and from Docent."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toledo.api.inputs import Texts
from toledo.errors import InputError
from toledo.files import require_output, require_output_directory
from toledo.formats import moses_model
from toledo.formats.docent import import_docent as read_docent_model
from toledo.formats.docent import read_docent_config
from toledo.formats.moses_table import write_phrase_table, write_reordering_table
from toledo.language_model.arpa import write_arpa
from toledo.model import DESCRIPTION, PhraseModel
from toledo.phrases.pruning import filter_for
from toledo.progress import Progress, silent
from toledo.search.document.settings import CONFIGURATION, options_of, write_options
from toledo.text.corpus import encode_texts

log = logging.getLogger(__name__)


def import_moses(
    ini: str | Path | None = None,
    *,
    phrase_table: str | Path | None = None,
    language_models: Sequence[str | Path] = (),
    reordering_table: str | Path | None = None,
    output: str | Path | None = None,
    progress: Progress = silent,
) -> PhraseModel:
    """Make a model from Moses' files; files given here replace those that a moses.ini names.

    Without a moses.ini, weights are Moses' defaults. With `output`, the model is saved there.
    """
    if output is not None:
        require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    model = moses_model.import_model(phrase_table, language_models, reordering_table, ini, progress)
    _save(model, output)
    return model


def import_docent(
    config: str | Path,
    *,
    phrase_table: str | Path | None = None,
    language_models: Sequence[str | Path] = (),
    output: str | Path | None = None,
    progress: Progress = silent,
) -> PhraseModel:
    """Make a model from a configuration of Docent; with `output`, the settings of its search are saved there, too."""
    if output is not None:
        require_output_directory(output, DESCRIPTION)
    read = read_docent_config(config)
    for note in read.notes:
        log.warning("%s: %s", config, note)
    model = read_docent_model(read, Path(config).parent, phrase_table, language_models, progress)
    _save(model, output)
    if output is not None:
        write_options(Path(output) / CONFIGURATION, "translate", options_of(read.search, read.document_models))
        log.info("settings of Docent's search: %s", Path(output) / CONFIGURATION)
    return model


@dataclass(frozen=True)
class MosesFiles:
    """Where to write parts of a model; None for what is not wanted."""

    phrase_table: Path | None = None
    reordering_table: Path | None = None
    language_model: Path | None = None


def export_moses(
    model: str | Path | PhraseModel,
    output: str | Path | None = None,
    *,
    files: MosesFiles = MosesFiles(),
    filter: Texts | None = None,  # noqa: A002
    progress: Progress = silent,
) -> None:
    """Write a model in Moses' formats: as a directory with moses.ini, or single files.

    With `filter`, texts, only phrase pairs whose source phrase occurs in it are written.
    """
    if output is None and files == MosesFiles():
        raise InputError("nothing to export", remedy="give `output`, or name a file to write")
    if output is not None:
        require_output_directory(output, moses_model.INI)
    for path in (files.phrase_table, files.reordering_table, files.language_model):
        if path is not None:
            require_output(path)
    loaded = model if isinstance(model, PhraseModel) else PhraseModel.load(model)
    if files.language_model is not None and not loaded.language_models:
        raise InputError("the model has no language model", remedy="export something else")
    if filter is not None:
        text = encode_texts(filter, loaded.source_vocabulary, "filter", grow=False)
        loaded = replace(loaded, table=filter_for(loaded.table, text), sparse=None)
    if output is not None:
        moses_model.export_model(loaded, output, progress)
    if files.phrase_table is not None:
        write_phrase_table(files.phrase_table, loaded.table, progress)
    if files.reordering_table is not None:
        write_reordering_table(files.reordering_table, loaded.table, progress)
    if files.language_model is not None:
        write_arpa(files.language_model, loaded.language_models[0], loaded.target_vocabulary, progress)


def _save(model: PhraseModel, output: str | Path | None) -> None:
    if output is not None:
        model.save(output)
        log.info("%s: %d phrase pairs\nsignature: %s", output, len(model.table), model.signature)
