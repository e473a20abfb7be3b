"""`toledo tune-rule`: find rule and scale on a development set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.messages import milestones, print_result, progress_for
from toledo.cli.options import COMMON, Common, Metric, References, Search, Seed, Threads, repeated
from toledo.errors import InputError


def tune_rule(
    model: Annotated[Path | None, Parameter(help="Model directory, moses.ini, or Docent's XML.")] = None,
    *,
    lists: Annotated[
        Path | None, Parameter(help="Lists of any system instead of a model: JSONL, n-best, text.")
    ] = None,
    source: Annotated[Path | None, Parameter(alias="-s", help="Text to translate, one segment per line.")] = None,
    reference: References = (),
    rule: Annotated[tuple[str, ...], repeated("Decision rule to try, as NAME or NAME:key=value,….")] = ("mbr",),
    scale: Annotated[
        tuple[float, ...], repeated("Scale to try. [default: twelve, by the norm of the weights, or from 0.1 to 10]")
    ] = (),
    metric: Metric = "bleu",
    search: Annotated[Search | None, Parameter(help="Search, as NAME or NAME:key=value,…. [default: beam]")] = None,
    feature_weights: Annotated[
        Path | None, Parameter(help="Weights file (TOML) that scores the features of lists.")
    ] = None,
    num_samples: Annotated[int | None, Parameter(alias="-n", help="Lines per segment of plain-text lists.")] = None,
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Directory for the model with the best rule; for lists a TOML file.")
    ] = None,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Find the decision rule and its scale that score best on a development set.

    The result for lists is a file for `toledo choose --config`.

    **Examples**

        toledo tune-rule model -s dev.de -r dev.en --rule lattice-mbr -o model-mbr
        toledo tune-rule model -s dev.de -r dev.en --rule mbr --rule consensus --scale 0.5 --scale 1 --scale 2
        toledo tune-rule --lists dev.100best.gz -r dev.en --rule mbr:metric=chrf -o rule.toml
    """
    from toledo.api.model import load
    from toledo.api.tune_rule import tune_rule
    from toledo.cli.outputs import require_apart
    from toledo.files import require_output, require_output_directory
    from toledo.model import DESCRIPTION
    from toledo.weights import Weights

    if not reference:
        raise InputError("there are no references to score with", remedy="give --reference FILE")
    if (model is None) == (lists is None):
        raise InputError("nothing to tune the rule of", remedy="give MODEL and --source, or --lists")
    if output is not None:
        require_apart(output, lists, source, *reference, feature_weights)
        if model is None:
            require_output(output)
        else:
            require_output_directory(output, DESCRIPTION)
    given = load(model) if model is not None else lists
    assert given is not None  # noqa: S101 (one of both was given)
    tuning = tune_rule(
        given,
        list(reference),
        sources=source,
        rules=rule,
        scales=scale or None,
        metric=metric,
        search=search,
        feature_weights=None if feature_weights is None else Weights.load(feature_weights),
        num_samples=num_samples,
        seed=seed,
        threads=threads,
        progress=progress_for(common, milestones),
    )
    if output is not None:
        tuning.save(output)
    print_result("tune-rule", tuning, common)
