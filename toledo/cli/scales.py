"""Choosing the scale of a decision rule on held-out data, for all commands that decide."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.rules import CHOICE, require_scale
from toledo.errors import InputError
from toledo.files import read_segment_lines

if TYPE_CHECKING:
    from toledo.consensus.rule import Rule
    from toledo.consensus.scale import ScaleTable
    from toledo.forest.forest import Forest
    from toledo.progress import Progress
    from toledo.weights import Weights

Split = Callable[[Sequence[str]], Sequence[str]]

ChooseScale = Annotated[
    bool,
    typer.Option("--choose-scale", help="Print BLEU by scale; needs references.", rich_help_panel=CHOICE),
]
Reference = Annotated[
    list[str] | None,
    typer.Option("--reference", "-r", help="For --choose-scale; may be repeated.", rich_help_panel=CHOICE),
]
Scales = Annotated[
    str | None,
    typer.Option(
        help="Scales to choose from: 0.5,1,2",
        show_default="twelve, by the norm of the weights; from 0.1 to 10 without weights",
        rich_help_panel=CHOICE,
    ),
]


def scale_table(
    rule: Rule,
    forests: Sequence[Forest],
    weights: Weights | Mapping[str, float],
    reference: Sequence[str],
    scales: str | None,
    threads: int,
    progress: Progress,
    split: Split | None = None,
) -> ScaleTable:
    """BLEU for each scale; without `scales` for twelve that fit the norm of the weights."""
    from toledo.consensus.scale import choose_scale

    references = references_of(reference, len(forests), split)
    numbers = None if scales is None else numbers_of(scales)
    return choose_scale(rule, forests, weights, references, numbers, threads=threads, progress=progress)


def described(table: ScaleTable, rule: Rule, as_json: bool) -> list[str]:
    """A line for each scale and one for the best."""
    if as_json:
        rows = [{"scale": row.scale, "BLEU": round(row.score, 4)} for row in table.rows]
        return [json.dumps({"rule": rule.name, "rows": rows, "best": table.best.scale})]
    lines = [f"{row.scale:g}\t{row.score:.2f}{' *' if row is table.best else ''}" for row in table.rows]
    return ["scale\tBLEU", *lines, f"best: --scale {table.best.scale:g}"]


def references_of(files: Sequence[str], segments: int, split: Split | None = None) -> list[tuple[Sequence[str], ...]]:
    """The references of each segment."""
    from toledo.text.vocabulary import split_words

    if not files:
        raise InputError("a scale is chosen by references, and there are none", remedy="give --reference FILE")
    texts = [[split_words(line) for line in read_segment_lines(file, segments)] for file in files]
    return list(zip(*([line if split is None else split(line) for line in text] for text in texts), strict=True))


def numbers_of(text: str) -> list[float]:
    """Scales that a user gave."""
    try:
        numbers = [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(f"{text!r} is no list of scales", remedy="write positive numbers: --scales 0.1,0.5,1,2")
    for number in numbers:
        require_scale(number)
    return numbers
