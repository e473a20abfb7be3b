"""Maxima of known functions."""

from itertools import pairwise

import numpy as np
import pytest

from toledo.tuning.maximize import Bounds, Vector, ascend, maximize

TARGET = np.array([1.0, -2.0, 30.0])
CURVES = np.array([1.0, 50.0, 0.01])
ROUNDER = np.array([1.0, 5.0, 0.1])
FREE = Bounds(np.full(3, -np.inf), np.full(3, np.inf))


def hill(point: Vector, curves: Vector = CURVES) -> tuple[float, Vector]:
    return -0.5 * float(curves @ (point - TARGET) ** 2), -curves * (point - TARGET)


@pytest.mark.parametrize("optimizer", ["lbfgs", "ascent", "adagrad"])
def test_a_hill_is_climbed_within_limits(optimizer: str) -> None:
    curves = ROUNDER if optimizer == "ascent" else CURVES  # plain ascent needs as many steps as a hill is narrow
    found = maximize(lambda point: hill(point, curves), np.zeros(3), FREE, optimizer, 5000)  # type: ignore[arg-type]
    assert found.point == pytest.approx(TARGET, abs=0.1)
    low = Bounds(np.array([-1.0, -1.0, -1.0]), np.array([np.inf, 4.0, 5.0]))
    found = maximize(hill, np.zeros(3), low, optimizer, 5000)  # type: ignore[arg-type]
    assert found.point == pytest.approx([1.0, -1.0, 5.0], abs=1e-2)
    assert found.evaluations > 1


def test_plain_ascent_by_hand() -> None:
    """One coordinate of -x²/2 from 8: the first step has length 0.05, each of the next is 1.5 times as long a share."""
    visited = []

    def parabola(point: Vector) -> tuple[float, Vector]:
        visited.append(float(point[0]))
        return -0.5 * float(point @ point), -point

    ascend(parabola, np.array([8.0]), Bounds(np.array([-np.inf]), np.array([np.inf])), 3)
    share, expected = 0.05 / 8.0, [8.0]
    for _ in range(3):
        expected.append(expected[-1] * (1.0 - share))
        share *= 1.5
    assert visited == pytest.approx(expected)


def test_a_step_that_fails_is_halved() -> None:
    visited = []

    def narrow(point: Vector) -> tuple[float, Vector]:
        visited.append(float(point[0]))
        return -abs(float(point[0])), -np.sign(point)

    found = ascend(narrow, np.array([0.02]), Bounds(np.array([-np.inf]), np.array([np.inf])), 1)
    assert visited == pytest.approx([0.02, -0.03, -0.005])  # 0.05 goes too far, 0.025 does not
    assert found.point == pytest.approx([-0.005])


@pytest.mark.parametrize("adaptive", [False, True])
def test_ascent_rises_with_every_step_and_soon_has_most_of_the_hill(adaptive: bool) -> None:
    found = ascend(hill, np.zeros(3), FREE, 30, adaptive=adaptive)
    start, _ = hill(np.zeros(3))
    assert len(found.path) == 30
    assert all(later > earlier for earlier, later in pairwise((start, *found.path)))
    assert found.value == hill(found.point)[0] == found.path[-1]
    assert found.value > 0.1 * start  # the top is 0
