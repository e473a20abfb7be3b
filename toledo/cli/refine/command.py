"""`toledo refine`: train the phrase and lexicon models of a model for the highest expected BLEU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from toledo.refinement.settings import RefineSettings
    from toledo.runs.history import History

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
    from toledo.cli.tune.runs import read_text
    from toledo.formats.alignments import read_alignments
    from toledo.model import DESCRIPTION, Model
    from toledo.refinement.procedure import Procedure
    from toledo.refinement.settings import RefineSettings
    from toledo.text.corpus import read_parallel
    from toledo.tuning.loop import model_digest

    work = work or output.with_name(output.name + ".refining")
    _require_places(model, output, work, resume)
    tell_if_new(work, resume)
    _refuse_unused(context)
    require_output_directory(output, DESCRIPTION)
    require_finite({"--tau": tau, "--lexicon-tau": lexicon_tau, "--scale": scale, "--density": density})
    if scale is not None:
        require_scale(scale)
    where: Any = "forests" if on is Spaces.lattices else on.value
    near: Any = distance and distance.value
    level: Any = utility and utility.value
    settings = RefineSettings(
        train.value, method.value, tau, lexicon_tau, near, level, scale,
        steps, iterations, patience, folds, where, n_best_size, density, samples, f"beam:pop_limit={pop_limit}",
        objective.value, rounds, rounds_again, tune_every, keep_weights, processes,
    )  # fmt: skip
    loaded = Model.load(model)
    corpus = read_parallel(source, target, (loaded.source_vocabulary, loaded.target_vocabulary))
    procedure = Procedure(
        loaded,
        corpus,
        read_text(tune_source, tune_reference),
        read_text(validate_source, validate_reference),
        named_tuner(objective),
        work,
        None if alignments is None else read_alignments(alignments, corpus),
        {"model": model_digest(model)},
        seed,
        threads,
        progress_for(quiet, told),
    )
    try:
        refined = procedure.run(settings)
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or SIGTERM
        log.warning("interrupted; to continue give the same command with --resume")
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


def _print(history: History, settings: RefineSettings, as_json: bool) -> None:
    """All iterations on standard output, the best one marked."""
    if as_json:
        typer.echo(json.dumps(history.to_json(), ensure_ascii=False))
        return
    console = Console(soft_wrap=True)
    console = console if console.is_terminal else Console(width=WIDE, soft_wrap=True)
    table = Table("iteration", "trained", box=None, pad_edge=False, header_style="bold")
    for name in ("objective", "expected BLEU", "best of lists", "validation BLEU", "CPU s"):
        table.add_column(name, justify="right")
    for one in history.all_rounds:
        mark, figures = " *" if one.number == history.best else "", ["–"] * 3
        if one.objective is not None:
            details = one.details
            figures = [f"{one.objective:.5f}", f"{100 * details['expected']:.2f}", f"{details['best_of_lists']:.2f}"]
        trained = ", ".join(one.trained) or "baseline"
        table.add_row(f"{one.number}{mark}", trained, *figures, f"{one.score:.2f}", f"{one.seconds:.1f}")
    console.print(table)
    settings = settings.resolved()
    own = {"phrase": [settings.tau], "lexicon": [settings.lexicon_tau]}
    told = " and ".join(
        f"{one:g}" for one in dict.fromkeys(own.get(settings.parameters, [settings.tau, settings.lexicon_tau]))
    )
    console.print(f"* this model was written; τ = {told}, {history.stopped}", highlight=False)
    if not history.best:
        console.print(
            "No iteration is better than the baseline: try another --tau, --scale or --method.", highlight=False
        )
