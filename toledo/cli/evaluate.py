"""`toledo evaluate` and `toledo compare`: score translations, test whether systems differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from toledo.cli.messages import print_result
from toledo.cli.options import COMMON, Common, References, Seed, Threads, flag, repeated

Metrics = Annotated[
    tuple[str, ...], repeated("Metric, as NAME or NAME:key=value,…. [default: bleu, chrf, ter]", "-m")
]
SourceText = Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that look at them.")]
Tokenize = Annotated[str | None, Parameter(help="Tokenizer of BLEU, as in sacreBLEU; none for tokenized text.")]
Lowercase = Annotated[bool, flag("Ignore case.")]
DocumentIds = Annotated[Path | None, Parameter(help="File with the document of each segment: resample documents.")]
Interval = Annotated[float, Parameter(help="Level of confidence intervals; 0 for none.")]
Resamples = Annotated[int, Parameter(help="Number of resampled test sets.")]
DEFAULT_METRICS = ("bleu", "chrf", "ter")


def evaluate(
    *hypotheses: Annotated[str, Parameter(help="Translations, one segment per line; - is stdin.")],
    reference: References = (),
    source: SourceText = None,
    metric: Metrics = DEFAULT_METRICS,
    tokenize: Tokenize = None,
    lowercase: Lowercase = False,
    document_ids: DocumentIds = None,
    interval: Interval = 0.95,
    resamples: Resamples = 1000,
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
    from toledo.api.compare import compare as compare_systems
    from toledo.api.evaluate import evaluate as score
    from toledo.api.inputs import read_system_files

    systems = read_system_files(hypotheses or ("-",), reference)
    how = {
        "sources": source, "metrics": metric, "tokenize": tokenize, "lowercase": lowercase,
        "document_ids": document_ids, "interval": interval or None, "resamples": resamples, "seed": seed,
        "threads": threads,
    }  # fmt: skip
    references = list(reference) or None
    if len(systems) == 1:
        print_result("evaluate", score(next(iter(systems.values())), references, **how), common)
    else:
        print_result("evaluate", compare_systems(systems, references, **how), common)


def compare(
    *systems: Annotated[str, Parameter(help="NAME=FILE or FILE; a name given again is another run of the system.")],
    reference: References = (),
    source: SourceText = None,
    metric: Metrics = DEFAULT_METRICS,
    tokenize: Tokenize = None,
    lowercase: Lowercase = False,
    document_ids: DocumentIds = None,
    interval: Interval = 0.95,
    resamples: Resamples = 1000,
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
    from toledo.api.compare import compare as compare_systems
    from toledo.api.inputs import read_system_files

    result = compare_systems(
        read_system_files(systems, reference),
        list(reference) or None,
        sources=source,
        metrics=metric,
        tokenize=tokenize,
        lowercase=lowercase,
        document_ids=document_ids,
        interval=interval or None,
        resamples=resamples,
        baseline=baseline,
        pairs="all" if all_pairs else "baseline",
        test=test,
        correction=correction,
        alpha=alpha,
        seed=seed,
        threads=threads,
    )
    print_result("compare", result, common)
