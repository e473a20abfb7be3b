"""Sums that are the same with any number of threads, BLAS's own too."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from toledo.compiled.ragged import row_products, sum_of_products

ROOT = Path(__file__).parents[1]
LONG = """
import numpy as np
from toledo.compiled.ragged import row_products, sum_of_products
random = np.random.default_rng(1)
factors, rows = random.normal(size=300_001), random.normal(size=(300_001, 10))
print(sum_of_products(factors, rows[:, 0].copy()).tobytes().hex(), sum_of_products(factors, rows).tobytes().hex())
print(hash(row_products(rows, rows[0]).tobytes()))
"""


def test_sums_are_those_of_products() -> None:
    factors, rows = np.array([1.0, 2.0, -3.0]), np.arange(6, dtype=np.int32).reshape(3, 2)
    assert sum_of_products(factors, factors) == 14.0
    assert sum_of_products(factors, rows).tolist() == [-8.0, -8.0]
    assert row_products(rows, np.array([10.0, 1.0])).tolist() == [1.0, 23.0, 45.0]


def test_long_sums_do_not_depend_on_threads() -> None:
    printed = set()
    for threads in ("1", "2", "3"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": "0"}
        command = [sys.executable, "-c", LONG]
        printed.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(printed) == 1


@pytest.mark.parametrize("package", ["objectives", "tuning", "refinement"])
def test_what_weights_depend_on_has_no_other_products(package: str) -> None:
    for file in (ROOT / "toledo" / package).rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        products = [one for one in ast.walk(tree) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult)]
        assert not products, f"{file}:{products[0].lineno}"
