"""`toledo evaluate`: score translations and compare systems."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    from toledo.metrics.score import Score

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
        typer.Option("--tokenize", "--tokenise", help="Tokeniser for BLEU as in sacreBLEU; none for tokenised text."),
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
    names = tuple(name for name in metrics.lower().replace(",", " ").split())
    if not names:
        raise InputError("no metric is named", remedy="choose from bleu, chrf, chrf++, ter")
    systems, references = _read(hypothesis, reference)
    _hint(systems, reference[0], [one[0] for one in references], tokenise)
    how = Scoring(names, tokenise, lowercase, test, samples, seed, threads)
    content = score_systems(systems, references, how)
    if as_json:
        typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        _print_table(content)


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


@dataclass(frozen=True)
class Scoring:
    """What the options say."""

    metrics: tuple[str, ...] = ("bleu", "chrf", "ter")
    tokenize: str = "13a"
    lowercase: bool = False
    test: str = "bootstrap"
    samples: int = 1000
    seed: int = 12345
    threads: int | None = None


def score_systems(
    systems: Mapping[str, Sequence[str]], references: Sequence[Sequence[str]], how: Scoring
) -> dict[str, Any]:
    """Score systems and compare them with the first; gives what `--json` prints."""
    from toledo.api.compare import compare
    from toledo.metrics.bleu import BLEU
    from toledo.metrics.shapes import References

    tests = {"none": "bootstrap", "bootstrap": "bootstrap", "randomisation": "randomization"}
    if how.test not in tests:
        raise InputError(f"no significance test {how.test!r}", remedy=f"choose from {', '.join(tests)}")
    found = compare(
        {name: list(lines) for name, lines in systems.items()},
        References.per_segment(references),
        test=tests[how.test],  # type: ignore[arg-type]
        correction="none",
        metrics=how.metrics,
        tokenize=how.tokenize,
        lowercase=how.lowercase,
        interval=None if how.test == "none" else 0.95,
        resamples=how.samples,
        seed=how.seed,
        threads=how.threads,
    )
    p_values = {(one.system, one.metric): one.p for one in found.tests} if how.test != "none" else {}
    bleu = BLEU(tokenize=how.tokenize, lowercase=how.lowercase)
    rows = []
    for name, system in found.systems.items():
        length = bleu.corpus_score(found.texts[name], References.per_segment(references))
        scores = {one.name: _score_as_json(one, p_values.get((name, key))) for key, one in system.scores.items()}
        rows.append(
            {
                "name": name,
                "scores": scores,
                "words": length.sys_len,
                "reference_words": length.ref_len,
                "length_ratio": round(length.ratio, 4),
                "brevity_penalty": round(length.bp, 4),
            }
        )
    signatures = {one.name: one.signature for one in next(iter(found.systems.values())).scores.values()}
    return {"test": how.test, "samples": how.samples, "seed": how.seed, "systems": rows, "signatures": signatures}


def _score_as_json(score: Score, p_value: float | None) -> dict[str, float]:
    fields = {"score": round(score.score, 4)}
    if score.interval:
        interval = score.interval
        fields |= {"mean": round(interval.mean, 4), "low": round(interval.low, 4), "high": round(interval.high, 4)}
    if p_value is not None:
        fields["p_value"] = round(p_value, 6)
    return fields


def _print_table(content: Mapping[str, Any]) -> None:
    console = Console(soft_wrap=True)
    console = console if console.is_terminal else Console(width=WIDE, soft_wrap=True)
    table = Table("System", box=None, pad_edge=False, header_style="bold")
    for name in content["signatures"]:
        table.add_column(name, justify="right")
    table.add_column("length", justify="right")
    table.add_column("brevity", justify="right")
    names = _short_names([system["name"] for system in content["systems"]])
    for name, system in zip(names, content["systems"], strict=True):
        scores = [_cell(score) for score in system["scores"].values()]
        table.add_row(escape(name), *scores, f"{system['length_ratio']:.3f}", f"{system['brevity_penalty']:.3f}")
    console.print(table)
    console.print()
    if content["test"] != "none":
        console.print(_explanation(content, names), highlight=False, markup=False)
    for name, signature in content["signatures"].items():
        console.print(f"{name}|{signature}", highlight=False, markup=False)


def _short_names(names: list[str]) -> list[str]:
    """Names without directories, where that leaves them distinct."""
    short = [name.rpartition("/")[2] for name in names]
    return short if len(set(short)) == len(short) else names


def _cell(score: Mapping[str, float]) -> str:
    text = f"{score['score']:.2f}"
    if "low" in score:
        text += f" ± {(score['high'] - score['low']) / 2:.2f}"
    if "p_value" in score:
        text += f" (p = {score['p_value']:.3f}){'*' if score['p_value'] < 0.05 else ' '}"
    return text


def _explanation(content: Mapping[str, Any], names: list[str]) -> str:
    text = f"± half of the 95 % interval ({content['samples']} resampled test sets, seed {content['seed']})"
    if len(names) < 2:
        return text
    name = "paired bootstrap" if content["test"] == "bootstrap" else "approximate randomisation"
    return f"{text}; p: {name} against {names[0]}; * p < 0.05"
