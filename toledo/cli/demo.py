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
    seed: Annotated[int, typer.Option(help="Another number gives another sample.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Generate a sample corpus, train a model on it, and show what came out; ends with a table and report.html.

    **Example**

        toledo demo --output demo
    """
    from toledo.corpus import read_parallel, read_sentences
    from toledo.formats.pharaoh import read_alignments
    from toledo.model import Model
    from toledo.phrases.word_alignment import align
    from toledo.reports.demo import alignment_quality, coverage, write_report
    from toledo.sample import write_sample
    from toledo.training import train

    log, progress = set_up_messages(quiet), progress_for(quiet)
    sample = output / "sample"
    log.info("1. A parallel corpus: %s", sample)
    write_sample(sample, seed, progress=progress)
    corpus = read_parallel(sample / "train.src", sample / "train.trg")

    log.info("2. Word alignment, phrase table, language model: %s", output / "model")
    aligned = align(corpus, threads=threads, progress=progress)
    train(
        corpus, alignments=aligned.alignments, word_lexicons=aligned.lexicons, threads=threads, progress=progress
    ).save(output / "model")
    model = Model.load(output / "model")

    log.info("3. What was learnt")
    quality = alignment_quality(aligned.alignments, read_alignments(sample / "train.align", corpus))
    test = read_sentences(sample / "test.src", model.source_vocabulary, grow=False)
    english = read_sentences(sample / "test.trg.0", model.target_vocabulary, grow=False)
    perplexity = model.language_models[0].perplexity(english, threads)
    covered = coverage(model.table, test)
    summary = [
        ("sentence pairs", f"{len(corpus):,}"),
        ("source words, distinct", f"{corpus.source.words.size:,}, {len(corpus.source_vocabulary):,}"),
        ("target words, distinct", f"{corpus.target.words.size:,}, {len(corpus.target_vocabulary):,}"),
        ("alignment precision, recall", f"{quality.precision:.3f}, {quality.recall:.3f}"),
        ("alignment error rate", f"{quality.error_rate:.3f}"),
        ("phrase pairs", f"{len(model.table):,}"),
        ("test words that the table knows", f"{covered[0][1]:.1%}"),
        ("language model", f"order {model.language_models[0].order}"),
        ("perplexity on test", f"{perplexity.including_unknown:.1f} ({perplexity.unknown} unknown words)"),
    ]
    words = model.source_vocabulary.words(test[0].tolist())
    examples = [words[i : i + 2] for i in range(0, len(words) - 1, 2)] + [[word] for word in words]
    write_report(output / "report.html", model, summary, covered, examples)
    table = Table("what", "value", title="Toledo demo")
    for row in summary:
        table.add_row(*row)
    Console().print(table)
    Console().print(f"Report: {output / 'report.html'}", highlight=False, soft_wrap=True)
