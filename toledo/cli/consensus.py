"""`toledo consensus`: n-best lists or outputs of any systems in, one translation for each segment out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import Json, Quiet, Threads, progress_for, set_up_messages
from toledo.cli.rules import GainName, RuleName, named_rule
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, display_name, read_lines

if TYPE_CHECKING:
    from toledo.cli.consensus_lists import ToForests
    from toledo.consensus import Rule
    from toledo.formats.hypotheses import NBestList
    from toledo.formats.outputs import OutputFormat
    from toledo.weights import Weights

SCALES = "0.1,0.2,0.3,0.5,0.7,1,1.5,2,3,5,7,10"


class InputFormat(StrEnum):
    """What files hold."""

    nbest = "nbest"
    jsonl = "jsonl"
    text = "text"


class Tokenizer(StrEnum):
    """How texts become words for the rule; the output is not tokenised."""

    none = "none"
    international = "13a"


def consensus(
    threads: Threads,
    files: Annotated[
        list[str] | None, typer.Argument(help="N-best lists, JSONL, or text; - is standard input.", show_default="-")
    ] = None,
    decide: Annotated[RuleName, typer.Option(help="How to choose.")] = RuleName.mbr,
    gain: Annotated[GainName, typer.Option(help="What MBR maximises.")] = GainName.bleu,
    scale: Annotated[float, typer.Option(help="Factor of scores: below 1 flattens the distribution.")] = 1.0,
    uniform: Annotated[bool, typer.Option("--uniform", help="Ignore scores: all entries count the same.")] = False,
    weights: Annotated[Path | None, typer.Option(help="Weights (TOML): score features, not the files' scores.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="Lines per segment of plain text.", min=1)] = None,
    evidence: Annotated[
        list[str] | None, typer.Option(help="Compare with these texts (MBR) instead; may be repeated.")
    ] = None,
    evidence_n: Annotated[int | None, typer.Option(help="Lines per segment of plain evidence.", min=1)] = None,
    tokenize: Annotated[Tokenizer, typer.Option(help="Tokenise raw text for the choice.")] = Tokenizer.none,
    hypotheses: Annotated[int, typer.Option(help="Choose from so many best texts.", min=1)] = 1000,
    n_best: Annotated[int | None, typer.Option(help="Write so many, best first, as an n-best list.", min=1)] = None,
    source: Annotated[InputFormat | None, typer.Option("--from", help="Format; by default it is guessed.")] = None,
    choose_scale: Annotated[
        bool, typer.Option("--choose-scale", help="Find the best scale; needs references.")
    ] = False,
    reference: Annotated[list[str] | None, typer.Option("--reference", "-r", help="May be repeated.")] = None,
    scales: Annotated[str, typer.Option(help="Scales to choose from, with commas between.")] = SCALES,
    output: Annotated[str, typer.Option("--output", "-o", help="Where to write.")] = STANDARD_STREAM,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose one translation for each segment from n-best lists, or from outputs of several systems.

    Lists are Moses' (`0 ||| text ||| features ||| score`), JSONL (`{"id": 0, "text": "…", "score": …}`), or plain text
    with --n lines for each segment. Several files of plain text are outputs of several systems, one line per segment.
    A segment without hypotheses gives an empty line. Without scores, all hypotheses count the same.

    **Examples**

        toledo consensus --n 5 --gain chrf samples.txt > out.txt

        toledo consensus test.100best.gz --scale 0.5 > out.txt

        toledo consensus system1.en system2.en system3.en --gain chrf > out.txt

        toledo consensus val.100best.gz --choose-scale --reference val.en
    """
    set_up_messages(quiet)
    from toledo.cli.consensus_lists import Choice, ToForests, decisions
    from toledo.formats.outputs import read_outputs
    from toledo.vocabulary import Vocabulary

    if not 0.0 < scale < float("inf"):
        raise InputError(f"the scale is {scale}", remedy="a scale is a positive number, such as --scale 0.5")
    lists = read_outputs(files or [STANDARD_STREAM], _format(source), n)
    to_forests = ToForests(Vocabulary(), _weights(weights, uniform), uniform, _splitter(tokenize))
    rule = named_rule(decide, gain, hypotheses, lists=True)
    if choose_scale:
        _choose_scale(rule, to_forests, list(lists), reference or [], scales, threads, as_json)
        return
    other = read_outputs(evidence, None, evidence_n) if evidence else None
    how = Choice(rule, scale, n_best or 1, threads, progress_for(quiet))
    _write(decisions(lists, other, to_forests, how), output, as_json, ranked=n_best is not None)


def _write(results: Iterable[NBestList], output: str, as_json: bool, ranked: bool) -> None:
    """One line of text for each segment, or its ranking."""
    from toledo.formats.jsonl import write_jsonl
    from toledo.formats.nbest import write_nbest

    if as_json:
        write_jsonl(results, output, per_segment=True)
    elif ranked:
        write_nbest(results, output)
    else:
        with atomic_writer(output) as stream:
            for some in results:
                stream.write(" ".join(some.entries[0].words if some.entries else ()) + "\n")


def _format(name: InputFormat | None) -> OutputFormat | None:
    from toledo.formats.outputs import OUTPUT_FORMATS

    return None if name is None else OUTPUT_FORMATS[[*OUTPUT_FORMATS].index(name.value)]


def _weights(path: Path | None, uniform: bool) -> Weights | None:
    from toledo.weights import Weights

    if path is not None and uniform:
        raise InputError("--uniform ignores scores, --weights makes them", remedy="choose one of both")
    return None if path is None else Weights.load(path)


def _splitter(tokenize: Tokenizer) -> Callable[[Sequence[str]], Sequence[str]] | None:
    if tokenize is Tokenizer.none:
        return None
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda words: tokenizer(" ".join(words)).split()


def _choose_scale(
    rule: Rule,
    to_forests: ToForests,
    lists: Sequence[NBestList],
    reference: Sequence[str],
    scales: str,
    threads: int,
    as_json: bool,
) -> None:
    """Print BLEU for each scale and the best one."""
    from toledo.consensus import choose_scale

    if not reference:
        raise InputError("a scale is chosen by references, and there are none", remedy="give --reference FILE")
    references = list(zip(*(_reference(file, len(lists), to_forests.split) for file in reference), strict=True))
    numbers, forests = _numbers(scales), to_forests(lists)
    table = choose_scale(rule, forests, to_forests.weights or {}, references, numbers, threads=threads)
    if as_json:
        rows = [{"scale": row.scale, "BLEU": round(row.score, 4)} for row in table.rows]
        typer.echo(json.dumps({"rule": rule.name, "rows": rows, "best": table.best.scale}))
        return
    typer.echo("scale\tBLEU")
    for row in table.rows:
        typer.echo(f"{row.scale:g}\t{row.score:.2f}{' *' if row is table.best else ''}")
    typer.echo(f"best: --scale {table.best.scale:g}")


def _reference(file: str, segments: int, split: Callable[[Sequence[str]], Sequence[str]] | None) -> list[Sequence[str]]:
    from toledo.vocabulary import split_words

    lines = [split_words(line) for line in read_lines(file)]
    if len(lines) != segments:
        raise InputError(
            f"{len(lines)} lines for {segments} segments",
            file=display_name(file),
            remedy="give a line for each segment",
        )
    return [line if split is None else split(line) for line in lines]


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        numbers = []
    if not numbers or not all(0.0 < number < float("inf") for number in numbers):
        raise InputError(f"{text!r} is no list of scales", remedy="write positive numbers: --scales 0.1,0.5,1,2")
    return numbers
