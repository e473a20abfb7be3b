"""`toledo train`, `align`, `translate`, `import` and `export`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from toledo.cli.messages import json_lines, milestones, print_model, progress_for, require_apart
from toledo.cli.options import COMMON, Common, Output, OutputDirectory, Scale, Search, Seed, Threads, command, repeated
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_output, require_output_directory, write_lines
from toledo.formats.settings import TranslationFiles
from toledo.phrases.settings import Symmetrization, TrainSettings
from toledo.progress import silent

if TYPE_CHECKING:
    from toledo.api.files import Pairs
    from toledo.api.inputs import Texts

log = logging.getLogger(__name__)

Source = Annotated[Path | None, Parameter(alias="-s", help="Source text, one tokenized sentence per line.")]
Target = Annotated[Path | None, Parameter(alias="-t", help="Target text, line by line the translation of the source.")]
PairsFile = Annotated[
    Path | None, Parameter(name="--pairs", help="Sentence pairs instead: TSV, or JSON lines in a file named .jsonl.")
]


@command
def train(
    *,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    output: OutputDirectory,
    alignment: Annotated[
        Path | None, Parameter(help="Word alignments (Pharaoh format) to use instead of aligning words.")
    ] = None,
    lm_text: Annotated[Path | None, Parameter(help="Text to estimate the language model from.")] = None,
    language_model: Annotated[tuple[Path, ...], repeated("Language model to use as it is: ARPA, or a directory.")] = (),
    settings: TrainSettings,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Train a phrase-based model: word alignment, phrase table, language model.

    **Examples**

        toledo train -s train.de -t train.en -o model
        toledo train -s train.de -t train.en --alignment links --lm-order 5 --reordering -o model
        toledo train --pairs train.tsv --aligner hmm:iterations_hmm=8 -o model
    """
    from toledo.api.train import train

    model = train(
        *_corpus(source, target, pairs),
        **vars(settings),
        alignments=alignment,
        lm_text=lm_text,
        language_models=language_model,
        output=output,
        threads=threads,
        progress=progress_for(common),
    )
    print_model("train", output, model.phrase_model, common)


def align(
    *,
    source: Source = None,
    target: Target = None,
    pairs: PairsFile = None,
    output: Output = STANDARD_STREAM,
    aligner: Annotated[
        str, Parameter(help="Aligner: hmm, ibm1, or eflomal (an extra), also with settings: hmm:iterations_hmm=8.")
    ] = "hmm",
    symmetrize: Annotated[
        Symmetrization, Parameter(help="Method to join the word alignments of both directions.")
    ] = "grow-diag-final-and",
    write_lexicons: Annotated[
        Path | None, Parameter(help="Directory for the lexicons of IBM Model 1: lex.f2e.gz and lex.e2f.gz.")
    ] = None,
    write_aligner: Annotated[
        Path | None, Parameter(help="Directory for the trained aligner, to align other text with it later.")
    ] = None,
    load: Annotated[
        Path | None, Parameter(help="Aligner that was written before: use it instead of training one.")
    ] = None,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Align the words of sentence pairs: a line of links `source-target` for each pair (Pharaoh format).

    **Examples**

        toledo align -s train.de -t train.en > links
        toledo align -s train.de -t train.en --symmetrize intersection -o links.gz
        toledo align -s train.de -t train.en --aligner hmm:iterations_ibm1=8,iterations_hmm=3 --write-lexicons lexicons
        toledo align -s train.de -t train.en --write-aligner aligner > links
        toledo align -s new.de -t new.en --load aligner > new.links
    """
    require_apart(output, source, target, pairs)
    require_output(output)
    from toledo.api.align import Aligner, align, alignment_training, require_kept

    corpus = _corpus(source, target, pairs)
    if write_aligner is not None:
        require_kept(alignment_training(aligner, symmetrize))
        Aligner.require_output(write_aligner)
    if load is None:
        progress = progress_for(common)
        found = align(*corpus, aligner=aligner, symmetrize=symmetrize, threads=threads, progress=progress)
    elif write_aligner or (aligner, symmetrize) != ("hmm", "grow-diag-final-and"):
        raise InputError(
            "the aligner is trained already", remedy="leave out --aligner, --symmetrize and --write-aligner, or --load"
        )
    else:
        found = Aligner.load(load).align(*corpus, threads=threads)
    rows = ({"segment": segment, "links": links} for segment, links in enumerate(found))
    write_lines(output, json_lines(rows) if common.json else found.pharaoh_lines())
    if write_lexicons is not None:
        found.aligner.write_lexicons(write_lexicons)
    if write_aligner is not None:
        found.aligner.save(write_aligner)


def _corpus(source: Path | None, target: Path | None, pairs: Path | None) -> tuple[Texts | Pairs, Texts | None]:
    if pairs is not None and source is None and target is None:
        return pairs, None
    if pairs is not None or source is None or target is None:
        raise InputError("no sentence pairs", remedy="give --source and --target, or --pairs alone")
    return source, target


@command
def translate(
    model: Annotated[Path, Parameter(help="Model directory, moses.ini, or Docent's XML.")],
    source: Annotated[str, Parameter(help="Tokenized text, one segment per line; - is standard input.")] = "-",
    *,
    output: Output = STANDARD_STREAM,
    rule: Annotated[
        str | None, Parameter(help="Decision rule, as NAME or NAME:key=value,…. [default: that of the model]")
    ] = None,
    metric: Annotated[str | None, Parameter(alias="-m", help="Metric of MBR. [default: bleu]")] = None,
    scale: Scale = None,
    search: Search = "beam",
    weights: Annotated[Path | None, Parameter(help="Weights file (TOML) to use instead of the model's.")] = None,
    score_target: Annotated[
        str | None, Parameter(help="Score these translations, one per line, instead of searching.")
    ] = None,
    files: TranslationFiles,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Translate text line by line; unknown words are copied.

    **Examples**

        toledo translate model < test.de > test.out
        toledo translate model test.de --weights tuned.toml --search beam:pop_limit=1000 --output test.out
        toledo translate model test.de --write-nbest test.nbest.gz --nbest 200 --distinct > test.out
        toledo translate model test.de --rule lattice-mbr --scale 3 > test.out
        toledo translate model test.de --rule mbr:size=500 --metric chrf > test.out
        toledo translate model test.de --search itg --rule consensus > test.out
        toledo translate model test.de --search gibbs --rule mbr --write-diagnostics samples.html > test.out
        toledo translate model test.de --score-target test.en > scores
    """
    from toledo.api.model import Decoding, load
    from toledo.api.translation_files import translate_file

    for file in (output, *(value for value in vars(files).values() if isinstance(value, str))):
        require_apart(file, source, weights, score_target)
    progress = progress_for(common, milestones if search.startswith("gibbs") else silent)
    diagnostics = translate_file(
        load(model),
        source,
        output,
        files=files,
        decoding=Decoding(rule, metric, scale, search, weights, seed, threads, progress),
        score_target=score_target,
        as_json=common.json,
    )
    if files.write_diagnostics is not None:
        from toledo.reports.sampling import write_report

        write_report(files.write_diagnostics, diagnostics)


def import_model(
    *,
    output: OutputDirectory,
    moses_ini: Annotated[Path | None, Parameter(help="Configuration of Moses to take files and weights from.")] = None,
    docent_config: Annotated[
        Path | None, Parameter(help="Configuration of Docent (XML) to take models, weights and search from.")
    ] = None,
    phrase_table: Annotated[Path | None, Parameter(help="Phrase table of Moses.")] = None,
    language_model: Annotated[tuple[Path, ...], repeated("Language model (ARPA).")] = (),
    reordering_table: Annotated[Path | None, Parameter(help="Reordering table of Moses.")] = None,
    common: Common = COMMON,
) -> None:
    """Make a model directory from files of Moses or Docent.

    Files given here replace those that a configuration names. Without one, weights are Moses' defaults. A configuration
    of Docent also gives the settings of its search: MODEL/document.toml.

    **Examples**

        toledo import --phrase-table phrase-table.gz --language-model lm.arpa.gz -o model
        toledo import --moses-ini mert-work/moses.ini -o model
        toledo import --docent-config docent.xml --phrase-table table.gz --language-model lm.arpa -o model
    """
    if docent_config is not None and (moses_ini or reordering_table):
        raise InputError(
            "a configuration of Docent names all models", remedy="leave out --moses-ini and --reordering-table"
        )
    from toledo.api.model import Model
    from toledo.formats.docent import read_docent_config
    from toledo.model import DESCRIPTION
    from toledo.search.document.settings import CONFIGURATION, options_of, write_options

    require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    files: dict[str, Any] = {
        "phrase_table": phrase_table,
        "language_models": language_model,
        "progress": progress_for(common),
    }
    if docent_config is None:
        model = Model.from_moses(moses_ini, reordering_table=reordering_table, **files)
    else:
        model = Model.from_docent(docent_config, **files)
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
    write_phrase_table: Annotated[Path | None, Parameter(help="File to write the phrase table to.")] = None,
    write_reordering_table: Annotated[Path | None, Parameter(help="File to write the reordering table to.")] = None,
    write_language_model: Annotated[Path | None, Parameter(help="File to write the first language model to.")] = None,
    filter_text: Annotated[
        Path | None,
        Parameter(name="--filter", help="Text: write only phrase pairs whose source phrase occurs in it."),
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
