"""The programs in packaging/, without what takes long: what `make wheels` runs, what `make test-versions` tests."""

import importlib
import os
import re
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The program that builds wheels."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    return importlib.import_module("build_wheels")


def test_every_dependency_is_tested_in_its_oldest_and_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "packaging")
    tests = importlib.import_module("test_versions").TESTS
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    assert [*tests] == [*dict.fromkeys(re.split("[<>=;]", one)[0] for one in wanted)]
    paths = [path for paths in tests.values() for path in paths]
    assert len({*paths}) == len(paths)
    assert all((ROOT / path).exists() for path in paths)


def test_the_newest_wheel_of_kernels_for_this_python_is_found(build: Any, tmp_path: Path) -> None:
    assert build.newest_kernels(tmp_path) is None
    for number, (version, tag) in enumerate([(2, build.python_tag()), (1, build.python_tag()), (3, "cp399")]):
        wheel = tmp_path / f"{build.KERNELS}-{version}-{tag}-{tag}-any.whl"
        wheel.touch()
        os.utime(wheel, (number, number))
    assert build.newest_kernels(tmp_path).name.startswith(f"{build.KERNELS}-1-")


def test_kernels_of_the_wheel_before_are_used_again(build: Any, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    assert not build.unpack_earlier(tmp_path, kernels)
    assert not kernels.exists()
    for tag in (build.python_tag(), "cp399"):
        with zipfile.ZipFile(tmp_path / f"{build.KERNELS}-1-{tag}-{tag}-any.whl", "w") as wheel:
            for name in (f"{build.KERNELS}/toledo.a/{tag}.nbc", f"{build.KERNELS}/__init__.py", "other/x.nbc"):
                wheel.writestr(name, "content")
    assert build.unpack_earlier(tmp_path, kernels)
    assert [path.name for path in kernels.rglob("*.*c")] == [f"{build.python_tag()}.nbc"]
    assert len([*kernels.rglob("*")]) == 2


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_kernels_of_a_build_that_was_stopped_are_used_again(
    build: Any, tmp_path: Path, error: type[BaseException]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "toledo.a").mkdir(parents=True)
    (first / "toledo.a" / "kernel.nbc").write_text("content")
    with pytest.raises(error), build.kept_if_stopped(tmp_path, first):
        raise error
    assert build.unpack_earlier(tmp_path, second)
    with build.kept_if_stopped(tmp_path, second):
        assert (second / "toledo.a" / "kernel.nbc").read_text() == "content"
    assert not build.unpack_earlier(tmp_path, tmp_path / "third")


def test_the_documentation_runs_on_given_kernels_and_its_log_is_read(
    build: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run(python: Path, *arguments: str, **environment: str) -> str:
        if arguments[0] == "-m":
            seen.append((arguments[1:3], environment))
            with open(environment["TOLEDO_KERNELS_LOG"], "a", encoding="utf-8") as log:
                log.write("compiled\ttoledo.a\tkernel\t(int64,)\t\ncompiled\ttests.b\tkernel\t(int64,)\t\n")
        return "tests/test_readme.py"

    monkeypatch.setattr(build, "PLACE", tmp_path)
    monkeypatch.setattr(build, "run", run)
    lines = build.run_documentation(Path("python"), TOLEDO_KERNELS="", **build.FOR_ALL, **build.COMPILED)
    assert [command for command, _ in seen] == [("toledo", "warm-up"), ("toledo", "demo"), ("pytest", "-p")]
    assert all(environment.items() >= {**build.FOR_ALL, **build.COMPILED}.items() for _, environment in seen)
    assert lines == [["compiled", "toledo.a", "kernel", "(int64,)", ""]] * 3
