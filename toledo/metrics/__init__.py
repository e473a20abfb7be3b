"""Metrics of translations with sacreBLEU's settings, numbers and signatures.

from toledo.metrics import BLEU, CHRF, TER, corpus_bleu, sentence_chrf
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toledo.metrics.bleu import BLEU, corpus_bleu, sentence_bleu
    from toledo.metrics.chrf import CHRF, corpus_chrf, sentence_chrf
    from toledo.metrics.metric import Metric
    from toledo.metrics.registry import METRICS
    from toledo.metrics.ter import TER, corpus_ter, sentence_ter

__all__ = ["BLEU", "CHRF", "METRICS", "TER", "Metric"]
__all__ += ["corpus_bleu", "corpus_chrf", "corpus_ter", "sentence_bleu", "sentence_chrf", "sentence_ter"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "metric" if name == "METRICS" else name.rpartition("_")[2].lower()
    return getattr(import_module(f"{__name__}.{module}"), name)
