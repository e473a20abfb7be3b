"""The page on the paper names what exists: conditions of the experiment, options of the command, its figure."""

import re
import runpy
from pathlib import Path

import pytest

from toledo.cli.app import make_app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "max-expected-bleu.md"


def test_what_the_page_names_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "experiments")  # where the script finds its neighbors
    text = PAGE.read_text(encoding="utf-8")
    conditions = runpy.run_path(str(ROOT / "experiments" / "max_expected_bleu.py"))["CONDITIONS"]
    (given,) = re.findall(r'--conditions "([^"]*)"', text)
    for name in given.split(";"):
        assert name in conditions
    (command,) = re.findall(r"^toledo refine (.*)$", text, re.MULTILINE)
    arguments = make_app(["refine"])["refine"].assemble_argument_collection()
    options = {name for one in arguments for name in one.parameter.name or ()}
    assert set(re.findall(r"--[a-z-]+", command)) <= options
    for figure in re.findall(r"\]\((\.\./figures/[^)]*)\)", text):
        assert (PAGE.parent / figure).is_file()
