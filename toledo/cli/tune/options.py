"""Options of `toledo tune`, but for those that it shares with other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.rules import RuleName
from toledo.cli.tune.tuners import MetricName, ObjectiveName, OnName, OptimizerName

HELD_OUT, TUNER, WORK = "A held-out set", "The tuner", "Runs and results"  # panels of `--help`

ModelDirectory = Annotated[Path | None, typer.Argument(help="Model directory.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Weights file to write (TOML).")]
Source = Annotated[Path | None, typer.Option(help="Text to tune on, tokenised.")]
References = Annotated[list[Path] | None, typer.Option("--reference", "-r", help="Reference; may be repeated.")]
Lists = Annotated[list[str] | None, typer.Option(help="Tune on lists of any system instead; may be repeated.")]

HeldOutSource = Annotated[Path | None, typer.Option(help="Text to choose the best round by.", rich_help_panel=HELD_OUT)]
HeldOutReferences = Annotated[
    list[Path] | None, typer.Option(help="Reference; may be repeated.", rich_help_panel=HELD_OUT)
]
Patience = Annotated[
    int, typer.Option(help="Stop after so many rounds without a better score.", min=1, rich_help_panel=HELD_OUT)
]

Objective = Annotated[
    ObjectiveName, typer.Option(help=f"{', '.join(ObjectiveName)}.", metavar="NAME", rich_help_panel=TUNER)
]
MetricOption = Annotated[MetricName, typer.Option(help="What counts as better.", rich_help_panel=TUNER)]
Rounds = Annotated[
    int | None,
    typer.Option(
        help="Search and tune at most so often.",
        min=1,
        show_default="10; gibbs with --annealing: until annealing has finished",
        rich_help_panel=TUNER,
    ),
]
ListSize = Annotated[int, typer.Option("--n-best-size", help="Texts in a list.", min=1, rich_help_panel=TUNER)]
Density = Annotated[
    float | None,
    typer.Option(
        help="Edges per word kept of a lattice, and looked at by expectations.",
        min=1,
        show_default="50 kept, 30 looked at",
        rich_help_panel=TUNER,
    ),
]
On = Annotated[OnName | None, typer.Option(help="Lists or lattices.", rich_help_panel=TUNER)]
Restarts = Annotated[int | None, typer.Option(help="Random starts (mert).", min=0, rich_help_panel=TUNER)]
L2 = Annotated[float | None, typer.Option(help="Keep weights small.", min=0, rich_help_panel=TUNER)]
Optimiser = Annotated[OptimizerName | None, typer.Option(help="For gradients.", rich_help_panel=TUNER)]
AnnealingFlag = Annotated[
    bool, typer.Option("--annealing", help="From flat distributions to sharp ones.", rich_help_panel=TUNER)
]
Steps = Annotated[int | None, typer.Option(help="Of gradients, in a round.", min=1, rich_help_panel=TUNER)]
Batch = Annotated[
    int | None, typer.Option(help="A step for each batch of so many segments.", min=1, rich_help_panel=TUNER)
]
JudgingRule = Annotated[
    RuleName | None,
    typer.Option(
        help="Judge rounds by what this rule chooses.", show_default="viterbi; gibbs: mbr", rich_help_panel=TUNER
    ),
]
JudgingScale = Annotated[float, typer.Option(help="Factor of scores for that rule.", rich_help_panel=TUNER)]
Initial = Annotated[str, typer.Option(help="Where to begin: model, default, zero, or a file.", rich_help_panel=TUNER)]
Frozen = Annotated[
    str | None,
    typer.Option(help="Weights to leave alone, with commas.", show_default="as at the start", rich_help_panel=TUNER),
]
Sparse = Annotated[str | None, typer.Option(help="Add sparse features: pair, word, target.", rich_help_panel=TUNER)]
SparseFeatures = Annotated[int, typer.Option(help="The most frequent of each kind.", min=1, rich_help_panel=TUNER)]

Seed = Annotated[int, typer.Option(help="Seed of the (first) run.", min=0, rich_help_panel=WORK)]
Seeds = Annotated[int, typer.Option(help="Runs with consecutive seeds.", min=1, rich_help_panel=WORK)]
WorkDirectory = Annotated[
    Path | None,
    typer.Option(
        help="Directory for histories; a run that has ended is replaced, an interrupted one is not.",
        show_default="OUTPUT.tuning",
        rich_help_panel=WORK,
    ),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after an interruption.", rich_help_panel=WORK)]
Report = Annotated[Path | None, typer.Option(help="Write a page with plots (HTML).", rich_help_panel=WORK)]
OutputModel = Annotated[Path | None, typer.Option(help="Write the model with its new weights.", rich_help_panel=WORK)]
