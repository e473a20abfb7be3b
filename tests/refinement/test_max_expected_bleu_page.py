"""The page on the paper names what exists: conditions of the experiment, options of the command, its figure."""

import re
from pathlib import Path

from toledo.cli.app import make_app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "papers" / "max-expected-bleu.md"


def test_what_the_page_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    program = (ROOT / "experiments" / "max_expected_bleu.py").read_text(encoding="utf-8")
    for name in ("phrase, own text", "phrase, lattices"):
        assert f"`{name}`" in text
        assert f'"{name}"' in program
    (command,) = re.findall(r"^toledo refine (.*)$", text, re.MULTILINE)
    arguments = make_app(["refine"])["refine"].assemble_argument_collection()
    options = {name for one in arguments for name in one.parameter.name or ()}
    assert set(re.findall(r"--[a-z-]+", command)) <= options
    for figure in re.findall(r"\]\((\.\./figures/[^)]*)\)", text):
        assert (PAGE.parent / figure).is_file()
