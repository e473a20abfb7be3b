"""`toledo choose`: choose one text for each segment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from toledo.cli.messages import json_lines, print_result, require_apart
from toledo.cli.options import COMMON, Common, Output, Rule, Seed, Threads, flag, repeated
from toledo.files import STANDARD_STREAM, atomic_writer


def choose(
    *lists: Annotated[
        str, Parameter(help="Lists (JSONL, n-best), or one text per system (FILE or NAME=FILE); stdin if - or omitted.")
    ],
    rule: Rule = "mbr",
    metric: Annotated[
        str | None, Parameter(alias="-m", help="Metric for MBR. [default: chrf; mean for several systems]")
    ] = None,
    source: Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that need them.")] = None,
    reference: Annotated[
        tuple[str, ...], repeated("List file with references to use instead of the samples.", "-r")
    ] = (),
    num_samples: Annotated[int | None, Parameter(alias="-n", help="Lines per segment in plain text.")] = None,
    num_references: Annotated[int | None, Parameter(help="Lines per segment in plain-text references.")] = None,
    logprobs: Annotated[bool, flag("Weight samples by their log probabilities (`logprob` in JSONL).")] = False,
    uniform: Annotated[bool, flag("Ignore scores: weight all samples equally.")] = False,
    votes: Annotated[
        str, Parameter(help="Votes of systems: shared by near copies, equal, or a file of `tune-votes`.")
    ] = "shared",
    feature_weights: Annotated[Path | None, Parameter(help="Weights file (TOML) to score features with.")] = None,
    scale: Annotated[float, Parameter(help="Factor applied to scores before they become probabilities.")] = 1.0,
    nbest: Annotated[int | None, Parameter(help="Write this many texts per segment, as an n-best list.")] = None,
    format: Annotated[  # noqa: A002
        Literal["nbest", "jsonl", "text"] | None, Parameter(help="Format of the lists. [default: guessed]")
    ] = None,
    output: Output = STANDARD_STREAM,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Choose one text for each segment, by default the one that agrees most with the others.

    Lists are JSONL (`{"hypotheses": ["…", "…"]}`), n-best lists of Moses, Marian, cdec or Joshua, or plain text with
    --num-samples lines per segment. Several plain-text files are the outputs of several systems: near copies of a
    system share one vote, and the default metric is the mean of BLEU and chrF.

    **Examples**

        toledo choose samples.jsonl > out.txt
        toledo choose system1.en system2.en system3.en > out.txt
        toledo choose samples.txt --num-samples 5 --metric bleu > out.txt
        toledo choose test.100best.gz --rule lattice-mbr --scale 0.5 > out.txt
        toledo choose samples.jsonl --json > choices.jsonl
    """
    from toledo.api.choose import choose_files
    from toledo.weights import Weights

    require_apart(output, *lists, *reference, source, feature_weights)
    choices = choose_files(
        lists or (STANDARD_STREAM,),
        reference,
        form=format,
        num_samples=num_samples,
        num_references=num_references,
        use="logprobs" if logprobs else "nothing" if uniform else "scores",
        sources=source,
        metric=metric,
        rule=rule,
        scale=scale,
        votes=votes,
        feature_weights=None if feature_weights is None else Weights.load(feature_weights),
        seed=seed,
        threads=threads,
    )
    with atomic_writer(output) as stream:
        for choice in choices:
            if common.json:
                stream.writelines(f"{line}\n" for line in json_lines([choice.to_dict()]))
            elif nbest is None:
                stream.write(choice.text.replace("\n", " ") + "\n")  # a line for each segment
            else:
                best = choice.ranking[:nbest]
                texts = ((one.text.replace("\n", " "), one.score) for one in best)
                stream.writelines(f"{choice.segment} ||| {text} ||| {score:.6f}\n" for text, score in texts)
            stream.flush()


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
    from toledo.api.inputs import read_system_files

    found = learn(read_system_files(systems, reference), [Path(one) for one in reference], threads=threads)
    found.save(output)
    print_result("tune-votes", found, common)
