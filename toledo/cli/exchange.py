"""`toledo import` and `export`: files of Moses and Docent; `toledo model`: what is in a model, and more for it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from toledo.cli.messages import print_model, print_result, progress_for
from toledo.cli.options import (
    COMMON,
    Common,
    InterpolateOn,
    LanguageModels,
    OutputDirectory,
    PhraseTables,
    Threads,
    command,
    repeated,
)
from toledo.errors import InputError
from toledo.files import require_output_directory
from toledo.phrases.settings import TableSettings

log = logging.getLogger(__name__)


def import_model(
    *,
    output: OutputDirectory,
    moses_ini: Annotated[Path | None, Parameter(help="Moses configuration to take files and weights from.")] = None,
    docent_config: Annotated[
        Path | None, Parameter(help="Docent configuration (XML) to take models, weights and search from.")
    ] = None,
    phrase_table: Annotated[tuple[Path, ...], repeated("Moses phrase table.")] = (),
    language_model: Annotated[tuple[Path, ...], repeated("Language model (ARPA).")] = (),
    reordering_table: Annotated[Path | None, Parameter(help="Moses reordering table.")] = None,
    common: Common = COMMON,
) -> None:
    """Make a model directory from Moses or Docent files.

    Files given as options replace those named in a configuration. Without a configuration, the weights are Moses'
    defaults. The search settings of a Docent configuration are saved in OUTPUT/document.toml.

    **Examples**

        toledo import --phrase-table phrase-table.gz --language-model lm.arpa.gz -o model
        toledo import --phrase-table in.gz --phrase-table out.gz --language-model lm.arpa.gz -o model
        toledo import --moses-ini mert-work/moses.ini -o model
        toledo import --docent-config docent.xml --phrase-table table.gz --language-model lm.arpa -o model
    """
    if docent_config is not None and (moses_ini or reordering_table):
        raise InputError(
            "a Docent configuration names all models", remedy="leave out --moses-ini and --reordering-table"
        )
    if docent_config is not None and len(phrase_table) > 1:
        raise InputError("a Docent model has one phrase table", remedy="give one, and add others: toledo model add")
    from toledo.api.model import Model
    from toledo.formats.docent import read_docent_config
    from toledo.model import DESCRIPTION
    from toledo.search.document.settings import CONFIGURATION, options_of, write_options

    require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    files: dict[str, Any] = {"language_models": language_model, "progress": progress_for(common)}
    if docent_config is None:
        model = Model.from_moses(moses_ini, phrase_table=phrase_table, reordering_table=reordering_table, **files)
    else:
        model = Model.from_docent(docent_config, phrase_table=phrase_table[0] if phrase_table else None, **files)
    model.save(output)
    log.info("%s: %d phrase pairs\nsignature: %s", output, len(model.phrase_model.table), model.signature)
    if docent_config is not None:
        found = read_docent_config(docent_config)
        write_options(output / CONFIGURATION, "translate", options_of(found.search, found.document_models))
        log.info("settings of Docent's search: %s", output / CONFIGURATION)
    print_model("import", output, model.phrase_model, common)


def export_model(
    model: Annotated[Path, Parameter(help="Model directory.")],
    *,
    output: Annotated[Path | None, Parameter(alias="-o", help="Directory for a complete Moses model.")] = None,
    write_phrase_table: Annotated[Path | None, Parameter(help="File to write the first phrase table to.")] = None,
    write_reordering_table: Annotated[Path | None, Parameter(help="File to write the reordering table to.")] = None,
    write_language_model: Annotated[Path | None, Parameter(help="File to write the first language model to.")] = None,
    filter_text: Annotated[
        Path | None, Parameter(name="--filter", help="Write only phrase pairs whose source phrase occurs in this text.")
    ] = None,
    common: Common = COMMON,
) -> None:
    """Write a model in Moses' formats: phrase table, reordering table, ARPA, moses.ini.

    **Examples**

        toledo export model -o moses
        toledo export model --write-phrase-table phrase-table.gz --write-language-model lm.arpa
        toledo export model -o moses --filter test.de
    """
    from toledo.api.files import export_moses

    export_moses(
        model,
        output,
        phrase_table=write_phrase_table,
        reordering_table=write_reordering_table,
        language_model=write_language_model,
        filter=filter_text,
        progress=progress_for(common),
    )


def model_info(model: Annotated[Path, Parameter(help="Model directory.")], *, common: Common = COMMON) -> None:
    """Print what is in a model: its parts with their numbers of parameters, its weights, and how it was made.

    **Examples**

        toledo model info model
        toledo model info model --json
    """
    from toledo.api.model import load

    print_result("model info", load(model).info(), common)


@command
def add_to_model(
    model: Annotated[Path, Parameter(help="Model directory.")],
    *,
    output: OutputDirectory,
    phrase_table: PhraseTables = (),
    language_model: LanguageModels = (),
    tables: TableSettings,
    interpolate_on: InterpolateOn = None,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Add phrase tables and language models to a model, and write the result as another one.

    Each new score starts with the weight of the same score in the first table; the weight of the language models is
    divided among all of them. Tune the weights after that: `toledo tune`.

    **Examples**

        toledo model add model --phrase-table other-model --language-model other-model -o both
        toledo model add model --phrase-table table.gz --combine-tables back-off --back-off-length 3 -o both
        toledo model add model --phrase-table table.gz --combine-tables linear --interpolate-on dev.de dev.en -o both
    """
    from toledo.api.model import load
    from toledo.model import DESCRIPTION

    require_output_directory(output, DESCRIPTION)
    found = load(model).add(
        phrase_tables=phrase_table,
        language_models=language_model,
        interpolate_on=interpolate_on,
        threads=threads,
        progress=progress_for(common),
        **vars(tables),
    )
    found.save(output)
    log.info("%s: %d phrase pairs\nsignature: %s", output, len(found.phrase_model.table), found.signature)
    print_model("model add", output, found.phrase_model, common)
