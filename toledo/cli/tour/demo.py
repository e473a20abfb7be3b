"""`toledo demo`: everything that the package does, on the built-in sample, in a few minutes."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from toledo.cli.common import Quiet, Threads, progress_for, set_up_messages

if TYPE_CHECKING:
    from toledo.cli.tour.steps import Demo, Ids
    from toledo.forest.forest import Forest
    from toledo.model import Model
    from toledo.reports.demo import DrawnForest, Tour
    from toledo.reports.posteriors import Example
    from toledo.weights import Weights

log = logging.getLogger("toledo.demo")

REPORT = "report.html"
DETAILS = "toledo.language_model"  # nobody wants to know here that outputs are few
EXAMPLES = 3
SHOWN_EDGES, SHOWN_POSTERIOR = 5.0, 0.05  # of a forest that is drawn: edges per word, and the least posterior


def demo(
    threads: Threads,
    output: Annotated[Path, typer.Option("--output", "-o", help="Directory for all files, and the report.")] = Path(
        "demo"
    ),
    size: Annotated[int, typer.Option(help="Sentence pairs to train on.", min=100)] = 10_000,
    seed: Annotated[int, typer.Option(help="Another number gives another sample.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Show everything on a built-in sample: train, tune, decide, combine, documents, refine.

    Ends with a table of scores and a page, report.html. The first time kernels are compiled, which takes some minutes.

    **Examples**

        toledo demo --output demo

        toledo demo --output demo --size 2000 --seed 7
    """
    set_up_messages(quiet)
    logging.getLogger().handlers[0].addFilter(_is_of_the_demo)
    from toledo.cli.tour.rehearsal import rehearsal
    from toledo.cli.tour.steps import Demo
    from toledo.reports.demo import write_report

    made = Demo(output, threads, progress_for(quiet))
    with rehearsal(threads > 1) as ready:
        tour = _run(made, size, seed, ready)
    write_report(output / REPORT, tour)
    _print(tour, output / REPORT)


def _is_of_the_demo(record: logging.LogRecord) -> bool:
    """Steps and warnings; not what each step would tell on its own."""
    return record.name == log.name or (record.levelno >= logging.WARNING and not record.name.startswith(DETAILS))


def _run(demo: Demo, size: int, seed: int, ready: Callable[[], None]) -> Tour:
    """All steps; `ready` is called when search has been compiled."""
    from toledo.cli.tour import steps
    from toledo.cli.tour.report_files import read_trace
    from toledo.formats.alignments import read_alignments
    from toledo.reports.demo import Findings, Tour, alignment_quality
    from toledo.tuning.tuners.gradient import Gradient
    from toledo.tuning.tuners.mert import MERT

    output = demo.output
    log.info("1. A parallel corpus: %s", demo.sample)
    steps.make_sample(demo, steps.Sizes.of(size), seed)
    log.info("2. Word alignment, phrase table, language model: %s", output / "model")
    model, alignments = steps.train_model(demo)
    ready()
    gold = read_alignments(demo.sample / "train.align", demo.corpus)
    findings = Findings(demo.corpus, model, alignment_quality(alignments, gold), demo.test)
    log.info("3. Weights by MERT: %s", output / "mert")
    tuned, mert = steps.tune_weights(demo, model, MERT(), "MERT")
    log.info("4. Weights by CoBLEU: %s", output / "cobleu")
    _, cobleu = steps.tune_weights(demo, model, Gradient("cobleu"), "CoBLEU")
    log.info("5. Decision rules, with the weights of MERT: %s", output / "rules")
    chosen = {**steps.choose(demo, tuned), **steps.choose_from_samples(demo, tuned)}
    log.info("6. Three systems, and their combination: %s", output / "combination")
    network, shares = steps.combine(demo, steps.train_systems(demo, tuned.weights))
    log.info("7. Whole documents: %s", output / "documents")
    trace = steps.translate_documents(demo, tuned)
    log.info("8. The phrase table trained for expected BLEU: %s", output / "refined")
    refinement = steps.refine(demo, tuned, alignments)
    log.info("9. The report: %s", output / REPORT)
    results, rules = steps.score_all(demo)
    examples, forest = _pictures(demo, tuned, chosen)
    return Tour(
        findings, results, {"MERT": mert, "CoBLEU": cobleu}, rules, forest, examples, network, shares,
        read_trace(trace), refinement,
    )  # fmt: skip


def _pictures(demo: Demo, model: Model, chosen: Mapping[str, Ids]) -> tuple[list[Example], DrawnForest]:
    """Sentences that the rules are divided about, with their posteriors; and the forest of a short one."""
    from toledo.cli.tour.steps import worth_seeing
    from toledo.reports.posteriors import Example, shaded
    from toledo.search.gibbs.search import default_scale

    texts = list(zip(*chosen.values(), strict=True))
    numbers = worth_seeing(demo.test, [float(len(set(own))) for own in texts])[:EXAMPLES]
    segments, scale = [demo.test[number] for number in numbers], default_scale(model)
    forests = demo.forests(model, segments)
    examples = [
        Example(
            f"Sentence {number + 1} of the test text",
            shaded(forest, scale * forest.scores(model.weights), _named(chosen, texts[number])),
            " ".join(segment.words),
            list(dict.fromkeys(" ".join(reference) for reference in segment.references)),
        )
        for number, segment, forest in zip(numbers, segments, forests, strict=True)
    ]
    return examples, _drawn(forests[0], model.weights, scale)


def _drawn(forest: Forest, weights: Weights, scale: float) -> DrawnForest:
    """The likeliest part of a forest, and its share in the probability of the whole."""
    from toledo.forest.drawing import to_svg
    from toledo.forest.inside_outside import distribution
    from toledo.forest.pruning import prune_by_posterior, prune_to_density
    from toledo.reports.demo import DrawnForest

    small = prune_to_density(forest, forest.scores(weights), SHOWN_EDGES)
    small = prune_by_posterior(small, scale * small.scores(weights), SHOWN_POSTERIOR)
    part, whole = (distribution(one.shape, scale * one.scores(weights)).log_partition[0] for one in (small, forest))
    return DrawnForest(to_svg(small, scale * small.scores(weights)), math.exp(part - whole))


def _named(rules: Iterable[str], texts: Iterable[tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Each text once, by the names of the rules that chose it."""
    names: dict[tuple[int, ...], list[str]] = {}
    for rule, text in zip(rules, texts, strict=True):
        names.setdefault(text, []).append(rule)
    return {", ".join(own): text for text, own in names.items()}


def _print(tour: Tour, report: Path) -> None:
    """The closing table."""
    from toledo.compiled.kernels import compilation_seconds
    from toledo.reports.scores import SECONDS

    table = Table("what", title="Toledo demo")
    for name in (*tour.results.metrics, "CPU s"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in tour.results.systems:
        table.add_row(one.name, *(f"{value:.2f}" for value in one.scores.values()), f"{one.seconds:.1f}")
    console = Console()
    console.print(table)
    console.print(f"TER: less is better. {SECONDS}", highlight=False)
    if seconds := compilation_seconds():
        told = f"Compilation took {seconds:.0f} more in this process, which only the first run needs."
        console.print(told, highlight=False)
    console.print(f"Report: {report}", highlight=False, soft_wrap=True)
