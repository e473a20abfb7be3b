"""`toledo align`: word alignments of a parallel text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.common import Output, Quiet, Threads, progress_for, require_output_apart, set_up_messages
from toledo.files import STANDARD_STREAM, atomic_writer


class Aligner(StrEnum):
    """Alignment models."""

    HMM = "hmm"
    IBM1 = "ibm1"
    EFLOMAL = "eflomal"


class Symmetrise(StrEnum):
    """Ways to join the alignments of the two directions."""

    INTERSECTION = "intersection"
    UNION = "union"
    GROW = "grow"
    GROW_DIAG = "grow-diag"
    GROW_DIAG_FINAL = "grow-diag-final"
    GROW_DIAG_FINAL_AND = "grow-diag-final-and"


Source = Annotated[Path, typer.Option(metavar="FILE", help="Source text, one tokenised sentence per line.")]
Target = Annotated[Path, typer.Option(metavar="FILE", help="Target text, line by line its translation.")]
AlignerOption = Annotated[
    Aligner,
    typer.Option("--aligner", metavar="NAME", help="How to align words: hmm, ibm1, or eflomal, an extra to install."),
]
SymmetriseOption = Annotated[
    Symmetrise,
    typer.Option(
        "--symmetrize",
        metavar="NAME",
        help="How to join the alignments of both directions: intersection, union, grow, grow-diag, grow-diag-final "
        "or grow-diag-final-and.",
    ),
]


def align(
    context: typer.Context,
    source: Source,
    target: Target,
    threads: Threads,
    output: Output = STANDARD_STREAM,
    aligner: AlignerOption = Aligner.HMM,
    symmetrize: SymmetriseOption = Symmetrise.GROW_DIAG_FINAL_AND,
    iterations_ibm1: Annotated[int, typer.Option(help="Iterations of IBM Model 1.", min=1)] = 5,
    iterations_hmm: Annotated[int, typer.Option(help="Iterations of the HMM.", min=0)] = 5,
    lexicons: Annotated[
        Path | None,
        typer.Option(help="Directory for the lexicons of IBM Model 1, lex.f2e.gz and lex.e2f.gz.", file_okay=False),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Align the words of a parallel text: a line of links `source-target` for each sentence pair (Pharaoh format).

    **Examples**

        toledo align --source train.de --target train.en > alignments

        toledo align --source train.de --target train.en --symmetrize intersection --output alignments.gz
    """
    from toledo.formats.alignments import alignment_lines
    from toledo.formats.moses_writing import write_lexicon
    from toledo.phrases.word_alignment.aligner import AlignmentTraining
    from toledo.phrases.word_alignment.aligner import align as align_words
    from toledo.text.corpus import read_parallel

    log = set_up_messages(quiet)
    require_output_apart(context)
    corpus = read_parallel(source, target)
    config = AlignmentTraining(aligner.value, iterations_ibm1, iterations_hmm, symmetrize.value)
    if lexicons is not None:
        lexicons.mkdir(parents=True, exist_ok=True)
    with atomic_writer(output) as stream:  # opened first: a bad path should not cost the work
        result = align_words(corpus, config, threads=threads, progress=progress_for(quiet))
        stream.writelines(line + "\n" for line in alignment_lines(result.alignments))
    log.info("%d links in %d sentence pairs", len(result.alignments.links), len(corpus))
    if lexicons is not None:
        vocabularies = corpus.source_vocabulary, corpus.target_vocabulary
        write_lexicon(lexicons / "lex.f2e.gz", result.lexicons.forward, *vocabularies)
        write_lexicon(lexicons / "lex.e2f.gz", result.lexicons.backward, *vocabularies[::-1])
