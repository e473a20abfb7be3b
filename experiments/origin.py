"""Where a result comes from: the code that can change it, the data, the commit and the version.

The code of an experiment is its script and every module that the script can import, at its top or later, directly or
through others, by `import`, by `toledo.NAME` or by a reference such as "toledo.tuning.tuners.mert:MERT". Comments and
docstrings do not count, nor do modules that draw, report, compile or test, nor functions of experiments whose names
begin with `table` or `draw`: these show what is stored, and cannot change a translation.
"""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import toledo

ROOT = Path(__file__).resolve().parents[1]
DIGITS = 12  # of a hash in hexadecimal
SIGNIFICANCE = "toledo/metrics/significance"  # what is made of stored runs
NO_RESULT = (  # modules and packages that cannot change a result
    "experiments/origin.py", "experiments/stored.py", "experiments/differences.py",
    "toledo/__init__.py", "toledo/cli", "toledo/reports", "toledo/view",
    "toledo/errors.py", "toledo/progress.py", SIGNIFICANCE, "toledo/metrics/evaluation.py",
    *(f"toledo/compiled/{name}.py" for name in (
        "cache", "compiler", "instructions", "kernels", "machine_instructions", "numba_internals", "stamps",
    )),
)  # fmt: skip
REFERENCE = re.compile(r"[\w.]+(?=:\w+$)|[a-z_]\w*$")  # "toledo.module:Name", or the name of a module beside


@cache
def code_hash(script: Path) -> str:
    """The hash of all code that can change the results of a script."""
    digest = hashlib.sha256()
    for path, tree in sorted(code_of(script).items()):
        if path.parent == Path(__file__).resolve().parent:
            tree.body = [node for node in tree.body if not _shows(node)]
        digest.update(f"{path.relative_to(ROOT).as_posix()}\n{ast.unparse(_without_docstrings(tree))}\n".encode())
    return digest.hexdigest()[:DIGITS]


def code_of(script: Path) -> dict[Path, ast.Module]:
    """The script and the modules that it can reach, parsed."""
    todo, found = [script.resolve()], dict[Path, ast.Module]()
    measures = Path(SIGNIFICANCE).name == script.stem  # the experiment about the tests themselves
    while todo:
        path = todo.pop()
        own = path.relative_to(ROOT).as_posix()
        if path in found or (own.startswith(NO_RESULT) and not (measures and own.startswith(SIGNIFICANCE))):
            continue
        found[path] = ast.parse(path.read_bytes())
        todo += {file for name in _names(found[path], path) if (file := _file_of(name, path.parent))}
    return found


def _names(tree: ast.Module, path: Path) -> Iterator[str]:
    """Names of modules in a module, and of some that do not exist."""
    package = ".".join(path.parent.relative_to(ROOT).parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "toledo":
            yield f"toledo.{_exports().get(node.attr, node.attr)}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and (of := REFERENCE.match(node.value)):
            yield of[0] if "." in of[0] else f"{package}.{of[0]}"


def _file_of(name: str, beside: Path) -> Path | None:
    """The file of a module of the package, or of a script's neighbor."""
    places = [ROOT / name.replace(".", "/")] if name.startswith("toledo.") else [beside / name]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next((file.resolve() for file in files if file.is_file() and ROOT in file.resolve().parents), None)


@cache
def _exports() -> dict[str, str]:
    return {name: module for module, names in toledo._MODULES.items() for name in names.split()}


def _shows(node: ast.stmt) -> bool:
    """Whether a statement of an experiment only shows what is stored."""
    if isinstance(node, ast.ImportFrom):
        return f"experiments/{node.module}.py" in NO_RESULT
    return isinstance(node, ast.FunctionDef) and node.name.startswith(("table", "draw"))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def data_hashes(files: Iterable[Path]) -> dict[str, str]:
    """The hash of each file, by its name and that of its folder."""
    return {f"{file.parent.name}/{file.name}": _file_hash(file.resolve()) for file in sorted(files)}


@cache
def _file_hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:DIGITS]


@cache
def commit() -> str:
    """The commit that the sources come from, with + if some of them have changed since; nothing outside a checkout."""

    def git(*words: str) -> str:
        found = subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S607
        return found.stdout.strip()

    changed = git("status", "--porcelain", "--", "toledo", "experiments/*.py", "benchmarks")
    return git("rev-parse", f"--short={DIGITS}", "HEAD") + ("+" if changed else "")
