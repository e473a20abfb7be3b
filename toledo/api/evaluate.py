"""`toledo.evaluate` and `toledo.compare`: score translations, and test whether systems differ."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from toledo.api.inputs import (
    ReferenceTexts,
    Systems,
    Texts,
    make_metrics,
    read_groups,
    read_ids,
    read_systems,
    read_texts,
    require_as_many,
    with_columns,
)
from toledo.errors import InputError
from toledo.metrics.bleu import BLEU
from toledo.metrics.evaluation import Comparison, Evaluation, ScoringTask, SystemTexts, compare_systems, evaluate_system
from toledo.metrics.metric import Metric
from toledo.metrics.significance.testing import TESTS, Resampling, TestName
from toledo.settings import Named, unknown_name
from toledo.text.tokens import looks_tokenized, raw_word

log = logging.getLogger(__name__)


def evaluate(
    hypotheses: Texts,
    references: ReferenceTexts | None = None,
    *,
    sources: Texts | None = None,
    metrics: Named[Metric] | Sequence[Named[Metric]] = ("bleu", "chrf", "ter"),
    tokenize: str | None = None,
    lowercase: bool = False,
    document_ids: Texts | None = None,
    interval: float | None = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
    threads: int | None = None,
) -> Evaluation:
    """Score translations, with confidence intervals and signatures.

    `references` are one for each segment, a list for each segment, or a list for each set; files in a list are paths.
    `tokenize` and `lowercase` are settings for metrics that are given by name and have them. With `document_ids` whole
    documents are resampled; `interval=None` computes no intervals. A metric may be a function, or `column:NAME`: the
    mean of scores that `ScoredTexts` or a table have, or those of a file (see `compare`).
    """
    texts: Sequence[str] = read_texts(hypotheses, "hypotheses")
    if not texts:
        raise InputError("hypotheses is empty", argument="hypotheses")
    made = make_metrics(metrics, tokenize, lowercase)
    (system,) = with_columns([SystemTexts("", [texts])], made)
    texts = system.runs[0]
    task = make_task(texts, references, sources, made, tokenize, lowercase)
    units = None if document_ids is None else read_ids(document_ids, texts)
    how = Resampling(interval, resamples, seed, units, threads=threads)
    return evaluate_system(task, system, how)


def compare(
    systems: Systems,
    references: ReferenceTexts | None = None,
    *,
    baseline: str | None = None,
    pairs: Literal["baseline", "all"] = "baseline",
    test: TestName = "bootstrap",
    correction: Literal["holm", "none"] = "holm",
    alpha: float = 0.05,
    sources: Texts | None = None,
    metrics: Named[Metric] | Sequence[Named[Metric]] = ("bleu", "chrf", "ter"),
    tokenize: str | None = None,
    lowercase: bool = False,
    document_ids: Texts | None = None,
    interval: float | None = 0.95,
    resamples: int = 1000,
    seed: int = 12345,
    threads: int | None = None,
) -> Comparison:
    """Score several systems and test whether they differ, two-sided.

    The baseline is the first system if none is named. `test` is for one run of each system: a studentized bootstrap,
    approximate randomization, a t test by the jackknife, or sacreBLEU's bootstrap for comparison with its p. With
    `Runs(a, b, c)`, or a directory with a file for each run, a t test covers other runs, too. With `document_ids` whole
    documents are drawn or swapped. Holm's correction covers all tests of a metric.

    A metric `column:COMET` is the mean of given scores: systems are `ScoredTexts`, or tables with this column; or it
    names a file with the scores of all systems, such as `column:COMET.seg.score` (lines SYSTEM TAB SCORE).
    """
    for name, value, known in (
        ("test", test, TESTS),
        ("correction", correction, ["holm", "none"]),
        ("pairs", pairs, ["baseline", "all"]),
    ):
        if value not in known:
            raise unknown_name(name, value, known)
    made = make_metrics(metrics, tokenize, lowercase)
    found = read_systems(systems, made)
    texts = found[0].runs[0]
    if not texts:
        raise InputError(f"system {found[0].name!r} has no segments", argument="systems")
    names = [system.name for system in found]
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise unknown_name("system", first, names)
    task = make_task(texts, references, sources, made, tokenize, lowercase)
    units = None if document_ids is None else read_ids(document_ids, texts)
    how = Resampling(interval, resamples, seed, units, test, correction, alpha, threads)
    chosen = [(name, first) for name in names if name != first]
    if pairs == "all":
        chosen = [(second, one) for one, second in combinations(names, 2)]
    return compare_systems(task, found, chosen, how)


def make_task(
    texts: Sequence[str],
    references: ReferenceTexts | None,
    sources: Texts | None,
    made: dict[str, Metric],
    tokenize: str | None,
    lowercase: bool,
) -> ScoringTask:
    """Read references and sources, which must have as many segments as the texts; words are those of BLEU."""
    words = next((one for one in made.values() if isinstance(one, BLEU)), BLEU(tokenize=tokenize, lowercase=lowercase))
    groups = None if references is None else read_groups(references, texts)
    if groups:
        _warn_of_tokens(texts, [group[0] for group in groups if group and group[0] is not None], made)
    given = None if sources is None else read_texts(sources, "sources")
    if given is not None:
        require_as_many("hypotheses", texts, "sources", given)
    return ScoringTask(made, groups, given, words)


def _warn_of_tokens(texts: Sequence[str], references: Sequence[str], metrics: dict[str, Metric]) -> None:
    """Warn that tokenized text is counted wrongly, most of all if it is compared with raw text."""
    alike = "%s look tokenized, %s do not: convert one of them with toledo text detokenize or tokenize"
    if looks_tokenized(texts) and raw_word(references):
        log.warning(alike, "the hypotheses", "the references")
    elif raw_word(texts) and looks_tokenized(references):
        log.warning(alike, "the references", "the hypotheses")
    elif looks_tokenized(texts) and any(getattr(one, "tokenize", "none") != "none" for one in metrics.values()):
        log.warning("the texts look tokenized: `tokenize=none` counts their tokens as they are")
