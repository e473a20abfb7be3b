"""`toledo train`: two text files in, a model directory out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.align import Aligner, AlignerOption, Source, Symmetrise, SymmetriseOption, Target
from toledo.cli.common import ModelOutput, Quiet, Threads, progress_for, set_up_messages


class Smoothing(StrEnum):
    """Ways to smooth phrase counts."""

    NONE = "none"
    KNESER_NEY = "kneser-ney"
    GOOD_TURING = "good-turing"


class Lexical(StrEnum):
    """Ways to weigh the words of a phrase pair."""

    ALIGNMENT = "alignment"
    MODEL1 = "model1"


class Pruning(StrEnum):
    """Ways to prune the phrase table by significance."""

    NONE = "none"
    KEEP_SINGLETONS = "alpha-epsilon"
    DROP_SINGLETONS = "alpha+epsilon"


Alignments = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Use these word alignments (Pharaoh format), and align none.")
]
PhraseLength = Annotated[int, typer.Option(metavar="N", help="Most words of a phrase.", min=1, max=20)]
LexicalOption = Annotated[
    Lexical,
    typer.Option(
        metavar="NAME", help="Lexical weights: `alignment` (Koehn 2003), or `model1` for sums as in IBM Model 1."
    ),
]
SmoothingOption = Annotated[
    Smoothing, typer.Option(metavar="NAME", help="Smoothing of phrase counts: none, kneser-ney or good-turing.")
]
Reordering = Annotated[bool, typer.Option("--reordering", help="Train a lexicalised reordering model.")]
PruneOption = Annotated[
    Pruning,
    typer.Option(
        metavar="NAME",
        help="Drop insignificant phrase pairs (Johnson et al. 2007): none, alpha-epsilon (keeps single ones) or "
        "alpha+epsilon (drops them).",
    ),
]
LanguageModelOrder = Annotated[int, typer.Option(metavar="N", help="Order of the language model.", min=1, max=6)]
LanguageModelText = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Estimate the language model from this text instead.")
]
LanguageModels = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="Use this language model (ARPA); may be repeated.")
]
SentenceLength = Annotated[int, typer.Option(metavar="N", help="Leave out pairs with a longer sentence.", min=1)]


def train(
    source: Source,
    target: Target,
    output: ModelOutput,
    threads: Threads,
    alignments: Alignments = None,
    aligner: AlignerOption = Aligner.HMM,
    symmetrize: SymmetriseOption = Symmetrise.GROW_DIAG_FINAL_AND,
    max_phrase_length: PhraseLength = 5,
    lexical: LexicalOption = Lexical.ALIGNMENT,
    smoothing: SmoothingOption = Smoothing.NONE,
    reordering: Reordering = False,
    prune: PruneOption = Pruning.NONE,
    lm_order: LanguageModelOrder = 3,
    lm_text: LanguageModelText = None,
    language_model: LanguageModels = None,
    max_sentence_length: SentenceLength = 100,
    quiet: Quiet = False,
) -> None:
    """Train a translation model: word alignment, phrase table and language model, in one go.

    **Examples**

        toledo train --source train.de --target train.en --output model

        toledo train --source train.de --target train.en --alignments A --lm-order 5 --output model
    """
    from toledo.files import require_output_directory, require_readable
    from toledo.formats.alignments import read_alignments
    from toledo.language_model.arpa import read_arpa
    from toledo.model import DESCRIPTION
    from toledo.phrases.training import PhraseTraining
    from toledo.phrases.word_alignment.aligner import AlignmentTraining
    from toledo.text.corpus import read_parallel, read_sentences
    from toledo.training import Training
    from toledo.training import train as train_model

    log, progress = set_up_messages(quiet), progress_for(quiet)
    require_output_directory(output, DESCRIPTION)  # a bad path should not cost the work
    require_readable(*(path for path in (alignments, lm_text, *(language_model or ())) if path))
    corpus = read_parallel(source, target)
    config = Training(
        alignment=AlignmentTraining(model=aligner.value, symmetrization=symmetrize.value),
        phrases=PhraseTraining(
            max_length=max_phrase_length,
            smoothing=smoothing.value,
            lexical=lexical.value,
            reordering=reordering,
            pruning=prune.value,
        ),
        lm_order=lm_order,
        longest=max_sentence_length,
    )
    text = None if lm_text is None else read_sentences(lm_text, corpus.target_vocabulary)
    models = tuple(read_arpa(path, corpus.target_vocabulary, progress) for path in language_model or ())
    model = train_model(
        corpus,
        config,
        alignments=None if alignments is None else read_alignments(alignments, corpus),
        language_models=models,
        language_model_text=text,
        threads=threads,
        progress=progress,
    )
    model.save(output)
    log.info("%s\n%d phrase pairs from %d sentence pairs", output, len(model.table), model.training["sentences"])
    log.info("signature: %s", model.signature)
