"""`toledo translate`: text in, translations out."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.common import Quiet, Threads, progress_for, set_up_messages
from toledo.files import STANDARD_STREAM, atomic_writer, read_lines

LINES_AT_ONCE = 10_000


def translate(
    model: Annotated[Path, typer.Argument(help="Model directory.")],
    threads: Threads,
    source: Annotated[str, typer.Argument(help="Tokenised text to translate; - is standard input.")] = STANDARD_STREAM,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = STANDARD_STREAM,
    weights: Annotated[Path | None, typer.Option(help="Use these weights instead of the model's.")] = None,
    pop_limit: Annotated[int, typer.Option(help="How hard to search: steps per translated word.", min=1)] = 400,
    quiet: Quiet = False,
) -> None:
    """Translate text line by line with beam search; unknown words are copied.

    **Examples**

        toledo translate model < test.de > test.out

        toledo translate model test.de --weights tuned.toml --pop-limit 1000 --output test.out
    """
    from toledo.model import Model
    from toledo.search.beam import BeamSearch, BeamSettings
    from toledo.vocabulary import split_words
    from toledo.weights import Weights

    log, progress = set_up_messages(quiet), progress_for(quiet)
    loaded = Model.load(model)
    if weights is not None:
        loaded = loaded.with_weights(Weights.load(weights))
    search = BeamSearch(loaded, BeamSettings(pop_limit))
    lines, done, start = read_lines(source), 0, time.process_time()
    with atomic_writer(output) as stream:
        while block := [split_words(line) for line in islice(lines, LINES_AT_ONCE)]:
            for translation in search.translate(block, threads, progress):
                stream.write(f"{translation}\n")
            done += len(block)
    log.info("%d sentences, %.0f per CPU second", done, done / max(time.process_time() - start, 1e-9))
