"""L-BFGS on functions whose minima are known, with and without limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from toledo.tuning.maximize import lbfgs

NO_LIMITS = np.full(4, -np.inf), np.full(4, np.inf)


@given(st.integers(0, 10_000), st.booleans())
def test_quadratic_functions(seed: int, limited: bool) -> None:
    random = np.random.default_rng(seed)
    root, center = random.normal(size=(4, 4)), random.normal(size=4)
    matrix = root @ root.T + 0.1 * np.eye(4)
    low, high = (np.full(4, -0.5), np.array([0.5, np.inf, 0.1, 0.5])) if limited else NO_LIMITS

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.5 * float((x - center) @ matrix @ (x - center)), matrix @ (x - center)

    found, value = lbfgs(function, np.zeros(4), low, high, steps=500, tolerance=1e-14)
    bounds = list(zip(low, high, strict=True))
    wanted = minimize(function, np.zeros(4), jac=True, bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10})
    assert np.all((found >= low) & (found <= high))
    assert value == pytest.approx(float(wanted.fun), abs=1e-5)
    assert function(found)[0] == value


def test_a_curved_valley() -> None:
    found, value = lbfgs(
        lambda x: (float(rosen(x)), np.asarray(rosen_der(x))), np.full(4, -1.2), *NO_LIMITS, steps=500, tolerance=1e-15
    )
    assert value < 1e-8
    np.testing.assert_allclose(found, 1.0, atol=1e-3)


def test_nothing_to_gain() -> None:
    found, value = lbfgs(lambda x: (3.0, np.zeros(4)), np.ones(4), *NO_LIMITS, steps=5, tolerance=1e-9)
    assert (found.tolist(), value) == ([1.0] * 4, 3.0)
    held, _ = lbfgs(
        lambda x: (float(x.sum()), np.ones(4)), np.ones(4), np.ones(4), np.full(4, 2.0), steps=5, tolerance=0.0
    )
    assert held.tolist() == [1.0] * 4
