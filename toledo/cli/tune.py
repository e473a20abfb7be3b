"""`toledo tune`: find the weights with which a model translates best."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from toledo.cli.common import Json, Quiet, Threads, progress_for, set_up_messages, told
from toledo.cli.rules import RuleName, RuleSettings, named_rule, require_scale
from toledo.cli.sampling import BurnIn, Chains, Iterations, SamplingChoice
from toledo.cli.scales import refuse_named
from toledo.cli.searches import (
    PopLimit,
    SearchChoice,
    SearchName,
    SearchOption,
    SpanBeam,
    refuse_other_searches,
)
from toledo.cli.tuners import MetricName, ObjectiveName, OnName, OptimiserName, TunerOptions, named_metric, named_tuner
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_output, require_output_directory
from toledo.progress import silent

if TYPE_CHECKING:
    from toledo.consensus.rule import Rule
    from toledo.model import Model
    from toledo.weights import Weights

UNTIL_COLD = 1_000_000  # rounds: it ends by itself
WIDE = 120  # columns where no terminal says how many there are
FIGURES = {"min": "minimum", "max": "maximum", "mean": "mean", "σ": "deviation"}
HELD_OUT, TUNER, WORK = "A held-out set", "The tuner", "Runs and results"


def tune(
    context: typer.Context,
    threads: Threads,
    output: Annotated[Path, typer.Option("--output", "-o", help="Weights file to write (TOML).")],
    model: Annotated[Path | None, typer.Argument(help="Model directory.")] = None,
    source: Annotated[Path | None, typer.Option(help="Text to tune on, tokenised.")] = None,
    reference: Annotated[list[Path] | None, typer.Option("--reference", "-r", help="May be repeated.")] = None,
    n_best_lists: Annotated[
        list[str] | None, typer.Option(help="Tune on lists of any system instead; may be repeated.")
    ] = None,
    held_out_source: Annotated[
        Path | None, typer.Option(help="Text to choose the best round by.", rich_help_panel=HELD_OUT)
    ] = None,
    held_out_reference: Annotated[
        list[Path] | None, typer.Option(help="May be repeated.", rich_help_panel=HELD_OUT)
    ] = None,
    patience: Annotated[
        int, typer.Option(help="Stop after so many rounds without a better score.", min=1, rich_help_panel=HELD_OUT)
    ] = 4,
    objective: Annotated[
        ObjectiveName, typer.Option(help=f"{', '.join(ObjectiveName)}.", metavar="NAME", rich_help_panel=TUNER)
    ] = ObjectiveName.mert,
    metric: Annotated[MetricName, typer.Option(help="What counts as better.", rich_help_panel=TUNER)] = MetricName.bleu,
    rounds: Annotated[
        int | None,
        typer.Option(
            help="Search and tune at most so often.",
            min=1,
            show_default="10; gibbs with --annealing: until it is cold",
            rich_help_panel=TUNER,
        ),
    ] = None,
    n_best: Annotated[int, typer.Option(help="Texts in a list.", min=1, rich_help_panel=TUNER)] = 100,
    density: Annotated[
        float | None,
        typer.Option(
            help="Edges per word kept of a lattice, and looked at by expectations.",
            min=1,
            show_default="50 kept, 30 looked at",
            rich_help_panel=TUNER,
        ),
    ] = None,
    search: SearchOption = SearchName.beam,
    pop_limit: PopLimit = 200,
    beam: SpanBeam = 50,
    chains: Chains = 1,
    iterations: Iterations = 200,
    burn_in: BurnIn = 50,
    on: Annotated[OnName | None, typer.Option(help="Lists or lattices.", rich_help_panel=TUNER)] = None,
    restarts: Annotated[int | None, typer.Option(help="Random starts (mert).", min=0, rich_help_panel=TUNER)] = None,
    l2: Annotated[float | None, typer.Option(help="Keep weights small.", min=0, rich_help_panel=TUNER)] = None,
    optimiser: Annotated[OptimiserName | None, typer.Option(help="For gradients.", rich_help_panel=TUNER)] = None,
    annealing: Annotated[
        bool, typer.Option("--annealing", help="From flat distributions to sharp ones.", rich_help_panel=TUNER)
    ] = False,
    steps: Annotated[int | None, typer.Option(help="Of gradients, in a round.", min=1, rich_help_panel=TUNER)] = None,
    batch: Annotated[
        int | None, typer.Option(help="A step for each batch of so many segments.", min=1, rich_help_panel=TUNER)
    ] = None,
    decide: Annotated[
        RuleName | None,
        typer.Option(
            help="Judge rounds by what this rule chooses.", show_default="viterbi; gibbs: mbr", rich_help_panel=TUNER
        ),
    ] = None,
    scale: Annotated[float, typer.Option(help="Factor of scores for that rule.", rich_help_panel=TUNER)] = 1.0,
    initial: Annotated[
        str, typer.Option(help="Where to begin: model, default, zero, or a file.", rich_help_panel=TUNER)
    ] = "model",
    frozen: Annotated[
        str | None,
        typer.Option(
            help="Weights to leave alone, with commas.", show_default="as at the start", rich_help_panel=TUNER
        ),
    ] = None,
    sparse: Annotated[
        str | None, typer.Option(help="Add sparse features: pair, word, target.", rich_help_panel=TUNER)
    ] = None,
    sparse_features: Annotated[
        int, typer.Option(help="The most frequent of each kind.", min=1, rich_help_panel=TUNER)
    ] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the (first) run.", min=0, rich_help_panel=WORK)] = 1,
    seeds: Annotated[int, typer.Option(help="Runs with consecutive seeds.", min=1, rich_help_panel=WORK)] = 1,
    work: Annotated[
        Path | None,
        typer.Option(help="Directory for histories.", show_default="OUTPUT.tuning", rich_help_panel=WORK),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on after an interruption.", rich_help_panel=WORK)
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Write a page with plots (HTML).", rich_help_panel=WORK)] = None,
    output_model: Annotated[
        Path | None, typer.Option(help="Write the model with its new weights.", rich_help_panel=WORK)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find the weights with which a model translates best: search, tune, search again until nothing changes.

    The weights of the best round are written: by the held-out set if there is one, else by the tuning set. Each round
    is kept in the work directory; --resume continues an interrupted run to the same result.

    **Examples**

        toledo tune model --source val.de --reference val.en --output tuned.toml

        toledo tune model --source val.de -r val.en --objective xbleu --seeds 5 --report tuning.html -o tuned.toml

        toledo tune model --source val.de -r val.en --search gibbs --objective corpus-expected-bleu -o tuned.toml

        toledo tune --n-best-lists val.100best.gz --reference val.en --objective pro --output tuned.toml
    """
    log = set_up_messages(quiet)
    from toledo.cli.sampled_training import named_trainer, sampled_task
    from toledo.cli.start_weights import Start
    from toledo.cli.tuning_runs import (  # fmt: skip
        SUMMARY,
        best_run,
        read_text,
        summarise,
        task_of_lists,
        task_of_model,
        with_sparse,
        write_summary,
    )
    from toledo.tuning.loop import LoopSettings

    work = work or output.with_suffix(".tuning")
    _check_outputs(output, report, output_model, work)
    options = TunerOptions(on, restarts, l2, optimiser, True if annealing else None, steps, batch, density)
    sampled = search is SearchName.gibbs and not n_best_lists
    progress = progress_for(quiet, told if sampled else silent)
    trainer = named_trainer(objective, options) if sampled else None
    tuner = named_tuner(objective, options)
    require_scale(scale)
    settings = LoopSettings(
        rounds or (UNTIL_COLD if sampled and annealing else 10),
        n_best,
        density or 50.0,
        patience=patience,
        metric=named_metric(metric, objective, on),
        rule=_rule(decide, n_best, sampled),
        scale=scale,
        threads=threads,
    )
    if trainer:
        _refuse_for_samples(context, annealing)
    if settings.rule.name == "viterbi":
        refuse_named(context, "no scale changes which derivation is best; it is for another --decide", "scale")
    _refuse_unused(context, None if trainer else tuner.wants, search, sparse, n_best_lists)
    start, loaded = Start(initial, frozen), None
    if n_best_lists:
        if model or source or held_out_source or held_out_reference or sparse or output_model:
            raise InputError(
                "lists of another system are tuned without a model", remedy="give --n-best-lists and --reference alone"
            )
        task = task_of_lists(n_best_lists, reference or [], tuner, settings, start)
    else:
        if model is None or source is None:
            raise InputError("nothing to tune", remedy="give MODEL, --source and --reference; or --n-best-lists")
        loaded = with_sparse(_load(model), sparse, sparse_features)
        if held_out_reference and not held_out_source:
            raise InputError("references of a held-out set without its text", remedy="give --held-out-source FILE")
        if held_out_source and not held_out_reference:
            raise InputError("there is no reference of the held-out set", remedy="give --held-out-reference FILE")
        text, held_out = read_text(source, reference or []), None
        if held_out_source:
            held_out = read_text(held_out_source, held_out_reference or [])
        if trainer:
            sampling = SamplingChoice(chains, iterations, burn_in, 1, None)
            task = sampled_task(loaded, text, held_out, trainer, settings, start, sampling, progress).of_files(model)
        else:
            choice = SearchChoice(search, pop_limit, beam)
            choice.tell(loaded)
            task = task_of_model(loaded, text, held_out, tuner, settings, start, choice, progress).of_files(model)
    try:
        results = [task.run(number, work, resume, progress) for number in range(seed, seed + seeds)]
    except KeyboardInterrupt:
        log.warning("interrupted; go on after the last complete round: give the same command with --resume")
        raise
    best = best_run(results)
    summary = summarise([result.history for result in results])
    write_summary(work / SUMMARY, summary)
    best.weights.save(output)
    if output_model and loaded:
        loaded.with_weights(best.weights).save(output_model)
    if report:
        from toledo.reports.tuning import write_report

        write_report(report, [result.history for result in results])
    _print(summary, best.history.seed, as_json)
    if model and sparse and not output_model:
        _tell_of_sparse(model, best.weights, output)


def _tell_of_sparse(model: Path, weights: Weights, output: Path) -> None:
    """Say that weights of new features are of no use with the old model."""
    from toledo.cli.known_weights import known_features

    if set(weights) - known_features(_load(model)):
        logging.getLogger(__name__).warning(
            "%s has weights of sparse features that %s does not have: they do not go together; "
            "the same command with --resume --output-model DIRECTORY writes the model that has them",
            output,
            model,
        )


def _load(path: Path) -> Model:
    from toledo.model import Model

    return Model.load(path)


def _check_outputs(output: Path, report: Path | None, output_model: Path | None, work: Path) -> None:
    """Refuse what cannot be written, before any work is done for it."""
    from toledo.model import DESCRIPTION

    if str(output) == STANDARD_STREAM:
        raise InputError("the table of runs goes to standard output, weights to a file", remedy="name a file")
    for file in (output, report):
        if file and file.is_dir():
            raise InputError("is a directory, not a file", file=file, remedy="name a file in it")
        if file:
            require_output(file)
    if output_model:
        require_output_directory(output_model, DESCRIPTION)
    places = [path.resolve() for path in (output, report, output_model, work) if path]
    if len(set(places)) < len(places):
        raise InputError("two results would go to one place", remedy="name another file for one of them")


def _rule(name: RuleName | None, n_best: int, sampled: bool) -> Rule:
    """The rule that judges rounds."""
    if sampled:
        return named_rule(name or RuleName.mbr, RuleSettings(), samples=True)
    return named_rule(name or RuleName.viterbi, RuleSettings(size=n_best))


def _refuse_for_samples(context: typer.Context, annealing: bool) -> None:
    refuse_named(context, "not for --search gibbs", "n_best", "density", "pop_limit", "beam")
    refuse_named(context, "weights trained by samples have the scale 1", "scale")
    if annealing:
        refuse_named(context, "annealing with --search gibbs goes on until it is cold", "patience")


def _refuse_unused(
    context: typer.Context, wants: str | None, search: SearchName, sparse: str | None, lists: list[str] | None
) -> None:
    """What `wants` lists or lattices has no use for options of the other; None is for samples."""
    if lists:
        refuse_named(
            context,
            "nothing is searched for where lists are given",
            *("rounds", "patience", "n_best", "density", "search", "pop_limit", "beam"),
        )
    if wants == "lists":
        refuse_named(context, "this objective looks at lists, not at lattices", "density")
    elif wants == "forests":
        refuse_named(context, "this objective looks at lattices, not at lists", "n_best")
    if wants is not None:
        refuse_other_searches(context, search)
        refuse_named(context, "only for --search gibbs", "chains", "iterations", "burn_in")
    if sparse is None:
        refuse_named(context, "there is no --sparse", "sparse_features")


def _print(summary: dict[str, Any], best: int, as_json: bool) -> None:
    """The runs on standard output, the best one marked."""
    if as_json:
        from toledo.cli.tuning_runs import summary_json

        typer.echo(summary_json({**summary, "best_seed": best}))
        return
    console = Console(soft_wrap=True)
    console = console if console.is_terminal else Console(width=WIDE, soft_wrap=True)
    table = Table("seed", box=None, pad_edge=False, header_style="bold")
    held_out = "held_out" in summary["spread"]
    names = ["start", "tuning", *(["held_out"] if held_out else [])]
    for name in (*names, "rounds", "best round", "CPU s"):
        label = f"{name.replace('_', ' ')} {summary['metric']}" if name in names else name
        table.add_column(label, justify="right")
    table.add_column("stopped")
    for row in summary["runs"]:
        mark = f"{row['seed']} *" if row["seed"] == best and len(summary["runs"]) > 1 else str(row["seed"])
        numbers = [str(row["rounds"]), str(row["best_round"]), f"{row['cpu_seconds']:.1f}"]
        table.add_row(mark, *(f"{row[name]:.2f}" for name in names), *numbers, row["stopped"])
    console.print(table)
    if len(summary["runs"]) > 1:
        for name, one in summary["spread"].items():
            figures = ", ".join(f"{key} {one[field]:.2f}" for key, field in FIGURES.items())
            console.print(f"{name.replace('_', ' ')}: {figures} (of a sample)", highlight=False)
        console.print("* its weights were written", highlight=False)
