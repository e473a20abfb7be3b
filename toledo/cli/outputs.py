"""`toledo choose`, `evaluate` and `compare`: choose among outputs, score them, test whether systems differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from toledo.cli.messages import json_lines, print_result, require_apart
from toledo.cli.options import COMMON, Common, Output, References, Rule, Seed, Threads, flag, repeated
from toledo.files import STANDARD_STREAM, atomic_writer


@Parameter(name="*")
@dataclass(frozen=True)
class ScoringOptions:
    """How systems are scored."""

    reference: References = ()
    source: Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that need them.")] = None
    metric: Annotated[tuple[str, ...], repeated("Metric, as NAME or NAME:key=value,….", "-m")] = (
        "bleu",
        "chrf",
        "ter",
    )
    tokenize: Annotated[
        str | None, Parameter(help="Tokenizer of BLEU, as in sacreBLEU; none for tokenized text. [default: 13a]")
    ] = None
    lowercase: Annotated[bool, flag("Ignore case.")] = False
    document_ids: Annotated[
        Path | None, Parameter(help="File with the document of each segment; whole documents are resampled.")
    ] = None
    interval: Annotated[float, Parameter(help="Level of confidence intervals; 0 for none.")] = 0.95
    resamples: Annotated[int, Parameter(help="Number of resampled test sets.")] = 1000

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `toledo.evaluate` and `toledo.compare`."""
        return {
            "references": list(self.reference) or None,
            "sources": self.source,
            "metrics": self.metric,
            "tokenize": self.tokenize,
            "lowercase": self.lowercase,
            "document_ids": self.document_ids,
            "interval": self.interval or None,
            "resamples": self.resamples,
        }


SCORING = ScoringOptions()


def evaluate(
    *hypotheses: Annotated[str, Parameter(help="Translations, one segment per line; - or none: standard input.")],
    scoring: ScoringOptions = SCORING,
    seed: Seed = 12345,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Score translations: BLEU, chrF and TER with confidence intervals and signatures.

    Several files are compared with the first one, as `toledo compare` does.

    **Examples**

        toledo evaluate test.out --reference test.en
        toledo evaluate test.out -r test.trg.0 -r test.trg.1 --tokenize none
        toledo translate model < test.de | toledo evaluate - -r test.en
        toledo evaluate before.out after.out -r test.en
    """
    from toledo.api.evaluate import compare as compare_systems
    from toledo.api.evaluate import evaluate as score
    from toledo.api.inputs import Runs, read_system_files

    systems = read_system_files(hypotheses or (STANDARD_STREAM,), scoring.reference)
    how = {**scoring.arguments(), "seed": seed, "threads": threads}
    first = next(iter(systems.values()))
    several = len(systems) > 1
    result: Any = compare_systems(systems, **how) if isinstance(first, Runs) or several else score(first, **how)
    print_result("evaluate", result, common)


def compare(
    *systems: Annotated[str, Parameter(help="NAME=FILE or FILE; a name given again is another run of the system.")],
    scoring: ScoringOptions = SCORING,
    baseline: Annotated[str | None, Parameter(help="System to compare with. [default: the first]")] = None,
    all_pairs: Annotated[bool, flag("Compare every system with every other one.")] = False,
    test: Annotated[Literal["bootstrap", "randomization"], Parameter(help="Significance test.")] = "bootstrap",
    correction: Annotated[Literal["holm", "none"], Parameter(help="Correction for several comparisons.")] = "holm",
    alpha: Annotated[float, Parameter(help="Level of significance.")] = 0.05,
    seed: Seed = 12345,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Score several systems and test whether they differ.

    **Examples**

        toledo compare before=a.out tuned=b.out mbr=c.out --reference test.en
        toledo compare a.out b.out -r test.en --all-pairs --test randomization
        toledo compare base=run1.out base=run2.out new=run3.out new=run4.out -r test.en
    """
    from toledo.api.evaluate import compare as compare_systems
    from toledo.api.inputs import read_system_files

    result = compare_systems(
        read_system_files(systems, scoring.reference),
        baseline=baseline,
        pairs="all" if all_pairs else "baseline",
        test=test,
        correction=correction,
        alpha=alpha,
        seed=seed,
        threads=threads,
        **scoring.arguments(),
    )
    print_result("compare", result, common)


def choose(
    *lists: Annotated[str, Parameter(help="Lists (JSONL, n-best) or texts, one for each system; - or none: stdin.")],
    rule: Rule = "mbr",
    metric: Annotated[str | None, Parameter(alias="-m", help="Metric of MBR. [default: chrf]")] = None,
    source: Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that look at them.")] = None,
    reference: Annotated[
        tuple[str, ...], repeated("List file to compare with, in place of the samples themselves.", "-r")
    ] = (),
    num_samples: Annotated[int | None, Parameter(alias="-n", help="Lines per segment of plain text.")] = None,
    num_references: Annotated[int | None, Parameter(help="Lines per segment of plain-text references.")] = None,
    logprobs: Annotated[bool, flag("Weight samples by their log probabilities, `logprob` in JSONL.")] = False,
    uniform: Annotated[bool, flag("Ignore scores: all samples count the same.")] = False,
    feature_weights: Annotated[Path | None, Parameter(help="Weights file (TOML) that scores the features.")] = None,
    scale: Annotated[float, Parameter(help="Factor of scores before they become probabilities.")] = 1.0,
    nbest: Annotated[int | None, Parameter(help="Write this many texts per segment, as an n-best list.")] = None,
    format: Annotated[  # noqa: A002
        Literal["nbest", "jsonl", "text"] | None, Parameter(help="Format of the lists. [default: guessed]")
    ] = None,
    output: Output = STANDARD_STREAM,
    seed: Seed = 1,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Choose one text for each segment: by default the one that agrees most with the others.

    Lists are JSONL (`{"hypotheses": ["…", "…"]}`), n-best lists of Moses, Marian, cdec or Joshua, or plain text with
    --num-samples lines for each segment. Several files of plain text are the outputs of several systems.

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
