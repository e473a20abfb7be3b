"""What `make wheels` runs to find the kernels of the documentation, without running it, and what it uses again."""

import importlib.util
import zipfile
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "packaging" / "build_wheels.py"


@pytest.fixture
def build() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("build_wheels", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_kernels_of_the_wheel_before_are_used_again(build: Any, tmp_path: Path) -> None:
    kernels = tmp_path / "kernels"
    assert not build.unpack_earlier(tmp_path, kernels)
    assert not kernels.exists()
    for tag in (build.python_tag(), "cp399"):
        with zipfile.ZipFile(tmp_path / f"{build.PACKAGE}-1-{tag}-{tag}-any.whl", "w") as wheel:
            for name in (f"{build.PACKAGE}/toledo.a/{tag}.nbc", f"{build.PACKAGE}/__init__.py", "other/x.nbc"):
                wheel.writestr(name, "content")
    assert build.unpack_earlier(tmp_path, kernels)
    assert [path.name for path in kernels.rglob("*.*c")] == [f"{build.python_tag()}.nbc"]
    assert len([*kernels.rglob("*")]) == 2


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
