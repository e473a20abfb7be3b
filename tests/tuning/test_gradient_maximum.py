"""Maxima of known functions."""

from itertools import pairwise

import numpy as np
import pytest

from toledo.tuning.maximize import Bounds, Vector, ascend, maximize

TARGET = np.array([1.0, -2.0, 30.0])
CURVES = np.array([1.0, 50.0, 0.01])


def hill(point: Vector) -> tuple[float, Vector]:
    return -0.5 * float(CURVES @ (point - TARGET) ** 2), -CURVES * (point - TARGET)


@pytest.mark.parametrize("optimizer", ["lbfgs", "ascent"])
def test_a_hill_is_climbed_within_limits(optimizer: str) -> None:
    free = Bounds(np.full(3, -np.inf), np.full(3, np.inf))
    found = maximize(hill, np.zeros(3), free, optimizer, 5000)  # type: ignore[arg-type]
    assert found.point == pytest.approx(TARGET, abs=0.1)
    low = Bounds(np.array([-1.0, -1.0, -1.0]), np.array([np.inf, 4.0, 5.0]))
    found = maximize(hill, np.zeros(3), low, optimizer, 5000)  # type: ignore[arg-type]
    assert found.point == pytest.approx([1.0, -1.0, 5.0], abs=1e-2)
    assert found.evaluations > 1


def test_ascent_never_falls() -> None:
    values = []

    def recorded(point: Vector) -> tuple[float, Vector]:
        value, gradient = hill(point)
        values.append(value)
        return value, gradient

    ends = []
    for steps in range(1, 30):
        ends.append(ascend(recorded, np.zeros(3), Bounds(np.full(3, -np.inf), np.full(3, np.inf)), steps).value)
    assert all(later >= earlier for earlier, later in pairwise(ends))
    assert ends[-1] == max(values)
