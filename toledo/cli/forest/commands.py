"""`toledo forest`: look at forests, lattices and n-best lists; convert between their formats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import Json, Quiet, require_output_apart, set_up_messages
from toledo.errors import InputError
from toledo.files import atomic_writer

if TYPE_CHECKING:
    from toledo.formats.forest_files import SegmentForest
    from toledo.formats.plf import Values

app = typer.Typer(no_args_is_help=True, help="Look at forests, lattices and n-best lists; convert between formats.")


class FormatName(StrEnum):
    """The formats of `toledo.formats.forest_files.FORMATS`, which would slow down `--help`."""

    nbest = "nbest"
    cdec = "cdec"
    jsonl = "jsonl"
    plf = "plf"
    slf = "slf"
    hypergraph = "hypergraph"
    toledo = "toledo"


class PlfValues(StrEnum):
    """What the numbers of PLF are."""

    probabilities = "probabilities"
    logarithms = "logarithms"


From = Annotated[FormatName | None, typer.Option("--from", help="Format of the input; by default it is guessed.")]
WeightsFile = Annotated[Path | None, typer.Option("--weights", help="Weights (TOML) to score features with.")]
Plf = Annotated[PlfValues, typer.Option("--plf-values", help="What the numbers in PLF are.")]


@app.command()
def show(
    file: Annotated[str, typer.Argument(help="Forests, lattices or n-best lists; - is standard input.")],
    source: From = None,
    segment: Annotated[int | None, typer.Option(help="The segment to look at, counted from 0.", min=0)] = None,
    n_best_size: Annotated[int, typer.Option(help="How many of the best derivations to show.", min=0)] = 5,
    weights: WeightsFile = None,
    svg: Annotated[Path | None, typer.Option(help="Draw the segment into this file.")] = None,
    dot: Annotated[Path | None, typer.Option(help="Write the segment for Graphviz.")] = None,
    prune: Annotated[float, typer.Option(help="Before drawing, drop edges less probable.", min=0, max=1)] = 0.0,
    plf_values: Plf = PlfValues.probabilities,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show size, number of derivations, entropy and the best derivations.

    Without weights, n-best lists are scored by the model scores of the file, SLF by the scales of the header.

    **Examples**

        toledo forest show test.nbest.gz

        toledo forest show test.nbest.gz --segment 3 --n-best-size 10 --weights weights.toml

        toledo forest show lattices.plf --segment 0 --svg lattice.svg --prune 0.01
    """
    set_up_messages(quiet)
    from toledo.cli.forest.view import show_all, show_one
    from toledo.formats.forest_files import guess_format, read_forests

    chosen = _weights(weights)
    form = _format(source) or guess_format(file)
    found = read_forests(file, form, model_scores=chosen is None, plf_values=_values(plf_values))
    first = list(islice(found, 2)) if segment is None else [_segment(found, segment, file)]
    if not first:
        raise _no_segments(file)
    if svg or dot:
        _draw(first[0], chosen, svg, dot, prune)
    if segment is not None or len(first) == 1:
        show_one(first[0], chosen, n_best_size, as_json)
    else:
        show_all(chain(first, found), chosen, as_json)


@app.command()
def convert(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="What to convert; - is standard input.")],
    output: Annotated[
        str, typer.Argument(help="Where to; - is standard output; a name with / at the end: a directory.")
    ],
    source: From = None,
    target: Annotated[FormatName | None, typer.Option("--to", help="Format to write; by default by the name.")] = None,
    n_best_size: Annotated[int | None, typer.Option(help="Keep only so many derivations.", min=1)] = None,
    distinct: Annotated[bool, typer.Option("--distinct", help="Keep one derivation of each translation.")] = False,
    weights: WeightsFile = None,
    plf_values: Plf = PlfValues.probabilities,
    quiet: Quiet = False,
) -> None:
    """Convert between n-best lists, JSONL, PLF, SLF, hypergraphs and Toledo's own directories.

    A forest becomes an n-best list of its 100 best derivations, or of --n-best-size. PLF and SLF take lattices and
    n-best lists only; --n-best-size makes a list of any forest.

    **Examples**

        toledo forest convert test.nbest.gz test.jsonl

        toledo forest convert hypergraphs/ test.nbest.gz --n-best-size 200 --weights weights.toml

        toledo forest convert lattices.plf lattices.slf
    """
    log = set_up_messages(quiet)
    require_output_apart(context)
    from toledo.formats.forest_files import Conversion, guess_format, guess_output_format
    from toledo.formats.forest_files import convert as run

    form, to = _format(source) or guess_format(file), _format(target) or guess_output_format(output)
    how = Conversion(n_best_size, distinct, _weights(weights), _values(plf_values))
    log.info("%d segments from %s to %s", run(file, form, output, to, how), form, to)


def _segment(found: Iterable[SegmentForest], segment: int, file: str) -> SegmentForest:
    seen = 0
    for one in found:
        if seen == segment:
            return one
        seen += 1
    if not seen:
        raise _no_segments(file)
    there = f"there are {seen}, from 0 to {seen - 1}" if seen > 1 else "there is only segment 0"
    raise InputError(f"no segment {segment}: {there}", file=file, remedy="name one of these")


def _no_segments(file: str) -> InputError:
    return InputError("there are no segments", file=file, remedy="name a file with forests, lattices or lists")


def _format(name: FormatName | None) -> str | None:
    return None if name is None else name.value


def _values(name: PlfValues) -> Values:
    return "logarithms" if name is PlfValues.logarithms else "probabilities"


def _weights(path: Path | None) -> Mapping[str, float] | None:
    from toledo.weights import Weights

    return None if path is None else Weights.load(path)


def _draw(
    found: SegmentForest, weights: Mapping[str, float] | None, svg: Path | None, dot: Path | None, prune: float
) -> None:
    from toledo.forest.drawing import to_dot, to_svg
    from toledo.forest.pruning import prune_by_posterior
    from toledo.formats.forest_files import SegmentForest, score_with

    if prune:
        smaller = prune_by_posterior(found.forest, score_with(found, weights), prune)
        found = SegmentForest(found.segment, smaller, found.weights)
    scores = score_with(found, weights)
    for path, draw in ((svg, to_svg), (dot, to_dot)):
        if path is not None:
            with atomic_writer(path) as stream:
                stream.write(draw(found.forest, scores))
