"""`toledo evaluate` and `compare`: score outputs, test whether systems differ."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from toledo.cli.messages import print_result, require_apart
from toledo.cli.options import COMMON, Common, References, Seed, Threads, flag, repeated
from toledo.files import STANDARD_STREAM, require_different, require_output

if TYPE_CHECKING:
    from toledo.metrics.analysis.analysis import SegmentAnalysis
    from toledo.metrics.evaluation import Comparison


@Parameter(name="*")
@dataclass(frozen=True)
class ScoringOptions:
    """How systems are scored."""

    reference: References = ()
    source: Annotated[Path | None, Parameter(alias="-s", help="Source texts, for metrics that need them.")] = None
    metric: Annotated[
        tuple[str, ...], repeated("Metric, as NAME, NAME:key=value,…, package.module:function, or column:NAME.", "-m")
    ] = ("bleu", "chrf", "ter")
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


@Parameter(name="*", group=Group("Segments", sort_key=1))
@dataclass(frozen=True)
class SegmentOptions:
    """What is shown of segments."""

    segments: Annotated[
        int | None,
        Parameter(
            validator=Number(gte=0),
            help="Show wins, losses, n-grams, buckets, and this many segments that gain or lose most.",
        ),
    ] = None
    segment_metric: Annotated[
        str | None, Parameter(help="Metric for segments. [default: chrf, or the first if chrf is not computed]")
    ] = None
    pair: Annotated[
        tuple[str, str] | None,
        Parameter(negative="", help="Show segments of these systems only: a baseline and another."),
    ] = None
    frequency_text: Annotated[
        Path | None, Parameter(help="Text in which words are counted, such as a training text. [default: references]")
    ] = None
    write_segments: Annotated[
        Path | None, Parameter(help="File for the scores of all segments: .tsv, .json or .jsonl.")
    ] = None
    write_report: Annotated[Path | None, Parameter(help="HTML page to write, with segments side by side.")] = None

    def require_outputs(self, *inputs: str | Path | None) -> None:
        """Refuse files that cannot be written, before any work is done for them."""
        from toledo.metrics.analysis.segment_table import table_format

        for output in (self.write_segments, self.write_report):
            if output is not None:
                require_apart(output, *inputs)
                require_output(output)
        if self.write_segments is not None:
            table_format(self.write_segments)
        require_different(self.write_segments, self.write_report)

    def write(self, comparison: Comparison) -> SegmentAnalysis | None:
        """Write the files that are wanted; return the analysis if it is wanted, too."""
        if self.write_segments is not None:
            comparison.segments.save(self.write_segments)
        if self.segments is None and self.write_report is None:
            return None
        baseline, system = self.pair or (None, None)
        analysis = comparison.analyze(
            system,
            baseline,
            metric=self.segment_metric,
            examples=self.segments or 0,
            frequency_text=self.frequency_text,
        )
        if self.write_report is not None:
            from toledo.reports.comparison import comparison_page

            comparison_page(comparison, analysis).save(self.write_report)
        return None if self.segments is None else analysis


SCORING = ScoringOptions()
SEGMENTS = SegmentOptions()


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
        toledo evaluate test.tsv --metric column:COMET
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
    *systems: Annotated[
        str, Parameter(help="NAME=FILE or FILE; repeat a name, or name a directory, for several runs.")
    ],
    scoring: ScoringOptions = SCORING,
    baseline: Annotated[str | None, Parameter(help="System to compare with. [default: the first]")] = None,
    all_pairs: Annotated[bool, flag("Compare all pairs of systems.")] = False,
    test: Annotated[
        Literal["bootstrap", "randomization", "jackknife", "sacrebleu"],
        Parameter(help="Significance test for one run of each system; with several runs it is a t test."),
    ] = "bootstrap",
    correction: Annotated[Literal["holm", "none"], Parameter(help="Correction for multiple comparisons.")] = "holm",
    alpha: Annotated[float, Parameter(help="Significance level.")] = 0.05,
    view: SegmentOptions = SEGMENTS,
    seed: Seed = 12345,
    threads: Threads = None,
    common: Common = COMMON,
) -> None:
    """Score several systems, test whether they differ, and show where.

    **Examples**

        toledo compare before=a.out tuned=b.out mbr=c.out --reference test.en
        toledo compare a.out b.out -r test.en --segments 5 --write-report compare.html
        toledo compare a.out b.out c.out -r test.en --pair b c --segments 5 --write-segments scores.tsv
        toledo compare a.out b.out -r test.en --all-pairs --test randomization
        toledo compare a.tsv b.tsv --metric column:COMET
        toledo compare a.txt b.txt -r test.en --metric chrf --metric column:COMET.seg.score
        toledo compare base=run1.out base=run2.out new=run3.out new=run4.out -r test.en
        toledo compare base=base-seeds/ new=new-seeds/ -r test.en
    """
    from toledo.api.evaluate import compare as compare_systems
    from toledo.api.inputs import path_of_system, read_system_files

    view.require_outputs(*map(path_of_system, systems), *scoring.reference, scoring.source, view.frequency_text)
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
    analysis = view.write(result)
    if common.json:
        more = {} if analysis is None else {"analysis": analysis.to_dict()}
        print_result("compare", {**result.to_dict(), **more}, common)
    else:
        print(result if analysis is None else f"{result}\n\n{analysis.text(color=_has_colors())}")


def _has_colors() -> bool:
    """Return whether standard output shows colors: a terminal does, unless NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
