"""`toledo translate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.messages import milestones, progress_for, require_apart
from toledo.cli.options import COMMON, Common, Output, Scale, Search, Seed, Threads, command, flag
from toledo.files import STANDARD_STREAM
from toledo.formats.settings import TranslationFiles
from toledo.progress import silent


@command
def translate(
    model: Annotated[Path, Parameter(help="Model directory, moses.ini, or Docent's XML.")],
    source: Annotated[str, Parameter(help="Text, one segment per line; - is standard input.")] = "-",
    *,
    output: Output = STANDARD_STREAM,
    rule: Annotated[
        str | None, Parameter(help="Decision rule, as NAME or NAME:key=value,…. [default: the model's]")
    ] = None,
    metric: Annotated[str | None, Parameter(alias="-m", help="Metric for MBR. [default: bleu]")] = None,
    scale: Scale = None,
    search: Search = "beam",
    weights: Annotated[Path | None, Parameter(help="Weights file (TOML) to use instead of the model's.")] = None,
    score_target: Annotated[
        str | None, Parameter(help="Score these translations, one per line, instead of searching.")
    ] = None,
    tokenized: Annotated[bool, flag("The text is in the words of the model, as are its translations.")] = False,
    files: TranslationFiles,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Translate text line by line; unknown words are copied.

    Text is raw for a model that was trained on raw text, else tokenized. Lists, lattices, alignments and traces have
    the words of the model.

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
        decoding=Decoding(rule, metric, scale, search, weights, seed, threads, progress, tokenized),
        score_target=score_target,
        as_json=common.json,
    )
    if files.write_diagnostics is not None:
        from toledo.reports.sampling import write_report

        write_report(files.write_diagnostics, diagnostics)
