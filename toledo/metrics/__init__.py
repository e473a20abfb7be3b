"""Metrics of translations with sacreBLEU's settings, numbers and signatures.

from toledo.metrics import BLEU, CHRF, TER, corpus_bleu, sentence_chrf
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toledo.metrics.bleu import BLEU
    from toledo.metrics.chrf import CHRF
    from toledo.metrics.functions import (
        corpus_bleu,
        corpus_chrf,
        corpus_ter,
        sentence_bleu,
        sentence_chrf,
        sentence_ter,
    )
    from toledo.metrics.metric import METRICS, Metric
    from toledo.metrics.ter import TER

__all__ = [
    "BLEU",
    "CHRF",
    "METRICS",
    "TER",
    "Metric",
    "corpus_bleu",
    "corpus_chrf",
    "corpus_ter",
    "sentence_bleu",
    "sentence_chrf",
    "sentence_ter",
]
_MODULES = {"BLEU": "bleu", "CHRF": "chrf", "TER": "ter", "METRICS": "metric", "Metric": "metric"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'functions')}"), name)
