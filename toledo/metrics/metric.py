"""What all metrics have in common: statistics per segment that add up, and a score of their sum."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Metric(Protocol):
    """Scores are in per cent, as sacreBLEU prints them.

    `statistics` takes a hypothesis and the list of its references: texts for chrF, lists of words (or arrays of word
    ids) for BLEU and TER. Significance tests, tuning and consensus need no more than this.
    """

    @property
    def name(self) -> str:
        """The usual name."""
        ...

    @property
    def higher_is_better(self) -> bool:
        """False for an error rate."""
        ...

    @property
    def size(self) -> int:
        """The number of statistics of a segment."""
        ...

    def statistics(self, hypothesis: Any, references: Any) -> NDArray[np.float64]:
        """The statistics of one segment."""
        ...

    def corpus_statistics(self, hypotheses: Any, references: Any, threads: int | None = None) -> NDArray[np.float64]:
        """The statistics of each segment, one row each; `references[i]` are the references of hypothesis i."""
        ...

    def score(self, statistics: NDArray[np.float64]) -> float:
        """The score of a sum of statistics, which may be fractional."""
        ...

    def scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each row."""
        ...

    def gradient(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivatives of the score by the statistics."""
        ...
