"""What `make wheels` runs to find the kernels of the documentation, without running it."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "packaging" / "build_wheels.py"


def test_the_documentation_runs_on_given_kernels_and_its_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("build_wheels", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
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
