"""Options of `toledo document tune`, but for those that it shares with other commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.document.options import StartName

RANKING, GRADIENT, RUNS = "Ranking (--objective pro)", "Expected BLEU", "Runs and results"


class DocumentObjective(StrEnum):
    """What is to be maximised."""

    pro = "pro"
    expected_bleu = "expected-bleu"
    corpus_expected_bleu = "corpus-expected-bleu"


class PairsName(StrEnum):
    """Which states are compared."""

    consecutive = "consecutive"
    all = "all"


class DecodingName(StrEnum):
    """What a search climbs towards."""

    model = "model"
    bleu = "bleu"


Source = Annotated[str, typer.Option("--source", help="Documents to tune on: XML (NIST, WMT), SGM, or text.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Weights file to write (TOML).")]
Objective = Annotated[DocumentObjective, typer.Option(help="pro, or expected BLEU of documents or of batches of them.")]
Initial = Annotated[str, typer.Option(help="Where to begin: model, default, zero, or a file.")]
Frozen = Annotated[
    str | None, typer.Option(help="Weights to leave alone, with commas.", show_default="as at the start")
]
Sparse = Annotated[str | None, typer.Option(help="Add sparse features: pair, word, target.")]
SparseFeatures = Annotated[int, typer.Option(help="The most frequent of each kind.", min=1)]
Rounds = Annotated[int | None, typer.Option(help="So many.", min=1, show_default="12; pro: 1")]
L2 = Annotated[
    float | None, typer.Option(help="Keep weights small.", min=0.0, show_default="0; pro: 1; sparse: 0.0001")
]
HeldOutSource = Annotated[
    str | None,
    typer.Option(
        help="Documents to choose the best round by.",
        show_default="the mean of the last half of the rounds; pro: the tuning documents",
    ),
]
HeldOutDocumentIds = Annotated[Path | None, typer.Option(help="For text.")]
HeldOutReferences = Annotated[list[str] | None, typer.Option(help="Reference; may be repeated.")]

Pairs = Annotated[
    PairsName, typer.Option(help="A state with the next one, or with all later ones.", rich_help_panel=RANKING)
]
Decoding = Annotated[
    DecodingName, typer.Option(help="States of a search by the model, or for BLEU.", rich_help_panel=RANKING)
]
Positive = Annotated[
    bool, typer.Option("--positive/--negative", help="Set negative weights to 0.", rich_help_panel=RANKING)
]
Record = Annotated[str, typer.Option(help="States: logarithmic, or each so many steps.", rich_help_panel=RANKING)]
Start = Annotated[StartName, typer.Option("--start", help="Of searches.", rich_help_panel=RANKING)]
SearchSteps = Annotated[int, typer.Option(help="Of searches, for each document.", min=1, rich_help_panel=RANKING)]

Batch = Annotated[int, typer.Option(help="Documents for each step.", min=1, rich_help_panel=GRADIENT)]
Steps = Annotated[int, typer.Option(help="In a round.", min=1, rich_help_panel=GRADIENT)]
Sharper = Annotated[float, typer.Option(help="Begin with weights times this.", min=0.0, rich_help_panel=GRADIENT)]
Samples = Annotated[int, typer.Option(help="States of a document, each step.", min=2, rich_help_panel=GRADIENT)]
Every = Annotated[
    float, typer.Option(help="Steps of a chain per source word between them.", min=0.01, rich_help_panel=GRADIENT)
]
BurnIn = Annotated[float, typer.Option(help="Steps per source word before them.", min=0.0, rich_help_panel=GRADIENT)]
AnnealingFlag = Annotated[
    bool, typer.Option("--annealing", help="From flat to sharp distributions.", rich_help_panel=GRADIENT)
]
Coupled = Annotated[
    bool, typer.Option("--coupled", help="Covariances of whole documents: exact, noisy.", rich_help_panel=GRADIENT)
]
MatchLength = Annotated[
    bool,
    typer.Option(
        "--match-length/--any-length", help="At last, search with some word penalties.", rich_help_panel=GRADIENT
    ),
]

Seed = Annotated[int, typer.Option(help="Of random numbers.", min=0, rich_help_panel=RUNS)]
WorkDirectory = Annotated[
    Path | None,
    typer.Option(
        help="Directory for the history; a run that has ended is replaced, an interrupted one is not.",
        show_default="OUTPUT.tuning",
        rich_help_panel=RUNS,
    ),
]
Trace = Annotated[Path | None, typer.Option(help="Write rounds, a line of JSON each.", rich_help_panel=RUNS)]
Report = Annotated[Path | None, typer.Option(help="Write a page with plots (HTML).", rich_help_panel=RUNS)]
OutputModel = Annotated[Path | None, typer.Option(help="Write the model with its new weights.", rich_help_panel=RUNS)]
