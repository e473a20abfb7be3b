"""Options of `toledo refine`, but for those that it shares with other commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.tune.tuners import ObjectiveName

TEXTS, TRAINING, LISTS, TUNING, WORK = "Texts", "Training", "Translation of the training text", "Weights", "Work"


class Schedule(StrEnum):
    """What to train, and in which order."""

    phrase = "phrase"
    lexicon = "lexicon"
    both = "both"
    two_stage = "two-stage"


class Method(StrEnum):
    """How to step uphill."""

    lbfgs = "lbfgs"
    growth = "growth"


class Distance(StrEnum):
    """What is near."""

    ratios = "ratios"
    kl = "kl"


class Utility(StrEnum):
    """What is expected."""

    corpus = "corpus"
    sentence = "sentence"


class Spaces(StrEnum):
    """What to look at."""

    lists = "lists"
    lattices = "lattices"
    samples = "samples"


ModelDirectory = Annotated[Path, typer.Argument(help="Model directory.")]
Source = Annotated[Path, typer.Option(help="The training text of the model, tokenised.", rich_help_panel=TEXTS)]
Target = Annotated[Path, typer.Option(help="Line by line its translation.", rich_help_panel=TEXTS)]
TuneSource = Annotated[Path, typer.Option(help="Text to tune weights on.", rich_help_panel=TEXTS)]
TuneReferences = Annotated[list[Path], typer.Option(help="Reference; may be repeated.", rich_help_panel=TEXTS)]
ValidateSource = Annotated[Path, typer.Option(help="Text to choose the best iteration by.", rich_help_panel=TEXTS)]
ValidateReferences = Annotated[list[Path], typer.Option(help="Reference; may be repeated.", rich_help_panel=TEXTS)]
Alignments = Annotated[
    Path | None, typer.Option(help="Word alignments for the models of folds (Pharaoh format).", rich_help_panel=TEXTS)
]

Train = Annotated[
    Schedule,
    typer.Option(help="Phrase models, lexicons, both at once, or one after the other.", rich_help_panel=TRAINING),
]
How = Annotated[
    Method, typer.Option(help="By gradients, or steps, utility and distance of the paper.", rich_help_panel=TRAINING)
]
Tau = Annotated[
    float | None,
    typer.Option(
        help="How strongly to stay near the given model (τ).",
        min=0,
        show_default="0.2; kl: 1e-5",
        rich_help_panel=TRAINING,
    ),
]
LexiconTau = Annotated[
    float | None,
    typer.Option(
        help="The same for lexicons.", min=0, show_default="a tenth of --tau; kl: as --tau", rich_help_panel=TRAINING
    ),
]
DistanceOption = Annotated[
    Distance | None,
    typer.Option(
        help="What is near: logarithms of ratios, or KL.", show_default="ratios; growth: kl", rich_help_panel=TRAINING
    ),
]
UtilityOption = Annotated[
    Utility | None,
    typer.Option(
        help="BLEU of the corpus, or of sentences.", show_default="corpus; growth: sentence", rich_help_panel=TRAINING
    ),
]
Scale = Annotated[
    float | None,
    typer.Option(
        help="Sum of absolute weights in posteriors: more is sharper.",
        show_default="20; growth: 5",
        rich_help_panel=TRAINING,
    ),
]
Steps = Annotated[
    int | None, typer.Option(help="Of lbfgs, in an iteration.", min=1, show_default="20", rich_help_panel=TRAINING)
]
Iterations = Annotated[
    int | None, typer.Option(help="At most, in a stage.", min=1, show_default="1; growth: 10", rich_help_panel=TRAINING)
]
Patience = Annotated[
    int, typer.Option(help="End a stage after so many without a better score.", min=1, rich_help_panel=TRAINING)
]

Folds = Annotated[
    int,
    typer.Option(
        help="Translate each of so many parts by a model trained without it; 1: by the model itself.",
        min=1,
        rich_help_panel=LISTS,
    ),
]
On = Annotated[
    Spaces, typer.Option(help="Lists of the best, whole lattices, or samples by chains.", rich_help_panel=LISTS)
]
ListSize = Annotated[int, typer.Option("--n-best-size", help="Texts in a list.", min=1, rich_help_panel=LISTS)]
Density = Annotated[float, typer.Option(help="Edges per word of a lattice.", min=1, rich_help_panel=LISTS)]
Samples = Annotated[int, typer.Option(help="Of each sentence, at the --scale.", min=2, rich_help_panel=LISTS)]
PopLimit = Annotated[
    int, typer.Option(metavar="N", help="Of all searches: steps per word.", min=1, rich_help_panel=LISTS)
]
Processes = Annotated[int, typer.Option(help="To translate with.", min=1, rich_help_panel=LISTS)]

Objective = Annotated[
    ObjectiveName, typer.Option(help="Tuner, as for toledo tune.", metavar="NAME", rich_help_panel=TUNING)
]
Rounds = Annotated[int, typer.Option(help="Of tuning the baseline.", min=1, rich_help_panel=TUNING)]
RoundsAgain = Annotated[int, typer.Option(help="Of tuning after an iteration.", min=1, rich_help_panel=TUNING)]
TuneEvery = Annotated[int, typer.Option(help="Tune after so many iterations; 0: never.", min=0, rich_help_panel=TUNING)]
KeepWeights = Annotated[
    bool, typer.Option("--keep-weights", help="The weights of the model are tuned.", rich_help_panel=TUNING)
]
Seed = Annotated[int, typer.Option(help="Of random numbers in tuners and samples.", min=0, rich_help_panel=TUNING)]

Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="Model directory to write; an older model there is replaced.", rich_help_panel=WORK
    ),
]
WorkDirectory = Annotated[
    Path | None,
    typer.Option(
        help="Directory for all steps; those of an earlier run are never replaced.",
        show_default="OUTPUT.refining",
        rich_help_panel=WORK,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Use what is in the work directory.", rich_help_panel=WORK)]
