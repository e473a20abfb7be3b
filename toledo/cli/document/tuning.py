"""`toledo document tune`: weights for document search, by ranking of recorded states or by expected BLEU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from toledo.cli.common import Json, Quiet, Threads, progress_for, refuse_named, require_finite, set_up_messages, told
from toledo.cli.document import options
from toledo.cli.document import tuning_options as own
from toledo.cli.document.tuning_options import DecodingName, DocumentObjective, PairsName
from toledo.errors import InputError
from toledo.files import require_output, require_output_directory

if TYPE_CHECKING:
    from toledo.tuning.documents.ranking import DocumentPRO
    from toledo.tuning.documents.tune import DocumentGradient, DocumentTuning

OF_RANKING = ("pairs", "decoding", "positive", "record", "start", "search_steps")
OF_GRADIENTS = (
    "batch", "steps", "sharper", "samples", "every", "burn_in", "annealing", "coupled", "match_length",
)  # fmt: skip
BLEU = "bleu"
SHARPER, ROUNDS = 3.0, {"pro": 1, "expected-bleu": 12, "corpus-expected-bleu": 12}


def tune(  # long because it has many options, a line each
    context: typer.Context,
    model: options.ModelDirectory,
    source: own.Source,
    output: own.Output,
    threads: Threads,
    docids: options.DocumentIds = None,
    reference: options.References = None,
    objective: own.Objective = DocumentObjective.corpus_expected_bleu,
    initial: own.Initial = "model",
    frozen: own.Frozen = None,
    document_model: options.DocumentModel = None,
    semantic_space: options.Space = None,
    sparse: own.Sparse = None,
    sparse_features: own.SparseFeatures = 300,
    rounds: own.Rounds = None,
    l2: own.L2 = None,
    held_out_source: own.HeldOutSource = None,
    held_out_docids: own.HeldOutDocumentIds = None,
    held_out_reference: own.HeldOutReferences = None,
    pairs: own.Pairs = PairsName.all,
    decoding: own.Decoding = DecodingName.model,
    positive: own.Positive = True,
    record: own.Record = "logarithmic",
    start: own.Start = options.StartName.random,
    search_steps: own.SearchSteps = 100_000,
    batch: own.Batch = 15,
    steps: own.Steps = 8,
    sharper: own.Sharper = SHARPER,
    samples: own.Samples = 20,
    every: own.Every = 1.0,
    burn_in: own.BurnIn = 5.0,
    annealing: own.AnnealingFlag = False,
    coupled: own.Coupled = False,
    match_length: own.MatchLength = True,
    seed: own.Seed = 1,
    work: own.WorkDirectory = None,
    resume: options.Resume = False,
    trace: own.Trace = None,
    report: own.Report = None,
    output_model: own.OutputModel = None,
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
    from toledo.cli.document.tuning_runs import Choices, run
    from toledo.model import DESCRIPTION

    for file in (output, trace, report):
        if file is not None:
            require_output(file)
    if output_model is not None:
        require_output_directory(output_model, DESCRIPTION)
    if not reference:
        raise InputError("there is no reference", remedy="give --reference FILE")
    if bool(held_out_source) != bool(held_out_reference) or (held_out_docids and not held_out_source):
        raise InputError("half of a held-out set", remedy="give --held-out-source and --held-out-reference")
    if record != "logarithmic" and not (record.isascii() and record.isdigit() and int(record)):
        raise InputError(f"--record {record}", remedy="write logarithmic, or a number of steps")
    _refuse_unused(context, objective, sparse)
    models = options.named_numbers(document_model, "--model")
    numbers = {"--burn-in": burn_in, "--every": every, "--sharper": sharper, "--l2": l2}
    require_finite({**numbers, **{f"--model {name}": value for name, value in models.items()}})
    if BLEU in models:
        raise InputError("BLEU is no feature: it looks at the references", remedy="leave --model bleu out")
    method = _method(
        objective, rounds or ROUNDS[objective.value], l2,
        (pairs.value, decoding.value, positive, int(record) if record.isdigit() else record, search_steps, start.value),
        (batch, steps, sharper, samples, every, burn_in, annealing, coupled, match_length), seed,
    )  # fmt: skip
    leave = None if frozen is None else frozen.replace(",", " ").split()
    templates = (sparse or "").replace(",", " ").split()
    choices = Choices(method, initial, leave, models, semantic_space, templates, sparse_features, seed)
    held_out = (held_out_source, held_out_reference or [], held_out_docids) if held_out_source else None
    tuned, tuned_model = run(
        choices, model, ((source, reference, docids), held_out), work or output.with_suffix(".tuning"), resume, threads,
        progress_for(quiet, told),
    )  # fmt: skip
    tuned.weights.save(output)
    if output_model is not None:
        names = {*tuned_model.feature_names, *(tuned_model.sparse.names if tuned_model.sparse else ())}
        kept = {name: value for name, value in tuned.weights.items() if name in names}
        tuned_model.with_weights(type(tuned.weights)(kept, tuned.weights.frozen)).save(output_model)
    elif sparse is not None:
        log.warning("%s has weights of features that the model has not: --output-model writes one that has", output)
    _write(tuned, trace, report, as_json)


def _method(
    objective: DocumentObjective, rounds: int, l2: float | None, ranking: tuple[Any, ...], gradient: tuple[Any, ...],
    seed: int,
) -> DocumentPRO | DocumentGradient:  # fmt: skip
    """Settings of ranking or of gradients, in the order of their options."""
    from toledo.tuning.documents.ranking import DocumentPRO
    from toledo.tuning.documents.tune import DocumentGradient

    if objective is DocumentObjective.pro:
        pairs, decoding, positive, record, search_steps, start = ranking
        return DocumentPRO(
            pairs, decoding, positive, record, rounds, search_steps, start, 1.0 if l2 is None else l2, seed
        )
    batch, steps, sharper, samples, every, burn_in, annealing, coupled, match_length = gradient
    name: Any = objective.value
    return DocumentGradient(
        name, rounds, batch, steps, sharper, samples, every, burn_in, l2, annealing, coupled, match_length
    )


def _refuse_unused(context: typer.Context, objective: DocumentObjective, sparse: str | None) -> None:
    """What the objective does not look at is a mistake of whoever named it."""
    if objective is DocumentObjective.pro:
        refuse_named(context, "not for --objective pro", *OF_GRADIENTS)
    else:
        refuse_named(context, "only for --objective pro", *OF_RANKING)
    if sparse is None:
        refuse_named(context, "there is no --sparse", "sparse_features")


def _write(tuned: DocumentTuning, trace: Path | None, report: Path | None, as_json: bool) -> None:
    """The trace, the page, and the result in brief."""
    from toledo.files import atomic_writer
    from toledo.reports.tuning import write_report

    history = tuned.history
    found: dict[str, Any] = {
        "tuner": history.tuner, "metric": history.metric, "seed": history.seed, "rounds": len(history.rounds),
        "start": history.scores[0], **_written(tuned), "length_matched": tuned.matched,
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
        f"{history.tuner}: {'' if tuned.best else 'expected '}{history.metric} {history.scores[0]:.2f} at the start, "
        f"{tuned.score:.2f} {_rounds_text(tuned)}; {history.seconds:.1f} CPU s\n"
        f"written: the weights of {_weights_text(tuned)}"
    )


def _written(tuned: DocumentTuning) -> dict[str, Any]:
    """Which weights were written, and their score."""
    if tuned.best:
        return {"best_round": tuned.rounds[0], "best": tuned.score}
    return {"mean_of_rounds": [tuned.rounds[0], tuned.rounds[-1]], "expected": tuned.score}


def _rounds_text(tuned: DocumentTuning) -> str:
    first, last, all_rounds = tuned.rounds[0], tuned.rounds[-1], len(tuned.history.rounds)
    if tuned.best:
        return f"after round {first} of {all_rounds}"
    return (
        f"in round {first} of {all_rounds}" if first == last else f"on average in the last {len(tuned.rounds)} rounds"
    )


def _weights_text(tuned: DocumentTuning) -> str:
    first, last = tuned.rounds[0], tuned.rounds[-1]
    which = f"round {first}" if first == last else f"rounds {first} to {last}, averaged"
    return which + (", with the word penalty that gives texts the length of references" if tuned.matched else "")
