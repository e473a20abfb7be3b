"""`toledo evaluate`: score translations and compare systems."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from toledo.cli.common import Json, Quiet, Threads, set_up_messages
from toledo.cli.raw_text import looks_tokenised, raw_word
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, display_name, read_lines

if TYPE_CHECKING:
    from toledo.metrics.evaluation import Evaluation, Score, Settings, System

log = logging.getLogger(__name__)

WIDE = 200  # columns where no terminal says how many there are


def evaluate(
    hypothesis: Annotated[list[str], typer.Argument(help="Translations, a file for each system; - is standard input.")],
    reference: Annotated[list[str], typer.Option("--reference", "-r", help="Reference; may be repeated.")],
    threads: Threads,
    metrics: Annotated[str, typer.Option(help="Which of bleu, chrf, chrf++, ter; with commas between.")] = (
        "bleu,chrf,ter"
    ),
    tokenise: Annotated[
        str,
        typer.Option("--tokenize", "--tokenise", help="Tokenizer for BLEU as in sacreBLEU; none for tokenised text."),
    ] = "13a",
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case in BLEU and chrF; TER always does.")] = (
        False
    ),
    test: Annotated[str, typer.Option(help="Test against the first file: bootstrap, randomisation, none.")] = (
        "bootstrap"
    ),
    samples: Annotated[int, typer.Option(help="Resampled test sets, or random swaps.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the test.", min=0)] = 12345,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score translations: BLEU, chrF, TER, lengths; with several files, is each better than the first?

    **Examples**

        toledo evaluate --reference ref.en system.en

        toledo evaluate -r ref.0 -r ref.1 --tokenize none baseline.en better.en

        toledo translate model < test.de | toledo evaluate -r test.en -
    """
    set_up_messages(quiet)
    from toledo.metrics.evaluation import Settings
    from toledo.metrics.evaluation import evaluate as score

    names = tuple(name for name in metrics.lower().replace(",", " ").split())
    settings = Settings(names, tokenise, lowercase, test, samples, seed, threads)
    systems, references = _read(hypothesis, reference)
    _hint(systems, reference[0], [one[0] for one in references], tokenise)
    result = score(systems, references, settings)
    if as_json:
        typer.echo(json.dumps(to_json(result, settings), indent=2, ensure_ascii=False))
    else:
        _print_table(result, settings)


def _hint(systems: dict[str, list[str]], reference: str, lines: list[str], tokenise: str) -> None:
    """Tokenised text is counted wrongly, and most of all if it is compared with raw text."""
    name, ours = next(iter(systems.items()))
    alike = "%s looks tokenised, %s does not: make them alike with toledo text detokenise or tokenise"
    if looks_tokenised(ours) and raw_word(lines):
        log.warning(alike, name, reference)
    elif raw_word(ours) and looks_tokenised(lines):
        log.warning(alike, reference, name)
    elif tokenise != "none" and looks_tokenised(ours):
        log.warning("the text looks tokenised: --tokenize none counts its tokens as they are")


def _read(hypothesis: list[str], reference: list[str]) -> tuple[dict[str, list[str]], list[tuple[str, ...]]]:
    """Lines of each system, and the references of each line; all files must have the same number of lines."""
    files = [*reference, *hypothesis]
    if files.count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be read only once", remedy="name files, and - at most once")
    if len(set(hypothesis)) < len(hypothesis):
        raise InputError("the same file is given twice", remedy="name each system once")
    texts = [list(read_lines(file)) for file in files]
    expected = len(texts[0])
    for file, lines in zip(files, texts, strict=True):
        if not lines:
            raise InputError("the file is empty", file=display_name(file), remedy="give one line for each segment")
        if len(lines) != expected:
            raise InputError(
                f"{len(lines)} lines, but {display_name(files[0])} has {expected}",
                file=display_name(file),
                remedy="line i of each file must belong together; look for lost or added line ends",
            )
    references = list(zip(*texts[: len(reference)], strict=True))
    systems = {display_name(f): lines for f, lines in zip(hypothesis, texts[len(reference) :], strict=True)}
    return systems, references


def to_json(result: Evaluation, settings: Settings) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "test": settings.test,
        "samples": settings.samples,
        "seed": settings.seed,
        "systems": [
            {
                "name": system.name,
                "scores": {name: _score_as_json(score) for name, score in system.scores.items()},
                "words": system.words,
                "reference_words": system.reference_words,
                "length_ratio": round(system.length_ratio, 4),
                "brevity_penalty": round(system.brevity_penalty, 4),
            }
            for system in result.systems
        ],
        "signatures": result.signatures,
    }


def _score_as_json(score: Score) -> dict[str, float]:
    fields = {"score": round(score.value, 4)}
    if score.interval:
        interval = score.interval
        fields |= {"mean": round(interval.mean, 4), "low": round(interval.low, 4), "high": round(interval.high, 4)}
    if score.p_value is not None:
        fields["p_value"] = round(score.p_value, 6)
    return fields


def _print_table(result: Evaluation, settings: Settings) -> None:
    console = Console(soft_wrap=True)
    console = console if console.is_terminal else Console(width=WIDE, soft_wrap=True)
    table = Table("System", box=None, pad_edge=False, header_style="bold")
    for name in result.signatures:
        table.add_column(name, justify="right")
    table.add_column("length", justify="right")
    table.add_column("brevity", justify="right")
    for name, system in zip(_short_names(result), result.systems, strict=True):
        table.add_row(escape(name), *_row(system))
    console.print(table)
    console.print()
    if settings.test != "none":
        console.print(_explanation(result, settings), highlight=False, markup=False)
    for name, signature in result.signatures.items():
        console.print(f"{name}|{signature}", highlight=False, markup=False)


def _short_names(result: Evaluation) -> list[str]:
    """Names without directories, where that leaves them distinct."""
    short = [system.name.rpartition("/")[2] for system in result.systems]
    return short if len(set(short)) == len(short) else [system.name for system in result.systems]


def _row(system: System) -> list[str]:
    scores = [_cell(score) for score in system.scores.values()]
    return [*scores, f"{system.length_ratio:.3f}", f"{system.brevity_penalty:.3f}"]


def _cell(score: Score) -> str:
    text = f"{score.value:.2f}"
    if score.interval:
        text += f" ± {score.interval.half_width:.2f}"
    if score.p_value is not None:
        text += f" (p = {score.p_value:.3f}){'*' if score.p_value < 0.05 else ' '}"
    return text


def _explanation(result: Evaluation, settings: Settings) -> str:
    text = f"± half of the 95 % interval ({settings.samples} resampled test sets, seed {settings.seed})"
    if len(result.systems) < 2:
        return text
    name = "paired bootstrap" if settings.test == "bootstrap" else "approximate randomisation"
    return f"{text}; p: {name} against {_short_names(result)[0]}; * p < 0.05"
