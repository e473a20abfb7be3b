"""Every command in README and docs is one that exists, and every page with commands has a test that runs them."""

import inspect
import re
import shlex
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from typer.main import get_command

from toledo.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "papers").glob("*.md")])
DATA = re.compile(r"\.\./shared|\$\w+")  # real data beside the checkout: minutes, so these commands are only read
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
ELSEWHERE = {"--editable", "--index-url"}  # options of pip

# Which test runs the commands and the Python of a page.
TESTS = {
    "README.md": "tests/test_readme.py",
    "docs/combination.md": "tests/combination/test_combination_page.py",
    "docs/consensus.md": "tests/consensus/test_mbr_page.py",
    "docs/document-models.md": "tests/search/document/test_document_models_page.py",
    "docs/documents.md": "tests/search/test_documents_page.py",
    "docs/extending.md": "tests/docs/test_extending_page.py",
    "docs/formats.md": "tests/docs/test_new_users_pages.py",
    "docs/llm.md": "tests/docs/test_new_users_pages.py",
    "docs/quick-start.md": "tests/docs/test_new_users_pages.py",
    "docs/evaluation.md": "tests/metrics/test_evaluation_page.py",
    "docs/forests.md": "tests/forest/test_forests_page.py",
    "docs/language-models.md": "tests/language_model/test_language_models_page.py",
    "docs/objectives.md": "tests/objectives/test_objectives_page.py",
    "docs/papers/cobleu.md": "tests/tuning/test_cobleu_page.py",
    "docs/papers/documents.md": "tests/tuning/test_documents_tuning_page.py",
    "docs/papers/minimum-risk.md": "tests/tuning/test_minimum_risk_page.py",
    "docs/phrase-tables.md": "tests/phrases/test_phrase_tables_page.py",
    "docs/report.md": "tests/reports/test_report_page.py",
    "docs/refine.md": "tests/refinement/test_refine_page.py",
    "docs/sample.md": "tests/sample/test_sample_page.py",
    "docs/sampling.md": "tests/search/test_sampling_page.py",
    "docs/training.md": "tests/test_readme.py",
    "docs/translation.md": "tests/test_readme.py",
    "docs/tuning.md": "tests/tuning/test_loop_page.py",
    "docs/word-alignment.md": "tests/phrases/test_word_alignment_page.py",
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(text: str) -> list[str]:
    """Fenced and indented blocks."""
    return re.findall(r"^```.*?^```|(?:^    .*\n)+", text, re.MULTILINE | re.DOTALL)


def shown(block: str) -> list[str]:
    """Lines of a block that call toledo."""
    return re.findall(r"^(?: *|    \$ )(toledo .*)", block, re.MULTILINE)


def inline(text: str) -> list[str]:
    """Calls of toledo in running text; the value of the last option may be left out."""
    found = [one for one in re.findall(r"`([^`\n]+)`", text) if one.startswith("toledo ")]
    return [f"{one} VALUE" if re.search(r" --[a-z-]+$", one) else one for one in found]


def leaf(words: list[str]) -> tuple[Any, list[str]]:
    """The command that some words call, and what is left of them."""
    command: Any = get_command(app)
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, words


def check(line: str) -> None:
    """Name of the command, names of options, their number of values, and names to choose from."""
    command, words = leaf(shlex.split(re.split(r" [<>|;] ?| #|; do", line.replace("…", ""))[0])[1:])
    if hasattr(command, "commands"):
        names = re.split(r"[|,]", words[0]) if words else []
        assert all(name in command.commands for name in names if not name.startswith("-")), line
        return
    values, _, _ = command.make_parser(command.context_class(command)).parse_args(words)
    for name, kind in get_type_hints(inspect.unwrap(command.callback)).items():
        names = [one.value for part in (kind, *get_args(kind)) if isinstance(part, EnumType) for one in part]
        given = values.get(name)
        if names and isinstance(given, str):
            assert set(given.split("|")) <= set(names), line


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for line in [*(line for block in blocks(text) for line in shown(block)), *inline(text)]:
        try:
            check(line)
        except Exception as error:
            pytest.fail(f"{line}: {error}")


def test_commands_in_the_table_of_formats_exist() -> None:
    """There they stand without `toledo`."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    names = "|".join(get_command(app).commands)
    found = re.findall(rf"`((?:{names})(?: [^`\n]*)?)`", text)
    assert len(found) > 30
    for one in inline("".join(f"`toledo {line}`" for line in found)):
        check(one)


def test_every_page_with_commands_is_run() -> None:
    for page in PAGES:
        here = [block for block in blocks(page.read_text(encoding="utf-8")) if not DATA.search(block)]
        commands = [line for block in here for line in shown(block)]
        programs = [
            block for block in here if re.search(r"^(?:    )?(?:from toledo|import numpy)", block, re.MULTILINE)
        ]
        assert name_of(page) in TESTS or not commands + programs, commands + programs


def test_tests_of_pages_exist() -> None:
    for page, test in TESTS.items():
        assert (ROOT / page).is_file()
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


def all_options(command: Any) -> Iterator[str]:
    for option in command.params:
        yield from (*option.opts, *option.secondary_opts)
    for one in getattr(command, "commands", {}).values():
        yield from all_options(one)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist(page: Path) -> None:
    known = {*all_options(get_command(app)), "--help", *ELSEWHERE}
    for script in [
        *(ROOT / "experiments").glob("*.py"),
        *(ROOT / "benchmarks").glob("*.py"),
        *(ROOT / "docs").glob("*.py"),
    ]:
        known |= set(re.findall(r'"(--[a-z0-9-]+)"', script.read_text(encoding="utf-8")))
    assert set(OPTION.findall(page.read_text(encoding="utf-8"))) <= known


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_scripts_have_the_options_that_are_named(page: Path) -> None:
    for script, line in re.findall(
        r"python ((?:experiments|benchmarks|docs)/\w+\.py)([^`\n]*)", page.read_text(encoding="utf-8")
    ):
        source = (ROOT / script).read_text(encoding="utf-8")
        named = set(OPTION.findall(line))
        assert all(f'"{option}"' in source for option in named), f"{script}: {named}"
