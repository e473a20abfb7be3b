"""`toledo tune`: find the weights with which a model translates best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from toledo.cli.messages import milestones, print_result, progress_for, resumable
from toledo.cli.options import COMMON, Common, References, Resume, Seed, Threads, command, repeated
from toledo.cli.outputs import require_apart
from toledo.errors import InputError
from toledo.files import require_output
from toledo.progress import silent
from toledo.tuning.settings import TuneSettings

FOR_LISTS = ("objective", "metric", "rule", "scale", "initial", "on", "runs")


@command
def tune(
    model: Annotated[Path | None, Parameter(help="Model directory.")] = None,
    *,
    source: Annotated[Path | None, Parameter(alias="-s", help="Text to tune on, tokenized.")] = None,
    reference: References = (),
    lists: Annotated[Path | None, Parameter(help="Tune the features of these n-best lists, of any system.")] = None,
    dev_source: Annotated[Path | None, Parameter(help="Text to choose the best round by.")] = None,
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference translation of that text.")] = (),
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Directory for the tuned model (lists: weights.toml) and all rounds.")
    ] = None,
    weights_only: Annotated[Path | None, Parameter(help="File for the weights (TOML).")] = None,
    write_report: Annotated[Path | None, Parameter(help="File for a page with plots (HTML).")] = None,
    frozen: Annotated[tuple[str, ...] | None, repeated("Weight to leave alone, '' for none.")] = None,
    feature: Annotated[tuple[str, ...], repeated("Sparse features to add: pair, word, or target.")] = (),
    settings: TuneSettings,
    resume: Resume = False,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Find the weights with which a model translates best: search, tune, search again until nothing changes.

    The weights of the best round count: by the development set if there is one, else by the tuning set. Each round is
    kept in OUTPUT/run, so that --resume continues an interrupted run to the same result.

    **Examples**

        toledo tune model -s dev.de -r dev.en -o tuned
        toledo tune model -s dev.de -r dev.en --objective mira --runs 5 --write-report tuning.html -o tuned
        toledo tune model -s dev.de -r dev.en --search gibbs --objective corpus-expected-bleu:annealing=true -o tuned
        toledo tune --lists dev.100best.gz -r dev.en --objective pro:l2=5 --weights-only weights.toml
    """
    inputs = (source, *reference, lists, dev_source, *dev_reference)
    for file in (weights_only, write_report):
        if file is not None:
            require_output(file)
            require_apart(file, *inputs)
    if output is None and weights_only is None:
        raise InputError("there is no place for the result", remedy="give --output DIR, or --weights-only FILE")
    if weights_only is not None and weights_only == write_report:
        raise InputError("two results would go to one place", file=weights_only, remedy="name another file")
    if not reference:
        raise InputError("there is no reference to tune for", remedy="give --reference FILE, once for each reference")
    sampled = isinstance(settings.search, str) and settings.search.startswith("gibbs")
    how: dict[str, Any] = {
        "frozen": None if frozen is None else [name for name in frozen if name],
        "output": output,
        "resume": resume,
        "seed": seed,
        "threads": threads,
        "progress": progress_for(common, milestones if sampled else silent),
    }
    if lists is not None:
        _refuse_for_lists(settings, model, source, dev_source, *dev_reference, *feature)
    elif model is None or source is None:
        raise InputError("nothing to tune", remedy="give MODEL, --source and --reference, or --lists and --reference")
    if feature and output is None:
        raise InputError("weights of new features need the model that has them", remedy="give --output DIR")
    if bool(dev_source) != bool(dev_reference):
        raise InputError("half a development set", remedy="give both --dev-source and --dev-reference")
    from toledo.api.tune import tune as tune_model
    from toledo.api.tune import tune_lists

    with resumable():
        if lists is not None:
            how |= {name: getattr(settings, name) for name in FOR_LISTS}
            tuning = tune_lists(lists, list(reference), **how)
        else:
            how |= {**vars(settings), "features": feature}
            how["dev"] = None if dev_source is None else (dev_source, list(dev_reference))
            tuning = tune_model(model, source, list(reference), **how)  # type: ignore[arg-type]
    if weights_only is not None:
        tuning.weights.save(weights_only)
    if write_report is not None:
        from toledo.reports.tuning import write_report as write_page

        write_page(write_report, tuning.runs)
    print_result("tune", tuning, common)


def _refuse_for_lists(settings: TuneSettings, *others: object) -> None:
    """Refuse what has no meaning where lists are given."""
    if any(one is not None for one in others):
        raise InputError(
            "lists of another system are tuned without a model", remedy="give --lists and --reference alone"
        )
    default = vars(TuneSettings())
    given = [name for name, value in vars(settings).items() if name not in FOR_LISTS and value != default[name]]
    if given:
        named = ", ".join(f"`{name}`" for name in given)
        raise InputError(f"{named}: nothing is searched for where lists are given", remedy=f"leave {named} out")
