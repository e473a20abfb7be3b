"""The compiler's cache must notice changed callees; threads must not change results."""

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from toledo.compiled.cache import KEPT
from toledo.compiled.kernels import _Announcement, _Compilation, kernel, map_chunks, working_seconds


@kernel
def square_sum(values: np.ndarray) -> float:
    total = 0.0
    for value in values:
        total += value * value
    return total


def test_a_kernel_computes_what_its_python_source_says() -> None:
    values = np.array([1.0, 2.0, 3.0])
    assert square_sum(values) == square_sum.py_func(values) == 14.0


def write_modules(folder: Path, callee: str, constant: str = "1") -> None:
    (folder / "callee.py").write_text(
        f"from toledo.compiled.kernels import kernel\nCONSTANT = {constant}\n"
        f"@kernel\ndef inner(x):\n    return {callee}\n"
    )
    (folder / "caller.py").write_text(
        textwrap.dedent("""
            from callee import CONSTANT, inner
            from toledo.compiled.kernels import kernel

            @kernel
            def outer(x):
                return inner(x) * CONSTANT

            print(outer(10), len(outer.dispatcher.stats.cache_hits))
        """)
    )


def run_caller(folder: Path) -> str:
    environment = {
        "TOLEDO_CACHE": str(folder / "cache"),
        "PYTHONPATH": f"{folder}{os.pathsep}{Path(__file__).parents[1]}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, str(folder / "caller.py")]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def test_the_cache_is_used_and_notices_changed_callees_and_constants(tmp_path: Path) -> None:
    write_modules(tmp_path, "x + 1")
    assert run_caller(tmp_path) == "11 0"
    assert run_caller(tmp_path) == "11 1"  # from the cache
    write_modules(tmp_path, "x + 2")
    assert run_caller(tmp_path) == "12 0"  # the caller's own file has not changed
    write_modules(tmp_path, "x + 2", constant="3")
    assert run_caller(tmp_path) == "36 0"


def test_the_cache_finds_kernels_by_their_content(tmp_path: Path) -> None:
    """Neither the place of a file, nor lines above a kernel, nor its docstring matter."""
    write_modules(tmp_path, "x + 1")
    assert run_caller(tmp_path) == "11 0"
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    write_modules(folder, "x + 1  # the same")
    (folder / "cache").symlink_to(tmp_path / "cache")
    caller = (folder / "caller.py").read_text()
    (folder / "caller.py").write_text("# moved down\n" + caller.replace("(x):\n", '(x):\n    """Changed."""\n'))
    assert run_caller(folder) == "11 1"


def test_the_cache_notices_changed_options(tmp_path: Path) -> None:
    write_modules(tmp_path, "x + 1")
    assert run_caller(tmp_path) == "11 0"
    callee = (tmp_path / "callee.py").read_text()
    (tmp_path / "callee.py").write_text(callee.replace("kernel\n", "inlined as kernel\n", 1))
    assert run_caller(tmp_path) == "11 0"


def test_old_versions_of_a_kernel_are_removed(tmp_path: Path) -> None:
    for number in range(7):
        write_modules(tmp_path, f"x + {number}")
        assert run_caller(tmp_path) == f"{10 + number} 0"
    assert len(list((tmp_path / "cache" / "callee").glob("*.nbi"))) == KEPT
    assert len(list((tmp_path / "cache" / "callee").glob("*.nbc"))) == KEPT


@pytest.mark.parametrize("form", ["np.int64({})", "np.array([{}])"])
def test_the_cache_notices_changed_constants_of_numpy(tmp_path: Path, form: str) -> None:
    (tmp_path / "caller.py").write_text(
        textwrap.dedent("""
            from callee import CONSTANT
            from toledo.compiled.kernels import kernel

            @kernel
            def outer(x):
                return x * CONSTANT

            print(outer(10))
        """)
    )
    for number in (2, 3):
        (tmp_path / "callee.py").write_text(f"import numpy as np\nCONSTANT = {form.format(number)}\n")
        assert run_caller(tmp_path).strip("[]") == str(10 * number)


def test_the_cache_notices_a_changed_overload(tmp_path: Path) -> None:
    (tmp_path / "caller.py").write_text(
        textwrap.dedent("""
            from callee import inner
            from toledo.compiled.kernels import kernel

            @kernel
            def outer(x):
                return inner(x)

            print(outer(10))
        """)
    )
    for number in (2, 3):
        (tmp_path / "callee.py").write_text(
            "from numba.extending import overload\n"
            "def inner(x): ...\n"
            f"@overload(inner)\ndef compiled(x):\n    return lambda x: x * {number}\n"
        )
        assert run_caller(tmp_path) == str(10 * number)


def test_the_cache_survives_a_type_that_is_gone(tmp_path: Path) -> None:
    program = """
        from typing import NamedTuple
        from toledo.compiled.kernels import kernel

        class {name}(NamedTuple):
            value: int

        @kernel
        def twice(pair):
            return 2 * pair.value
    """
    (tmp_path / "caller.py").write_text("import library\nprint(library.twice(library.NAME(4)))")
    for name in ("Old", "New"):
        (tmp_path / "library.py").write_text(textwrap.dedent(program.format(name=name)) + f"\nNAME = {name}\n")
        assert run_caller(tmp_path) == "8"


def test_work_goes_on_where_nothing_can_be_cached(tmp_path: Path) -> None:
    write_modules(tmp_path, "x + 1")
    (tmp_path / "cache").write_text("a file where the directory should be")
    assert run_caller(tmp_path) == "11 0"


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_chunks_come_back_in_order_for_any_number_of_threads(threads: int) -> None:
    assert map_chunks(lambda begin, end: (begin, end), 10, chunk=4, threads=threads) == [(0, 4), (4, 8), (8, 10)]


def test_nothing_to_do_gives_nothing() -> None:
    assert map_chunks(lambda begin, end: (begin, end), 0, chunk=4, threads=2) == []


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_chunk_reaches_the_caller(threads: int) -> None:
    def fail(begin: int, end: int) -> int:
        if begin == 4:
            raise ValueError("chunk 4")
        return end

    with pytest.raises(ValueError, match="chunk 4"):
        map_chunks(fail, 100, chunk=4, threads=threads)


def test_an_interruption_between_pieces_stops_the_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, begun, interrupted, done = threading.Lock(), threading.Event(), threading.Event(), list[int]()

    class Interrupted:
        def __enter__(self) -> None:
            if threading.current_thread() is threading.main_thread():
                begun.wait()
                raise KeyboardInterrupt
            lock.acquire()

        def __exit__(self, *_: object) -> None:
            lock.release()

    def work(begin: int, end: int) -> None:
        begun.set()
        interrupted.wait()
        done.append(begin)

    with monkeypatch.context() as patch:
        patch.setattr("toledo.compiled.kernels.threading", SimpleNamespace(Lock=Interrupted, Thread=threading.Thread))
        with pytest.raises(KeyboardInterrupt):
            map_chunks(work, 9, chunk=1, threads=2)
    interrupted.set()
    for thread in threading.enumerate():
        if thread.name == map_chunks.__module__:
            thread.join()
    assert done == [0]


def test_compilation_is_announced_again_after_some_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    announcement, moments = _Announcement(), iter([100.0, 101.0, 200.0])
    monkeypatch.setattr("toledo.compiled.kernels.compilation", _Compilation())
    monkeypatch.setattr("toledo.compiled.kernels.time.monotonic", lambda: next(moments))
    for _ in range(3):
        announcement.one_more()
    assert announcement.compiled == 3
    assert [record.getMessage().split(" (")[0] for record in caplog.records] == [
        "compiling kernels for this machine",
        "still compiling: 0 CPU seconds so far",
    ]


def test_kernels_are_counted_when_they_are_compiled_and_not_when_they_are_loaded(tmp_path: Path) -> None:
    write_modules(tmp_path, "x + 1")
    with (tmp_path / "caller.py").open("a") as program:
        program.write("from toledo.compiled.kernels import compiled_kernels\nprint(compiled_kernels())\n")
    assert run_caller(tmp_path).split() == ["11", "0", "2"]
    assert run_caller(tmp_path).split() == ["11", "1", "0"]


def test_compiling_takes_time_and_loading_what_is_compiled_takes_none(tmp_path: Path) -> None:
    write_modules(tmp_path, "x + 1")
    with (tmp_path / "caller.py").open("a") as program:
        program.write("from toledo.compiled.kernels import compilation_seconds\nprint(compilation_seconds())\n")
    assert float(run_caller(tmp_path).split()[-1]) > 0.0
    assert float(run_caller(tmp_path).split()[-1]) == 0.0


def test_compiling_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = _Compilation()
    compilation.seconds = 4.0
    monkeypatch.setattr("toledo.compiled.kernels.compilation", compilation)
    monkeypatch.setattr("toledo.compiled.kernels.time.process_time", lambda: 10.0)
    assert working_seconds() == 6.0


def test_callees_are_compiled_within_the_time_of_their_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([5.0, 6.0, 8.0, 9.0, 50.0, 51.0])
    monkeypatch.setattr("toledo.compiled.kernels.time.thread_time", lambda: next(moments))
    compilation = _Compilation()
    for happens in ("begins", "begins", "ends", "ends", "begins", "ends"):
        getattr(compilation, happens)()
    assert compilation.seconds == 5.0
