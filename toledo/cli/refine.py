"""`toledo refine`: train the phrase and lexicon models of a model for the highest expected BLEU."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from toledo.cli.common import Json, Quiet, Threads, progress_for, refuse_named, set_up_messages, told
from toledo.cli.tuners import ObjectiveName, named_tuner
from toledo.errors import InputError
from toledo.files import require_output_directory

if TYPE_CHECKING:
    from toledo.refinement.history import History
    from toledo.refinement.loop import Settings

TEXTS, TRAINING, LISTS, TUNING, WORK = "Texts", "Training", "Translation of the training text", "Weights", "Work"
WIDE = 120  # columns where no terminal says how many there are


class Schedule(StrEnum):
    """What to train, and in which order."""

    phrase = "phrase"
    lexicon = "lexicon"
    both = "both"
    two_stage = "two-stage"


class Method(StrEnum):
    """How to step uphill."""

    lbfgs = "lbfgs"
    growth = "growth"


class Distance(StrEnum):
    """What is near."""

    ratios = "ratios"
    kl = "kl"


class Utility(StrEnum):
    """What is expected."""

    corpus = "corpus"
    sentence = "sentence"


class Spaces(StrEnum):
    """What to look at."""

    lists = "lists"
    lattices = "lattices"


def refine(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="Model directory.")],
    source: Annotated[Path, typer.Option(help="The training text of the model, tokenised.", rich_help_panel=TEXTS)],
    target: Annotated[Path, typer.Option(help="Line by line its translation.", rich_help_panel=TEXTS)],
    tune_source: Annotated[Path, typer.Option(help="Text to tune weights on.", rich_help_panel=TEXTS)],
    tune_reference: Annotated[list[Path], typer.Option(help="May be repeated.", rich_help_panel=TEXTS)],
    validate_source: Annotated[Path, typer.Option(help="Text to choose the best iteration by.", rich_help_panel=TEXTS)],
    validate_reference: Annotated[list[Path], typer.Option(help="May be repeated.", rich_help_panel=TEXTS)],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model directory to write.", rich_help_panel=WORK)],
    threads: Threads,
    alignments: Annotated[
        Path | None,
        typer.Option(help="Word alignments for the models of folds (Pharaoh format).", rich_help_panel=TEXTS),
    ] = None,
    train: Annotated[
        Schedule,
        typer.Option(help="Phrase models, lexicons, both at once, or one after the other.", rich_help_panel=TRAINING),
    ] = Schedule.two_stage,
    method: Annotated[
        Method,
        typer.Option(help="By gradients, or steps, utility and distance of the paper.", rich_help_panel=TRAINING),
    ] = Method.lbfgs,
    tau: Annotated[
        float | None,
        typer.Option(
            help="How strongly to stay near the given model (τ).",
            min=0,
            show_default="0.2; kl: 1e-5",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    lexicon_tau: Annotated[
        float | None,
        typer.Option(
            help="The same for lexicons.",
            min=0,
            show_default="a tenth of --tau; kl: as --tau",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    distance: Annotated[
        Distance | None,
        typer.Option(
            help="What is near: logarithms of ratios, or KL.",
            show_default="ratios; growth: kl",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    utility: Annotated[
        Utility | None,
        typer.Option(
            help="BLEU of the corpus, or of sentences.",
            show_default="corpus; growth: sentence",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            help="Sum of absolute weights in posteriors: more is sharper.",
            show_default="20; growth: 5",
            rich_help_panel=TRAINING,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Of lbfgs, in an iteration.", min=1, show_default="20", rich_help_panel=TRAINING),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(help="At most, in a stage.", min=1, show_default="1; growth: 10", rich_help_panel=TRAINING),
    ] = None,
    patience: Annotated[
        int, typer.Option(help="End a stage after so many without a better score.", min=1, rich_help_panel=TRAINING)
    ] = 3,
    folds: Annotated[
        int,
        typer.Option(
            help="Translate each of so many parts by a model trained without it; 1: by the model itself.",
            min=1,
            rich_help_panel=LISTS,
        ),
    ] = 10,
    n_best: Annotated[int, typer.Option(help="Texts in a list.", min=1, rich_help_panel=LISTS)] = 100,
    on: Annotated[Spaces, typer.Option(help="Lists or whole lattices.", rich_help_panel=LISTS)] = Spaces.lists,
    density: Annotated[float, typer.Option(help="Edges per word of a lattice.", min=1, rich_help_panel=LISTS)] = 10.0,
    pop_limit: Annotated[
        int, typer.Option(metavar="N", help="Of all searches: steps per word.", min=1, rich_help_panel=LISTS)
    ] = 100,
    processes: Annotated[int, typer.Option(help="To translate with.", min=1, rich_help_panel=LISTS)] = 1,
    objective: Annotated[
        ObjectiveName, typer.Option(help="Tuner, as for toledo tune.", metavar="NAME", rich_help_panel=TUNING)
    ] = ObjectiveName.corpus_expected_bleu,
    rounds: Annotated[int, typer.Option(help="Of tuning the baseline.", min=1, rich_help_panel=TUNING)] = 10,
    rounds_again: Annotated[int, typer.Option(help="Of tuning after an iteration.", min=1, rich_help_panel=TUNING)] = 2,
    tune_every: Annotated[
        int, typer.Option(help="Tune after so many iterations; 0: never.", min=0, rich_help_panel=TUNING)
    ] = 1,
    keep_weights: Annotated[
        bool, typer.Option("--keep-weights", help="The weights of the model are tuned.", rich_help_panel=TUNING)
    ] = False,
    seed: Annotated[int, typer.Option(help="Of tuners with random numbers.", min=0, rich_help_panel=TUNING)] = 1,
    work: Annotated[
        Path | None,
        typer.Option(help="Directory for all steps.", show_default="OUTPUT.refining", rich_help_panel=WORK),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Use what is in the work directory.", rich_help_panel=WORK)
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train phrase and lexicon probabilities for the highest expected BLEU (He and Deng 2012).

    The training text is translated into n-best lists, part by part by models that have not seen it. Probabilities of
    phrases and words in good translations grow, those in bad ones shrink. After each iteration weights are tuned, and
    the model with the best score on the validation set is written. All steps are kept in the work directory: --resume
    continues an interrupted run to the same result, and uses lists again for another --tau or --method. So it does for
    another --train, if neither or both train lexicons or the model is one of toledo train --lexical model1. --method
    growth has the steps, the utility and the distance of the paper; scale and folds are ours.

    **Examples**

        toledo refine model --source train.de --target train.en --tune-source val.de --tune-reference val.en \\
            --validate-source dev.de --validate-reference dev.en --output refined

        toledo refine model … --train phrase --method growth --tau 5e-5 --output refined
    """
    log = set_up_messages(quiet)
    from toledo.cli.refining import named_settings, procedure_of, settings_name
    from toledo.model import DESCRIPTION

    work = work or output.with_name(output.name + ".refining")
    require_output_directory(output, DESCRIPTION)
    _require_places(model, output, work, resume)
    _refuse_unused(context)
    _require_finite({"--tau": tau, "--lexicon-tau": lexicon_tau, "--scale": scale, "--density": density})
    if scale is not None and not scale > 0.0:
        raise InputError(f"--scale {scale}", remedy="choose a positive number")
    settings = named_settings(
        method is Method.growth,
        on is Spaces.lattices,
        steps,
        schedule=train.value,
        strength=tau,
        lexicon_strength=lexicon_tau,
        distance=distance and distance.value,
        utility=utility and utility.value,
        scale=scale,
        iterations=iterations,
        patience=patience,
        tune_every=tune_every,
        threads=threads,
    )
    procedure = procedure_of(
        model,
        (source, target, alignments),
        (tune_source, tune_reference),
        (validate_source, validate_reference),
        tuner=named_tuner(objective),
        lists=(n_best, folds, pop_limit, processes, density if on is Spaces.lattices else None),
        rounds=(rounds, rounds_again, seed, threads),
        tune_baseline=not keep_weights,
        work=work,
        progress=progress_for(quiet, told),
    )
    try:
        refined = procedure.run(settings, settings_name(settings))
    except KeyboardInterrupt:
        log.warning("interrupted; to go on give the same command with --resume")
        raise
    refined.model.save(output)
    _print(refined.history, settings, as_json)


def _require_places(model: Path, output: Path, work: Path, resume: bool) -> None:
    """Refuse directories that would replace one another, and one with the steps of an earlier run."""
    given, result, steps = model.resolve(), output.resolve(), work.resolve()
    if steps.is_relative_to(result) or result.is_relative_to(steps):
        raise InputError(
            f"the result ({output}) and the work directory lie one in the other",
            file=work,
            remedy="name another --work directory",
        )
    if given.is_relative_to(result):
        raise InputError("the result would replace the given model", file=output, remedy="name another --output")
    if steps.is_relative_to(given):
        raise InputError("the work directory is the given model", file=work, remedy="name another --work directory")
    if work.exists() and not work.is_dir():
        raise InputError("is a file, not a directory", file=work, remedy="name another --work directory")
    if work.exists() and any(work.iterdir()) and not resume:
        raise InputError(
            "holds the steps of an earlier run",
            file=work,
            remedy="go on with --resume, name another --work directory, or remove this one",
        )


def _require_finite(numbers: Mapping[str, float | None]) -> None:
    for name, number in numbers.items():
        if number is not None and not math.isfinite(number):
            raise InputError(f"{name} {number}", remedy="choose a finite number")


def _refuse_unused(context: typer.Context) -> None:
    """Options that the others leave nothing to do for."""
    given = context.params
    if given["method"] != Method.lbfgs:
        refuse_named(context, "only for --method lbfgs", "steps", "distance")
    if given["on"] == Spaces.lists:
        refuse_named(context, "only for --on lattices", "density")
    else:
        refuse_named(context, "only for --on lists", "n_best")
        if given["utility"] == Utility.sentence:
            raise InputError("lattices know BLEU of the corpus only", remedy="use --utility corpus, or --on lists")
    if given["train"] == Schedule.phrase:
        refuse_named(context, "--train phrase trains no lexicons", "lexicon_tau")
    if given["train"] == Schedule.lexicon and given["lexicon_tau"] is not None:
        refuse_named(context, "--train lexicon looks at --lexicon-tau", "tau")
    if given["keep_weights"]:
        refuse_named(context, "with --keep-weights the baseline is not tuned", "rounds")
    if not given["tune_every"]:
        refuse_named(context, "with --tune-every 0 weights are not tuned again", "rounds_again")
    if given["folds"] == 1:
        refuse_named(context, "with --folds 1 no other models are trained", "alignments")


def _print(history: History, settings: Settings, as_json: bool) -> None:
    """All iterations on standard output, the best one marked."""
    if as_json:
        typer.echo(json.dumps(history.to_json(), ensure_ascii=False))
        return
    console = Console(soft_wrap=True)
    console = console if console.is_terminal else Console(width=WIDE, soft_wrap=True)
    table = Table("iteration", "trained", box=None, pad_edge=False, header_style="bold")
    for name in ("objective", "expected BLEU", "best of lists", "validation BLEU", "CPU s"):
        table.add_column(name, justify="right")
    for one in history.iterations:
        mark = " *" if one.number == history.best.number else ""
        figures = ["–"] * 3
        if one.objective and one.expected is not None and one.best is not None:
            figures = [f"{one.objective[1]:.5f}", f"{100 * one.expected:.2f}", f"{one.best:.2f}"]
        seconds = f"{one.seconds + one.tuning_seconds:.1f}"
        trained = ", ".join(one.families) or "baseline"
        table.add_row(f"{one.number}{mark}", trained, *figures, f"{one.validation:.2f}", seconds)
    console.print(table)
    told = " and ".join(f"{one:g}" for one in dict.fromkeys(map(settings.strength_of, settings.families)))
    console.print(f"* this model was written; τ = {told}, {history.stopped}", highlight=False)
    if not history.best.number:
        console.print(
            "No iteration is better than the baseline: try another --tau, --scale or --method.", highlight=False
        )
