"""What tuning found in a stage, on disk after each: an interrupted tuning goes on to the same result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from toledo.combination.votes import CombinationWeights
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.resumption import require_same
from toledo.storage import read_toml
from toledo.weights import Weights

FORMAT = 1


@dataclass(frozen=True)
class Stage:
    """Weights, the scale γ that gives them the wanted entropy, and the value of the objective there."""

    weights: CombinationWeights
    scale: float
    value: float
    evaluations: int = 0

    def to_table(self) -> dict[str, Any]:
        """For a TOML file."""
        return {
            "scale": self.scale,
            "value": self.value,
            "evaluations": self.evaluations,
            "shares": dict(self.weights.shares),
            **self.weights.features.to_table(),
        }

    @classmethod
    def from_table(cls, table: Mapping[str, Any], file: str | Path) -> Stage:
        """What `to_table` gave."""
        shares = table.get("shares")
        numbers = [table.get(name) for name in ("scale", "value", "evaluations")]
        if not isinstance(shares, dict) or not all(isinstance(number, int | float) for number in numbers):
            raise InputError("a stage lacks shares, scale or value", file=file, remedy="tune anew")
        weights = CombinationWeights(
            {str(name): float(share) for name, share in shares.items()}, Weights.from_table(table, file)
        )
        return cls(weights, float(numbers[0] or 0.0), float(numbers[1] or 0.0), int(numbers[2] or 0))


@dataclass(frozen=True)
class Checkpoint:
    """A file that keeps the stages of a tuning. `configuration` is all that its result depends on."""

    file: Path
    configuration: Mapping[str, Any]
    resume: bool = False

    def load(self) -> list[Stage]:
        """The stages done so far; none for a new run. An interrupted run is not thrown away unasked."""
        if not self.file.is_file():
            return []
        table = read_toml(self.file)
        stages = [Stage.from_table(one, self.file) for one in table.get("stages", [])]
        if not self.resume:
            raise InputError(
                f"holds a tuning of {len(stages)} stage{'' if len(stages) == 1 else 's'}",
                file=self.file,
                remedy="resume it, or remove the file",
            )
        remedy = "give the same data and settings, or remove the file"
        require_same(table.get("configuration", {}), self.configuration, self.file, remedy)
        return stages

    def save(self, stages: list[Stage]) -> None:
        """Keep all stages so far."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_writer(self.file) as stream:
            content = {"format": FORMAT, "configuration": dict(self.configuration)}
            stream.write(tomli_w.dumps({**content, "stages": [stage.to_table() for stage in stages]}))
