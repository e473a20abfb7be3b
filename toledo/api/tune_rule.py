"""`toledo.tune_rule`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toledo.api.choose import choose_many
from toledo.api.inputs import Lists, ReferenceTexts, Texts, read_groups, read_lists, read_texts
from toledo.consensus.rule import Rule, make_rule
from toledo.consensus.scale import SCALES, scales_for
from toledo.errors import InputError
from toledo.metrics.metric import METRICS, Metric
from toledo.results import Result, TableResult, table
from toledo.settings import Named

WITHOUT_SCALE = frozenset({"viterbi", "max-derivation"})


@dataclass(frozen=True)
class RuleRow(Result):
    """What a rule scored at a scale."""

    rule: str
    scale: float
    score: float


@dataclass(frozen=True)
class RuleTuning(TableResult):
    """The scores of rules and scales on a development set, and the best of them."""

    rows: tuple[RuleRow, ...]
    metric: str
    best: RuleRow
    sign: str = field(default="", repr=False)

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the scores were computed."""
        return self.sign

    def rows_as_dicts(self) -> list[dict[str, Any]]:
        """Return one row for each rule and scale."""
        return [{"rule": one.rule, "scale": one.scale, "score": one.score} for one in self.rows]

    def __str__(self) -> str:
        lines = [["rule", "scale", self.metric]]
        lines += [
            [one.rule, f"{one.scale:g}", f"{one.score:.2f}{' *' if one is self.best else '  '}"] for one in self.rows
        ]
        return "\n".join([*table(lines, left=[0]), f"best: {self.best.rule} at scale {self.best.scale:g}"])


def tune_rule(
    lists: Lists,
    references: ReferenceTexts,
    *,
    sources: Texts | None = None,
    rules: Sequence[Named[Rule]] = ("mbr",),
    scales: Sequence[float] | None = None,
    metric: Named[Metric] = "bleu",
    feature_weights: Mapping[str, float] | None = None,
    num_samples: int | None = None,
    threads: int | None = None,
) -> RuleTuning:
    """Try rules and scales on a development set and return the table and the best.

    Without `scales`, twelve are tried that fit the norm of the weights, or from 0.1 to 10 without weights.
    """
    samples = [list(one) for one in read_lists(lists, "lists", num_samples)]
    if not samples or not rules:
        raise InputError("nothing to choose from", argument="lists" if rules else "rules")
    groups = read_groups(references, [""] * len(samples))
    texts = None if sources is None else read_texts(sources, "sources")
    judge = METRICS.make(metric)
    tried = list(scales) if scales is not None else list(_scales(feature_weights))
    rows = []
    for named in rules:
        rule = make_rule(named)
        label = named if isinstance(named, str) else rule.name
        for scale in [1.0] if rule.name in WITHOUT_SCALE else tried:
            found = choose_many(
                samples, sources=texts, rule=rule, scale=scale, feature_weights=feature_weights, threads=threads
            )
            statistics = judge.corpus_statistics(found.texts, groups, threads, texts).sum(axis=0)
            rows.append(RuleRow(label, scale, judge.score(statistics)))
    sign = 1.0 if judge.higher_is_better else -1.0
    best = max(rows, key=lambda row: (sign * row.score, -abs(_log(row.scale))))
    return RuleTuning(tuple(rows), judge.name, best, judge.get_signature(max(len(group) for group in groups)))


def _scales(feature_weights: Mapping[str, float] | None) -> Sequence[float]:
    return SCALES if feature_weights is None else scales_for(feature_weights, list(feature_weights))


def _log(scale: float) -> float:
    from math import log

    return log(scale)
