"""`toledo warm-up`: all commands with kernels, all that is registered, and what it leaves on disk."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from page_commands import run_page

import toledo
from toledo.api import warm_up as warming
from toledo.cli.app import COMMANDS
from toledo.cli.report import Command
from toledo.consensus.registry import RULES
from toledo.objectives.registry import OBJECTIVES
from toledo.search.document.models.model import MODELS
from toledo.settings import Registry
from toledo.tuning.settings import TUNERS

ROOT = Path(__file__).parents[2]
WITHOUT_KERNELS = {"text", "report", "list", "example-data", "warm-up", "serve"}  # serve compiles before it is ready
USED = {  # a package or module whose kernels each command uses
    "choose": "toledo.consensus",
    "tune-votes": "toledo.metrics.bleu",
    "evaluate": "toledo.metrics.bleu",
    "compare": "toledo.metrics.ter",
    "combine": "toledo.combination",
    "train": "toledo.phrases.extraction",
    "tune": "toledo.tuning.tuners",
    "tune-rule": "toledo.consensus",
    "refine": "toledo.refinement",
    "rerank": "toledo.reranking",
    "translate": "toledo.search.beam",
    "sample": "toledo.search.gibbs",
    "document": "toledo.search.document",
    "model": "toledo.phrases.trie",
    "export": "toledo.phrases",
    "import": "toledo.language_model.arpa",
    "build": "toledo.phrases",
    "align": "toledo.phrases.word_alignment",
    "lm": "toledo.language_model.estimate",
    "forest": "toledo.forest",
    "demo": "toledo.search.document",
}


def test_an_unknown_command_is_refused() -> None:
    with pytest.raises(toledo.UnknownNameError, match=r"no command 'chose'.*'choose'"):
        toledo.warm_up("chose")


def test_each_command_with_kernels_is_known() -> None:
    named = {name for commands in COMMANDS.values() for name in commands}
    expected = named - WITHOUT_KERNELS | {"sample"}
    assert {*warming.COMMANDS} == {*get_args(Command)} == {*USED} == expected


def own_names(*registries: Registry[Any]) -> set[str]:
    """Names without those that other tests have registered."""
    return {name for one in registries for name, owner in one._owners.items() if owner == "toledo"}


def test_all_that_is_registered_is_run() -> None:
    objectives = own_names(TUNERS, OBJECTIVES) - {"gradient"}  # what objectives are made into
    assert objectives == {*warming.OBJECTIVES}
    assert own_names(RULES) - {"rerank"} == {*warming.RULES, *warming.LIST_RULES}  # it has no kernels
    others = {"bleu", "context"}  # that of an oracle; one that needs a language model, with the kernels of all
    assert own_names(MODELS) - others == {*warming.DOCUMENT_MODELS}


def warm_up(log: Path, *commands: str, **environment: str) -> tuple[dict[str, int], list[list[str]]]:
    """Run the command in a process of its own; return the kernels of each, and where kernels came from."""
    finished = subprocess.run(
        [sys.executable, "-m", "toledo", "warm-up", *commands, "--json", "--quiet"],
        env={**os.environ, "TOLEDO_KERNELS_LOG": str(log), **environment}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    rows = json.loads(finished.stdout)["result"]["commands"]
    return {row["command"]: row["kernels"] for row in rows}, [
        line.split("\t") for line in log.read_text(encoding="utf-8").splitlines()
    ]


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, int], list[list[str]]]:
    return warm_up(tmp_path_factory.mktemp("warm-up") / "log")


def test_the_table_says_what_was_compiled(everything: tuple[dict[str, int], list[list[str]]]) -> None:
    rows, lines = everything
    assert list(rows) == list(warming.COMMANDS)
    assert sum(rows.values()) == sum(line[0] == "compiled" for line in lines)


@pytest.mark.parametrize("command", USED)
def test_each_command_has_its_kernels(everything: tuple[dict[str, int], list[list[str]]], command: str) -> None:
    assert any(module.startswith(USED[command]) for _, module, *_ in everything[1])


def test_the_page_about_kernels() -> None:
    page = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
    printed = run_page(re.sub(r"<!-- results: .*?<!-- end -->", "", page, flags=re.DOTALL))  # stored, not printed here
    assert [line.split()[0] for line in printed.splitlines()] == ["command", "choose", "evaluate", "all"]


def test_what_was_compiled_is_kept(tmp_path: Path) -> None:
    cache = {"TOLEDO_CACHE": str(tmp_path / "cache"), "TOLEDO_KERNELS": ""}
    rows, lines = warm_up(tmp_path / "first", "lm", **cache)
    assert rows["lm"] == len(lines) > 0
    assert {how for how, *_ in lines} == {"compiled"}
    assert {module for _, module, *_ in lines} == {path.name for path in (tmp_path / "cache").iterdir()}
    rows, lines = warm_up(tmp_path / "second", "lm", **cache)
    assert rows["lm"] == 0
    assert {how for how, *_ in lines} == {"kept"}
