"""How rules call their metrics: what `choose`, `select` and `cluster` have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from toledo.consensus.gains import make_gain
from toledo.consensus.mbr import MBR
from toledo.consensus.registry import make_rule
from toledo.consensus.rerank import RuleList, steps_of
from toledo.consensus.rule import Rule
from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.metrics.utility import BATCH_SIZE, UtilityMetric
from toledo.settings import Named


@dataclass(frozen=True)
class MetricCalls:
    """How a metric is called: for all pairs or some of them, in batches, with a file of the calls that are paid."""

    aggregate: bool = False
    prune: float | None = None
    budget: int | None = None
    cache: Path | str | None = None
    batch_size: int = BATCH_SIZE
    seed: int = 1

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InputError("batch_size must be at least 1", argument="batch_size")
        if len(self._asked) > 1:
            first, second = self._asked[:2]
            raise InputError(f"{first} and {second} exclude each other", argument=second, remedy="give one of them")

    @property
    def _asked(self) -> list[str]:
        given = {"aggregate": self.aggregate or None, "prune": self.prune, "budget": self.budget}
        return [name for name, value in given.items() if value is not None]

    def rule(
        self, named: Named[Rule] | Sequence[Named[Rule]], metric: Named[Metric] | None = None, matrix: bool = False
    ) -> Rule:
        """Return a rule that calls its metric so."""
        if matrix and metric is not None:
            raise InputError("metric and matrix exclude each other", argument="matrix", remedy="give one of them")
        made = make_rule(named, None if metric is None else make_gain(metric))
        *others, last = steps_of(made)
        if matrix and not isinstance(last, MBR):
            raise InputError(f"rule {last.name!r} takes no matrix", argument="matrix", remedy="use rule='mbr'")
        steps = [self._prepared(one) for one in (*others, self._approximate(last))]
        if self.cache is not None and not any(isinstance(one.metric_for_texts(), UtilityMetric) for one in steps):
            raise InputError("cache is for a metric that is a function", argument="cache", remedy="leave it out")
        return RuleList(tuple(steps)) if others else steps[0]

    def _approximate(self, rule: Rule) -> Rule:
        """Return the rule that makes the calls which were asked for."""
        if not self._asked:
            return rule
        (name,) = self._asked
        if type(rule) is not MBR:
            raise InputError(f"{name} is for rule 'mbr', not {rule.name!r}", argument=name, remedy="leave it out")
        from toledo.consensus.fewer_calls import AggregateMBR, BudgetMBR, PruningMBR  # imports much

        made: Rule
        settings = {one.name: getattr(rule, one.name) for one in fields(rule)}
        if self.prune is not None:
            made = PruningMBR(**settings, confidence=self.prune)
        elif self.budget is not None:
            made = BudgetMBR(**settings, budget=self.budget)
        else:
            made = AggregateMBR(**settings)
        return made

    def _prepared(self, rule: Rule) -> Rule:
        """Return a rule whose metric, if it is a function, is called in batches and kept on disk."""
        if not isinstance(rule, MBR):
            return rule
        gain = None if rule.metric is None else make_gain(rule.metric)
        if isinstance(gain, UtilityMetric):
            cache = None if self.cache is None else Path(self.cache)
            gain = replace(gain, batch_size=self.batch_size, cache=cache)
        return replace(rule, metric=gain, seed=self.seed if rule.seed == MBR.seed else rule.seed)
