"""Run the tests on each Python at hand, with the oldest dependencies that pyproject.toml allows and with the newest.

    python packaging/test_versions.py
    python packaging/test_versions.py --python python3.13 --dependencies oldest tests/formats
    python packaging/test_versions.py --full

Without arguments it runs tests that use every dependency, in some minutes for each environment. Environments are made
anew in build/versions. At the end a table says what ran.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
from pathlib import Path

from environments import PYTHONS, ROOT, at_hand, fresh, uv

TESTS = {  # by what they use of each dependency; none needs the kernels of training, tuning or search
    "numpy": ("tests/test_storage.py", "tests/test_sorting.py", "tests/test_sums.py", "tests/consensus/test_mbr.py"),
    "scipy": (
        "tests/metrics/test_score_significance.py", "tests/phrases/test_significance.py", "tests/tuning/test_lbfgs.py",
        "tests/search/document/test_semantic_space.py",
    ),
    "numba": (
        "tests/compiled/test_numba_internals.py", "tests/compiled/test_shipped_kernels.py", "tests/test_kernels.py",
        "tests/test_hashing.py",
    ),
    "sacrebleu": ("tests/metrics/test_bleu.py", "tests/metrics/test_chrf.py", "tests/metrics/test_ter.py"),
    "sacremoses": ("tests/test_preparation.py", "tests/test_text.py", "tests/combination/test_truecasing.py"),
    "snowballstemmer": ("tests/combination/test_alignment.py",),
    "rich": ("tests/cli/test_app.py",),
    "tomli-w": ("tests/test_weights.py", "tests/consensus/test_votes.py"),
    "msgspec": ("tests/test_settings.py", "tests/formats/test_jsonl.py", "tests/formats/test_list_files.py"),
    "cyclopts": ("tests/cli/test_option_names.py", "tests/cli/test_choose.py", "tests/cli/test_evaluate.py"),
    "lxml": ("tests/formats/test_nist_xml.py", "tests/formats/test_pairs.py"),
    "starlette": ("tests/serve/test_service.py", "tests/serve/test_hostile.py"),
    "uvicorn": ("tests/serve/test_security.py", "tests/serve/test_limits.py"),
}  # fmt: skip
TYPED = "tests/api/test_front_door.py::test_the_examples_are_typed"  # type annotations of old packages are other ones
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
VERSIONS = """
import json, platform, sys
from importlib.metadata import version
print(json.dumps({"python": platform.python_version(), **{name: version(name) for name in sys.argv[1:]}}))
"""


def main() -> None:
    """Run what was asked for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="files or folders of tests, in place of the usual ones")
    parser.add_argument("--full", action="store_true", help="run all tests")
    parser.add_argument("--python", action="append", help="interpreter; may be repeated")
    parser.add_argument("--dependencies", choices=[*RESOLUTIONS], help="only these")
    options = parser.parse_args()
    tests = options.tests or (["tests"] if options.full else [path for paths in TESTS.values() for path in paths])
    rows = []
    for python in at_hand(options.python or PYTHONS):
        for kind in [options.dependencies] if options.dependencies else RESOLUTIONS:
            rows.append(run_tests(environment(python, kind), kind, tests))
            print(json.dumps(rows[-1]), flush=True)
    print(table(rows))
    if not rows or any(row["exit code"] for row in rows):
        raise SystemExit(1)


def environment(python: Path, kind: str) -> Path:
    """Install Toledo with the dependencies of this kind, then tools for tests that leave them as they are."""
    folder = ROOT / "build" / "versions" / f"{python.name}-{kind}"
    interpreter = fresh(folder, python)
    chosen = folder / "dependencies.txt"
    uv(
        "pip", "compile", "--quiet", "--no-build", "--python", interpreter, "--resolution", RESOLUTIONS[kind],
        "--output-file", chosen, "pyproject.toml",
    )  # fmt: skip
    uv("pip", "install", "--quiet", "--python", interpreter, "--constraints", chosen, "--editable", ".[development]")
    return interpreter


def run_tests(python: Path, kind: str, tests: list[str]) -> dict[str, object]:
    """Return versions, how the tests ended, and their CPU time."""
    versions = json.loads(
        subprocess.run([python, "-c", VERSIONS, *TESTS], check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "--tb=short", *tests]
    if kind == "oldest":
        words += ["--deselect", TYPED]
    ended = subprocess.run(
        words, cwd=ROOT, env=os.environ | {"PYTHONPATH": ""}, stdout=subprocess.PIPE, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = ended.stdout.splitlines()
    if ended.returncode:
        print(ended.stdout)
    return {
        **versions, "dependencies": kind, "tests": lines[-1] if lines else "", "exit code": ended.returncode,
        "CPU s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime),
    }  # fmt: skip


def table(rows: list[dict[str, object]]) -> str:
    """Return the rows as a table."""
    titles = [*rows[0]] if rows else []
    lines = [titles, ["---"] * len(titles), *([str(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
