"""`toledo sample`: write the built-in sample corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.common import Quiet, progress_for, set_up_messages


def sample(
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory to write to; made if need be.")],
    train: Annotated[int, typer.Option(help="Sentence pairs to train on.", min=1)] = 10_000,
    tune: Annotated[int, typer.Option(help="Sentences to tune on, with two references.", min=1)] = 300,
    test: Annotated[int, typer.Option(help="Sentences to test on, with two references.", min=1)] = 300,
    seed: Annotated[int, typer.Option(help="Another number gives another text of the same kind.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Write a small parallel corpus to try things with: an invented language and English.

    The files are train.src, train.trg, train.align (gold word alignments), train.docids, and the same for tune and
    test with two references each: tune.trg.0, tune.trg.1.

    **Examples**

        toledo sample --output sample

        toledo sample --output large --train 1000000
    """
    from toledo.sample.corpus import write_sample

    set_up_messages(quiet)
    write_sample(output, seed, train, tune, test, progress_for(quiet))
