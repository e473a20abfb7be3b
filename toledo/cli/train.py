"""`toledo train` and `align`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from toledo.cli.messages import json_lines, print_model, progress_for, require_apart
from toledo.cli.options import (
    COMMON,
    Common,
    InterpolateOn,
    LanguageModels,
    Output,
    OutputDirectory,
    PhraseTables,
    Threads,
    Tokenized,
    command,
)
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_output, write_lines
from toledo.phrases.settings import Symmetrization, TableSettings, TrainSettings
from toledo.text.settings import TextSettings

if TYPE_CHECKING:
    from toledo.api.inputs import Texts
    from toledo.api.pairs import Pairs

Source = Annotated[Path | None, Parameter(alias="-s", help="Source text, one sentence per line.")]
Target = Annotated[Path | None, Parameter(alias="-t", help="Target text, parallel to the source.")]
PairsFile = Annotated[
    Path | None, Parameter(name="--pairs", help="Sentence pairs in one file: TSV, or what its name says: .jsonl, .tmx.")
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
    giza: Annotated[
        tuple[Path, Path] | None,
        Parameter(
            negative="", help="Word alignments of GIZA++ to use instead, one file (*.A3.final) for each direction."
        ),
    ] = None,
    lm_text: Annotated[Path | None, Parameter(help="Text to estimate the language model from.")] = None,
    language_model: LanguageModels = (),
    phrase_table: PhraseTables = (),
    tables: TableSettings,
    interpolate_on: InterpolateOn = None,
    text: TextSettings,
    tokenized: Tokenized = False,
    clean: Annotated[
        bool | None,
        Parameter(
            negative="--no-clean",
            help="Leave out unfit sentence pairs: empty, long, of unequal length, repeated, in another script. "
            "[default: raw text only]",
        ),
    ] = None,
    settings: TrainSettings,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Train a phrase-based model: word alignment, phrase table, language model.

    Texts are raw: the model stores how to turn them into words, and translates raw text into raw text. With
    --tokenized, words are separated by spaces. Sentence pairs of raw text that are unfit for training are left out and
    reported.

    **Examples**

        toledo train -s train.de -t train.en --source-language de --target-language en -o model
        toledo train --pairs train.tmx --source-language de --target-language en -o model
        toledo train -s train.tok.de -t train.tok.en --tokenized --alignment links --lm-order 5 -o model
        toledo train -s train.tok.de -t train.tok.en --tokenized --giza de-en.A3.final.gz en-de.A3.final.gz -o model
        toledo train --pairs train.tsv --aligner hmm:iterations_hmm=8 --reordering -o model
        toledo train -s train.de -t train.en --phrase-table other-model --lm-text train.en --lm other.arpa -o model
    """
    from toledo.api.train import train

    model = train(
        *corpus_of(source, target, pairs),
        tokenized=tokenized,
        clean=clean,
        **{**vars(text), **vars(settings), **vars(tables)},
        alignments=alignment,
        giza=giza,
        lm_text=lm_text,
        language_models=language_model,
        phrase_tables=phrase_table,
        interpolate_on=interpolate_on,
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
        str, Parameter(help="Aligner: hmm, ibm1 or eflomal (an extra); settings as in hmm:iterations_hmm=8.")
    ] = "hmm",
    symmetrize: Annotated[
        Symmetrization, Parameter(help="Method to symmetrize the alignments of both directions.")
    ] = "grow-diag-final-and",
    write_lexicons: Annotated[
        Path | None, Parameter(help="Directory for the lexicons of IBM Model 1: lex.f2e.gz and lex.e2f.gz.")
    ] = None,
    write_aligner: Annotated[
        Path | None, Parameter(help="Directory for the trained aligner, to align other text with later.")
    ] = None,
    load: Annotated[
        Path | None, Parameter(help="Directory of a trained aligner to use instead of training one.")
    ] = None,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Align the words of sentence pairs; write a line of `source-target` links per pair (Pharaoh format).

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

    corpus = corpus_of(source, target, pairs)
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


def corpus_of(source: Path | None, target: Path | None, pairs: Path | None) -> tuple[Texts | Pairs, Texts | None]:
    """Return sources and targets, or a file of pairs."""
    if pairs is not None and source is None and target is None:
        return pairs, None
    if pairs is not None or source is None or target is None:
        raise InputError("no sentence pairs", remedy="give --source and --target, or --pairs alone")
    return source, target
