"""`toledo report`, `list`, `example-data` and `warm-up`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from toledo.cli.messages import print_result, progress_for
from toledo.cli.options import COMMON, Common, OutputDirectory, Seed, flag

log = logging.getLogger(__name__)

Kind = Literal[
    "metrics", "utilities", "rules", "objectives", "searches", "document-models", "aligners", "tokenizers", "formats"
]
Command = Literal[
    "choose", "tune-votes", "evaluate", "compare", "combine", "train", "build", "tune", "tune-rule", "rerank", "refine",
    "translate", "sample", "document", "model", "export", "import", "align", "lm", "forest", "demo",
]  # fmt: skip


def report(
    *runs: Annotated[Path, Parameter(help="Runs and results: files, or directories of runs.")],
    output: Annotated[Path, Parameter(alias="-o", help="HTML page to write.")] = Path("report.html"),
    title: Annotated[str, Parameter(help="Title of the page.")] = "Toledo",
    examples: Annotated[int, Parameter(help="Number of segments to show from n-best lists.")] = 5,
    scale: Annotated[float, Parameter(help="Factor for scores of n-best lists; below 1 flattens probabilities.")] = 1.0,
    common: Common = COMMON,
) -> None:
    """Show runs and results on one HTML page: tunings, refinements, combinations, documents, scores, samples, lists.

    Saved runs name their kind; other files are recognized by their content. Several tunings are compared in one plot.
    The page is self-contained: it needs neither scripts nor a network.

    **Examples**

        toledo report tuned --output report.html
        toledo report mert cobleu scores.json trace.jsonl --title "Monday's runs"
        toledo report samples.jsonl --examples 20 --scale 0.5 -o samples.html
    """
    from toledo.cli.messages import require_apart
    from toledo.files import require_output

    require_apart(output, *runs)
    require_output(output)
    from toledo.api.report import report as make_page

    page, replaced = make_page(*runs, title=title, examples=examples, scale=scale), output.exists()
    page.save(output)
    for heading in page.headings:
        log.info("%s", heading)
    log.info("%s: %s", "replaced" if replaced else "written", output)
    if common.json:
        print_result("report", {"output": str(output), "parts": page.headings}, common)


def list_names(
    kind: Annotated[Kind | None, Parameter(help="What to list; all kinds with their names by default.")] = None,
    *,
    common: Common = COMMON,
) -> None:
    """List the names that options such as --metric and --rule accept, with their settings and defaults.

    Settings are written after a colon: --rule mbr:metric=chrf,size=100. Utilities are further metrics of the rule mbr.

    **Examples**

        toledo list
        toledo list metrics
        toledo list objectives --json
    """
    from toledo.api.names import list_names

    print_result("list", list_names(kind), common)


def example_data(
    output: OutputDirectory,
    *,
    train: Annotated[int, Parameter(help="Number of sentence pairs to train on.")] = 10_000,
    tune: Annotated[int, Parameter(help="Number of sentences to tune on, with two references.")] = 300,
    test: Annotated[int, Parameter(help="Number of sentences to test on, with two references.")] = 300,
    raw: Annotated[bool, flag("Write raw text instead of tokenized text, without word alignments.")] = False,
    senses: Annotated[
        bool, flag("Write documents in which words have senses that a sentence alone does not tell.")
    ] = False,
    seed: Seed = 1,
    common: Common = COMMON,
) -> None:
    """Write a small parallel corpus of an invented language and English.

    Files are {train,tune,test}.{src,align,docids}, train.trg, and {tune,test}.{trg.0,trg.1}: sources, gold word
    alignments, document ids, translations. The same seed writes the same files everywhere.

    **Examples**

        toledo example-data sample
        toledo example-data sample --raw
        toledo example-data sample --senses
        toledo example-data --output sample --train 2000 --seed 7
    """
    from toledo.sample.corpus import example_data

    data = example_data(train=train, tune=tune, test=test, raw=raw, senses=senses, seed=seed)
    data.save(output, progress_for(common))
    log.info("%s: %s", output, data)
    if common.json:
        print_result("example-data", {"output": str(output), **data.to_dict()}, common)


def warm_up(
    *commands: Annotated[Command, Parameter(help="Commands to compile for; all by default.")], common: Common = COMMON
) -> None:
    """Compile kernels before their first use, for images and clusters, by running commands on a few sentences.

    Print how many kernels each command compiled; those that are shipped or kept on disk are not compiled again. The
    name sample stands for translation by Gibbs sampling.

    **Examples**

        toledo warm-up
        toledo warm-up choose evaluate
    """
    from toledo.api.warm_up import warm_up

    print_result("warm-up", warm_up(*commands, progress=progress_for(common)), common)
