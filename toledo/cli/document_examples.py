"""`toledo document examples`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.document import DocumentIds, DocumentSearchOptions, ModelDirectory, References
from toledo.cli.messages import milestones, print_result, progress_for, require_apart
from toledo.cli.options import COMMON, Common, Seed, Threads, Tokenized, flag, repeated
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, require_output


def examples(
    model: ModelDirectory,
    source: Annotated[Path, Parameter(help="Documents to translate: XML (NIST, WMT), SGM, or text.")],
    *,
    reference: References,
    unseen_reference: Annotated[tuple[Path, ...], repeated("Reference that the search does not see.")],
    document_ids: DocumentIds = None,
    guided: Annotated[bool, flag("Propose changes by sampling from the model; BLEU decides.")] = False,
    tokenized: Tokenized = False,
    search: DocumentSearchOptions = DocumentSearchOptions(),  # noqa: B008 (frozen)
    write_report: Annotated[Path | None, Parameter(help="HTML page with the translations side by side.")] = None,
    segments: Annotated[int, Parameter(help="Number of segments on the page, by the change of chrF.")] = 50,
    output: Annotated[Path, Parameter(alias="-o", help="File for all segments, one JSON object per line.")],
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Show translations before and after a search for BLEU, judged by a reference that it does not see.

    Prints BLEU with the references that the search has seen, BLEU, chrF and TER with the unseen one, the model score
    and the language model score, before and after.

    **Examples**

        toledo document examples model test.de -r test.en --unseen-reference test.refB.en -o examples.jsonl
        toledo document examples model test.xml -r a.xml --unseen-reference b.xml --write-report page.html -o all.jsonl
    """
    for file in (output, write_report):
        if file is not None:
            require_apart(file, source, document_ids, *reference, *unseen_reference)
            require_output(file)
    if search.write_trace or search.write_plot or search.record:
        raise InputError("nothing is recorded here", remedy="use `toledo document oracle` for traces and plots")
    from toledo.api.document_examples import bleu_examples

    found = bleu_examples(
        model,
        source,
        reference,
        unseen_reference,
        document_ids=document_ids,
        tokenized=tokenized,
        guided=guided,
        threads=threads,
        progress=progress_for(common, milestones),
        **search.given(seed),
    )
    found.write(output)
    if write_report is not None:
        from toledo.reports.document_examples import write_examples

        ranked = sorted(found.segments, key=lambda one: -abs(one.chrf[1] - one.chrf[0]))[:segments]
        write_examples(write_report, list(found.totals.items()), ranked, "Before and after a search for BLEU")
    if str(output) != STANDARD_STREAM:
        print_result("document examples", found, common)
