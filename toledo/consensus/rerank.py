"""Rules that narrow: the best texts by a feature or a metric without references, and rules one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from toledo.consensus.mbr import keep_best
from toledo.consensus.rule import Decision, Rule
from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.metrics.registry import METRICS
from toledo.settings import Meta, Settings

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem
    from toledo.forest.forest import Forest, Scores

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rerank(Settings, Rule):
    """The text with the highest value of a feature (such as a judge's score), or score of a metric without references.

    `keep` says how many texts the next rule of a list may choose from.
    """

    feature: Annotated[str | None, Meta(description="Feature of the hypotheses; higher is better.")] = None
    metric: Annotated[
        str | Metric | Callable[..., Any] | None, Meta(description="Metric that needs no references.")
    ] = None
    keep: Annotated[int | None, Meta(ge=1, description="Number of best texts for the next rule.")] = None

    name = "rerank"
    has_scale = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.feature is None) == (self.metric is None):
            raise InputError("rerank needs a feature or a metric", argument="rule", remedy="use 'rerank:feature=NAME'")
        if self._scorer is not None and "references" in self._scorer.needs:
            raise InputError(
                f"metric {self._scorer.name!r} needs references", argument="metric", remedy="use rule='mbr'"
            )

    @cached_property
    def _scorer(self) -> Metric | None:
        return None if self.metric is None else METRICS.make(self.metric)

    def metric_for_texts(self) -> Metric | None:
        """Return the metric, if there is one."""
        return self._scorer

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Refuse forests, whose texts have no features of their own."""
        raise InputError("rule 'rerank' chooses among texts, not in forests", remedy="use rule='viterbi'")

    def values(self, problem: TextProblem) -> Floats:
        """Return the feature or score of each text; −inf for all but the best."""
        return self.values_together([problem])[0]

    def values_together(self, problems: Sequence[TextProblem]) -> list[Floats]:
        """Return the values for several segments; a metric is asked for all their texts at once."""
        if self._scorer is None:
            found = [_features(str(self.feature), problem) for problem in problems]
        else:
            found = _scores_alone(self._scorer, problems)
        return [keep_best(values, self.keep) for values in found]


def _features(name: str, problem: TextProblem) -> Floats:
    """Return the value of a feature of each text."""
    for index, features in zip(problem.indices, problem.features, strict=True):
        if name not in features:
            known = ", ".join(sorted(features)) or "none"
            raise InputError(
                f"sample {index} of segment {problem.segment} has no feature {name!r}",
                argument="rule",
                segment=problem.segment,
                remedy=f"name one of its features: {known}",
            )
    return np.array([features[name] for features in problem.features], np.float64)


def _scores_alone(metric: Metric, problems: Sequence[TextProblem]) -> list[Floats]:
    """Return the scores of the texts of segments without references, with a minus sign for error rates."""
    texts = [text for problem in problems for text in problem.texts]
    sources = [problem.source for problem in problems if problem.source is not None for _ in problem.texts]
    scores = metric.scores(metric.corpus_statistics(texts, [()] * len(texts), 1, sources or None))
    ends = np.cumsum([len(problem.texts) for problem in problems])
    return np.split(scores if metric.higher_is_better else -scores, ends[:-1])


@dataclass(frozen=True)
class RuleList(Rule):
    """Rules one after the other: each chooses among the texts that the one before has kept."""

    steps: tuple[Rule, ...]

    @property
    def name(self) -> str:
        """The names of the rules."""
        return ",".join(one.name for one in self.steps)

    def metric_for_texts(self) -> Metric | None:
        """Return the metric of the last rule."""
        return self.steps[-1].metric_for_texts()

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Refuse forests."""
        raise InputError("a list of rules chooses among texts, not in forests", remedy="give one rule")


def steps_of(rule: Rule) -> tuple[Rule, ...]:
    """Return the rules of a list, or the one rule."""
    return rule.steps if isinstance(rule, RuleList) else (rule,)
