"""`toledo text`: tokenize, normalize, truecase, clean, and back. Text in, text out, line by line."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.options import COMMON, Common, Output, Source, Target, command
from toledo.cli.outputs import change_lines
from toledo.files import STANDARD_STREAM, atomic_writer, read_lines
from toledo.text.settings import Cleaning

Text = Annotated[str, Parameter(help="Text file, one segment per line; - is standard input.")]
Language = Annotated[str, Parameter(alias="-l", help="Language code of two letters, such as de or en.")]
TruecaserFile = Annotated[Path, Parameter(help="File of a truecaser, from `toledo text train-truecaser`.")]


def tokenize(
    text: Text = STANDARD_STREAM, *, language: Language, output: Output = STANDARD_STREAM, common: Common = COMMON
) -> None:
    """Split written text into tokens, as the Moses scripts do.

    **Examples**

        toledo text tokenize -l de < train.raw.de > train.de
    """
    from toledo.text import tokenize

    change_lines(partial(tokenize, language=language), text, output, common)


def detokenize(
    text: Text = STANDARD_STREAM, *, language: Language, output: Output = STANDARD_STREAM, common: Common = COMMON
) -> None:
    """Join tokens into written text.

    **Examples**

        toledo text detokenize -l en < translation > translation.txt
    """
    from toledo.text import detokenize

    change_lines(partial(detokenize, language=language), text, output, common)


def normalize(
    text: Text = STANDARD_STREAM, *, language: Language, output: Output = STANDARD_STREAM, common: Common = COMMON
) -> None:
    """Replace quotation marks, dashes and other punctuation by their plain forms, as the Moses scripts do.

    **Examples**

        toledo text normalize -l de < train.raw.de | toledo text tokenize -l de > train.de
    """
    from toledo.text import normalize

    change_lines(partial(normalize, language=language), text, output, common)


def lowercase(text: Text = STANDARD_STREAM, *, output: Output = STANDARD_STREAM, common: Common = COMMON) -> None:
    """Convert text to lower case.

    **Examples**

        toledo text lowercase < train.de > train.lower.de
    """
    from toledo.text import lowercase

    change_lines(lowercase, text, output, common)


def escape(text: Text = STANDARD_STREAM, *, output: Output = STANDARD_STREAM, common: Common = COMMON) -> None:
    """Replace `|`, brackets and reserved words by entities, as the Moses scripts do.

    **Examples**

        toledo text escape < train.de > train.escaped.de
    """
    from toledo.text import escape

    change_lines(escape, text, output, common)


def unescape(text: Text = STANDARD_STREAM, *, output: Output = STANDARD_STREAM, common: Common = COMMON) -> None:
    """Undo `toledo text escape`.

    **Examples**

        toledo text unescape < translation > translation.txt
    """
    from toledo.text import unescape

    change_lines(unescape, text, output, common)


def train_truecaser(text: Text = STANDARD_STREAM, *, truecaser: TruecaserFile, common: Common = COMMON) -> None:
    """Learn the usual case of words from tokenized text.

    **Examples**

        toledo text train-truecaser --truecaser case.en train.en
    """
    from toledo.text import Truecaser

    Truecaser.train(read_lines(text)).save(truecaser)


def truecase(
    text: Text = STANDARD_STREAM,
    *,
    truecaser: TruecaserFile,
    output: Output = STANDARD_STREAM,
    common: Common = COMMON,
) -> None:
    """Give the first word of each sentence its usual case.

    **Examples**

        toledo text truecase --truecaser case.en < train.en > train.true.en
    """
    from toledo.text import Truecaser

    change_lines(Truecaser.load(truecaser).apply, text, output, common)


def detruecase(text: Text = STANDARD_STREAM, *, output: Output = STANDARD_STREAM, common: Common = COMMON) -> None:
    """Capitalize the first word of each sentence.

    **Examples**

        toledo text detruecase < translation > translation.cased
    """
    from toledo.text import Truecaser

    change_lines(Truecaser.undo, text, output, common)


@command
def clean(
    *,
    source: Source,
    target: Target,
    source_output: Annotated[Path, Parameter(help="File to write the clean source text to.")],
    target_output: Annotated[Path, Parameter(help="File to write the clean target text to.")],
    settings: Cleaning,
    common: Common = COMMON,
) -> None:
    """Drop sentence pairs that are empty, too long, or of very unequal length.

    **Examples**

        toledo text clean -s a.de -t a.en --source-output b.de --target-output b.en
        toledo text clean -s a.de -t a.en --source-output b.de --target-output b.en --max-length 60 --ratio 4
    """
    from toledo.text.corpus import read_line_pairs
    from toledo.text.tokens import clean_pairs

    with atomic_writer(source_output) as sources, atomic_writer(target_output) as targets:
        for one, other in clean_pairs(read_line_pairs(source, target), settings):
            sources.write(one + "\n")
            targets.write(other + "\n")
