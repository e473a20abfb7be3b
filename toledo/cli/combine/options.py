"""Options of `toledo combine`, but for those that it shares with other commands."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Method(StrEnum):
    """What tuning maximises."""

    lattice_expected_bleu = "lattice-expected-bleu"
    list_expected_bleu = "list-expected-bleu"
    lattice_bleu = "lattice-bleu"


MoreSystems = Annotated[
    list[str] | None,
    typer.Option("--systems", help="Outputs, a file for each system: A.en B.en, or NAME=FILE.", metavar="FILE..."),
]
Rest = Annotated[list[str] | None, typer.Argument(help="More outputs.", show_default=False, metavar="FILE")]
Directory = Annotated[Path, typer.Argument(help="What `toledo combine tune` wrote.", show_default=False)]

References = Annotated[list[str], typer.Option("--reference", "-r", help="Reference; may be repeated.")]
CombinationOutput = Annotated[
    Path, typer.Option("--output", "-o", help="A directory for the combination; an older one is replaced.")
]
Source = Annotated[str | None, typer.Option(help="Source lines; only their number is checked.")]
Language = Annotated[str, typer.Option("--language", "-l", help="Of the outputs, as a code: for stems and raw text.")]
Tokenised = Annotated[bool, typer.Option("--tokenised", help="Texts are tokenised: combine words as they are.")]
LanguageModels = Annotated[list[str] | None, typer.Option(help="Language model (ARPA); may be repeated.")]
LanguageModelTexts = Annotated[list[str] | None, typer.Option(help="Text for a language model; may be repeated.")]
LanguageModelOrder = Annotated[int, typer.Option(help="Order of models of texts and outputs.", min=2, max=6)]
Bias = Annotated[
    float | None,
    typer.Option(help="Weight of a model of the outputs.", min=0.0, max=1.0, show_default="by perplexity"),
]
MethodOption = Annotated[Method, typer.Option(help="What to maximise.")]
Features = Annotated[
    list[str] | None,
    typer.Option("--feature", help="Features of n-grams; may be repeated.", show_default="novel.bigram"),
]
Skeletons = Annotated[int | None, typer.Option(help="Outputs that become skeletons.", show_default="all", min=1)]
Entropies = Annotated[
    list[float] | None,
    typer.Option(
        "--entropy",
        help="Of a segment's distribution, in nats; repeat it to choose by BLEU.",
        show_default="1 and 3",
        min=0.01,
    ),
]
L2 = Annotated[float, typer.Option(help="Penalty for uneven shares and weights far from the start.", min=0.0)]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after an interruption.")]

Page = Annotated[Path, typer.Option("--output", "-o", help="An HTML page.")]
Segments = Annotated[
    list[int] | None,
    typer.Option("--segment", help="Which to show, counted from 0; may be repeated.", show_default="0", min=0),
]
ShownReferences = Annotated[list[str] | None, typer.Option("--reference", "-r", help="To show beside it.")]
ShownSource = Annotated[str | None, typer.Option(help="To show beside it.")]
