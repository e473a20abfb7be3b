"""`toledo document`: translate whole documents by local search, with models that look beyond the sentence."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import Json, Quiet, Threads, progress_for, require_output_apart, set_up_messages, told
from toledo.cli.document import options
from toledo.cli.document.options import option_tables
from toledo.cli.document.tuning import tune
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM

if TYPE_CHECKING:
    from toledo.cli.document.outputs import Outputs
    from toledo.cli.document.running import Run
    from toledo.model import Model

log = logging.getLogger(__name__)

app = typer.Typer(no_args_is_help=True, help="Translate whole documents, with models that look beyond the sentence.")

SIGNALLED = 128
app.command()(tune)

PseudoReference = Annotated[
    str | None,
    typer.Option(
        help="A reference within reach: drawn at random from the phrase table and written here, or read if it is there."
    ),
]
Guided = Annotated[bool, typer.Option("--guided", help="The model proposes (sampling at temperature 1).")]


@app.command()
def translate(
    context: typer.Context,
    model: options.ModelDirectory,
    source: options.Source,
    threads: Threads,
    docids: options.DocumentIds = None,
    reference: options.References = None,
    output: options.Output = STANDARD_STREAM,
    weights: options.WeightsFile = None,
    document_model: options.DocumentModel = None,
    semantic_space: options.Space = None,
    config: options.ConfigFile = None,
    start: options.StartOption = None,
    segmentation: options.Segmentation = None,
    accept: options.Accept = None,
    operation: options.Operation = None,
    steps: options.Steps = None,
    max_rejected: options.MaxRejected = None,
    seconds: options.Seconds = None,
    seed: options.Seed = None,
    last: options.Last = False,
    record: options.Record = None,
    trace: options.TraceFile = None,
    plot: options.PlotFile = None,
    resume: options.Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate documents: begin with a whole translation, and change it step by step.

    What was decided is written beside the output (OUTPUT.toml), for --config. After Ctrl-C the best translations so far
    are written, and the same command with --resume goes on.

    **Examples**

        toledo document translate model test.xml --model consistency=5 --output out.xml

        toledo document translate model test.de --docids test.docids --reference test.en --plot search.html -o out.en

        toledo document translate model test.xml --start random --accept annealing --steps 1000000 -o out.xml
    """
    set_up_messages(quiet)
    require_output_apart(context)
    from toledo.cli.document.outputs import Outputs
    from toledo.cli.document.running import Run
    from toledo.cli.document.runs import make_search, resolved
    from toledo.formats.documents import read_documents

    outputs = Outputs(output, trace, plot, as_json, last)
    outputs.check()
    tables = option_tables(
        {
            "start": start, "accept": accept, "steps": steps, "max_rejected": max_rejected, "seconds": seconds,
            "seed": seed,
        },
        operation, document_model, record,
    )  # fmt: skip
    text = read_documents(source, reference or [], docids)
    loaded = _load(model)
    search = make_search(loaded, resolved(config, weights, tables, outputs.recording), semantic_space, text)
    _finish(Run.of(model, search, text, segmentation, semantic_space), outputs, resume, threads, quiet)


@app.command("bleu-decode")
def bleu_decode(
    context: typer.Context,
    model: options.ModelDirectory,
    source: options.Source,
    threads: Threads,
    docids: options.DocumentIds = None,
    reference: options.References = None,
    pseudo_reference: PseudoReference = None,
    guided: Guided = False,
    output: options.Output = STANDARD_STREAM,
    config: options.ConfigFile = None,
    start: options.StartOption = None,
    segmentation: options.Segmentation = None,
    operation: options.Operation = None,
    steps: options.Steps = None,
    max_rejected: options.MaxRejected = None,
    seconds: options.Seconds = None,
    seed: options.Seed = None,
    record: options.Record = None,
    trace: options.TraceFile = None,
    plot: options.PlotFile = None,
    resume: options.Resume = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """How high can BLEU get? Search for the references themselves: BLEU weighs 1, everything else nothing.

    With --guided BLEU decides as well, but the model proposes: that finds more of it in as many steps.

    **Examples**

        toledo document bleu-decode model test.xml --reference ref.xml --plot bleu.html --output out.xml

        toledo document bleu-decode model test.xml --pseudo-reference random.xml --start random --output out.xml
    """
    set_up_messages(quiet)
    require_output_apart(context)
    from toledo.cli.document.outputs import Outputs
    from toledo.cli.document.running import Run
    from toledo.cli.document.runs import make_bleu_search, read_or_draw, resolved
    from toledo.formats.documents import read_documents

    outputs = Outputs(output, trace, plot, as_json)
    outputs.check()
    tables = option_tables(
        {"start": start, "steps": steps, "max_rejected": max_rejected, "seconds": seconds, "seed": seed},
        operation, None, record,
    )  # fmt: skip
    if bool(reference) == bool(pseudo_reference):
        raise InputError("one kind of reference is needed", remedy="give --reference FILE or --pseudo-reference FILE")
    loaded, configuration = _load(model), resolved(config, None, tables, outputs.recording)
    if pseudo_reference:
        text = read_or_draw(pseudo_reference, source, docids, loaded, configuration)
    else:
        text = read_documents(source, reference or [], docids)
    search = make_bleu_search(loaded, configuration, text, guided)
    _finish(Run.of(model, search, text, segmentation), outputs, resume, threads, quiet)


@app.command("semantic-space")
def semantic_space(
    text: Annotated[str, typer.Argument(help="Tokenised text of the target language; - is standard input.")],
    docids: Annotated[Path, typer.Option(help="The document of each line.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A directory for the word vectors.")],
    dimensions: Annotated[int, typer.Option(help="Of vectors.", min=1)] = 50,
    common: Annotated[int, typer.Option(help="So many of the most frequent words are no content words.", min=0)] = 100,
    least: Annotated[int, typer.Option(help="Words seen less often have no vector.", min=1)] = 5,
    seed: Annotated[int, typer.Option(help="Of random numbers.", min=0)] = 1,
    quiet: Quiet = False,
) -> None:
    """Make word vectors for the model `semantic`, by latent semantic analysis of a text in documents.

    **Examples**

        toledo document semantic-space train.en --docids train.docids --output space
    """
    set_up_messages(quiet)
    from toledo.files import require_output_directory
    from toledo.formats.documents import read_documents
    from toledo.search.document.models.semantic import DESCRIPTION, SemanticSpace

    require_output_directory(output, DESCRIPTION)
    documents = read_documents(text, (), docids).documents
    texts = [[part.words for part in document.segments] for document in documents]
    space = SemanticSpace.train(texts, dimensions, common, least, seed=seed)
    space.save(output)
    log.info("%s: vectors of %d words from %d documents", output, len(space.words), len(documents))


def _load(path: Path) -> Model:
    from toledo.model import Model

    return Model.load(path)


def _finish(run: Run, outputs: Outputs, resume: bool, threads: int, quiet: bool) -> None:
    """Search, write, tell; an interrupted search ends with the exit code of its signal."""
    from toledo.cli.document.outputs import summary, told_in_brief
    from toledo.cli.document.running import STATES

    checkpoint = run.checkpoint(outputs.output, resume)
    results, interrupted = run.results(checkpoint, threads, progress_for(quiet, told))
    outputs.write(run.text, results)
    if outputs.output != STANDARD_STREAM:
        run.write_configuration(outputs.output)
    found = summary(results, outputs.last)
    log.info("%s", told_in_brief(found))
    log.info("signature: %s", run.signature)
    if outputs.as_json:
        typer.echo(json.dumps({**found, "signature": run.signature, "interrupted": bool(interrupted)}, indent=2))
    if not interrupted:
        if checkpoint:
            checkpoint.remove()
        return
    if checkpoint:
        checkpoint.save_states(STATES, [result.saved_arrays() for result in results])
    log.warning(
        "interrupted: the best translations so far were written; %s",
        f"go on with the same command and --resume ({checkpoint.directory})"
        if checkpoint
        else "name an --output to be able to go on",
    )
    sys.exit(SIGNALLED + interrupted)
