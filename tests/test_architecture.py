"""The order of the layers, as pyproject.toml lists them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_lower_layers_do_not_import_higher_ones() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    result = subprocess.run([*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert "1 kept, 0 broken" in result.stdout
