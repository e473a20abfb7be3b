"""Named weights of a log-linear model: to and from dense arrays and TOML, with bounds and frozen features."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import tomli_w
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import atomic_writer, read_toml

LARGEST_WEIGHT = 1e30  # times any feature value that can be read, it is finite


@dataclass(frozen=True)
class Weights(Mapping[str, float]):
    """One finite number for each feature name. Tuners keep `frozen` weights and stay within `bounds`.

    `file` is where they were read, for errors.
    """

    values_by_name: Mapping[str, float]
    frozen: frozenset[str] = frozenset()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    file: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name, value in self.values_by_name.items():
            if not abs(value) <= LARGEST_WEIGHT:  # NaN is not, either
                remedy = f"every weight must be a number from {-LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
                raise InputError(f"the weight of {name} is {value}", remedy=remedy)
        self._require_known("frozen", self.frozen)
        self._require_known("bounds", self.bounds)
        for name, (low, high) in self.bounds.items():
            if not low <= self.values_by_name[name] <= high:
                raise InputError(
                    f"the weight of {name}, {self.values_by_name[name]}, is outside its bounds [{low}, {high}]",
                    remedy="change the weight or the bounds",
                )

    def __getitem__(self, name: str) -> float:
        return self.values_by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_name)

    def __len__(self) -> int:
        return len(self.values_by_name)

    def array(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the weights of `names` in that order; a name without a weight is an error."""
        missing = [name for name in names if name not in self.values_by_name]
        if missing:
            remedy = "add the missing names to the weights file, 0 if unused"
            raise InputError(f"no weight for {', '.join(missing)}", file=self.file, remedy=remedy)
        return np.array([self.values_by_name[name] for name in names])

    def norm(self, names: Sequence[str]) -> float:
        """Return the L1 norm of the weights of `names` without frozen ones, if there are others.

        Frozen ones such as that of unknown words are the same for all translations of a sentence.
        """
        known = [name for name in names if name in self]
        free = [name for name in known if name not in self.frozen]
        return sum(abs(self[name]) for name in free or known)

    def updated(self, names: Sequence[str], values: NDArray[np.float64]) -> Weights:
        """Return new weights for `names`; frozen ones keep theirs, the others are moved into their bounds."""
        changed = dict(self.values_by_name)
        for name, value in zip(names, values.tolist(), strict=True):
            if name not in self.frozen:
                low, high = self.bounds.get(name, (-math.inf, math.inf))
                changed[name] = min(max(value, low), high)
        return replace(self, values_by_name=changed)

    def to_table(self) -> dict[str, object]:
        """Return the content of a weights file."""
        table: dict[str, object] = {"weights": dict(self.values_by_name)}
        if self.frozen:
            table["frozen"] = sorted(self.frozen)
        if self.bounds:
            table["bounds"] = {name: list(pair) for name, pair in self.bounds.items()}
        return table

    @classmethod
    def from_table(cls, table: Mapping[str, object], file: str | Path) -> Weights:
        """Return the weights of the content of a weights file, after checks."""
        values = table.get("weights")
        if not isinstance(values, dict) or not all(_is_number(value) for value in values.values()):
            raise InputError(
                "has no table [weights] of numbers",
                file=file,
                remedy='write a line [weights] and below it lines such as "lm" = 0.5',
            )
        frozen, bounds = table.get("frozen", []), table.get("bounds", {})
        if not isinstance(frozen, list) or not all(isinstance(name, str) for name in frozen):
            raise InputError("`frozen` is not a list of names", file=file, remedy='write frozen = ["oov"]')
        if not isinstance(bounds, dict) or not all(_is_pair(pair) for pair in bounds.values()):
            raise InputError(
                "[bounds] holds no pairs of numbers", file=file, remedy='write lines such as "lm" = [0, 1]'
            )
        try:
            numbers = {name: float(value) for name, value in values.items()}
            limits = {name: (float(low), float(high)) for name, (low, high) in bounds.items()}
            return cls(numbers, frozenset(frozen), limits, str(file))
        except InputError as error:
            raise InputError(error.message, file=file, remedy=error.remedy) from None
        except OverflowError:
            raise InputError("a weight or bound is too large", file=file, remedy="write smaller numbers") from None

    def save(self, path: str | Path) -> None:
        """Write a weights file atomically."""
        with atomic_writer(path) as stream:
            stream.write(tomli_w.dumps(self.to_table()))

    @classmethod
    def load(cls, path: str | Path) -> Weights:
        """Read a weights file."""
        return cls.from_table(read_toml(Path(path)), path)

    def _require_known(self, what: str, names: Mapping[str, object] | frozenset[str]) -> None:
        unknown = sorted(set(names) - set(self.values_by_name))
        if unknown:
            raise InputError(
                f"{what} names features without a weight: {', '.join(unknown)}", remedy="add their weights"
            )


def mean_weights(some: Sequence[Weights], names: Sequence[str]) -> Weights:
    """Return the mean of weights, each first brought to the mean norm over `names`, so that directions count alike.

    Weights of other names are those of the first.
    """
    norms = [one.norm(names) for one in some]
    norm = sum(norms) / len(norms)
    shares = [one.array(names) * (norm / own if own else 1.0) for one, own in zip(some, norms, strict=True)]
    return some[0].updated(names, np.mean(shares, axis=0))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(_is_number(part) for part in value)
