"""`toledo import` and `toledo export`: models from and for Moses, and from Docent."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import ModelOutput, Quiet, progress_for, set_up_messages
from toledo.errors import InputError

if TYPE_CHECKING:
    from toledo.progress import Progress

log = logging.getLogger(__name__)


def import_model(
    output: ModelOutput,
    phrase_table: Annotated[Path | None, typer.Option(help="Moses phrase table (.gz).")] = None,
    language_model: Annotated[list[Path] | None, typer.Option(help="Language model (ARPA); may be repeated.")] = None,
    reordering_table: Annotated[Path | None, typer.Option(help="Moses reordering table (.gz).")] = None,
    moses_ini: Annotated[Path | None, typer.Option(help="Take files and weights from here.")] = None,
    docent_config: Annotated[
        Path | None, typer.Option(help="Take models, weights and search from this file of Docent (XML).")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make a model directory from files of Moses or Docent.

    Files given here go before those that a configuration names. Without one, weights are Moses' defaults. A
    configuration of Docent also gives a file for `toledo document translate --config`: MODEL/document.toml.

    **Examples**

        toledo import --phrase-table phrase-table.gz --language-model lm.arpa.gz --output model

        toledo import --moses-ini mert-work/moses.ini --output model

        toledo import --docent-config docent.xml --phrase-table table.gz --language-model lm.arpa --output model
    """
    from toledo.files import require_output_directory
    from toledo.formats import moses_model
    from toledo.model import DESCRIPTION

    set_up_messages(quiet)
    progress = progress_for(quiet)
    require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    if docent_config is not None:
        if moses_ini or reordering_table:
            raise InputError("a configuration of Docent names all models", remedy="leave other configurations out")
        _import_docent(docent_config, phrase_table, language_model or [], output, progress)
        return
    model = moses_model.import_model(phrase_table, language_model or (), reordering_table, moses_ini, progress)
    model.save(output)
    log.info("%s: %d phrase pairs", output, len(model.table))
    log.info("signature: %s", model.signature)


def _import_docent(
    configuration: Path, phrase_table: Path | None, language_models: list[Path], output: Path, progress: Progress
) -> None:
    """A model directory, and beside the model what Docent's search does."""
    from toledo.formats.docent import document_search, import_docent, read_docent_config
    from toledo.search.document.settings import CONFIGURATION, write_configuration

    read = read_docent_config(configuration)
    for note in read.notes:
        log.warning("%s: %s", configuration, note)
    model = import_docent(read, configuration.parent, phrase_table, language_models, progress)
    model.save(output)
    write_configuration(output / CONFIGURATION, document_search(read))
    log.info("%s: %d phrase pairs", output, len(model.table))
    log.info("signature: %s", model.signature)
    log.info("to search as Docent: toledo document translate %s --config %s/%s", output, output, CONFIGURATION)


def export_model(
    model: Annotated[Path, typer.Argument(help="Model directory.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Directory for a complete Moses model.")] = None,
    phrase_table: Annotated[Path | None, typer.Option(help="Write only the phrase table, here.")] = None,
    reordering_table: Annotated[Path | None, typer.Option(help="Write only the reordering table, here.")] = None,
    language_model: Annotated[Path | None, typer.Option(help="Write only the (first) language model, here.")] = None,
    filter_text: Annotated[
        Path | None, typer.Option("--filter", help="Only phrase pairs whose source phrase stands in this text.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a model in Moses' formats: phrase table, reordering table, ARPA, moses.ini.

    **Examples**

        toledo export model --output moses

        toledo export model --phrase-table phrase-table.gz --language-model lm.arpa

        toledo export model --output moses --filter test.de
    """
    from dataclasses import replace

    from toledo.files import require_output_directory
    from toledo.formats import moses_model, moses_table
    from toledo.language_model import arpa
    from toledo.model import Model
    from toledo.phrases.pruning import filter_for
    from toledo.text.corpus import read_sentences

    set_up_messages(quiet)
    progress = progress_for(quiet)
    if not (output or phrase_table or reordering_table or language_model):
        raise InputError("nothing to export", remedy="give --output DIRECTORY, or name a file to write")
    if output:
        require_output_directory(output, moses_model.INI)
    loaded = Model.load(model)
    if filter_text:
        text = read_sentences(filter_text, loaded.source_vocabulary, grow=False)
        loaded = replace(loaded, table=filter_for(loaded.table, text), sparse=None)
    if output:
        moses_model.export_model(loaded, output, progress)
    if phrase_table:
        moses_table.write_phrase_table(phrase_table, loaded.table, progress)
    if reordering_table:
        moses_table.write_reordering_table(reordering_table, loaded.table, progress)
    if language_model:
        if not loaded.language_models:
            raise InputError("the model has no language model", file=model, remedy="export something else")
        arpa.write_arpa(language_model, loaded.language_models[0], loaded.target_vocabulary, progress)
