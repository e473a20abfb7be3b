"""What tuning found in a stage, saved after each: an interrupted tuning is resumed to the same result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from toledo.combination.votes import CombinationWeights
from toledo.errors import InputError
from toledo.runs.checkpoint import KIND, Checkpoint
from toledo.weights import Weights

COMBINATION = "combination"


@dataclass(frozen=True)
class TunedStage:
    """Weights, the scale γ that gives them the wanted entropy, and the value of the objective there."""

    weights: CombinationWeights
    scale: float
    value: float
    evaluations: int = 0

    def to_table(self) -> dict[str, Any]:
        """Return the stage for a TOML or JSON file."""
        return {
            "scale": self.scale,
            "value": self.value,
            "evaluations": self.evaluations,
            "shares": dict(self.weights.shares),
            **self.weights.features.to_table(),
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any], file: str | Path) -> TunedStage:
        """Read what `to_table` returned."""
        shares = table.get("shares")
        numbers = [table.get(name) for name in ("scale", "value", "evaluations")]
        if not isinstance(shares, dict) or not all(isinstance(number, int | float) for number in numbers):
            raise InputError("a stage lacks shares, scale or value", file=file, remedy="tune anew")
        weights = CombinationWeights(
            {str(name): float(share) for name, share in shares.items()}, Weights.from_table(table, file)
        )
        return cls(weights, float(numbers[0] or 0.0), float(numbers[1] or 0.0), int(numbers[2] or 0))


class SavedStages(msgspec.Struct):
    """The stages of a saved tuning."""

    stages: list[dict[str, Any]]


def load_stages(checkpoint: Checkpoint | None) -> list[TunedStage]:
    """Return the stages done so far; none for a new tuning."""
    saved = checkpoint.load(COMBINATION, SavedStages) if checkpoint else None
    return [TunedStage.from_table(one, checkpoint.file) for one in saved.stages] if checkpoint and saved else []


def save_stages(checkpoint: Checkpoint | None, stages: list[TunedStage]) -> list[TunedStage]:
    """Save all stages so far, and return them."""
    if checkpoint is not None:
        checkpoint.save({KIND: COMBINATION, "stages": [stage.to_table() for stage in stages]})
    return stages
