"""`toledo build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.api.settings import BuildSettings
from toledo.cli.messages import print_result, progress_for, resumable
from toledo.cli.options import (
    COMMON,
    Common,
    Metric,
    OutputDirectory,
    Resume,
    Seed,
    Threads,
    Tokenized,
    command,
    held_out_pair,
    repeated,
)
from toledo.cli.train import Source, Target, corpus_of


@command
def build(  # one argument for each option
    pairs: Annotated[
        Path | None, Parameter(help="Sentence pairs in one file: TSV, or what its name says: .jsonl, .tmx.")
    ] = None,
    *,
    source: Source = None,
    target: Target = None,
    dev_source: Annotated[Path | None, Parameter(help="Development text. [default: drawn from the pairs]")] = None,
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference translation of the development text.")] = (),
    test_source: Annotated[Path | None, Parameter(help="Test text. [default: drawn from the pairs]")] = None,
    test_reference: Annotated[tuple[Path, ...], repeated("Reference translation of the test text.")] = (),
    document_ids: Annotated[
        Path | None, Parameter(help="Document of each pair, one id per line, so that no document is split.")
    ] = None,
    lm_text: Annotated[Path | None, Parameter(help="Further text in the target language.")] = None,
    source_language: Annotated[str | None, Parameter(help="ISO code of the source language, such as de.")] = None,
    target_language: Annotated[str | None, Parameter(help="ISO code of the target language, such as en.")] = None,
    tokenized: Tokenized = False,
    settings: BuildSettings,
    metric: Metric = "bleu",
    output: OutputDirectory,
    resume: Resume = False,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Split, clean, train, tune, refine, choose a rule, and test: from sentence pairs to the best model.

    A stage is kept only if it is better on a half of the development set that weights were not tuned on. OUTPUT/model
    is the finished model, with its rule and its text processing; OUTPUT/report.html shows all stages. A build that was
    interrupted continues with --resume.

    **Examples**

        toledo build train.tsv --source-language de --target-language en -o de-en
        toledo build -s train.de -t train.en --dev-source val.de --dev-reference val.en -o de-en --effort thorough
        toledo build train.tmx --lm-text news.en --effort quick -o de-en
        toledo translate de-en/model < test.de > test.out
    """
    from toledo.api.build import build

    with resumable():
        found = build(
            *corpus_of(source, target, pairs),
            dev=held_out_pair("dev", dev_source, dev_reference),
            test=held_out_pair("test", test_source, test_reference),
            document_ids=document_ids,
            lm_text=lm_text,
            effort=settings.effort,
            skip=settings.skip,
            metric=metric,
            source_language=source_language,
            target_language=target_language,
            tokenized=tokenized,
            output=output,
            resume=resume,
            seed=seed,
            threads=threads,
            progress=progress_for(common),
        )
    print_result("build", found, common)
