"""`toledo document tune`: weights for document search, by ranking of recorded states or by expected BLEU."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toledo.cli import document_options as options
from toledo.cli.common import Json, Quiet, Threads, progress_for, refuse_named, set_up_messages, told
from toledo.errors import InputError
from toledo.files import require_output, require_output_directory

if TYPE_CHECKING:
    from toledo.tuning.loop import TuningResult

RANKING, GRADIENT, RUNS = "Ranking (--objective pro)", "Expected BLEU", "Runs and results"
OF_RANKING = ("pairs", "decoding", "positive", "record", "start", "search_steps")
OF_GRADIENTS = (
    "batch", "steps", "sharper", "samples", "every", "burn_in", "annealing", "coupled", "match_length",
)  # fmt: skip
SHARPER, ROUNDS = 3.0, {"pro": 1, "expected-bleu": 12, "corpus-expected-bleu": 12}


class DocumentObjective(StrEnum):
    """What is to be maximised."""

    pro = "pro"
    expected_bleu = "expected-bleu"
    corpus_expected_bleu = "corpus-expected-bleu"


class PairsName(StrEnum):
    """Which states are compared."""

    consecutive = "consecutive"
    all = "all"


class DecodingName(StrEnum):
    """What a search climbs towards."""

    model = "model"
    bleu = "bleu"


def tune(
    context: typer.Context,
    model: options.ModelDirectory,
    source: Annotated[str, typer.Option("--source", help="Documents to tune on: XML (NIST, WMT), SGM, or text.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Weights file to write (TOML).")],
    threads: Threads,
    docids: options.DocumentIds = None,
    reference: options.References = None,
    objective: Annotated[
        DocumentObjective, typer.Option(help="pro, or expected BLEU of documents or of batches of them.")
    ] = DocumentObjective.corpus_expected_bleu,
    initial: Annotated[str, typer.Option(help="Where to begin: model, default, zero, or a file.")] = "model",
    frozen: Annotated[
        str | None, typer.Option(help="Weights to leave alone, with commas.", show_default="as at the start")
    ] = None,
    document_model: options.DocumentModel = None,
    semantic_space: options.Space = None,
    sparse: Annotated[str | None, typer.Option(help="Add sparse features: pair, word, target.")] = None,
    sparse_features: Annotated[int, typer.Option(help="The most frequent of each kind.", min=1)] = 300,
    rounds: Annotated[int | None, typer.Option(help="So many.", min=1, show_default="12; pro: 1")] = None,
    l2: Annotated[
        float | None, typer.Option(help="Keep weights small.", min=0.0, show_default="0; pro: 1; sparse: 0.0001")
    ] = None,
    held_out_source: Annotated[
        str | None, typer.Option(help="Documents to choose the best round by.", show_default="the tuning documents")
    ] = None,
    held_out_docids: Annotated[Path | None, typer.Option(help="For text.")] = None,
    held_out_reference: Annotated[list[str] | None, typer.Option(help="May be repeated.")] = None,
    pairs: Annotated[
        PairsName, typer.Option(help="A state with the next one, or with all later ones.", rich_help_panel=RANKING)
    ] = PairsName.all,
    decoding: Annotated[
        DecodingName, typer.Option(help="States of a search by the model, or for BLEU.", rich_help_panel=RANKING)
    ] = DecodingName.model,
    positive: Annotated[
        bool, typer.Option("--positive/--negative", help="Set negative weights to 0.", rich_help_panel=RANKING)
    ] = True,
    record: Annotated[
        str, typer.Option(help="States: logarithmic, or each so many steps.", rich_help_panel=RANKING)
    ] = "logarithmic",
    start: Annotated[
        options.StartName, typer.Option("--start", help="Of searches.", rich_help_panel=RANKING)
    ] = options.StartName.random,
    search_steps: Annotated[
        int, typer.Option(help="Of searches, for each document.", min=1, rich_help_panel=RANKING)
    ] = 100_000,
    batch: Annotated[int, typer.Option(help="Documents for each step.", min=1, rich_help_panel=GRADIENT)] = 15,
    steps: Annotated[int, typer.Option(help="In a round.", min=1, rich_help_panel=GRADIENT)] = 8,
    sharper: Annotated[
        float, typer.Option(help="Begin with weights times this.", min=0.0, rich_help_panel=GRADIENT)
    ] = SHARPER,
    samples: Annotated[
        int, typer.Option(help="States of a document, each step.", min=2, rich_help_panel=GRADIENT)
    ] = 20,
    every: Annotated[
        float, typer.Option(help="Steps of a chain per source word between them.", min=0.01, rich_help_panel=GRADIENT)
    ] = 1.0,
    burn_in: Annotated[
        float, typer.Option(help="Steps per source word before them.", min=0.0, rich_help_panel=GRADIENT)
    ] = 5.0,
    annealing: Annotated[
        bool, typer.Option("--annealing", help="From flat to sharp distributions.", rich_help_panel=GRADIENT)
    ] = False,
    coupled: Annotated[
        bool, typer.Option("--coupled", help="Covariances of whole documents: exact, noisy.", rich_help_panel=GRADIENT)
    ] = False,
    match_length: Annotated[
        bool,
        typer.Option(
            "--match-length/--any-length", help="At last, search with some word penalties.", rich_help_panel=GRADIENT
        ),
    ] = True,
    seed: Annotated[int, typer.Option(help="Of random numbers.", min=0, rich_help_panel=RUNS)] = 1,
    work: Annotated[
        Path | None, typer.Option(help="Directory for the history.", show_default="OUTPUT.tuning", rich_help_panel=RUNS)
    ] = None,
    resume: options.Resume = False,
    trace: Annotated[Path | None, typer.Option(help="Write rounds, a line of JSON each.", rich_help_panel=RUNS)] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page with plots (HTML).", rich_help_panel=RUNS)] = None,
    output_model: Annotated[
        Path | None, typer.Option(help="Write the model with its new weights.", rich_help_panel=RUNS)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Find weights with which document search translates best.

    Expected BLEU is raised along its gradient, from samples of whole documents; pro learns from states that searches
    pass (Smith 2015). Each round is kept in the work directory; --resume continues an interrupted run to the same
    result.

    **Examples**

        toledo document tune model --source tune.xml --reference ref.xml --output tuned.toml

        toledo document tune model --source tune.de --docids tune.docids -r tune.en --model consistency=0 -o tuned.toml

        toledo document tune model --source tune.xml -r ref.xml --objective pro --pairs all --record 10000 -o tuned.toml
    """
    log = set_up_messages(quiet)
    from toledo.cli.document_tuning_runs import Choices, run
    from toledo.model import DESCRIPTION

    for file in (output, trace, report):
        if file is not None:
            require_output(file)
    if output_model is not None:
        require_output_directory(output_model, DESCRIPTION)
    if not reference:
        raise InputError("there is no reference", remedy="give --reference FILE")
    if bool(held_out_source) != bool(held_out_reference):
        raise InputError("half of a held-out set", remedy="give --held-out-source and --held-out-reference")
    if record != "logarithmic" and not (record.isascii() and record.isdigit() and int(record)):
        raise InputError(f"--record {record}", remedy="write logarithmic, or a number of steps")
    _refuse_unused(context, objective, sparse)
    choices = Choices(
        objective.value, initial, frozen, options.named_numbers(document_model, "--model"), semantic_space, sparse,
        sparse_features, rounds or ROUNDS[objective.value], l2, pairs.value, decoding.value, positive,
        int(record) if record.isdigit() else record, start.value, search_steps, batch, steps, sharper, samples, every,
        burn_in, annealing, coupled, match_length, seed,
    )  # fmt: skip
    held_out = (held_out_source, held_out_reference or [], held_out_docids) if held_out_source else None
    tuned, tuned_model = run(
        choices, model, (source, reference, docids), held_out, work or output.with_suffix(".tuning"), resume, threads,
        progress_for(quiet, told),
    )  # fmt: skip
    tuned.weights.save(output)
    if output_model is not None:
        own = {*tuned_model.feature_names, *(tuned_model.sparse.names if tuned_model.sparse else ())}
        kept = {name: value for name, value in tuned.weights.items() if name in own}
        tuned_model.with_weights(type(tuned.weights)(kept, tuned.weights.frozen)).save(output_model)
    elif sparse is not None:
        log.warning("%s has weights of features that the model has not: --output-model writes one that has", output)
    _write(tuned, trace, report, as_json)


def _refuse_unused(context: typer.Context, objective: DocumentObjective, sparse: str | None) -> None:
    """What the objective does not look at is a mistake of whoever named it."""
    if objective is DocumentObjective.pro:
        refuse_named(context, "not for --objective pro", *OF_GRADIENTS)
    else:
        refuse_named(context, "only for --objective pro", *OF_RANKING)
    if sparse is None:
        refuse_named(context, "there is no --sparse", "sparse_features")


def _write(tuned: TuningResult, trace: Path | None, report: Path | None, as_json: bool) -> None:
    """The trace, the page, and the result in brief."""
    from toledo.files import atomic_writer
    from toledo.reports.tuning import write_report

    history = tuned.history
    found: dict[str, Any] = {
        "tuner": history.tuner, "metric": history.metric, "seed": history.seed, "rounds": len(history.rounds),
        "start": history.scores[0], "best_round": history.best, "best": history.best_score,
        "cpu_seconds": history.seconds, "stopped": history.stopped,
    }  # fmt: skip
    if trace is not None:
        with atomic_writer(trace) as stream:
            for one in history.to_json()["rounds"]:
                stream.write(json.dumps(one, ensure_ascii=False) + "\n")
    if report is not None:
        write_report(report, [history])
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(
        f"{history.tuner}: {history.metric} {history.scores[0]:.2f} at the start, "
        f"{history.best_score:.2f} after round {history.best} of {len(history.rounds)}; {history.seconds:.1f} CPU s"
    )
