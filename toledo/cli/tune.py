"""`toledo tune`, `tune-rule`, `refine` and `rerank`: weights, decision rule, probabilities and reranker of a model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from toledo.cli.messages import milestones, print_result, progress_for, require_apart, resumable
from toledo.cli.options import (
    COMMON,
    Common,
    Metric,
    OutputDirectory,
    References,
    Resume,
    Search,
    Seed,
    Threads,
    Tokenized,
    command,
    flag,
    held_out_pair,
    repeated,
)
from toledo.errors import InputError
from toledo.files import require_different, require_output, require_output_directory
from toledo.progress import silent
from toledo.refinement.settings import RefineSettings
from toledo.settings import refuse_unused
from toledo.tuning.settings import TuneSettings

FOR_LISTS = ("objective", "metric", "rule", "scale", "initial", "on", "runs")


@command
def tune(  # one argument for each option
    model: Annotated[Path | None, Parameter(help="Model directory.")] = None,
    *,
    source: Annotated[
        Path | None, Parameter(alias="-s", help="Text to tune on; with --lists, for metrics that need it.")
    ] = None,
    reference: References = (),
    lists: Annotated[
        Path | None, Parameter(help="Lists of any system to tune on, instead of a model: n-best, JSONL, TSV, CSV.")
    ] = None,
    field: Annotated[
        tuple[str, ...], repeated("Key or column of the lists to read: feature=KEY, text=KEY, score=KEY or id=KEY.")
    ] = (),
    dev_source: Annotated[Path | None, Parameter(help="Development text, to choose the best round.")] = None,
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference translation of the development text.")] = (),
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Directory for the tuned model (or weights.toml) and all rounds.")
    ] = None,
    weights_only: Annotated[Path | None, Parameter(help="TOML file for the tuned weights alone.")] = None,
    write_report: Annotated[Path | None, Parameter(help="HTML file for a report with plots.")] = None,
    tokenized: Tokenized = False,
    frozen: Annotated[tuple[str, ...] | None, repeated("Weight to keep fixed; '' for none.")] = None,
    feature: Annotated[tuple[str, ...], repeated("Sparse features to add: pair, word, or target.")] = (),
    settings: TuneSettings,
    resume: Resume = False,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Find the weights with which a model translates best, in rounds of search and tuning.

    The result has the weights of the best round, as scored on the development set if given, else on the tuning set.
    Each round is saved in OUTPUT/run; --resume continues an interrupted run and gives the same result.

    **Examples**

        toledo tune model -s dev.de -r dev.en -o tuned
        toledo tune model -s dev.de -r dev.en --objective mira --runs 5 --write-report tuning.html -o tuned
        toledo tune model -s dev.de -r dev.en --search gibbs --objective corpus-expected-bleu:annealing=true -o tuned
        toledo tune --lists dev.100best.gz -r dev.en --objective pro:l2=5 --weights-only weights.toml
        toledo tune --lists dev.tsv --field feature=lm --metric column:COMET --weights-only weights.toml
    """
    inputs = (source, *reference, lists, dev_source, *dev_reference)
    _require_outputs(output, weights_only, write_report, inputs)
    if lists is not None:
        _refuse_for_lists(settings, model, dev_source, *dev_reference, *feature, tokenized or None)
    elif model is None or source is None:
        raise InputError("nothing to tune", remedy="give MODEL, --source and --reference, or --lists")
    elif not reference:
        raise InputError("there is no reference to tune for", remedy="give --reference FILE, once for each reference")
    elif field:
        raise InputError("--field names columns of lists", remedy="give --lists, or leave --field out")
    if feature and output is None:
        raise InputError("weights of new features need the model that has them", remedy="give --output DIR")
    dev = held_out_pair("dev", dev_source, dev_reference)
    sampled = isinstance(settings.search, str) and settings.search.startswith("gibbs")
    how: dict[str, Any] = {
        "frozen": None if frozen is None else [name for name in frozen if name],
        "output": output,
        "resume": resume,
        "seed": seed,
        "threads": threads,
        "progress": progress_for(common, milestones if sampled else silent),
    }
    from toledo.api.tune import tune as tune_model
    from toledo.api.tune import tune_lists
    from toledo.formats.records import parse_fields

    with resumable():
        if lists is not None:
            how |= {name: getattr(settings, name) for name in FOR_LISTS}
            tuning = tune_lists(lists, list(reference) or None, sources=source, fields=parse_fields(field), **how)
        else:
            how |= {**vars(settings), "features": feature, "tokenized": tokenized}
            how["dev"] = dev
            tuning = tune_model(model, source, list(reference), **how)  # type: ignore[arg-type]
    if weights_only is not None:
        tuning.weights.save(weights_only)
    if write_report is not None:
        from toledo.reports.tuning import write_report as write_page

        write_page(write_report, tuning.runs)
    print_result("tune", tuning, common)


def _require_outputs(
    output: Path | None, weights_only: Path | None, report: Path | None, inputs: Iterable[Path | None]
) -> None:
    """Refuse outputs that cannot be written, before any work is done for them."""
    for file in (weights_only, report):
        if file is not None:
            require_output(file)
            require_apart(file, *inputs)
    if output is None and weights_only is None:
        raise InputError("there is no output for the result", remedy="give --output DIR, or --weights-only FILE")
    require_different(weights_only, report)


def _refuse_for_lists(settings: TuneSettings, *others: object) -> None:
    """Refuse what has no meaning where lists are given."""
    if any(one is not None for one in others):
        raise InputError(
            "lists of another system are tuned without a model", remedy="give --lists, --reference and --source alone"
        )
    searching = [name for name in vars(settings) if name not in FOR_LISTS]
    refuse_unused(settings, "no search takes place with lists", *searching)


def tune_rule(
    model: Annotated[Path | None, Parameter(help="Model directory, moses.ini, or Docent's XML.")] = None,
    *,
    lists: Annotated[
        Path | None, Parameter(help="Lists of any system instead of a model: JSONL, n-best, text.")
    ] = None,
    source: Annotated[Path | None, Parameter(alias="-s", help="Text to translate, one segment per line.")] = None,
    reference: References = (),
    rule: Annotated[
        tuple[str, ...],
        repeated("Decision rule to try, as NAME or NAME:key=value,… (see toledo list rules). [default: mbr]"),
    ] = ("mbr",),
    scale: Annotated[
        tuple[float, ...], repeated("Scale to try. [default: twelve, relative to the weights, or from 0.1 to 10]")
    ] = (),
    metric: Metric = "bleu",
    search: Annotated[Search | None, Parameter(help="Search, as NAME or NAME:key=value,…. [default: beam]")] = None,
    tokenized: Tokenized = False,
    feature_weights: Annotated[
        Path | None, Parameter(help="Weights file (TOML) to score features of lists with.")
    ] = None,
    num_samples: Annotated[int | None, Parameter(alias="-n", help="Lines per segment in plain-text lists.")] = None,
    settings: Annotated[
        bool, flag("Also try other settings of each rule, such as the precision and the density of lattice-mbr.")
    ] = False,
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Directory for the model with the best rule; TOML file for lists.")
    ] = None,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Find the decision rule and its scale that score best on a development set.

    For lists, the result is a file for `toledo choose --config`.

    **Examples**

        toledo tune-rule model -s dev.de -r dev.en --rule lattice-mbr -o model-mbr
        toledo tune-rule model -s dev.de -r dev.en --rule lattice-mbr --settings -o model-mbr
        toledo tune-rule model -s dev.de -r dev.en --rule mbr --rule consensus --scale 0.5 --scale 1 --scale 2
        toledo tune-rule --lists dev.100best.gz -r dev.en --rule mbr:metric=chrf -o rule.toml
    """
    from toledo.api.model import load
    from toledo.api.tune_rule import tune_rule
    from toledo.model import DESCRIPTION
    from toledo.weights import Weights

    if not reference:
        raise InputError("there are no references to score with", remedy="give --reference FILE")
    if (model is None) == (lists is None):
        raise InputError("there is nothing to tune a rule for", remedy="give MODEL and --source, or --lists")
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
        tokenized=tokenized,
        feature_weights=None if feature_weights is None else Weights.load(feature_weights),
        num_samples=num_samples,
        settings=settings,
        seed=seed,
        threads=threads,
        progress=progress_for(common, milestones),
    )
    if output is not None:
        tuning.save(output)
    print_result("tune-rule", tuning, common)


@command
def refine(
    model: Annotated[Path, Parameter(help="Model directory.")],
    *,
    source: Annotated[Path, Parameter(alias="-s", help="Training text of the model.")],
    target: Annotated[Path, Parameter(alias="-t", help="Target side of the training text, parallel to the source.")],
    tune_source: Annotated[Path, Parameter(help="Text to tune weights on.")],
    tune_reference: Annotated[tuple[Path, ...], repeated("Reference translation of the tuning text.")],
    dev_source: Annotated[Path, Parameter(help="Development text, to choose the best iteration.")],
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference translation of the development text.")],
    output: OutputDirectory,
    tokenized: Tokenized = False,
    alignment: Annotated[
        Path | None, Parameter(help="Word alignments of the training text (Pharaoh format), for training on folds.")
    ] = None,
    settings: RefineSettings,
    resume: Resume = False,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Train phrase and word probabilities for the highest expected BLEU (He and Deng 2012).

    Each fold of the training text is translated by a model that has not seen it. Probabilities of phrases and words in
    good translations grow, those in bad ones shrink. Weights are tuned after each iteration, and the model with the
    best score on the development set is written. All steps are saved in OUTPUT/run. --resume continues an interrupted
    run and gives the same result. It also reuses the translations for another --tau or --method, and for other
    --parameters if both or neither train lexicons, or if the model comes from `toledo train --lexical model1`.

    **Examples**

        toledo refine model -s train.de -t train.en -o refined \\
            --tune-source val.de --tune-reference val.en \\
            --dev-source dev.de --dev-reference dev.en
        toledo refine model … --parameters phrase --method growth --tau 5e-5 -o refined
    """
    from toledo.api.refine import refine as refine_model

    with resumable():
        refinement = refine_model(
            model,
            source,
            target,
            tune=(tune_source, list(tune_reference)),
            dev=(dev_source, list(dev_reference)),
            tokenized=tokenized,
            settings=settings,
            alignments=alignment,
            output=output,
            resume=resume,
            seed=seed,
            threads=threads,
            progress=progress_for(common, milestones),
        )
    print_result("refine", refinement, common)


@command
def rerank(
    model: Annotated[Path, Parameter(help="Model directory.")],
    *,
    source: Annotated[Path, Parameter(alias="-s", help="Training text of the model.")],
    target: Annotated[Path, Parameter(alias="-t", help="Target side of the training text, parallel to the source.")],
    tune_source: Annotated[Path, Parameter(help="Text to tune the weights of reranking on.")],
    tune_reference: Annotated[tuple[Path, ...], repeated("Reference translation of the tuning text.")],
    output: OutputDirectory,
    tokenized: Tokenized = False,
    networks: Annotated[int, Parameter(help="Neural networks to take the mean of.", validator=Number(gte=1))] = 1,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Score the best translations of each sentence again, by features of whole translations.

    These are a neural model of each word given source words and the words before, n-grams of pairs of a word class
    and its source words, and the number of words. OUTPUT is a model that reranks whenever it translates.

    **Example**

        toledo rerank tuned -s train.de -t train.en --tune-source val.de --tune-reference val.en -o reranked
        toledo tune-rule reranked -s dev.de -r dev.en -o final
    """
    from toledo.api.rerank import rerank as rerank_model

    found = rerank_model(
        model,
        source,
        target,
        tune=(tune_source, list(tune_reference)),
        tokenized=tokenized,
        networks=networks,
        output=output,
        seed=seed,
        threads=threads,
        progress=progress_for(common, milestones),
    )
    print_result("rerank", found, common)
