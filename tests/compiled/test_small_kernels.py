"""Kernels for small inputs: the same bits as plain Python, as machine code for this processor, and as shipped code."""

import json
import os
import platform
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from compiled import small_kernel_inputs
from compiled.small_kernel_inputs import INPUTS, outcomes, small_kernels
from numpy.typing import NDArray

import toledo
from toledo.compiled import kernels, stamps
from toledo.compiled.cache import SHIPPED_PROCESSOR
from toledo.compiled.kernels import Kernel, kernel, map_chunks

ROOT = Path(__file__).parents[2]


def test_every_kernel_for_small_inputs_has_inputs_here() -> None:
    assert sorted(small_kernels()) == sorted(INPUTS)


@pytest.mark.parametrize("name", sorted(INPUTS))
def test_plain_python_and_machine_code_agree_bit_for_bit(name: str) -> None:
    small_kernels()
    assert outcomes(name, as_python=True) == outcomes(name, as_python=False)


@pytest.mark.skipif(platform.machine() != "x86_64" or not stamps._has_features(), reason="an older or other processor")
def test_code_for_all_processors_agrees_bit_for_bit() -> None:
    small_kernels()
    for_all = {"NUMBA_CPU_NAME": SHIPPED_PROCESSOR, "NUMBA_CPU_FEATURES": ""}
    found = run_program(str(small_kernel_inputs.__file__), **for_all)
    assert json.loads(found) == {name: outcomes(name, as_python=False) for name in INPUTS}


def test_wrong_arithmetic_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of int32 wrap around in NumPy and not in compiled code."""
    inputs = {f"{__name__}.last_difference": lambda: iter([(np.array([-2, 2**31 - 1], np.int32),)])}
    monkeypatch.setattr(small_kernel_inputs, "INPUTS", inputs)
    (name,) = inputs
    assert outcomes(name, as_python=True) != outcomes(name, as_python=False)


@kernel(small=10)
def last_difference(values: NDArray[np.int32]) -> int:
    return int(values[-1] - values[0])


SEGMENTS = 30


def random_texts(seed: int, size: int) -> list[str]:
    random = np.random.default_rng(seed)
    words = ["the", "cat", "cats", "sat", "on", "a", "mat", "Straße", "日本", "x" * 40, ".", ",", "1,000", "don't"]
    return [" ".join(random.choice(words, random.integers(0, 30))) for _ in range(size)]


def sampled_lists() -> list[list[str]]:
    data = toledo.example_data(train=1, tune=1, test=10).test
    return [
        *(
            [*references, source, references[0][3:]]
            for source, references in zip(data.sources, zip(*data.references, strict=True), strict=True)
        ),
        *(random_texts(seed, 8) for seed in range(4)),
        ["word " * 300, "word " * 299 + "other", "other"],
        ["", "a"],
    ]


def choices(**settings: Any) -> Any:
    return [one.to_dict() for one in toledo.choose_many(sampled_lists(), **settings)]


def evaluation() -> Any:
    return toledo.evaluate(
        random_texts(1, SEGMENTS), [random_texts(1, SEGMENTS), random_texts(2, SEGMENTS)], resamples=40
    ).to_dict()


def comparison(test: str) -> Any:
    data = toledo.example_data(train=1, tune=1, test=SEGMENTS).test
    first, second = data.references
    shorter = [text.rpartition(" ")[0] for text in first]
    systems = {"first": first, "shorter": shorter, "random": random_texts(3, SEGMENTS)}
    return toledo.compare(systems, [second, first[::-1]], resamples=40, test=test).to_dict()


COMMANDS: dict[str, Callable[[], Any]] = {
    **{f"choose by {metric}": partial(choices, metric=metric) for metric in ("chrf", "chrf++", "bleu", "ter")},
    "choose by consensus": partial(choices, rule="consensus"),
    "evaluate": evaluation,
    "compare": partial(comparison, "bootstrap"),
    "compare by randomization": partial(comparison, "randomization"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_whole_commands_give_the_same_either_way(command: str) -> None:
    found = {}
    for mode in ("python", "machine"):
        with kernels.small_kernels(mode):
            found[mode] = json.dumps(COMMANDS[command]())
    assert found["python"] == found["machine"]


PROGRAM = """
import sys
import toledo
print(toledo.choose({texts}, metric={metric!r}).text)
assert "numba" not in sys.modules, "loaded in vain"
"""


@pytest.mark.parametrize("metric", ["chrf", "bleu", "ter"])
def test_small_inputs_need_no_compiler(metric: str, tmp_path: Path) -> None:
    program = PROGRAM.format(texts=["A cat sat.", "A cat sat!", "A cat sat down."], metric=metric)
    empty = {"TOLEDO_CACHE": str(tmp_path), "TOLEDO_KERNELS": ""}
    assert run_program("-c", program, **empty).startswith("A cat sat")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> kernels._Interpretation:
    """No kernel has run in this process yet, and none is kept."""
    state = kernels._Interpretation()
    monkeypatch.setattr(kernels, "_interpretation", state)
    monkeypatch.setattr(kernels, "has_code", lambda kernel: False)
    return state


def new_kernel() -> Kernel:
    @kernel(small=10)
    def total(values: NDArray[np.int64]) -> int:
        found = 0
        for value in values:
            found += value
        return int(found)

    return cast(Kernel, total)


def is_compiled(one: Kernel) -> bool:
    return one._dispatcher is not None


def test_large_inputs_are_compiled_and_small_ones_after_them_too(state: kernels._Interpretation) -> None:
    total = new_kernel()
    assert total(np.arange(10)) == 45
    assert not is_compiled(total)
    assert total(np.arange(11)) == 55
    assert is_compiled(total)
    spent = state.seconds
    assert total(np.arange(3)) == 3
    assert state.seconds == spent


def test_elements_within_tuples_count() -> None:
    assert kernels._elements((np.zeros(3), (np.zeros((2, 2)), 7, (np.zeros(1),)))) == 8


def test_after_some_time_in_python_kernels_are_compiled(state: kernels._Interpretation) -> None:
    total = new_kernel()
    state.seconds = kernels.SECONDS_AS_PYTHON + 1.0
    assert total(np.arange(3)) == 3
    assert is_compiled(total)


def test_kernels_that_are_kept_are_loaded(state: kernels._Interpretation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "has_code", lambda kernel: True)
    total = new_kernel()
    assert total(np.arange(3)) == 3
    assert is_compiled(total)


def test_tiny_inputs_do_not_load_the_compiler_for_kernels_that_are_kept(
    state: kernels._Interpretation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "has_code", lambda kernel: True)
    monkeypatch.delitem(sys.modules, "numba")
    total = new_kernel()
    assert total._suits_python((np.arange(3),))
    state.seconds = kernels.SECONDS_TO_LOAD
    assert not total._suits_python((np.arange(3),))


def test_what_was_compiled_is_found_on_disk(tmp_path: Path) -> None:
    program = """
        import sys
        import numpy as np
        from toledo.compiled.hashing import number_rows
        from toledo.compiled.kernels import small_kernels
        from toledo.compiled.stamps import has_code
        print(has_code(number_rows))
        with small_kernels("machine"):
            number_rows(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1, np.int64))
        print(has_code(number_rows))
    """
    empty = {"TOLEDO_CACHE": str(tmp_path), "TOLEDO_KERNELS": ""}
    assert run_program("-c", textwrap.dedent(program), **empty).split() == ["False", "True"]


def test_threads_interpret_at_the_same_time(state: kernels._Interpretation) -> None:
    total = new_kernel()
    values = map_chunks(lambda begin, end: total(np.arange(begin, end)), 400, chunk=8, threads=4)
    assert sum(values) == 400 * 399 // 2
    assert not is_compiled(total)


def run_program(*arguments: str, **environment: str) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    command = [sys.executable, *arguments]
    variables = {**os.environ, "PYTHONPATH": path, **environment}
    return subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
