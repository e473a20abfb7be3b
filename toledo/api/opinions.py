"""`toledo.select`, `toledo.cluster` and `toledo.expected_score`: what samples say together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from numpy.typing import ArrayLike

from toledo.api.choose import choose
from toledo.api.inputs import Sample
from toledo.api.metric_calls import MetricCalls
from toledo.consensus.choosing import SampleWeights, TextProblem, pairwise_gains, signature_of, text_problem
from toledo.consensus.mbr import MBR
from toledo.consensus.opinions import Opinion, Opinions, group_texts, select_texts
from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.settings import Named


def select(
    samples: Sequence[Sample],
    k: int,
    *,
    metric: Named[Metric] | None = None,
    source: str | None = None,
    logprobs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    scale: float = 1.0,
    matrix: ArrayLike | None = None,
    cache: Path | str | None = None,
) -> Opinions:
    """Select k texts that together cover the samples: the expected score of the best of them is high.

    The first is what `choose` chooses. Each of the others raises the expected best score most. Fewer are returned if
    there are fewer distinct texts.
    """
    if k < 1:
        raise InputError(f"k is {k}, expected at least 1", argument="k")
    rule, problem = _problem(samples, metric, source, SampleWeights(logprobs, weights, None, scale, matrix), cache)
    return _opinions("select", rule, problem, select_texts(problem, pairwise_gains(rule, problem), k))


def cluster(
    samples: Sequence[Sample],
    k: int | None = None,
    *,
    similarity: float = 50.0,
    metric: Named[Metric] | None = None,
    source: str | None = None,
    logprobs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    scale: float = 1.0,
    matrix: ArrayLike | None = None,
    cache: Path | str | None = None,
) -> Opinions:
    """Group samples that agree, and return one text for each group, the largest group first.

    Groups are merged while their texts have at least this average `similarity` by the metric, or until k are left.
    """
    if k is not None and k < 1:
        raise InputError(f"k is {k}, expected at least 1", argument="k")
    rule, problem = _problem(samples, metric, source, SampleWeights(logprobs, weights, None, scale, matrix), cache)
    least = similarity if rule.metric_for_texts().higher_is_better else -similarity
    return _opinions("cluster", rule, problem, group_texts(problem, pairwise_gains(rule, problem), k, least))


def expected_score(
    text: str,
    samples: Sequence[Sample],
    *,
    metric: Named[Metric] | None = None,
    source: str | None = None,
    logprobs: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    scale: float = 1.0,
    cache: Path | str | None = None,
) -> float:
    """Return the expected score of a text if the samples are right: an estimate of its quality without a reference.

    `choose_many([[text] for text in texts], lists).scores` are those of many.
    """
    if not isinstance(text, str):
        raise TypeError(f"text is a {type(text).__name__}, expected str")
    found = choose(
        [text], samples, metric=metric, source=source, logprobs=logprobs, weights=weights, scale=scale, cache=cache
    )
    return float(found.ranking[0].score)


def _problem(
    samples: Sequence[Sample],
    metric: Named[Metric] | None,
    source: str | None,
    how: SampleWeights,
    cache: Path | str | None,
) -> tuple[MBR, TextProblem]:
    rule = cast(MBR, MetricCalls(cache=cache).rule("mbr", metric, how.matrix is not None))
    problem = text_problem(samples, None, source, how, 0)
    if not problem.texts:
        raise InputError("samples is empty", argument="samples")
    return rule, problem


def _opinions(verb: str, rule: MBR, problem: TextProblem, found: list[Opinion]) -> Opinions:
    metric = rule.metric_for_texts()
    if not metric.higher_is_better:
        found = [replace(one, score=-one.score) for one in found]
    return Opinions(tuple(found), metric.name, signature_of(verb, metric, problem))
