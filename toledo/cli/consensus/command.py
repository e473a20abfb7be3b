"""`toledo consensus`: n-best lists or outputs of any systems in, one translation for each segment out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toledo.cli.common import (
    Json,
    Output,
    Quiet,
    Threads,
    progress_for,
    refuse_options,
    require_output_apart,
    set_up_messages,
)
from toledo.cli.rules import (
    PRECISION,
    RATIO,
    Decide,
    Gain,
    GainName,
    Hypotheses,
    Precision,
    Ratio,
    RuleName,
    RuleSettings,
    Scale,
    named_rule,
    refuse_other_rules,
    require_scale,
)
from toledo.cli.scales import ChooseScale, Reference, Scales, described, scale_table
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer, write_lines

if TYPE_CHECKING:
    from toledo.formats.hypotheses import NBestList
    from toledo.formats.list_files import OutputFormat
    from toledo.weights import Weights


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
    context: typer.Context,
    threads: Threads,
    files: Annotated[
        list[str] | None, typer.Argument(help="N-best lists, JSONL, or text; - is standard input.", show_default="-")
    ] = None,
    decide: Decide = RuleName.mbr,
    gain: Gain = GainName.bleu,
    scale: Scale = 1.0,
    hypotheses: Hypotheses = 1000,
    precision: Precision = PRECISION,
    ratio: Ratio = RATIO,
    uniform: Annotated[bool, typer.Option("--uniform", help="Ignore scores: all entries count the same.")] = False,
    weights: Annotated[Path | None, typer.Option(help="Weights (TOML): score features, not the files' scores.")] = None,
    n: Annotated[int | None, typer.Option("--n", help="Lines per segment of plain text.", min=1)] = None,
    evidence: Annotated[
        list[str] | None, typer.Option(help="Compare with these texts (MBR) instead; may be repeated.")
    ] = None,
    evidence_n: Annotated[int | None, typer.Option(help="Lines per segment of plain evidence.", min=1)] = None,
    tokenise: Annotated[
        Tokenizer, typer.Option("--tokenize", "--tokenise", help="Tokenise raw text for the choice.")
    ] = Tokenizer.none,
    n_best_size: Annotated[
        int | None, typer.Option(help="Write so many, best first, as an n-best list.", min=1)
    ] = None,
    source: Annotated[InputFormat | None, typer.Option("--from", help="Format; by default it is guessed.")] = None,
    choose_scale: ChooseScale = False,
    reference: Reference = None,
    scales: Scales = None,
    output: Output = STANDARD_STREAM,
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
    require_output_apart(context)
    from toledo.cli.consensus.lists import Choice, ToForests, decisions, tell_of_raw_text
    from toledo.formats.list_files import read_outputs
    from toledo.text.vocabulary import Vocabulary

    require_scale(scale)
    if choose_scale:
        refuse_options({"--evidence": evidence, "--n-best-size": n_best_size}, "a scale is chosen by references alone")
    else:
        refuse_options({"--reference": reference, "--scales": scales}, "only for --choose-scale")
    if not evidence:
        refuse_options({"--evidence-n": evidence_n}, "there is no --evidence")
    refuse_other_rules(context, decide)
    rule = named_rule(decide, RuleSettings(gain, hypotheses, precision, ratio), lists=True)
    lists = read_outputs(files or [STANDARD_STREAM], _format(source), n)
    to_forests = ToForests(Vocabulary(), _weights(weights, uniform), uniform, _splitter(tokenise))
    if choose_scale:
        found = list(lists)
        tell_of_raw_text(found, to_forests, rule)
        forests = to_forests(found)
        table = scale_table(
            rule, forests, to_forests.weights or {}, reference or [], scales, threads, progress_for(quiet),
            to_forests.split,
        )  # fmt: skip
        write_lines(output, described(table, rule, as_json))
        return
    other = read_outputs(evidence, None, evidence_n) if evidence else None
    how = Choice(rule, scale, n_best_size or 1, threads, progress_for(quiet))
    _write(decisions(lists, other, to_forests, how), output, as_json, ranked=n_best_size is not None)


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
    from toledo.formats.list_files import OUTPUT_FORMATS

    return None if name is None else OUTPUT_FORMATS[[*OUTPUT_FORMATS].index(name.value)]


def _weights(path: Path | None, uniform: bool) -> Weights | None:
    from toledo.weights import Weights

    if path is not None and uniform:
        raise InputError("--uniform ignores scores, --weights makes them", remedy="choose one of both")
    return None if path is None else Weights.load(path)


def _splitter(tokenise: Tokenizer) -> Callable[[Sequence[str]], Sequence[str]] | None:
    if tokenise is Tokenizer.none:
        return None
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer = Tokenizer13a()  # type: ignore[no-untyped-call]
    return lambda words: tokenizer(" ".join(words)).split()
