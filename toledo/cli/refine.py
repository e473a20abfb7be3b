"""`toledo refine`: train the phrase and word probabilities of a model for the highest expected BLEU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from toledo.cli.messages import milestones, print_result, progress_for, resumable
from toledo.cli.options import COMMON, Common, OutputDirectory, Resume, Seed, Threads, command, repeated
from toledo.refinement.settings import RefineSettings


@command
def refine(
    model: Annotated[Path, Parameter(help="Model directory.")],
    *,
    source: Annotated[Path, Parameter(alias="-s", help="Training text of the model, tokenized.")],
    target: Annotated[Path, Parameter(alias="-t", help="Its translation, line by line.")],
    tune_source: Annotated[Path, Parameter(help="Text to tune weights on.")],
    tune_reference: Annotated[tuple[Path, ...], repeated("Reference translation of that text.")],
    dev_source: Annotated[Path, Parameter(help="Text to choose the best iteration by.")],
    dev_reference: Annotated[tuple[Path, ...], repeated("Reference translation of that text.")],
    output: OutputDirectory,
    alignment: Annotated[
        Path | None, Parameter(help="Word alignments of the training text (Pharaoh format), for the models of folds.")
    ] = None,
    settings: RefineSettings,
    resume: Resume = False,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Train phrase and word probabilities for the highest expected BLEU (He and Deng 2012).

    The training text is translated, fold by fold by models that have not seen it. Probabilities of phrases and words in
    good translations grow, those in bad ones shrink. After each iteration weights are tuned, and the model with the
    best score on the development set is written. All steps are kept in OUTPUT/run: --resume continues an interrupted
    run to the same result, and uses the translations again for another --tau or --method. So it does for other
    --parameters, if neither or both train lexicons or the model comes from `toledo train --lexical model1`.

    **Examples**

        toledo refine model -s train.de -t train.en --tune-source val.de --tune-reference val.en --dev-source dev.de \
            --dev-reference dev.en -o refined
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
            settings=settings,
            alignments=alignment,
            output=output,
            resume=resume,
            seed=seed,
            threads=threads,
            progress=progress_for(common, milestones),
        )
    print_result("refine", refinement, common)
