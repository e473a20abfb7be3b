"""Every command in README and docs is one that exists, and every page with commands has a test that runs them."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from cyclopts import App

from toledo.cli.app import COMMANDS, HYPHEN, make_app

ROOT = Path(__file__).parents[2]
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - {*(ROOT / "docs" / "api").iterdir()})
DATA = re.compile(r"\$\w+")  # real data beside the checkout: minutes, so these commands are only read
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
ELSEWHERE = {"--editable", "--index-url", "--data-binary"}  # options of pip and curl

# Which test runs the commands and the Python of a page.
TESTS = {
    "README.md": "tests/test_readme.py",
    "docs/combination.md": "tests/combination/test_combination_page.py",
    "docs/choosing.md": "tests/consensus/test_choosing_page.py",
    "docs/document-models.md": "tests/search/document/test_document_models_page.py",
    "docs/documents.md": "tests/search/test_documents_page.py",
    "docs/example-data.md": "tests/sample/test_example_data_page.py",
    "docs/extending.md": "tests/docs/test_extending_page.py",
    "docs/formats.md": "tests/docs/test_new_users_pages.py",
    "docs/llm.md": "tests/docs/test_new_users_pages.py",
    "docs/build.md": "tests/docs/test_new_users_pages.py",
    "docs/quick-start.md": "tests/docs/test_new_users_pages.py",
    "docs/evaluation.md": "tests/metrics/test_evaluation_page.py",
    "docs/significance.md": "tests/metrics/test_evaluation_page.py",
    "docs/forests.md": "tests/forest/test_forests_page.py",
    "docs/kernels.md": "tests/api/test_warm_up.py",
    "docs/language-models.md": "tests/language_model/test_language_models_page.py",
    "docs/objectives.md": "tests/objectives/test_objectives_page.py",
    "docs/papers/cobleu.md": "tests/tuning/test_cobleu_page.py",
    "docs/papers/documents.md": "tests/tuning/test_documents_tuning_page.py",
    "docs/papers/minimum-risk.md": "tests/tuning/test_minimum_risk_page.py",
    "docs/phrase-tables.md": "tests/phrases/test_phrase_tables_page.py",
    "docs/rare-words.md": "tests/phrases/test_rare_words_page.py",
    "docs/recipes/fast-align.md": "tests/docs/test_recipes.py",
    "docs/recipes/kenlm.md": "tests/docs/test_recipes.py",
    "docs/recipes/moses.md": "tests/docs/test_recipes.py",
    "docs/recipes/neural-metrics.md": "tests/docs/test_recipes.py",
    "docs/recipes/sacrebleu.md": "tests/docs/test_recipes.py",
    "docs/report.md": "tests/reports/test_report_page.py",
    "docs/serve.md": "tests/serve/test_serve_page.py",
    "docs/refine.md": "tests/refinement/test_refine_page.py",
    "docs/reranking.md": "tests/reranking/test_reranking_page.py",
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
    return re.findall(r"^(?: *|    \$ )(toledo .*)", block.replace("\\\n", " "), re.MULTILINE)


def inline(text: str) -> list[str]:
    """Calls of toledo in running text."""
    return [one for one in re.findall(r"`([^`\n]+)`", text) if one.startswith("toledo ")]


def leaf(words: list[str]) -> tuple[object, list[str], list[str]]:
    """What some words call (a path, or a group of commands), its name, and what is left of the words."""
    known: object = {name: target for commands in COMMANDS.values() for name, target in commands.items()}
    place = 0
    while place < len(words) and isinstance(known, dict) and words[place] in known:
        known, place = known[words[place]], place + 1
    return known, words[:place], words[place:]


@cache
def options(*command: str) -> frozenset[str]:
    """All options of a command."""
    app: App = make_app([*command])
    for word in command:
        app = app[word]
    collection = app.assemble_argument_collection(parse_docstring=False)
    return frozenset(name for argument in collection for name in argument.names) | {"--help", "-h"}


def words_of(line: str) -> list[str]:
    """Words without redirections; variables of the shell stand for a number or a path."""
    return shlex.split(re.split(r" [<>|;] ?| #|; do", re.sub(r"\$\w+", "1", line.replace("…", "")))[0])[1:]


def check(line: str) -> None:
    """Check a command in running text, where operands may be missing: its name and its options."""
    target, command, words = leaf(words_of(line))
    if isinstance(target, dict):  # a group; the next word may name some of its commands
        names = re.split(r"[|,]", words[0]) if words else []
        assert all(name in target for name in names if not name.startswith("-")), line
        return
    named = {word for word in words if re.match(r"--?[a-z]", word)}
    assert not named or named <= options(*command), line


def parse(line: str) -> None:
    """Parse a command of a block: options, their values, and what is required."""
    words = words_of(line)
    if "--help" not in words:
        make_app(words).parse_args(
            [HYPHEN if one == "-" else one for one in words], exit_on_error=False, print_error=False
        )


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for read, lines in ((parse, [line for block in blocks(text) for line in shown(block)]), (check, inline(text))):
        for line in lines:
            try:
                read(line)
            except Exception as error:
                pytest.fail(f"{line}: {error}")


def test_commands_in_the_table_of_formats_exist() -> None:
    """There they stand without `toledo`."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    names = "|".join(name for commands in COMMANDS.values() for name in commands)
    found = re.findall(rf"`((?:{names})(?: [^`\n]*)?)`", text)
    assert len(found) > 30
    for one in inline("".join(f"`toledo {line}`" for line in found)):
        check(one)


def test_every_page_with_commands_is_run() -> None:
    for page in PAGES:
        here = [block for block in blocks(page.read_text(encoding="utf-8")) if not DATA.search(block)]
        commands = [line for block in here for line in shown(block)]
        programs = [
            block
            for block in here
            if re.search(r"^(?:    )?(?:from toledo|import (?:numpy|toledo))", block, re.MULTILINE)
        ]
        assert name_of(page) in TESTS or not commands + programs, commands + programs


def test_tests_of_pages_exist() -> None:
    for page, test in TESTS.items():
        assert (ROOT / page).is_file()
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8")


def all_options(commands: object, *words: str) -> Iterator[str]:
    if not isinstance(commands, dict):
        yield from options(*words)
        return
    for name, target in commands.items():
        yield from all_options(target, *words, name)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_options_exist(page: Path) -> None:
    known = {*(option for commands in COMMANDS.values() for option in all_options(commands)), *ELSEWHERE}
    for script in [
        *(ROOT / "experiments").glob("*.py"),
        *(ROOT / "benchmarks").glob("*.py"),
        *(ROOT / "docs").glob("*.py"),
    ]:
        known |= set(re.findall(r'"(--[a-z0-9-]+)"', script.read_text(encoding="utf-8")))
    text = page.read_text(encoding="utf-8")
    if page.parent.name == "recipes":  # the first column of their tables is about another program
        text = re.sub(r"^\|[^|]*\|", "|", text, flags=re.MULTILINE)
    assert set(OPTION.findall(text)) <= known


def with_neighbors(script: Path) -> str:
    """The source of a script and of the scripts beside it that it imports, which may have options for several."""
    source = script.read_text(encoding="utf-8")
    beside = [script.with_name(f"{name}.py") for name in re.findall(r"^(?:from|import) (\w+)", source, re.MULTILINE)]
    return "".join([source, *(one.read_text(encoding="utf-8") for one in beside if one.is_file())])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_scripts_have_the_options_that_are_named(page: Path) -> None:
    for script, line in re.findall(
        r"python ((?:experiments|benchmarks|docs)/\w+\.py)([^`\n]*)", page.read_text(encoding="utf-8")
    ):
        source = with_neighbors(ROOT / script)
        named = set(OPTION.findall(line))
        assert all(f'"{option}"' in source for option in named), f"{script}: {named}"
