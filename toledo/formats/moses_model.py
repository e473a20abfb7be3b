"""A whole Moses model in and out: phrase table, reordering table, language models, moses.ini."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toledo.errors import InputError
from toledo.files import atomic_directory
from toledo.formats.moses_ini import LanguageModelFile, MosesConfiguration, read_moses_ini, write_moses_ini
from toledo.formats.moses_table import (
    read_phrase_table,
    read_reordering_table,
    write_phrase_table,
    write_reordering_table,
)
from toledo.language_model.arpa import read_arpa, write_arpa
from toledo.language_model.model import LanguageModel
from toledo.model import PhraseModel, SearchSettings, default_weights, feature_names
from toledo.phrases.table import PhraseTable
from toledo.progress import Progress, silent
from toledo.text.vocabulary import Vocabulary
from toledo.weights import Weights

PHRASE_TABLE, REORDERING_TABLE, INI = "phrase-table.gz", "reordering-table.gz", "moses.ini"


def import_model(
    phrase_table: str | Path | None = None,
    language_models: Sequence[str | Path] = (),
    reordering_table: str | Path | None = None,
    moses_ini: str | Path | None = None,
    progress: Progress = silent,
) -> PhraseModel:
    """A model from Moses' files.

    What a moses.ini names is read from where it says (relative to the file itself), unless other files are given here;
    its weights and limits are taken over. Without one, weights are Moses' defaults.
    """
    configuration = read_moses_ini(moses_ini) if moses_ini else MosesConfiguration({})
    base = Path(moses_ini).parent if moses_ini else Path()
    table_path = phrase_table or _beside(base, configuration.phrase_table)
    if table_path is None:
        raise InputError("no phrase table to import", remedy="give a phrase table, or a moses.ini that names one")
    lm_paths = list(language_models) or [base / model.path for model in configuration.language_models]
    reordering_path = reordering_table or _beside(base, configuration.reordering_table)
    if moses_ini:
        _require_files("phrase table", [] if phrase_table else [table_path])
        _require_files("language model", [] if language_models else lm_paths)
        _require_files("reordering table", [reordering_path] if reordering_path and not reordering_table else [])
    source, target = Vocabulary(), Vocabulary()
    names = configuration.table_features if moses_ini else None
    table = read_phrase_table(table_path, source, target, names, progress)
    if reordering_path is not None:
        table = read_reordering_table(reordering_path, table, configuration.reordering_default, progress)
    models = tuple(read_arpa(path, target, progress) for path in lm_paths)
    return PhraseModel(
        table=table,
        language_models=models,
        weights=_weights(configuration, table, models),
        settings=SearchSettings(configuration.distortion_limit, configuration.table_limit)
        if moses_ini
        else SearchSettings(),
        training={"imported": "moses"},
    )


def export_model(model: PhraseModel, directory: str | Path, progress: Progress = silent) -> None:
    """Write a directory that Moses can run: phrase-table.gz, lm.N.arpa.gz, moses.ini, and what else the model has."""
    with atomic_directory(directory, INI) as folder:
        write_phrase_table(folder / PHRASE_TABLE, model.table, progress)
        if model.table.reordering is not None:
            write_reordering_table(folder / REORDERING_TABLE, model.table, progress)
        files = []
        for number, language_model in enumerate(model.language_models):
            name = f"lm.{number}.arpa.gz"
            write_arpa(folder / name, language_model, model.target_vocabulary, progress)
            files.append(LanguageModelFile(Path(name), language_model.order))
        write_moses_ini(folder / INI, moses_configuration(model, Path(PHRASE_TABLE), files, Path(REORDERING_TABLE)))


def moses_configuration(
    model: PhraseModel, phrase_table: Path, language_models: Sequence[LanguageModelFile], reordering_table: Path
) -> MosesConfiguration:
    """The configuration of a model whose files lie there."""
    return MosesConfiguration(
        weights=dict(zip(model.feature_names, model.weights.array(model.feature_names).tolist(), strict=True)),
        phrase_table=phrase_table,
        table_features=model.table.feature_names,
        table_limit=model.settings.table_limit,
        language_models=tuple(language_models),
        reordering_table=None if model.table.reordering is None else reordering_table,
        distortion_limit=model.settings.distortion_limit,
    )


def _beside(base: Path, path: Path | None) -> Path | None:
    return None if path is None else base / path


def _require_files(kind: str, paths: Sequence[str | Path]) -> None:
    """Require the files that a moses.ini names, before any work is done: on most machines they are elsewhere."""
    for path in paths:
        if not Path(path).exists():
            what = " (an ARPA file; Moses' binary ones cannot be read)" if kind == "language model" else ""
            raise InputError("no such file, but the moses.ini names it", file=path, remedy=f"give another {kind}{what}")


def _weights(configuration: MosesConfiguration, table: PhraseTable, models: Sequence[LanguageModel]) -> Weights:
    """Those of the configuration, Moses' defaults for features that it does not have."""
    names = feature_names(table, len(models))
    defaults = default_weights(names)
    if not configuration.weights:
        return defaults
    # A feature that the configuration lacks is not part of that model: it weighs nothing.
    return Weights({name: configuration.weights.get(name, 0.0) for name in names}, defaults.frozen)
