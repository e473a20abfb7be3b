"""`toledo tune`: find the weights with which a model translates best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from toledo.cli.common import Json, Quiet, Threads, progress_for, refuse_named, set_up_messages, tell_if_new, told
from toledo.cli.rules import RuleName, RuleSettings, named_rule, require_scale
from toledo.cli.translate.sampling import BurnIn, Chains, Iterations, SamplingChoice
from toledo.cli.translate.searches import (
    PopLimit,
    SearchChoice,
    SearchName,
    SearchOption,
    SpanBeam,
    refuse_other_searches,
)
from toledo.cli.tune import options
from toledo.cli.tune.tuners import MetricName, ObjectiveName, TunerOptions, named_metric, named_tuner
from toledo.errors import InputError
from toledo.progress import silent

if TYPE_CHECKING:
    from toledo.consensus.rule import Rule

UNTIL_ANNEALED = 1_000_000  # rounds: it ends by itself


def tune(  # long because it has many options, a line each
    context: typer.Context,
    threads: Threads,
    output: options.Output,
    model: options.ModelDirectory = None,
    source: options.Source = None,
    reference: options.References = None,
    n_best_lists: options.Lists = None,
    held_out_source: options.HeldOutSource = None,
    held_out_reference: options.HeldOutReferences = None,
    patience: options.Patience = 4,
    objective: options.Objective = ObjectiveName.mert,
    metric: options.MetricOption = MetricName.bleu,
    rounds: options.Rounds = None,
    n_best_size: options.ListSize = 100,
    density: options.Density = None,
    search: SearchOption = SearchName.beam,
    pop_limit: PopLimit = 200,
    beam: SpanBeam = 50,
    chains: Chains = 1,
    iterations: Iterations = 200,
    burn_in: BurnIn = 50,
    on: options.On = None,
    restarts: options.Restarts = None,
    l2: options.L2 = None,
    optimiser: options.Optimiser = None,
    annealing: options.AnnealingFlag = False,
    steps: options.Steps = None,
    batch: options.Batch = None,
    decide: options.JudgingRule = None,
    scale: options.JudgingScale = 1.0,
    initial: options.Initial = "model",
    frozen: options.Frozen = None,
    sparse: options.Sparse = None,
    sparse_features: options.SparseFeatures = 20_000,
    seed: options.Seed = 1,
    seeds: options.Seeds = 1,
    work: options.WorkDirectory = None,
    resume: options.Resume = False,
    report: options.Report = None,
    output_model: options.OutputModel = None,
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
    from toledo.cli.tune.outputs import TuningOutputs, best_run, print_runs, summarise
    from toledo.cli.tune.runs import named_trainer, read_texts, task_of_lists, task_of_model, task_of_samples
    from toledo.model import Model
    from toledo.tuning.initial import Initial, with_sparse
    from toledo.tuning.loop import LoopSettings, model_digest

    outputs = TuningOutputs(output, report, output_model, work or output.with_suffix(".tuning"))
    outputs.check()
    given = TunerOptions(on, restarts, l2, optimiser, True if annealing else None, steps, batch, density)
    sampled = search is SearchName.gibbs and not n_best_lists
    trainer = named_trainer(objective, given) if sampled else None
    tuner, progress = named_tuner(objective, given), progress_for(quiet, told if sampled else silent)
    require_scale(scale)
    settings = LoopSettings(
        rounds or (UNTIL_ANNEALED if sampled and annealing else 10), n_best_size, density or 50.0, patience=patience,
        metric=named_metric(metric, objective, on), rule=_rule(decide, n_best_size, sampled), scale=scale,
        threads=threads,
    )  # fmt: skip
    _refuse_unused(context, settings.rule, None if trainer else tuner.wants)
    start, loaded = Initial(initial, _names(frozen)), None
    if n_best_lists:
        if model or source or held_out_source or held_out_reference or sparse or output_model:
            raise InputError(
                "lists of another system are tuned without a model", remedy="give --n-best-lists and --reference alone"
            )
        task = task_of_lists(n_best_lists, reference or [], tuner, settings, start)
    else:
        if model is None or source is None:
            raise InputError("nothing to tune", remedy="give MODEL, --source and --reference; or --n-best-lists")
        loaded = with_sparse(Model.load(model), _names(sparse) or (), sparse_features)
        texts = read_texts(source, reference or [], held_out_source, held_out_reference or [])
        if trainer:
            sampling = SamplingChoice(chains, iterations, burn_in, 1, None)
            task = task_of_samples(loaded, texts, trainer, settings, start, sampling, progress)
        else:
            choice = SearchChoice(search, pop_limit, beam)
            task = task_of_model(loaded, texts, tuner, settings, start, choice, progress)
        task.configuration["model"] = model_digest(model)
    tell_if_new(outputs.work, resume)
    try:
        results = task.run(range(seed, seed + seeds), outputs.work, resume, progress)
    except (KeyboardInterrupt, SystemExit):  # Ctrl-C, or SIGTERM
        log.warning("interrupted; to continue after the last complete round give the same command with --resume")
        raise
    best = best_run(results)
    outputs.write(results, loaded)
    print_runs(summarise([result.history for result in results]), best.history.seed, as_json)
    if model and sparse:
        outputs.tell_of_sparse(best.weights, model)


def _names(text: str | None) -> list[str] | None:
    return None if text is None else text.replace(",", " ").split()


def _rule(name: RuleName | None, n_best: int, sampled: bool) -> Rule:
    """The rule that judges rounds."""
    if sampled:
        return named_rule(name or RuleName.mbr, RuleSettings(), samples=True)
    return named_rule(name or RuleName.viterbi, RuleSettings(size=n_best))


def _refuse_unused(context: typer.Context, rule: Rule, wants: str | None) -> None:
    """What `wants` lists or lattices has no use for options of the other; None is for samples."""
    given = context.params
    if wants is None:
        refuse_named(context, "not for --search gibbs", "n_best_size", "density", "pop_limit", "beam")
        refuse_named(context, "weights trained by samples have the scale 1", "scale")
        if given["annealing"]:
            refuse_named(context, "annealing with --search gibbs continues until annealing has finished", "patience")
    if rule.name == "viterbi":
        refuse_named(context, "no scale changes which derivation is best; it is for another --decide", "scale")
    if given["n_best_lists"]:
        refuse_named(
            context,
            "nothing is searched for where lists are given",
            *("rounds", "patience", "n_best_size", "density", "search", "pop_limit", "beam"),
        )
    if wants == "lists":
        refuse_named(context, "this objective looks at lists, not at lattices", "density")
    elif wants == "forests":
        refuse_named(context, "this objective looks at lattices, not at lists", "n_best_size")
    if wants is not None:
        refuse_other_searches(context, given["search"])
        refuse_named(context, "only for --search gibbs", "chains", "iterations", "burn_in")
    if given["sparse"] is None:
        refuse_named(context, "there is no --sparse", "sparse_features")
