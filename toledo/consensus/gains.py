"""Gains of minimum Bayes risk: metrics of single texts, and BLEU with the smoothings of the papers."""

from __future__ import annotations

from toledo.metrics.metric import Metric
from toledo.metrics.registry import METRICS
from toledo.settings import Named, Preset, Registry, parse_named


def make_gain(named: Named[Metric]) -> Metric:
    """Return a metric as rules use it: for single texts, so that BLEU leaves out orders longer than the text."""
    if isinstance(named, str) and parse_named(named)[0] in GAINS:
        return GAINS.make(named)
    return METRICS.make(named)


_BLEU = "toledo.metrics.bleu:BLEU"


GAINS: Registry[Metric] = Registry(
    "metric",
    {
        "bleu": Preset(_BLEU, {"effective_order": True}),
        "bleu+1": Preset(_BLEU, {"smooth_method": "add-k", "smooth_value": 1.0}),
        "bleu+0.01": Preset(_BLEU, {"smooth_method": "add-k", "smooth_value": 0.01}),  # Arun, Haddow and Koehn 2010
        "chrf": "toledo.metrics.chrf:CHRF",
        "ter": "toledo.metrics.ter:TER",
    },
)
