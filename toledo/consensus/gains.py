"""Gains of minimum Bayes risk: metrics of single texts, and BLEU with the smoothings of the papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from toledo.errors import InputError
from toledo.metrics.metric import Metric
from toledo.metrics.registry import METRICS
from toledo.settings import Meta, Named, Preset, Registry, Settings, parse_named

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from toledo.metrics.metric import Rows, Triple


def make_gain(named: Named[Metric]) -> Metric:
    """Return a metric as rules use it: for single texts, so that BLEU leaves out orders longer than the text."""
    if isinstance(named, str) and parse_named(named)[0] in GAINS:
        return GAINS.make(named)
    return METRICS.make(named)


@dataclass(frozen=True)
class MeanGain(Settings, Metric):
    """The mean of the gains of several metrics: what one of them overrates, another may see through."""

    metrics: Annotated[
        tuple[str | Metric | Callable[..., Any], ...], Meta(description="Metrics with equal weights.")
    ] = ("bleu", "chrf")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.metrics:
            raise InputError("metrics is empty", argument="metrics", remedy="name at least one")

    @property
    def name(self) -> str:
        """The names of the metrics."""
        return f"mean({','.join(one.name for one in self.parts)})"

    @cached_property
    def parts(self) -> tuple[Metric, ...]:
        """The metrics."""
        return tuple(make_gain(one) for one in self.metrics)

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """What any of the metrics needs."""
        return frozenset().union(*(one.needs for one in self.parts))

    def encode_ahead(self, texts: Sequence[str]) -> None:
        """Let each metric prepare for texts."""
        for one in self.parts:
            one.encode_ahead(texts)

    def pairwise_scores(self, hypotheses: Sequence[str], references: Sequence[str], source: str | None = None) -> Rows:
        """Return the mean gain of each hypothesis (row) with each reference (column) as its only one."""
        return self._mean([one.pairwise_scores(hypotheses, references, source) for one in self.parts])

    def pair_scores(self, triples: Sequence[Triple]) -> Rows:
        """Return the mean gain of each hypothesis with a reference as its only one."""
        return self._mean([one.pair_scores(triples) for one in self.parts])

    def expected_scores(
        self,
        hypotheses: Sequence[str],
        references: Sequence[str],
        source: str | None = None,
        weights: ArrayLike | None = None,
    ) -> Rows:
        """Return the mean of the expected gains of each hypothesis."""
        return self._mean([one.expected_scores(hypotheses, references, source, weights) for one in self.parts])

    def _mean(self, scores: Sequence[Rows]) -> Rows:
        import numpy as np

        pairs = zip(self.parts, scores, strict=True)
        gains = [some if one.higher_is_better else np.maximum(0.0, 100.0 - some) for one, some in pairs]
        return np.asarray(np.mean(gains, axis=0))


_BLEU = "toledo.metrics.bleu:BLEU"


GAINS: Registry[Metric] = Registry(
    "metric",
    {
        "bleu": Preset(_BLEU, {"effective_order": True}),
        "bleu+1": Preset(_BLEU, {"smooth_method": "add-k", "smooth_value": 1.0}),
        "bleu+0.01": Preset(_BLEU, {"smooth_method": "add-k", "smooth_value": 0.01}),  # Arun, Haddow and Koehn 2010
        "chrf": "toledo.metrics.chrf:CHRF",
        "ter": "toledo.metrics.ter:TER",
        "mean": "toledo.consensus.gains:MeanGain",
    },
)
