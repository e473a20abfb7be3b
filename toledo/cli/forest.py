"""`toledo forest`: look at forests, lattices and n-best lists; convert between their formats."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from toledo.cli.messages import print_result, require_apart
from toledo.cli.options import COMMON, Common, flag
from toledo.files import STANDARD_STREAM

if TYPE_CHECKING:
    from toledo.weights import Weights

log = logging.getLogger(__name__)

FORMAT_NAMES = "nbest, cdec, jsonl, json, csv, parquet, fairseq, plf, slf, hypergraph or toledo"
From = Annotated[
    str | None, Parameter(name="--from", help=f"Format of the input: {FORMAT_NAMES}. Guessed if not given.")
]
WeightsFile = Annotated[Path | None, Parameter(help="Weights file (TOML) to score features with.")]
PLFValues = Annotated[Literal["probabilities", "logarithms"], Parameter(help="Kind of numbers in PLF.")]


def show(
    file: Annotated[str, Parameter(help="Forests, lattices or n-best lists; - is standard input.")],
    *,
    source: From = None,
    segment: Annotated[int | None, Parameter(help="Segment to show, counted from 0.")] = None,
    nbest: Annotated[int, Parameter(help="Number of best derivations to show.")] = 5,
    weights: WeightsFile = None,
    svg: Annotated[Path | None, Parameter(help="SVG file for a picture of the segment (or the first).")] = None,
    dot: Annotated[Path | None, Parameter(help="Graphviz file for the segment (or the first).")] = None,
    prune_below: Annotated[float, Parameter(help="Before drawing, drop edges with a lower probability.")] = 0.0,
    plf_values: PLFValues = "probabilities",
    common: Common = COMMON,
) -> None:
    """Show size, number of derivations, entropy and the best derivations.

    Without --weights, n-best lists are scored by the model scores in the file, SLF by the scales in its header.

    **Examples**

        toledo forest show test.nbest.gz
        toledo forest show test.nbest.gz --segment 3 --nbest 10 --weights weights.toml
        toledo forest show lattices.plf --segment 0 --svg lattice.svg --prune-below 0.01
    """
    from toledo.api.forests import show_forests

    loaded = _weights(weights)
    view = show_forests(file, format=source, weights=loaded, plf_values=plf_values, segment=segment, nbest=nbest)
    if svg or dot:
        view.draw(svg=svg, dot=dot, prune_below=prune_below)
    print_result("forest show", view, common)


def convert(
    file: Annotated[str, Parameter(help="Forests, lattices or n-best lists; - is standard input.")],
    output: Annotated[
        str, Parameter(help="File to write; - is standard output; NAME/ is a directory with one file per segment.")
    ],
    *,
    source: From = None,
    target: Annotated[
        str | None, Parameter(name="--to", help=f"Format of the output: {FORMAT_NAMES}. Guessed if not given.")
    ] = None,
    nbest: Annotated[int | None, Parameter(help="Number of best derivations to keep.")] = None,
    distinct: Annotated[bool, flag("Keep only the best derivation of each translation.")] = False,
    weights: WeightsFile = None,
    plf_values: PLFValues = "probabilities",
    common: Common = COMMON,
) -> None:
    """Convert between n-best lists, JSONL, PLF, SLF, hypergraphs and Toledo's forest directories.

    List formats get the 100 best derivations of a forest, or --nbest. PLF and SLF hold lattices and lists only; with
    --nbest, any forest becomes a list first.

    **Examples**

        toledo forest convert test.nbest.gz test.jsonl
        toledo forest convert hypergraphs/ test.nbest.gz --nbest 200 --weights weights.toml
        toledo forest convert lattices.plf lattices.slf
    """
    require_apart(output, file, weights)
    from toledo.formats.forest_files import Conversion, convert, guess_format, guess_output_format, named_format

    form = guess_format(file) if source is None else named_format(source)
    to = guess_output_format(output) if target is None else named_format(target)
    segments = convert(file, form, output, to, Conversion(nbest, distinct, _weights(weights), plf_values))
    log.info("%d segments from %s to %s", segments, form, to)
    if common.json and output != STANDARD_STREAM:
        print_result("forest convert", {"segments": segments, "from": form, "to": to}, common)


def _weights(path: Path | None) -> Weights | None:
    from toledo.weights import Weights

    return None if path is None else Weights.load(path)
