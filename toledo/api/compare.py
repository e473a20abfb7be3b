"""`toledo.compare`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from toledo.api.evaluate import make_task
from toledo.api.inputs import ReferenceTexts, Systems, Texts, make_metrics, read_ids, read_systems
from toledo.errors import InputError
from toledo.metrics.evaluation import TESTS, Comparison, Resampling, TestName, compare_systems
from toledo.metrics.metric import Metric
from toledo.settings import Named, unknown_name


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

    The baseline is the first system if none is named. Holm's correction covers all tests of a metric. With
    `document_ids` whole documents are resampled or swapped; `Runs(a, b, c)` are several runs of one system.
    """
    for name, value, known in (
        ("test", test, list(TESTS)),
        ("correction", correction, ["holm", "none"]),
        ("pairs", pairs, ["baseline", "all"]),
    ):
        if value not in known:
            raise unknown_name(name, value, known)
    found = read_systems(systems)
    texts = found[0].runs[0]
    if not texts:
        raise InputError(f"system {found[0].name!r} has no segments", argument="systems")
    names = [system.name for system in found]
    first = names[0] if baseline is None else baseline
    if first not in names:
        raise unknown_name("system", first, names)
    task = make_task(texts, references, sources, make_metrics(metrics, tokenize, lowercase))
    units = None if document_ids is None else read_ids(document_ids, len(texts))
    how = Resampling(interval, resamples, seed, units, test, correction, alpha, threads)
    chosen = [(name, first) for name in names if name != first]
    if pairs == "all":
        chosen = [(second, one) for one, second in combinations(names, 2)]
    return compare_systems(task, found, chosen, how)
