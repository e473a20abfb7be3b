"""`toledo document translate`, `oracle`, `semantic-space` and `tune`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from toledo.cli.messages import json_lines, milestones, print_result, progress_for, require_apart, resumable
from toledo.cli.options import COMMON, Common, Output, OutputDirectory, Resume, Seed, Threads, Tokenized, flag, repeated
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_different, require_output, write_lines
from toledo.search.document.settings import (
    LOGARITHMIC,
    STARTS,
    DocumentSettings,
    bleu_settings,
    options_of,
    preset_settings,
)
from toledo.settings import describe
from toledo.tuning.settings import DOCUMENT_OBJECTIVES, DocumentGradient, DocumentLists, DocumentPRO, OnlineMIRA

if TYPE_CHECKING:
    from toledo.model import PhraseModel
    from toledo.search.document.translation import DocumentTranslation

SEARCH = Group("Search", sort_key=10)

ModelDirectory = Annotated[Path, Parameter(help="Model directory.")]
Documents = Annotated[
    str, Parameter(help="Documents to translate: XML (NIST, WMT), SGM, or text; - is standard input.")
]
DocumentIds = Annotated[Path | None, Parameter(help="File with the document id of each line. [default: one document]")]
References = Annotated[tuple[Path, ...], repeated("Reference translation: XML, SGM or text.", "-r")]
DocumentModels = Annotated[
    tuple[str, ...],
    repeated(
        "NAME=WEIGHT: add a document model (see `toledo list document-models`), as clusters=5 or context:lm=FILE=0.1."
    ),
]
SpaceDirectory = Annotated[
    Path | None,
    Parameter(
        help="Word vectors for the document models `semantic` and `topic`, from `toledo document semantic-space`."
    ),
]


@Parameter(name="*", group=SEARCH)
@dataclass(frozen=True)
class DocumentSearchOptions:
    """How documents are searched, and which states are written."""

    start: Annotated[
        str | None,
        Parameter(help="First state: beam, random, or a file of Moses' -report-segmentation. [default: beam]"),
    ] = None
    operation: Annotated[
        tuple[str, ...],
        repeated("NAME=WEIGHT: use only the named operations (change, swap, move, resegment, …), this often."),
    ] = ()
    steps: Annotated[int | None, Parameter(help="Number of steps for each document. [default: 100000]")] = None
    max_rejected: Annotated[
        int | None, Parameter(help="Stop after this many steps in a row that do not change the score.")
    ] = None
    seconds: Annotated[float | None, Parameter(help="Time limit for each document, in seconds.")] = None
    record: Annotated[
        str | None,
        Parameter(
            help="When to record states: logarithmic (0, 256, 512, …), or every N steps. "
            "[default: logarithmic with --write-trace or --write-plot]"
        ),
    ] = None
    write_trace: Annotated[Path | None, Parameter(help="File for recorded states, one JSON object per line.")] = None
    write_plot: Annotated[Path | None, Parameter(help="Plot of recorded states: .html or .svg.")] = None

    def given(self, seed: int, accept: str | None = None) -> dict[str, Any]:
        """Return the settings of the search."""
        record = self.record or (LOGARITHMIC if self.write_trace or self.write_plot else None)
        found: dict[str, Any] = {
            "start": self.start,
            "steps": self.steps,
            "max_rejected": self.max_rejected,
            "seconds": self.seconds,
            "record": int(record) if record is not None and record.isascii() and record.isdigit() else record,
            "seed": seed,
        }
        found = {name: value for name, value in found.items() if value is not None}
        operations = {name.replace("-", "_"): value for name, value in numbers(self.operation, "--operation").items()}
        found |= {"operations": operations} if operations else {}
        return found | ({} if accept is None else {"accept": accept})

    def check(self, output: str, common: Common, *inputs: str | Path | None) -> None:
        """Refuse outputs that cannot be written, before any work is done for them."""
        files = [one for one in (output, self.write_trace, self.write_plot) if one is not None]
        for file in files:
            require_apart(file, *inputs, None if self.start in STARTS else self.start)
            require_output(file)
        require_different(*files, STANDARD_STREAM if common.json and output != STANDARD_STREAM else None)
        if self.write_plot and self.write_plot.suffix not in (".html", ".svg"):
            raise InputError("not a file name for a plot", file=self.write_plot, remedy="name it .html or .svg")


def translate(
    model: ModelDirectory,
    source: Documents,
    *,
    document_ids: DocumentIds = None,
    reference: References = (),
    document_model: DocumentModels = (),
    semantic_space: SpaceDirectory = None,
    weights: Annotated[Path | None, Parameter(help="Weights file (TOML); it may include document models.")] = None,
    accept: Annotated[
        str,
        Parameter(
            help="Changes to accept: hill-climbing, annealing:start=1,end=0.05, annealing:schedule=[4,2,1],every=1000, "
            "or sampling:temperature=1.",
            group=SEARCH,
        ),
    ] = "hill-climbing",
    preset: Annotated[
        Literal["thesis"] | None,
        Parameter(
            help="thesis: as Smith (2015), with Docent's default weights and operations, from random translations, "
            "1000000 steps; other options change that.",
            group=SEARCH,
        ),
    ] = None,
    keep: Annotated[
        Literal["best", "last"], Parameter(help="State to write: the best one, or the last one as a sample.")
    ] = "best",
    tokenized: Tokenized = False,
    search: DocumentSearchOptions = DocumentSearchOptions(),
    output: Output = STANDARD_STREAM,
    seed: Seed = 1,
    resume: Resume = False,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Translate documents: start from a complete translation and change it step by step.

    XML and SGM documents keep their format; an output file named .xml is XML. The settings of the search are saved in
    OUTPUT.toml, for --config. After Ctrl-C, the best translations so far are written, and the same command with
    --resume continues the search.

    **Examples**

        toledo document translate model test.xml --document-model consistency=5 -o out.xml
        toledo document translate model test.de --document-ids test.ids -r test.en --write-plot search.html -o out.en
        toledo document translate model test.xml --start random --accept annealing --steps 1000000 -o out.xml
        toledo document translate model test.xml --preset thesis -o out.xml
    """
    search.check(output, common, source, document_ids, weights, *reference)
    given, models = search.given(seed, accept), numbers(document_model, "--document-model")
    if preset is not None and weights is not None:
        raise InputError("--preset has its own weights", remedy="leave --preset or --weights out")
    settings = preset_settings(preset).changed(given)
    from toledo.api.documents import translate_document

    found = translate_document(
        model if weights is None else _weighted(model, weights),
        source if source == STANDARD_STREAM else Path(source),
        document_ids=document_ids,
        document_models=models,
        semantic_space=semantic_space,
        tokenized=tokenized,
        references=reference or None,
        keep=keep,
        preset=preset,
        output=None if common.json and output == STANDARD_STREAM else output,
        resume=resume,
        threads=threads,
        progress=progress_for(common, milestones),
        **given,
    )
    files = {"weights": weights, "semantic-space": semantic_space}
    options = options_of(settings, models) | {name: str(file) for name, file in files.items() if file is not None}
    options |= {"start": search.start or settings.start, "keep": keep, **({"preset": preset} if preset else {})}
    _write("translate", found, options, (output, search, common))


def oracle(
    model: ModelDirectory,
    source: Documents,
    *,
    document_ids: DocumentIds = None,
    reference: References = (),
    pseudo_reference: Annotated[
        Path | None,
        Parameter(help="File with a random translation as a reachable reference; drawn if it does not exist."),
    ] = None,
    guided: Annotated[bool, flag("Propose changes by sampling from the model; BLEU decides.")] = False,
    tokenized: Tokenized = False,
    search: DocumentSearchOptions = DocumentSearchOptions(),
    output: Output = STANDARD_STREAM,
    seed: Seed = 1,
    resume: Resume = False,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Search for the highest reachable BLEU: its weight is 1, all other weights are 0.

    **Examples**

        toledo document oracle model test.xml --reference ref.xml --write-plot bleu.html -o out.xml
        toledo document oracle model test.xml --pseudo-reference random.xml --start random -o out.xml
        toledo document oracle model test.de --document-ids test.ids -r test.en --guided -o out.en
    """
    search.check(output, common, source, document_ids, pseudo_reference, *reference)
    given = search.given(seed)
    settings = bleu_settings(DocumentSettings(), guided).changed(given)
    from toledo.api.documents import oracle

    found = oracle(
        model,
        source if source == STANDARD_STREAM else Path(source),
        reference or None,
        pseudo_reference=pseudo_reference,
        document_ids=document_ids,
        tokenized=tokenized,
        guided=guided,
        output=None if common.json and output == STANDARD_STREAM else output,
        resume=resume,
        threads=threads,
        progress=progress_for(common, milestones),
        **given,
    )
    options = {name: value for name, value in options_of(settings, {}).items() if name not in ("accept", DOCUMENT)}
    _write(
        "oracle",
        found,
        {**options, "start": search.start or settings.start, "guided": guided},
        (output, search, common),
    )


def semantic_space(
    text: Annotated[Path, Parameter(help="Tokenized text of the target language; - is standard input.")],
    *,
    document_ids: Annotated[Path, Parameter(help="File with the document id of each line.")],
    output: OutputDirectory,
    dimensions: Annotated[int, Parameter(help="Number of dimensions of the vectors.")] = 50,
    stop_words: Annotated[int, Parameter(help="Number of most frequent words to leave out as stop words.")] = 100,
    min_count: Annotated[int, Parameter(help="Minimum number of occurrences of a word with a vector.")] = 5,
    seed: Seed = 1,
    common: Common = COMMON,
) -> None:
    """Train word vectors for the document model `semantic` by latent semantic analysis of documents.

    **Examples**

        toledo document semantic-space train.en --document-ids train.ids -o space
    """
    from toledo.files import require_output_directory
    from toledo.search.document.models.semantic import DESCRIPTION, SemanticSpace

    require_output_directory(output, DESCRIPTION)
    space = SemanticSpace.train(
        text, document_ids=document_ids, dimensions=dimensions, stop_words=stop_words, min_count=min_count, seed=seed
    )
    space.save(output)
    result = {"output": str(output), "words": len(space.words), "dimensions": dimensions}
    if common.json:
        print_result("document semantic-space", result, common)


SHARED = ("objective", "seed", "rounds", "l2")  # options of the command itself
METHODS = {  # the objectives of each
    DocumentPRO: "pro",
    DocumentLists: "mert, mira",
    OnlineMIRA: "online-mira",
    DocumentGradient: "corpus-expected-bleu, expected-bleu",
}


def _method_options() -> Any:
    """Return a dataclass with the settings of all methods; None for those that are not given."""
    found = dict[str, dict[Any, tuple[Any, Any, str]]]()
    for kind in METHODS:
        for name, described in describe(kind).items():
            if name not in SHARED:
                found.setdefault(name, {})[kind] = described
    columns = []
    for name, by_kind in found.items():
        hint, _, text = next(iter(by_kind.values()))
        group = Group(f"Objectives {', '.join(METHODS[kind] for kind in by_kind)}")
        help_text = _with_defaults(text, {METHODS[kind]: default for kind, (_, default, _) in by_kind.items()})
        columns.append((name, Annotated[hint | None, Parameter(help=help_text, group=group)], field(default=None)))
    made = make_dataclass("MethodOptions", columns, frozen=True)
    made.__module__ = __name__  # Cyclopts does not look into classes of the standard library
    return Parameter(name="*")(made)


def _with_defaults(text: str, defaults: Mapping[str, Any]) -> str:
    values = {value for value in defaults.values() if value is not None}
    if len(values) < 2:
        return f"{text} [default: {values.pop()}]" if values else text
    return f"{text} [default: {'; '.join(f'{name}: {value}' for name, value in defaults.items())}]"


MethodOptions: Any = _method_options()

Source = Annotated[Path, Parameter(alias="-s", help="Documents to tune on: XML (NIST, WMT), SGM, or text.")]


def tune(  # one argument for each option
    model: ModelDirectory,
    *,
    source: Source,
    reference: References,
    output: OutputDirectory,
    document_ids: DocumentIds = None,
    document_size: Annotated[
        int | None, Parameter(help="Cut each document to tune on into pieces of this many segments.")
    ] = None,
    document_model: DocumentModels = (),
    semantic_space: SpaceDirectory = None,
    objective: Annotated[
        str,
        Parameter(
            help="corpus-expected-bleu, expected-bleu (of each document), pro (ranking of states), mert or mira "
            "(on lists of states), or online-mira."
        ),
    ] = "corpus-expected-bleu",
    initial: Annotated[
        str, Parameter(help="Weights to start from: model, default, docent, zero, or a weights file.")
    ] = "model",
    frozen: Annotated[
        tuple[str, ...] | None, repeated("Weight to keep fixed; '' for none. [default: those frozen initially]")
    ] = None,
    feature: Annotated[tuple[str, ...], repeated("Sparse features to add: pair, word or target.")] = (),
    max_features: Annotated[
        int | None, Parameter(help="Maximum number of sparse features of each kind. [default: 300]")
    ] = None,
    rounds: Annotated[
        int | None, Parameter(help="Number of rounds. [default: 12; pro: 1; mert, mira, online-mira: 5]")
    ] = None,
    l2: Annotated[float | None, Parameter(help="L2 penalty. [default: 0; with sparse features 0.0001; pro: 1]")] = None,
    dev_source: Annotated[
        Path | None,
        Parameter(
            help="Development documents, to choose the best round. "
            "[default: the tuning documents; expected BLEU: none, the weights of later rounds are averaged]"
        ),
    ] = None,
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference for the development documents.")] = (),
    dev_document_ids: Annotated[
        Path | None, Parameter(help="File with the document id of each line of the development text.")
    ] = None,
    tokenized: Tokenized = False,
    method: MethodOptions = MethodOptions(),  # noqa: B008 (frozen)
    write_trace: Annotated[Path | None, Parameter(help="File for the rounds, one JSON object per line.")] = None,
    write_report: Annotated[Path | None, Parameter(help="HTML file for a report with plots.")] = None,
    seed: Seed = 1,
    resume: Resume = False,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Find the weights with which document search translates best.

    Expected BLEU is maximized by stochastic gradients from samples of whole documents; `pro` ranks states that
    searches pass through (Smith 2015); `mert` and `mira` tune on lists of such states (Stymne et al. 2013);
    `online-mira` changes the weights after each document. The tuned model is written to OUTPUT, and each round to
    OUTPUT/run.

    **Examples**

        toledo document tune model --source tune.xml --reference ref.xml -o tuned
        toledo document tune model -s tune.de --document-ids tune.ids -r tune.en --document-model consistency=0 -o tuned
        toledo document tune model -s tune.xml -r ref.xml --objective pro --pairs all --record 10000 -o tuned
        toledo document tune model -s tune.xml -r ref.xml --objective mira --document-model clusters=1 -o tuned
        toledo document tune model -s tune.xml -r ref.xml --objective pro --decoding model+bleu --initial docent -o out
    """
    for file in (write_trace, write_report):
        if file is not None:
            require_output(file)
    if (dev_source is None) != (not dev_reference) or (dev_document_ids and dev_source is None):
        raise InputError("the development set is incomplete", remedy="give --dev-source and --dev-reference")
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
            document_size=document_size,
            document_models=models,
            semantic_space=semantic_space,
            objective=chosen,
            dev=None if dev_source is None else (dev_source, dev_reference, dev_document_ids),
            tokenized=tokenized,
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
    if write_trace is not None:
        write_lines(write_trace, json_lines(found.best.to_json()["rounds"]))
    if write_report is not None:
        from toledo.reports.tuning import write_report as write_page

        write_page(write_report, [found.best])
    print_result("document tune", found, common)


DOCUMENT = "document-model"


def numbers(given: Sequence[str], option: str) -> dict[str, float]:
    """Return the numbers of NAME=NUMBER, given several times."""
    found: dict[str, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        if not equals or not name or name in found:
            raise InputError(f"{option} {text}: not NAME=WEIGHT, or given twice", remedy=f"write {option} NAME=0.5")
        try:
            found[name] = float(number)
        except ValueError:
            raise InputError(f"{option} {text}: {number!r} is not a number", remedy="write a number") from None
    return found


def _weighted(model: Path, weights: Path) -> PhraseModel:
    from toledo.model import PhraseModel
    from toledo.weights import Weights

    loaded = PhraseModel.load(model)
    return loaded.with_weights(Weights({**loaded.weights, **Weights.load(weights)}))


def _write(
    command: str,
    found: DocumentTranslation,
    options: Mapping[str, Any],
    where: tuple[str, DocumentSearchOptions, Common],
) -> None:
    """Write what a search has recorded, its settings, and with --json the result."""
    output, search, common = where
    if search.write_trace is not None:
        found.write_trace(search.write_trace)
    if search.write_plot is not None:
        from toledo.reports.documents import courses_of, write_plots

        write_plots(search.write_plot, courses_of(found))
    if output != STANDARD_STREAM:
        from toledo.search.document.settings import write_options

        write_options(f"{output}.toml", command, options, found.signature)
    if common.json:
        print_result(f"document {command}", found, common)
