"""One name for one thing: options of the same name are alike in all commands, and each command says what it is for."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from toledo.cli.app import app

SHORT = {"--output": "-o", "--reference": "-r", "--quiet": "-q", "--language": "-l"}
ONE_HELP = (
    "--quiet",
    "--json",
    "--threads",
    "--gain",
    "--choose-scale",
    "--scales",
    "--plf-values",
    "--initial",
    "--frozen",
)


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    group = group or get_command(app)
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            yield from commands(one, (*path, name))
        else:
            yield " ".join((*path, name)), one


ALL = dict(commands())
OPTIONS = [
    (name, option, one.opts)
    for name, command in ALL.items()
    for one in command.params
    if one.param_type_name == "option"
    for option in one.opts[:1]
]


@pytest.mark.parametrize("name", ALL)
def test_each_command_has_a_purpose_and_examples(name: str) -> None:
    text = ALL[name].help or ""
    assert text.split("\n")[0].endswith((".", "?")), text
    assert f"toledo {name}" in text


def test_short_forms_are_the_same_everywhere() -> None:
    missing = [(name, option) for name, option, forms in OPTIONS if option in SHORT and SHORT[option] not in forms]
    assert not missing
    used = defaultdict(set)
    for _, option, forms in OPTIONS:
        for form in forms:
            if len(form) == 2:
                used[form].add(option)
    assert all(len(options) == 1 for options in used.values()), used


def test_shared_options_are_explained_in_the_same_words() -> None:
    for option in ONE_HELP:
        helps = {one.help for command in ALL.values() for one in command.params if one.opts[0] == option}
        assert len(helps) == 1, (option, helps)
