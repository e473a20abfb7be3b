"""`toledo choose`: choose one text for each segment."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from toledo.cli.messages import json_lines, print_result, require_apart
from toledo.cli.options import COMMON, Common, Output, Seed, Threads, flag, repeated
from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, atomic_writer

if TYPE_CHECKING:
    from toledo.consensus.choice import Choice

log = logging.getLogger(__name__)


def choose(  # one argument for each option
    *lists: Annotated[
        str, Parameter(help="List files, or one text per system (FILE or NAME=FILE); stdin if - or omitted.")
    ],
    rule: Annotated[
        tuple[str, ...],
        repeated("Decision rule, as NAME or NAME:key=value,… (see `toledo list rules`); several narrow step by step."),
    ] = ("mbr",),
    metric: Annotated[
        str | None,
        Parameter(
            alias="-m",
            help="Metric for MBR, as NAME, NAME:key=value,…, package.module:function, or matrix:FILE (.npy, .npz).",
        ),
    ] = None,
    aggregate: Annotated[bool, flag("Compare with one average reference instead of all.")] = False,
    prune: Annotated[
        float | None, Parameter(help="Give up texts that are worse than the best with this confidence.")
    ] = None,
    budget: Annotated[int | None, Parameter(help="Largest number of calls of the metric for a segment.")] = None,
    cache: Annotated[Path | None, Parameter(help="File of paid calls, which are not made again (SQLite).")] = None,
    source: Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that need them.")] = None,
    reference: Annotated[
        tuple[str, ...], repeated("List file with references to use instead of the samples.", "-r")
    ] = (),
    num_samples: Annotated[int | None, Parameter(alias="-n", help="Lines per segment in plain text.")] = None,
    num_references: Annotated[int | None, Parameter(help="Lines per segment in plain-text references.")] = None,
    logprobs: Annotated[
        str | None, Parameter(help="Weight samples by log probabilities: sum, mean (per token), or a file of numbers.")
    ] = None,
    uniform: Annotated[bool, flag("Ignore scores: weight all samples equally.")] = False,
    votes: Annotated[
        str, Parameter(help="Votes of systems: shared by near copies, equal, or a file of `tune-votes`.")
    ] = "shared",
    feature_weights: Annotated[Path | None, Parameter(help="Weights file (TOML) to score features with.")] = None,
    scale: Annotated[float, Parameter(help="Factor applied to scores before they become probabilities.")] = 1.0,
    nbest: Annotated[int | None, Parameter(help="Write this many texts per segment, as an n-best list.")] = None,
    format: Annotated[  # noqa: A002
        str | None, Parameter(help="Format of the lists (see `toledo list formats`), or text. [default: guessed]")
    ] = None,
    field: Annotated[
        tuple[str, ...], repeated("Key or column to read: text=KEY, score=KEY, logprob=KEY, id=KEY or feature=KEY.")
    ] = (),
    requests: Annotated[Path | None, Parameter(help="Requests of a batch, whose ids give the order.")] = None,
    strict: Annotated[bool, flag("Refuse lists in which a sample failed, instead of leaving it out.")] = False,
    output: Output = STANDARD_STREAM,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Choose one text for each segment, by default the one that agrees most with the others.

    Lists are JSONL (`{"hypotheses": ["…", "…"]}`), responses of language models as their services write them, tables
    (CSV, Parquet), n-best lists, or plain text with --num-samples lines per segment. Several plain-text files are the
    outputs of several systems: near copies of a system share one vote, and the default metric is the mean of BLEU and
    chrF.

    **Examples**

        toledo choose samples.jsonl > out.txt
        toledo choose system1.en system2.en system3.en > out.txt
        toledo choose samples.txt --num-samples 5 --metric bleu > out.txt
        toledo choose test.100best.gz --rule lattice-mbr --scale 0.5 > out.txt
        toledo choose batch_output.jsonl --requests batch_input.jsonl --logprobs mean > out.txt
        toledo choose samples.csv --field text=answer --field id=question --json > choices.jsonl
        toledo choose samples.jsonl --metric mypackage.scores:judge --budget 500 --cache calls.sqlite > out.txt
        toledo choose samples.jsonl --rule rerank:feature=judge,keep=20 --rule mbr:metric=bleu > out.txt
        toledo choose samples.tsv --field feature=COMET --rule rerank:feature=COMET > out.txt
        toledo choose samples.jsonl --metric matrix:utilities.npy > out.txt
    """
    from toledo.api.choose_files import choose_files
    from toledo.formats.list_files import ListFiles
    from toledo.formats.records import Reading, parse_fields
    from toledo.weights import Weights

    require_apart(output, *lists, *reference, source, feature_weights, requests)
    choices = choose_files(
        lists or (STANDARD_STREAM,),
        reference,
        reading=ListFiles(format, num_samples, Reading(parse_fields(field), strict), requests),
        num_references=num_references,
        logprobs=logprobs,
        uniform=uniform,
        sources=source,
        metric=metric,
        rule=rule,
        aggregate=aggregate,
        prune=prune,
        budget=budget,
        cache=cache,
        scale=scale,
        votes=votes,
        feature_weights=None if feature_weights is None else Weights.load(feature_weights),
        seed=seed,
        threads=threads,
    )
    _write(choices, output, nbest, common)


def _write(choices: Iterable[Choice], output: str, nbest: int | None, common: Common) -> None:
    """Write choices as they come, and say at the end whose texts they are."""
    counts: Counter[str] = Counter()
    with atomic_writer(output) as stream:
        for choice in choices:
            counts.update([choice.system] if choice.system is not None else [])
            if common.json:
                stream.writelines(f"{line}\n" for line in json_lines([choice.to_dict()]))
            elif nbest is None:
                stream.write(choice.text.replace("\n", " ") + "\n")  # a line for each segment
            else:
                best = choice.ranking[:nbest]
                texts = ((one.text.replace("\n", " "), one.score) for one in best)
                stream.writelines(f"{choice.segment} ||| {text} ||| {score:.6f}\n" for text, score in texts)
            stream.flush()
    if counts:
        from toledo.consensus.choice import chosen_systems

        log.info("%s", chosen_systems(counts))


def tune_votes(
    *systems: Annotated[str, Parameter(help="Text of a system: FILE or NAME=FILE.")],
    reference: Annotated[tuple[str, ...], repeated("Reference text.", "-r")],
    output: Annotated[Path, Parameter(alias="-o", help="File of votes to write (TOML).")],
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Learn how much the vote of each system counts in `choose`, from some segments with references.

    Learned from few segments, votes can be worse than shared ones: compare both. The systems must have the same names
    in `choose`.

    **Examples**

        toledo tune-votes dev/A.en dev/B.en dev/C.en -r dev.en -o votes.toml
        toledo choose test/A.en test/B.en test/C.en --votes votes.toml > out.en
    """
    from toledo.api.choose import tune_votes as learn
    from toledo.api.choose_files import are_systems
    from toledo.api.inputs import read_system_files

    if not are_systems(systems):
        raise InputError("votes are learned from the plain texts of several systems", remedy="name two files or more")
    found = learn(read_system_files(systems, reference), [Path(one) for one in reference], threads=threads)
    found.save(output)
    print_result("tune-votes", found, common)
