"""A score with its interval and its signature, printed as sacreBLEU prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toledo.results import Result, plain

HIGHEST = 100.0


@dataclass(frozen=True)
class ScoreInterval(Result):
    """Bounds of the true score or difference, and the mean of resampled ones."""

    mean: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """What stands after ±."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Score(Result):
    """A score; details have sacreBLEU's names and are attributes too (`score.bp`, `score.precisions`)."""

    name: str
    score: float
    interval: ScoreInterval | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    sign: str = field(default="", repr=False)
    higher_is_better: bool = True
    decimals: int = field(default=2, repr=False)

    def __post_init__(self) -> None:
        if self.name == "BLEU" or self.name.startswith("chrF"):  # rounding may go beyond
            object.__setattr__(self, "score", min(self.score, HIGHEST))

    @property
    def signature(self) -> str:  # type: ignore[override]
        """How the score was computed, as sacreBLEU writes it."""
        return self.sign

    def __float__(self) -> float:
        return self.score

    def __getattr__(self, name: str) -> Any:
        details: Mapping[str, Any] = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        raise AttributeError(f"a score of {self.__dict__.get('name')} has no {name!r}: it has {', '.join(details)}")

    def cell(self) -> str:
        """Return "42.42 ± 5.22", or without an interval the score alone."""
        digits = self.decimals
        return f"{self.score:.{digits}f}" + (f" ± {self.interval.half_width:.{digits}f}" if self.interval else "")

    def format(self, width: int | None = None, score_only: bool = False) -> str:
        """Return the line that sacreBLEU prints, or its number alone."""
        width = self.decimals if width is None else width
        number = f"{self.score:.{width}f}"
        if self.interval:
            number += f" (μ = {self.interval.mean:.{width}f} ± {self.interval.half_width:.{width}f})"
        if score_only:
            return number
        return f"{self.name} = {number}{self._more()}"

    def _more(self) -> str:
        if "precisions" not in self.details:
            return ""
        precisions = "/".join(f"{one:.1f}" for one in self.precisions)
        lengths = f"hyp_len = {self.sys_len} ref_len = {self.ref_len}"
        return f" {precisions} (BP = {self.bp:.3f} ratio = {self.ratio:.3f} {lengths})"

    def __str__(self) -> str:
        return self.format()

    def __repr__(self) -> str:
        return self.format()

    def to_dict(self) -> dict[str, Any]:
        """Return name, score, interval, whether higher is better, details and signature."""
        found = {"name": self.name, "score": plain(self.score), "interval": plain(self.interval)}
        more = {"higher_is_better": self.higher_is_better, "details": plain(self.details), "signature": self.sign}
        return {**found, **more}
