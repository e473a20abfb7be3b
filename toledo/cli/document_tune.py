"""`toledo document tune`: weights for document search, by ranking of recorded states or by expected BLEU."""

from __future__ import annotations

import json
from dataclasses import field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from toledo.cli.document import DocumentIds, DocumentModels, ModelDirectory, References, SpaceDirectory, numbers
from toledo.cli.messages import milestones, print_result, progress_for, resumable
from toledo.cli.options import COMMON, Common, OutputDirectory, Resume, Seed, Threads, repeated
from toledo.errors import InputError
from toledo.files import atomic_writer, require_output
from toledo.settings import describe
from toledo.tuning.settings import DOCUMENT_OBJECTIVES, DocumentGradient, DocumentPRO

SHARED = ("objective", "seed", "rounds", "l2")  # options of the command itself
GROUPS = {
    DocumentPRO: Group("Ranking (--objective pro)", sort_key=10),
    DocumentGradient: Group("Expected BLEU (other objectives)", sort_key=11),
}


def _method_options() -> Any:
    """Return a dataclass with the settings of both methods; None for those that are not given."""
    columns = [
        (name, Annotated[hint | None, Parameter(help=f"{text} [default: {default}]", group=group)], field(default=None))
        for kind, group in GROUPS.items()
        for name, (hint, default, text) in describe(kind).items()
        if name not in SHARED
    ]
    made = make_dataclass("MethodOptions", columns, frozen=True)
    made.__module__ = __name__  # Cyclopts does not look into classes of the standard library
    return Parameter(name="*")(made)


if TYPE_CHECKING:
    from toledo.api.documents import DocumentTuning

    MethodOptions = Any
else:
    MethodOptions = _method_options()

Source = Annotated[Path, Parameter(alias="-s", help="Documents to tune on: XML (NIST, WMT), SGM, or tokenized text.")]


def tune(  # one argument for each option
    model: ModelDirectory,
    *,
    source: Source,
    reference: References,
    output: OutputDirectory,
    document_ids: DocumentIds = None,
    document_model: DocumentModels = (),
    semantic_space: SpaceDirectory = None,
    objective: Annotated[
        str, Parameter(help="corpus-expected-bleu, expected-bleu (of each document), or pro (ranking of states).")
    ] = "corpus-expected-bleu",
    initial: Annotated[str, Parameter(help="Weights to start from: model, default, zero, or a weights file.")] = (
        "model"
    ),
    frozen: Annotated[
        tuple[str, ...] | None, repeated("Weight to leave alone, '' for none. [default: as at the start]")
    ] = None,
    feature: Annotated[tuple[str, ...], repeated("Sparse features to add: pair, word or target.")] = (),
    max_features: Annotated[
        int | None, Parameter(help="Number of sparse features of each kind, the most frequent ones. [default: 300]")
    ] = None,
    rounds: Annotated[int | None, Parameter(help="Number of rounds. [default: 12; pro: 1]")] = None,
    l2: Annotated[float | None, Parameter(help="L2 penalty. [default: 0; with sparse features 0.0001; pro: 1]")] = None,
    dev_source: Annotated[
        Path | None,
        Parameter(
            help="Documents that choose the best round. "
            "[default: the mean of the last half of the rounds; pro: the tuning documents]"
        ),
    ] = None,
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference for the development documents.")] = (),
    dev_document_ids: Annotated[
        Path | None, Parameter(help="File with the document of each line of the development text.")
    ] = None,
    method: MethodOptions = MethodOptions(),  # noqa: B008 (frozen)
    write_trace: Annotated[Path | None, Parameter(help="File for the rounds, one line of JSON each.")] = None,
    write_report: Annotated[Path | None, Parameter(help="Page with plots (HTML).")] = None,
    seed: Seed = 1,
    resume: Resume = False,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Find the weights with which document search translates best.

    Expected BLEU is raised along its gradient, from samples of whole documents; pro learns from states that searches
    pass (Smith 2015). The model with these weights is written, and each round in its folder `run`.

    **Examples**

        toledo document tune model --source tune.xml --reference ref.xml -o tuned
        toledo document tune model -s tune.de --document-ids tune.ids -r tune.en --document-model consistency=0 -o tuned
        toledo document tune model -s tune.xml -r ref.xml --objective pro --pairs all --record 10000 -o tuned
    """
    for file in (write_trace, write_report):
        if file is not None:
            require_output(file)
    if (dev_source is None) != (not dev_reference) or (dev_document_ids and dev_source is None):
        raise InputError("half of a development set", remedy="give --dev-source and --dev-reference")
    if max_features is not None and not feature:
        raise InputError("--max-features has no effect without --feature", remedy="leave it out")
    given = {name: value for name, value in {**vars(method), "rounds": rounds, "l2": l2}.items() if value is not None}
    chosen, models = DOCUMENT_OBJECTIVES.make(objective, **given), numbers(document_model, "--document-model")
    from toledo.api.documents import tune_documents

    with resumable():
        found = tune_documents(
            model,
            source,
            reference,
            document_ids=document_ids,
            document_models=models,
            semantic_space=semantic_space,
            objective=chosen,
            dev=None if dev_source is None else (dev_source, dev_reference, dev_document_ids),
            initial=initial,
            frozen=None if frozen is None else [name for name in frozen if name],
            features=feature,
            max_features=300 if max_features is None else max_features,
            output=output,
            resume=resume,
            seed=seed,
            threads=threads,
            progress=progress_for(common, milestones),
        )
    _write(found, write_trace, write_report)
    print_result("document tune", found, common)


def _write(found: DocumentTuning, trace: Path | None, report: Path | None) -> None:
    if trace is not None:
        with atomic_writer(trace) as stream:
            for one in found.best.to_json()["rounds"]:
                stream.write(json.dumps(one, ensure_ascii=False) + "\n")
    if report is not None:
        from toledo.reports.tuning import write_report

        write_report(report, [found.best])
