"""The order of the layers, as pyproject.toml lists them, and sizes that can be read."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("toledo", "tests", "benchmarks", "experiments")
LONGEST_FILE, LONGEST_FUNCTION = 500, 80
MOST_FILES, MOST_LINES, MOST_PARAMETERS = 420, 78_000, 8  # what is there may fall; room for new capabilities
COMPILED = {"kernel", "inner_kernel", "inlined"}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")


def test_lower_layers_do_not_import_higher_ones() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    result = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert "1 kept, 0 broken" in result.stdout


def test_files_and_functions_are_short_or_say_why() -> None:
    """A comment behind `def NAME(` is the reason."""
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= LONGEST_FILE, path
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= LONGEST_FUNCTION:
                assert "  # " in lines[node.lineno - 1], (path, node.name)


def _modules() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted((ROOT / "toledo").rglob("*.py")):
        yield path.relative_to(ROOT / "toledo"), ast.parse(path.read_text(encoding="utf-8"))


def test_the_package_is_small() -> None:
    files = sorted((ROOT / "toledo").rglob("*.py"))
    assert len(files) <= MOST_FILES
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files) <= MOST_LINES


def test_a_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path, tree in _modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path))
    assert not {name: paths for name, paths in places.items() if len(paths) > 1}


def test_options_are_named_only_in_the_command_line() -> None:
    """Messages of the library name arguments; the command line shows them as options."""
    found = [
        (str(path), node.lineno, node.value)
        for path, tree in _modules()
        if path.parts[0] != "cli"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and OPTION.search(node.value)
    ]
    assert not found


def test_the_library_does_not_know_the_command_line() -> None:
    for path, tree in _modules():
        if path.parts[0] == "cli" or path.name == "__main__.py":
            continue
        for node in ast.walk(tree):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.startswith("toledo.cli")], path


def test_functions_have_few_parameters() -> None:
    """Kernels may have more where speed demands it; so may the verbs of the front door, which users call by name."""
    found = set()
    for path, tree in _modules():
        for node in ast.walk(tree):
            if (
                not isinstance(node, ast.FunctionDef)
                or path.parts[0] in ("cli", "api")
                or path == Path("serve/server.py")
            ):
                continue
            if {ast.unparse(one).partition("(")[0] for one in node.decorator_list} & COMPILED:
                continue
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            bound = bool(given) and given[0].arg in ("self", "cls")
            if len(given) - bound > MOST_PARAMETERS:
                found.add(f"{path}:{node.name}")
    assert found == set()
