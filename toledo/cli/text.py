"""`toledo text`: tokenize, normalize, truecase, clean, and back. Text in, text out, line by line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.messages import change_lines
from toledo.cli.options import COMMON, Common, Output, Source, Target, command
from toledo.files import STANDARD_STREAM, atomic_writer, read_lines
from toledo.text.settings import Cleaning

Text = Annotated[str, Parameter(help="Text file, one segment per line; - is standard input.")]
Language = Annotated[str, Parameter(alias="-l", help="ISO code of the language, such as de or en.")]
TruecaserFile = Annotated[Path, Parameter(help="Truecaser written by `toledo text train-truecaser`.")]
NewTruecaserFile = Annotated[Path, Parameter(help="File to write the truecaser to.")]


def _command(function: str, purpose: str, example: str) -> Callable[..., None]:
    """Return the command that applies a function of `toledo.text` to each line of a text."""

    def run(text: Text = STANDARD_STREAM, *, output: Output = STANDARD_STREAM, common: Common = COMMON) -> None:
        change_lines(getattr(import_module("toledo.text.tokens"), function), text, output, common)

    run.__doc__ = f"{purpose}\n\n**Examples**\n\n    toledo text {example}"
    return run


def _language_command(function: str, purpose: str, example: str) -> Callable[..., None]:
    """Return the command that applies a function of `toledo.text` and a language to each line of a text."""

    def run(
        text: Text = STANDARD_STREAM, *, language: Language, output: Output = STANDARD_STREAM, common: Common = COMMON
    ) -> None:
        change = partial(getattr(import_module("toledo.text.tokens"), function), language=language)
        change_lines(change, text, output, common)

    run.__doc__ = f"{purpose}\n\n**Examples**\n\n    toledo text {example}"
    return run


tokenize = _language_command(
    "tokenize",
    "Split raw text into tokens: by the rules of Moses, by characters (zh), or by MeCab (ja).",
    "tokenize -l de < train.raw.de > train.de",
)
detokenize = _language_command(
    "detokenize", "Join tokens into plain text.", "detokenize -l en < translation > translation.txt"
)
normalize = _language_command(
    "normalize",
    "Replace quotation marks, dashes and other punctuation with plain forms, as the Moses scripts do.",
    "normalize -l de < train.raw.de | toledo text tokenize -l de > train.de",
)
lowercase = _command("lowercase", "Convert text to lower case.", "lowercase < train.de > train.lower.de")
escape = _command(
    "escape",
    "Replace `|`, brackets and reserved words with entities, as the Moses scripts do.",
    "escape < train.de > train.escaped.de",
)
unescape = _command("unescape", "Undo `toledo text escape`.", "unescape < translation > translation.txt")
detruecase = _command(
    "detruecase", "Capitalize the first word of each sentence.", "detruecase < translation > translation.cased"
)


def train_truecaser(text: Text = STANDARD_STREAM, *, truecaser: NewTruecaserFile, common: Common = COMMON) -> None:
    """Learn the usual case of words from tokenized text.

    **Examples**

        toledo text train-truecaser --truecaser case.en train.en
    """
    from toledo.text import Truecaser

    Truecaser.train(read_lines(text)).save(truecaser)


def truecase(
    text: Text = STANDARD_STREAM, *, truecaser: TruecaserFile, output: Output = STANDARD_STREAM, common: Common = COMMON
) -> None:
    """Give the first word of each sentence its usual case.

    **Examples**

        toledo text truecase --truecaser case.en < train.en > train.true.en
    """
    from toledo.text import Truecaser

    change_lines(Truecaser.load(truecaser).apply, text, output, common)


def words(
    text: Text = STANDARD_STREAM,
    *,
    model: Annotated[Path, Parameter(help="Model directory.")],
    output: Output = STANDARD_STREAM,
    common: Common = COMMON,
) -> None:
    """Write text as a model reads it: its tokens, in its case, with rare words rewritten.

    **Examples**

        toledo text words --model model < test.de
    """
    from toledo.api.model import load

    loaded = load(model)
    change_lines(lambda line: " ".join(loaded.words(line)), text, output, common)


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
    """Drop sentence pairs that are empty, too long, of very unequal length, repeated, or in another script.

    Words are separated by spaces. What was dropped and why is reported. `toledo train` does the same to raw text.

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
