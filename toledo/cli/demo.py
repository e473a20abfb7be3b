"""`toledo demo`: the whole chain on the built-in sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from toledo.cli.common import Quiet, Threads, progress_for, set_up_messages


def demo(
    threads: Threads,
    output: Annotated[Path, typer.Option(help="Directory for the sample, the model and the report.")] = Path("demo"),
    size: Annotated[int, typer.Option(help="Sentence pairs to train on.", min=10)] = 10_000,
    seed: Annotated[int, typer.Option(help="Another number gives another sample.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Generate a sample corpus, train a model, translate with it, and score; ends with a table and report.html.

    **Example**

        toledo demo --output demo
    """
    from toledo.corpus import read_parallel, read_segments
    from toledo.files import write_lines
    from toledo.formats.pharaoh import read_alignments
    from toledo.model import Model
    from toledo.phrases.word_alignment import align
    from toledo.reports.demo import Findings, alignment_quality, summarise, write_report
    from toledo.sample import write_sample
    from toledo.search.beam import BeamSearch
    from toledo.training import train

    log, progress = set_up_messages(quiet), progress_for(quiet)
    sample = output / "sample"
    log.info("1. A parallel corpus: %s", sample)
    write_sample(sample, seed, size, progress=progress)
    corpus = read_parallel(sample / "train.src", sample / "train.trg")

    log.info("2. Word alignment, phrase table, language model: %s", output / "model")
    aligned = align(corpus, threads=threads, progress=progress)
    trained = train(
        corpus, alignments=aligned.alignments, word_lexicons=aligned.lexicons, threads=threads, progress=progress
    )
    trained.save(output / "model")
    model = Model.load(output / "model")

    log.info("3. Translations of the test text: %s", output / "test.out")
    test = read_segments(sample / "test.src", [sample / "test.trg.0", sample / "test.trg.1"])
    translations = BeamSearch(model).translate([segment.words for segment in test], threads, progress)
    write_lines(output / "test.out", map(str, translations))

    log.info("4. Scores: %s", output / "report.html")
    quality = alignment_quality(aligned.alignments, read_alignments(sample / "train.align", corpus))
    findings = Findings(corpus, model, quality, test, translations)
    summary = summarise(findings)
    write_report(output / "report.html", findings, summary)
    table = Table("what", "value", title="Toledo demo")
    for row in summary:
        table.add_row(*row)
    Console().print(table)
    Console().print(f"Report: {output / 'report.html'}", highlight=False, soft_wrap=True)
