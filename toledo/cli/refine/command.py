"""`toledo refine`: train the phrase and lexicon models of a model for the highest expected BLEU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from toledo.cli.common import (
    Json,
    Quiet,
    Threads,
    progress_for,
    refuse_named,
    require_finite,
    set_up_messages,
    tell_if_new,
    told,
)
from toledo.cli.refine import options
from toledo.cli.refine.options import Method, Schedule, Spaces, Utility
from toledo.cli.rules import require_scale
from toledo.cli.tune.tuners import ObjectiveName, named_tuner
from toledo.errors import InputError
from toledo.files import require_output_directory

if TYPE_CHECKING:
    from toledo.refinement.history import RefinementHistory
    from toledo.refinement.loop import Settings

WIDE = 120  # columns where no terminal says how many there are


def refine(  # long because it has many options, a line each
    context: typer.Context,
    model: options.ModelDirectory,
    source: options.Source,
    target: options.Target,
    tune_source: options.TuneSource,
    tune_reference: options.TuneReferences,
    validate_source: options.ValidateSource,
    validate_reference: options.ValidateReferences,
    output: options.Output,
    threads: Threads,
    alignments: options.Alignments = None,
    train: options.Train = Schedule.two_stage,
    method: options.How = Method.lbfgs,
    tau: options.Tau = None,
    lexicon_tau: options.LexiconTau = None,
    distance: options.DistanceOption = None,
    utility: options.UtilityOption = None,
    scale: options.Scale = None,
    steps: options.Steps = None,
    iterations: options.Iterations = None,
    patience: options.Patience = 3,
    folds: options.Folds = 10,
    on: options.On = Spaces.lists,
    n_best_size: options.ListSize = 100,
    density: options.Density = 10.0,
    samples: options.Samples = 40,
    pop_limit: options.PopLimit = 100,
    processes: options.Processes = 1,
    objective: options.Objective = ObjectiveName.corpus_expected_bleu,
    rounds: options.Rounds = 10,
    rounds_again: options.RoundsAgain = 2,
    tune_every: options.TuneEvery = 1,
    keep_weights: options.KeepWeights = False,
    seed: options.Seed = 1,
    work: options.WorkDirectory = None,
    resume: options.Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train phrase and lexicon probabilities for the highest expected BLEU (He and Deng 2012).

    The training text is translated, part by part by models that have not seen it, into lists of the best translations
    (or lattices, or samples of document chains). Probabilities of phrases and words in good translations grow, those in
    bad ones shrink. After each iteration weights are tuned, and the model with the best score on the validation set is
    written. All steps are kept in the work directory: --resume continues an interrupted run to the same result, and
    uses lists again for another --tau or --method. So it does for another --train, if neither or both train lexicons or
    the model is one of toledo train --lexical model1. --method growth has the steps, the utility and the distance of
    the paper; scale and folds are ours.

    **Examples**

        toledo refine model --source train.de --target train.en --tune-source val.de --tune-reference val.en \\
            --validate-source dev.de --validate-reference dev.en --output refined

        toledo refine model … --train phrase --method growth --tau 5e-5 --output refined
    """
    log = set_up_messages(quiet)
    from toledo.cli.refine.running import named_settings, procedure_of, settings_name
    from toledo.model import DESCRIPTION
    from toledo.refinement.procedure import ListSettings
    from toledo.refinement.training_lists import SampleSettings

    work = work or output.with_name(output.name + ".refining")
    _require_places(model, output, work, resume)
    tell_if_new(work, resume)
    _refuse_unused(context)
    require_output_directory(output, DESCRIPTION)
    require_finite({"--tau": tau, "--lexicon-tau": lexicon_tau, "--scale": scale, "--density": density})
    if scale is not None:
        require_scale(scale)
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
        lists=ListSettings(
            n_best_size,
            folds,
            pop_limit,
            processes,
            density if on is Spaces.lattices else None,
            SampleSettings(samples, settings.scale, seed=seed) if on is Spaces.samples else None,
        ),
        rounds=(rounds, rounds_again, seed, threads),
        tune_baseline=not keep_weights,
        work=work,
        progress=progress_for(quiet, told),
    )
    try:
        refined = procedure.run(settings, settings_name(settings))
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or SIGTERM
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


def _refuse_unused(context: typer.Context) -> None:
    """Options that the others leave nothing to do for."""
    given = context.params
    if given["method"] != Method.lbfgs:
        refuse_named(context, "only for --method lbfgs", "steps", "distance")
    of_spaces = {Spaces.lists: "n_best_size", Spaces.lattices: "density", Spaces.samples: "samples"}
    for space, name in of_spaces.items():
        if given["on"] != space:
            refuse_named(context, f"only for --on {space}", name)
    if given["on"] == Spaces.lattices and given["utility"] == Utility.sentence:
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


def _print(history: RefinementHistory, settings: Settings, as_json: bool) -> None:
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
