"""`toledo evaluate` and `compare`: score outputs, test whether systems differ."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from toledo.cli.messages import print_result
from toledo.cli.options import COMMON, Common, References, Seed, Threads, flag, repeated
from toledo.files import STANDARD_STREAM


@Parameter(name="*")
@dataclass(frozen=True)
class ScoringOptions:
    """How systems are scored."""

    reference: References = ()
    source: Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that need them.")] = None
    metric: Annotated[tuple[str, ...], repeated("Metric, as NAME or NAME:key=value,….", "-m")] = ("bleu", "chrf", "ter")
    tokenize: Annotated[
        str | None, Parameter(help="BLEU tokenizer, as in sacreBLEU; none if the text is tokenized. [default: 13a]")
    ] = None
    lowercase: Annotated[bool, flag("Ignore case.")] = False
    document_ids: Annotated[
        Path | None, Parameter(help="File with the document id of each segment; resample whole documents.")
    ] = None
    interval: Annotated[float, Parameter(help="Confidence level of the intervals; 0 for none.")] = 0.95
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
    *hypotheses: Annotated[str, Parameter(help="Translations, one segment per line; standard input if - or omitted.")],
    scoring: ScoringOptions = SCORING,
    seed: Seed = 12345,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Score translations: BLEU, chrF and TER with confidence intervals and signatures.

    If several files are given, the others are compared with the first, as in `toledo compare`.

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
    *systems: Annotated[str, Parameter(help="NAME=FILE or FILE; repeat a name for several runs of a system.")],
    scoring: ScoringOptions = SCORING,
    baseline: Annotated[str | None, Parameter(help="System to compare with. [default: the first]")] = None,
    all_pairs: Annotated[bool, flag("Compare all pairs of systems.")] = False,
    test: Annotated[Literal["bootstrap", "randomization"], Parameter(help="Significance test.")] = "bootstrap",
    correction: Annotated[Literal["holm", "none"], Parameter(help="Correction for multiple comparisons.")] = "holm",
    alpha: Annotated[float, Parameter(help="Significance level.")] = 0.05,
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
