"""`toledo report`: runs of any kind in, one page to look at and to pass on out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.common import Quiet, require_output_apart, set_up_messages


def report(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(help="Files or directories of runs.", metavar="RUN...")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Of the page.")] = "Toledo: runs",
    examples: Annotated[int, typer.Option(help="Segments of n-best lists to show.", min=1)] = 5,
    scale: Annotated[float, typer.Option(help="Factor of scores of n-best lists; below 1 flattens.")] = 1.0,
    quiet: Quiet = False,
) -> None:
    """Show runs on a page: tunings, document searches, refinements, combinations, scores, samples, n-best lists.

    What a file is about is seen from its content. In a directory all files are looked through. Several tunings are
    compared in one plot. The page needs nothing but itself: no network, no scripts.

    **Examples**

        toledo report tuned.tuning --output report.html

        toledo report mert.tuning cobleu.tuning scores.json trace.jsonl --title "Monday's runs"

        toledo report samples.jsonl --examples 20 --scale 0.5 -o samples.html
    """
    log = set_up_messages(quiet)
    require_output_apart(context)
    from toledo.cli.rules import require_scale
    from toledo.cli.tour.report_files import Reading, read_runs
    from toledo.files import require_output
    from toledo.reports.runs import runs_page

    require_output(output)
    require_scale(scale)
    found, known = read_runs(runs, Reading(examples, scale)), output.exists()
    runs_page(title, found).write(output, contents=len(found) > 1)
    for run in found:
        log.info("%s: %s", run.kind, run.name)
    log.info("%s: %s", "replaced" if known else "written", output)
