"""A whole model from a configuration of Docent: a phrase table, language models, weights and limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toledo.errors import InputError
from toledo.formats.arpa import read_arpa
from toledo.formats.docent_config import DocentConfiguration
from toledo.formats.docent_models import DOCUMENT_MODELS
from toledo.formats.document_toml import DocumentConfiguration
from toledo.formats.moses_table import read_phrase_table
from toledo.model import Model, SearchSettings, feature_names
from toledo.progress import Progress, silent
from toledo.vocabulary import Vocabulary
from toledo.weights import Weights

TEXT_TABLE = "give --phrase-table FILE: Moses' text format; the binary tables of Docent cannot be read"
ARPA = "give --language-model FILE: an ARPA file; binary ones cannot be read"


def import_docent(
    configuration: DocentConfiguration,
    base: Path,
    phrase_table: str | Path | None = None,
    language_models: Sequence[str | Path] = (),
    progress: Progress = silent,
) -> Model:
    """A model from a configuration that lies in the directory `base`; files given here go before those it names."""
    said = configuration.models
    table_path = phrase_table or _there(base / said.phrase_table, TEXT_TABLE)
    lm_paths = [*language_models] or [_there(base / path, ARPA) for path in said.language_models]
    if len(lm_paths) != len(said.language_models):
        raise InputError(
            f"{len(lm_paths)} language models, but the configuration has {len(said.language_models)}",
            remedy="repeat --language-model for each of its ngram-models, in their order",
        )
    source, target = Vocabulary(), Vocabulary()
    table = read_phrase_table(table_path, source, target, said.table_features, progress)
    models = tuple(read_arpa(path, target, progress) for path in lm_paths)
    names = feature_names(table, len(models))
    weights = Weights({name: said.weights.get(name, 0.0) for name in names}, frozenset({"oov"}))
    settings = SearchSettings(said.distortion_limit, said.table_limit)
    return Model(table, models, weights, settings, training={"imported": "docent"})


def _there(path: Path, remedy: str) -> Path:
    """Docent's tables are binary, with a name that is not that of any file; most others are elsewhere by now."""
    if not path.is_file():
        raise InputError("no such file, but the configuration of Docent names it", file=path, remedy=remedy)
    return path


def document_search(configuration: DocentConfiguration) -> DocumentConfiguration:
    """What Docent's search does; of the weights those that the model itself does not have."""
    own = {name: value for name, value in configuration.models.weights.items() if name in DOCUMENT_MODELS.values()}
    return DocumentConfiguration(configuration.search, configuration.operations, own)
