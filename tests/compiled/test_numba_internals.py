"""Private names of Numba: in one file, for the versions that they are known to hold for."""

import ast
import inspect
import re
import time
import tomllib
from pathlib import Path

import numba
import numba.core.serialize
import numpy as np
import pytest
from numpy.typing import NDArray

from toledo.compiled import numba_internals
from toledo.compiled.cache import CalleeCache, KernelCache
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.numba_internals import _alone_in

ROOT = Path(__file__).parents[2]
INTERNALS = Path("toledo/compiled/numba_internals.py")
PRIVATE = ("numba.core", "numba.np", "numba.cpython", "numba.typed", "numba.misc")
REMEDY = f"check every name in {INTERNALS}, then add the version to VERSIONS there and to pyproject.toml"


@kernel
def add_one(x: int) -> int:
    return x + 1


def test_numba_has_a_version_that_the_internals_are_known_for() -> None:
    version = ".".join(numba.__version__.split(".")[:2])
    assert version in numba_internals.VERSIONS, f"Numba {version} is new: {REMEDY}"


def test_the_project_asks_for_these_versions_and_no_others() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (wanted,) = (one for one in project["dependencies"] if re.match(r"numba\b", one))
    first, *_, last = numba_internals.VERSIONS
    major, minor = last.split(".")
    assert wanted == f"numba>={first},<{major}.{int(minor) + 1}"


def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            found += [one.name for one in node.names]
    return [name for name in found if name.startswith(PRIVATE)]


def test_no_other_file_imports_private_names() -> None:
    paths = [path.relative_to(ROOT) for path in (ROOT / "toledo").rglob("*.py")]
    assert [path for path in paths if _imports(ROOT / path)] == [INTERNALS]
    options = [path for path in paths if "_nrt" in (ROOT / path).read_text(encoding="utf-8")]
    assert options == [INTERNALS]


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        ("FunctionCache", "load_overload"),
        ("FunctionCache", "save_overload"),
        ("FunctionCache", "_index_key"),
        ("CompileResultCacheImpl", "filename_base"),
        ("CompileResultCacheImpl", "_locator_classes"),
        ("CompileResultCacheImpl", "check_cachable"),
        ("CompileResultCacheImpl", "reduce"),
        ("CompileResultCacheImpl", "rebuild"),
        ("IndexDataCacheFile", "load"),
        ("IndexDataCacheFile", "save"),
        ("IndexDataCacheFile", "flush"),
        ("JITCodeLibrary", "_optimize_final_module"),
        ("JITCodeLibrary", "_finalize_final_module"),
        ("JITCodeLibrary", "_finalize_dynamic_globals"),
        ("JITCodeLibrary", "_verify_declare_only_symbols"),
        ("JITCodeLibrary", "_ensure_finalized"),
        ("JITCodeLibrary", "get_pointer_to_function"),
        ("JITCodeLibrary", "serialize_using_bitcode"),
        ("JITCodeLibrary", "serialize_using_object_code"),
        ("JITCPUCodegen", "_library_class"),
        ("JITCPUCodegen", "set_env"),
        ("rtsys", "initialize"),
        ("cgutils", "voidptr_t"),
        ("cgutils", "get_or_insert_function"),
    ],
)
def test_every_name_is_there(owner: str, name: str) -> None:
    assert hasattr(getattr(numba_internals, owner), name), f"{owner}.{name} is gone: {REMEDY}"


def test_methods_take_what_they_are_given() -> None:
    taken = {
        "IndexDataCacheFile": "(cache_path, filename_base, source_stamp)",
        "FunctionCache": "(py_func)",
        "CompileResultCacheImpl": "(py_func)",
    }
    found = {name: str(inspect.signature(getattr(numba_internals, name))) for name in taken}
    assert found == taken, REMEDY


def test_a_kernel_asks_our_cache_and_knows_no_literals() -> None:
    assert add_one(1) == 2
    assert isinstance(add_one.dispatcher._cache, KernelCache), REMEDY  # type: ignore[attr-defined]
    template = add_one.callee.get_call_template  # type: ignore[attr-defined]
    assert template.__module__ == numba_internals.__name__, REMEDY


def test_results_that_are_named_tuples_are_made_where_signals_expect_it() -> None:
    """`toledo.cli.signals` raises nothing while code of this module runs; Numba would crash."""
    assert "numba.core.serialize" in Path(ROOT / "toledo/cli/signals.py").read_text(encoding="utf-8")
    assert hasattr(numba.core.serialize, "_numba_unpickle"), REMEDY


def test_a_function_is_called_at_the_first_compilation_and_not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelCache, "load_overload", lambda *_: None)
    monkeypatch.setattr(KernelCache, "save_overload", lambda *_: None)
    calls = list[str]()

    @kernel
    def add_two(x: float) -> float:
        return x + 2

    with numba_internals.at_first_compilation(lambda: calls.append("compiling")):
        assert not calls
        assert (add_two(1), add_two(1.5)) == (3, 3.5)
    with numba_internals.at_first_compilation(lambda: calls.append("again")):
        add_two(2)
    assert calls == ["compiling"]


@kernel
def square(x: int) -> int:
    return x * x


@kernel
def sum_of_squares(values: NDArray[np.int32]) -> int:
    return square(3) + square(values[0]) + square(values.size)


def test_callees_are_compiled_for_integers_of_64_bits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelCache, "load_overload", lambda *_: None)  # what is kept on disk brings its callees along
    monkeypatch.setattr(KernelCache, "save_overload", lambda *_: None)
    assert sum_of_squares(np.array([2**20, 1], np.int32)) == 9 + 2**40 + 4
    assert [str(one) for one in square.callee.signatures] == ["(int64,)"], REMEDY  # type: ignore[attr-defined]
    assert not square.dispatcher.signatures  # type: ignore[attr-defined]


def test_a_callee_has_neither_machine_code_nor_wrappers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelCache, "save_overload", lambda *_: None)
    monkeypatch.setattr(CalleeCache, "find_overload", lambda *_: None)
    monkeypatch.setattr(KernelCache, "find_overload", lambda *_: None)

    @kernel
    def cube(x: float) -> float:
        return x * x * x

    @kernel
    def two_cubes(x: float) -> float:
        return cube(x) + cube(2.0 * x)

    assert two_cubes(1.0) == 9.0
    (callee,), (caller,) = cube.callee.overloads.values(), two_cubes.dispatcher.overloads.values()  # type: ignore[attr-defined]
    assert not callee.library._has_code, REMEDY
    assert caller.library._has_code, REMEDY
    wrappers = [
        one.name for one in callee.library.get_defined_functions() if one.name.startswith(("cfunc", "_ZN7cpython"))
    ]
    assert not wrappers, REMEDY
    assert cube(2.0) == 8.0  # called by Python, it is compiled for it
    assert two_cubes(2.0) == 72.0


def test_code_for_python_serves_callers_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelCache, "save_overload", lambda *_: None)
    monkeypatch.setattr(KernelCache, "find_overload", lambda *_: None)

    @kernel
    def halved(x: float) -> float:
        return x / 2.0

    @kernel
    def quartered(x: float) -> float:
        return halved(halved(x))

    assert (halved(8.0), quartered(8.0), halved(4.0)) == (4.0, 2.0, 2.0)
    (own,), (shared,) = halved.dispatcher.overloads.values(), halved.callee.overloads.values()  # type: ignore[attr-defined]
    assert shared.library is own.library


@kernel
def named_error(x: int) -> int:
    if x < 0:
        raise ValueError("x is negative", x)
    return x


@kernel
def calls_named_error(x: int) -> int:
    return named_error(x) + 1


def test_errors_of_callees_have_what_they_were_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such an error is made by objects of Python that the code refers to: compiled here, then found on disk."""
    assert calls_named_error(1) == 2
    with pytest.raises(ValueError, match="negative") as caught:
        calls_named_error(-5)
    assert caught.value.args == ("x is negative", -5)


def test_those_who_write_to_a_directory_take_turns(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")

    def count(begin: int, end: int) -> None:
        for _ in range(begin, end):
            with _alone_in(tmp_path):
                number = int(counter.read_text())
                time.sleep(0.0005)  # long enough for the others to read the same number
                counter.write_text(f"{number + 1}")

    map_chunks(count, 60, chunk=20, threads=3)
    assert counter.read_text() == "60"
