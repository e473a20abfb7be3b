"""Options of all commands that search documents."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toledo.errors import InputError

if TYPE_CHECKING:
    from toledo.search.document.settings import DocumentConfiguration

SEARCH, RECORDS = "Search", "Looking closer"


class StartName(StrEnum):
    """Where a search begins."""

    beam = "beam"
    random = "random"


ModelDirectory = Annotated[Path, typer.Argument(help="Model directory.", show_default=False)]
Source = Annotated[
    str, typer.Argument(help="Documents to translate: XML (NIST, WMT), SGM, or tokenised text; - is standard input.")
]
DocumentIds = Annotated[
    Path | None,
    typer.Option("--docids", help="For text: the document of each line.", show_default="one document"),
]
References = Annotated[
    list[str] | None, typer.Option("--reference", "-r", help="Reference (XML or text); may be repeated.")
]
Output = Annotated[str, typer.Option("--output", "-o", help="Where to write; .xml gives XML, - is standard output.")]
WeightsFile = Annotated[
    Path | None, typer.Option("--weights", help="Weights instead of the model's, with document models if it has any.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="How to search (TOML); options go before it.", rich_help_panel=SEARCH)
]
DocumentModel = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME=WEIGHT",
        help="Add a document model: parity, type-token, ovix, lix, consistency, semantic; may be repeated.",
    ),
]
Space = Annotated[
    Path | None, typer.Option("--semantic-space", help="For the model semantic: what `semantic-space` wrote.")
]
StartOption = Annotated[
    StartName | None,
    typer.Option("--start", help="Where to begin.", show_default="beam", rich_help_panel=SEARCH),
]
Segmentation = Annotated[
    Path | None,
    typer.Option(help="Begin with these derivations: Moses' -report-segmentation.", rich_help_panel=SEARCH),
]
Accept = Annotated[
    str | None,
    typer.Option(
        "--accept",
        help="Changes to accept: hill-climbing, annealing:start=1,end=0.05, annealing:schedule=[4,2,1],every=1000, "
        "sampling:temperature=1.",
        show_default="hill-climbing",
        rich_help_panel=SEARCH,
    ),
]
Operation = Annotated[
    list[str] | None,
    typer.Option(
        "--operation",
        metavar="NAME=NUMBER",
        help="How often: change, swap, move, resegment, …; may be repeated; others are not used.",
        rich_help_panel=SEARCH,
    ),
]
Steps = Annotated[
    int | None, typer.Option(help="Steps for each document.", min=0, show_default="100000", rich_help_panel=SEARCH)
]
MaxRejected = Annotated[
    int | None, typer.Option(help="Stop after so many rejected in a row.", min=1, rich_help_panel=SEARCH)
]
Seconds = Annotated[
    float | None, typer.Option(help="Stop a document after so many seconds.", min=0.0, rich_help_panel=SEARCH)
]
Seed = Annotated[
    int | None, typer.Option("--seed", help="Of random numbers.", min=0, show_default="1", rich_help_panel=SEARCH)
]
Record = Annotated[
    str | None,
    typer.Option(
        help="States to record: logarithmic (0, 256, 512, …) or each so many steps.",
        show_default="logarithmic with --trace or --plot",
        rich_help_panel=RECORDS,
    ),
]
TraceFile = Annotated[
    Path | None, typer.Option("--trace", help="Write recorded states, a line of JSON each.", rich_help_panel=RECORDS)
]
PlotFile = Annotated[Path | None, typer.Option("--plot", help="Plot them: .html or .svg.", rich_help_panel=RECORDS)]
Last = Annotated[
    bool, typer.Option("--last", help="Write the last state, not the best: a sample.", rich_help_panel=SEARCH)
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on after an interruption.")]


def option_tables(
    search: dict[str, Any],
    operations: list[str] | None,
    models: list[str] | None,
    record: str | None,
) -> DocumentConfiguration:
    """What options say, as a configuration; values of None are not given."""
    from toledo.search.document.settings import DocumentConfiguration

    given = {name: value.value if isinstance(value, StrEnum) else value for name, value in search.items()}
    if record is not None:
        given["record"] = int(record) if record.isascii() and record.isdigit() else record
    return DocumentConfiguration(
        {name: value for name, value in given.items() if value is not None},
        named_numbers(operations, "--operation"),
        {feature_name(name): value for name, value in named_numbers(models, "--model").items()},
    )


def named_numbers(given: list[str] | None, option: str) -> dict[str, float]:
    """NAME=NUMBER, several times."""
    found: dict[str, float] = {}
    for text in given or ():
        name, equals, number = text.partition("=")
        if not equals or not name or name in found:
            raise InputError(f"{option} {text}: not NAME=NUMBER, or twice", remedy=f"write, say, {option} change=0.8"
                             if option == "--operation" else f"write, say, {option} parity=0.5")  # fmt: skip
        found[name.replace("-", "_") if option == "--operation" else name] = _number(number, f"{option} {text}")
    return found


def feature_name(name: str) -> str:
    """The feature of a document model: parity or document.parity."""
    return name if "." in name or name == "bleu" else f"document.{name}"


def _number(text: str, what: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{what}: {text!r} is no number", remedy="write a number") from None
