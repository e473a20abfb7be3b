"""Metrics by name, imported when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from toledo.settings import Preset, Registry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toledo.compiled.ragged import Words

    Rows: TypeAlias = NDArray[np.float64]
    Text: TypeAlias = str | Words
from toledo.metrics.metric import Metric


def _adapted(function: Callable[..., Any]) -> Metric:
    from toledo.metrics.utility import utility

    return utility(function)


METRICS: Registry[Metric] = Registry(
    "metric",
    {
        "bleu": "toledo.metrics.bleu:BLEU",
        "chrf": "toledo.metrics.chrf:CHRF",
        "chrf++": Preset("chrf", {"word_order": 2}),
        "ter": "toledo.metrics.ter:TER",
        "column": "toledo.metrics.given:ColumnMetric",
        "matrix": "toledo.metrics.given:MatrixMetric",
        "comet": "toledo.metrics.comet:COMET",
        "cometkiwi": "toledo.metrics.comet:COMETKiwi",
        "embeddings": "toledo.metrics.embeddings:Embeddings",
    },
    adapt=_adapted,
)
