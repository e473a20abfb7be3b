"""One name for one thing: options of the same name are alike in all commands, and each command says what it is for."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from toledo.cli.app import COMMANDS, make_app

SHORT = {  # nowhere with another meaning
    "-s": "--source",
    "-t": "--target",
    "-r": "--reference",
    "-o": "--output",
    "-m": "--metric",
    "-n": "--num-samples",
    "-l": "--language",
    "-q": "--quiet",
    "-v": "--verbose",
}
EVERYWHERE = {"--json", "--config", "--print-config", "--quiet", "--verbose"}


def commands(group: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, target in group.items():
        if isinstance(target, dict):
            yield from commands(target, (*path, name))
        else:
            yield (*path, name)


ALL = [path for group in COMMANDS.values() for path in commands(group)]


def options(path: tuple[str, ...]) -> list[tuple[str, ...]]:
    app = make_app(path)
    for name in path:
        app = app[name]
    return [tuple(one.parameter.name or ()) for one in app.assemble_argument_collection() if not one.children]


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_each_command_has_a_purpose_and_examples(path: tuple[str, ...]) -> None:
    app = make_app(path)
    for name in path:
        app = app[name]
    text = app.help
    assert text.split("\n")[0].endswith("."), text
    assert f"toledo {' '.join(path)}" in text


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_each_command_has_the_general_options(path: tuple[str, ...]) -> None:
    names = {name for one in options(path) for name in one}
    assert names >= EVERYWHERE


def test_short_forms_are_the_same_everywhere() -> None:
    used = defaultdict(set)
    for path in ALL:
        for names in options(path):
            long = [name for name in names if name.startswith("--")]
            for name in names:
                if len(name) == 2:
                    used[name].update(long[:1])
    assert {form: {option} for form, option in SHORT.items() if form in used} == dict(used)
