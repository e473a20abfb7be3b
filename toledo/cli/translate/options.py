"""Options of `toledo translate`, but for those that it shares with other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toledo.cli.rules import CHOICE

LISTS, GRAPHS, OTHER = "N-best lists and alignments", "Forests and lattices", "Looking closer"  # panels of `--help`

ModelDirectory = Annotated[Path, typer.Argument(help="Model directory.")]
Source = Annotated[str, typer.Argument(help="Tokenised text to translate; - is standard input.")]
WeightsFile = Annotated[Path | None, typer.Option(help="Use these weights instead of the model's.")]

NBest = Annotated[Path | None, typer.Option(help="Write n-best lists (.jsonl: as JSON).", rich_help_panel=LISTS)]
NBestSize = Annotated[int, typer.Option(help="Derivations per segment.", min=1, rich_help_panel=LISTS)]
Distinct = Annotated[bool, typer.Option("--distinct", help="Different texts, not derivations.", rich_help_panel=LISTS)]
NBestAlignments = Annotated[
    bool, typer.Option("--n-best-alignments", help="Phrases and word links in the lists.", rich_help_panel=LISTS)
]
Segmentation = Annotated[
    bool, typer.Option("--segmentation", help="Source words after each phrase: |0-1|.", rich_help_panel=LISTS)
]
Alignments = Annotated[
    Path | None, typer.Option(help="Write word links of the translations (0-0 1-1 …).", rich_help_panel=LISTS)
]

ForestDirectory = Annotated[
    Path | None, typer.Option(help="Directory for the forests of all segments.", rich_help_panel=GRAPHS)
]
Lattice = Annotated[
    str | None, typer.Option(help="Write lattices: .plf, .slf, or DIR/ with SLF files.", rich_help_panel=GRAPHS)
]
SearchGraph = Annotated[
    str | None, typer.Option(help="Write hypergraphs: a file, or DIR/ with one each.", rich_help_panel=GRAPHS)
]
Density = Annotated[
    float | None, typer.Option(help="Prune these to so many edges per word.", min=1, rich_help_panel=GRAPHS)
]

Scale = Annotated[
    float | None,
    typer.Option(
        help="Factor of scores; below 1 flattens.",
        show_default="3 for consensus and lattice-mbr, else 1; for gibbs 4 over the norm of the weights",
        rich_help_panel=CHOICE,
    ),
]
Hypotheses = Annotated[
    int | None,
    typer.Option(
        help="Choose from so many best texts.", min=1, show_default="200; 1000 for gibbs", rich_help_panel=CHOICE
    ),
]
DecideDensity = Annotated[
    float | None,
    typer.Option(
        help="Edges per word that consensus and lattice-mbr see.",
        min=1,
        show_default="all; 50 for lattice-mbr",
        rich_help_panel=CHOICE,
    ),
]

Force = Annotated[
    str | None, typer.Option(help="Score these translations instead of searching.", rich_help_panel=OTHER)
]
Trace = Annotated[
    str | None, typer.Option(help="Write how translations came about; - is stderr.", rich_help_panel=OTHER)
]
