"""`toledo text`: tokenise, truecase, clean, and back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from toledo.cli.common import Output, Quiet, set_up_messages
from toledo.files import STANDARD_STREAM, atomic_writer, read_lines, write_lines

app = typer.Typer(no_args_is_help=True, help="Tokenise, truecase, clean, and back. Text in, text out, line by line.")

Input = Annotated[str, typer.Argument(help="Text file; - is standard input.", show_default=False)]
Language = Annotated[str, typer.Option("--language", "-l", help="Two-letter code, such as de.", show_default=False)]
Model = Annotated[Path, typer.Option("--model", help="Truecasing model.", show_default=False)]


def _rules() -> ModuleType:
    """Imported where a command needs it: the tokeniser's tables take long to load."""
    from toledo.text import tokens as text

    return text


def _each_line(change: Callable[[str], str], source: str, output: str) -> None:
    write_lines(output, map(change, read_lines(source)))


@app.command()
def tokenise(language: Language, text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Split written text into tokens.

    Example: `toledo text tokenise -l de < train.raw.de > train.de`
    """
    _each_line(_rules().Tokenizer(language).tokenize, text, output)


@app.command()
def detokenise(language: Language, text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Join tokens into written text.

    Example: `toledo text detokenise -l en < translation > translation.txt`
    """
    _each_line(_rules().Tokenizer(language).detokenize, text, output)


@app.command()
def lowercase(text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Lower-case.

    Example: `toledo text lowercase < train.de > train.lower.de`
    """
    _each_line(str.lower, text, output)


@app.command("escape")
def escape_command(text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Replace `|`, brackets and reserved words, as the Moses scripts do.

    Example: `toledo text escape < train.de > train.escaped.de`
    """
    _each_line(_rules().escape, text, output)


@app.command("unescape")
def unescape_command(text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Undo `escape`.

    Example: `toledo text unescape < translation > translation.txt`
    """
    _each_line(_rules().unescape, text, output)


@app.command()
def train_truecaser(model: Model, text: Input = STANDARD_STREAM) -> None:
    """Learn the usual case of words from tokenised text.

    Example: `toledo text train-truecaser --model case.en train.en`
    """
    _rules().Truecaser.train(read_lines(text)).save(model)


@app.command()
def truecase(model: Model, text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Give the first word of each sentence its usual case.

    Example: `toledo text truecase --model case.en < train.en > train.true.en`
    """
    _each_line(_rules().Truecaser.load(model).truecase, text, output)


@app.command("detruecase")
def detruecase_command(text: Input = STANDARD_STREAM, output: Output = STANDARD_STREAM) -> None:
    """Begin each sentence with a capital letter.

    Example: `toledo text detruecase < translation > translation.cased`
    """
    _each_line(_rules().detruecase, text, output)


@app.command()
def clean(
    source: Annotated[Path, typer.Option(help="Source text.", show_default=False)],
    target: Annotated[Path, typer.Option(help="Target text.", show_default=False)],
    source_output: Annotated[Path, typer.Option(help="Where the clean source text goes.", show_default=False)],
    target_output: Annotated[Path, typer.Option(help="Where the clean target text goes.", show_default=False)],
    min_sentence_length: Annotated[int, typer.Option(metavar="N", help="Fewest words of a sentence.", min=0)] = 1,
    max_sentence_length: Annotated[int, typer.Option(metavar="N", help="Most words of a sentence.", min=1)] = 80,
    ratio: Annotated[float, typer.Option(help="Most words of one side for one of the other.", min=1.0)] = 9.0,
    quiet: Quiet = False,
) -> None:
    """Drop sentence pairs that are empty, too long, or of very unequal length.

    Example: `toledo text clean --source a.de --target a.en --source-output b.de --target-output b.en`
    """
    from toledo.text.corpus import read_line_pairs

    log = set_up_messages(quiet)
    is_clean = _rules().is_clean
    kept = dropped = 0
    with atomic_writer(source_output) as source_stream, atomic_writer(target_output) as target_stream:
        for pair in read_line_pairs(source, target):
            if not is_clean(*pair, min_sentence_length, max_sentence_length, ratio):
                dropped += 1
                continue
            kept += 1
            source_stream.write(pair[0] + "\n")
            target_stream.write(pair[1] + "\n")
    log.info("kept %d sentence pairs, dropped %d", kept, dropped)
