"""The order of the layers, as pyproject.toml lists them, and sizes that can be read."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("toledo", "tests", "benchmarks", "experiments")
LONGEST_FILE, LONGEST_FUNCTION = 500, 80


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
