"""Tuners by name, as `objective` names them: those that are a method, and gradient tuners for each objective.

Nothing compiled is imported before a tuner is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toledo.objectives.registry import OBJECTIVES
from toledo.settings import Preset, Registry

if TYPE_CHECKING:
    from toledo.tuning.tuner import Tuner


class _TunerRegistry(Registry["Tuner"]):
    """Tuners by name; an objective (its name, itself, or a function of expected counts) makes a gradient tuner."""

    def names(self) -> list[str]:
        """Return the names of tuners, then those of objectives."""
        return [*super().names(), *OBJECTIVES.names()]

    def __contains__(self, name: str) -> bool:
        return super().__contains__(name) or name in OBJECTIVES

    def make(self, named: Any, **overrides: Any) -> Tuner:
        """Return the tuner that `named` stands for; `overrides` are settings on top of its own."""
        if not isinstance(named, str | type) and not hasattr(named, "tune"):
            return super().make("gradient", objective=named, **overrides)
        return super().make(named, **overrides)

    def _entry(self, name: str) -> Any:
        if not super().__contains__(name) and name in OBJECTIVES:
            return Preset("gradient", {"objective": name})
        return super()._entry(name)


TUNERS = _TunerRegistry(
    "objective",
    {
        "mert": "toledo.tuning.tuners.mert:MERT",
        "pro": "toledo.tuning.tuners.pro:PRO",
        "mira": "toledo.tuning.tuners.mira:MIRA",
        "mmi": "toledo.tuning.tuners.mmi:MMI",
        "regression": "toledo.tuning.tuners.pro:Regression",
        "simplex": "toledo.tuning.tuners.simplex:Simplex",
        "gradient": "toledo.tuning.tuners.gradient:Gradient",
    },
)
