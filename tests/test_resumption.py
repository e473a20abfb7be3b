"""Which option or file differs from those of an interrupted run."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toledo.errors import InputError
from toledo.resumption import mark, plain, require_same


@dataclass(frozen=True)
class Ascent:
    steps: int = 5
    inner: object = None


@dataclass(frozen=True)
class Descent(Ascent):
    pass


@dataclass(frozen=True)
class Named:
    name: str


TWO = [*mark("a.0", "one"), *mark("a.1", "two")]


def difference(old: Any, new: Any) -> str:
    """What is told of a kept value and a new one."""
    try:
        require_same({"--of": json.loads(json.dumps(old))}, {"--of": new}, Path("work"), "the same")
    except InputError as error:
        return str(error.message)
    return ""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (20, 30, "--of was 20 and is now 30"),
        (None, 30, "--of was not given and is now 30"),
        (1, "1", "--of was 1 and is now 1"),
        (plain(Ascent()), plain(Ascent(7)), "--of: steps was 5 and is now 7"),
        (plain(Ascent()), plain(Descent(7)), "--of was Ascent and is now Descent"),
        (plain(Named("beam")), plain(Named("itg")), "--of was beam and is now itg"),
        (plain(Ascent(5, Ascent())), plain(Ascent(5, Ascent(6))), "--of: inner: steps was 5 and is now 6"),
        (TWO, [*TWO[:1], *mark("a.1", "three")], "--of changed: a.1"),
        (TWO, [*TWO[:1], *mark("b.1", "three")], "--of was a.0, a.1 and is now a.0, b.1"),
        (TWO, TWO[:1], "--of was a.0, a.1 and is now a.0"),
        (None, TWO, "--of was not given and is now a.0, a.1"),
        (mark("", 1), mark("", 2), "--of changed"),
        (mark("a.0, a.1", 1), TWO, "--of was a.0, a.1 and is now a.0, a.1"),
        ("a.0, a.1", TWO, "--of was a.0, a.1 and is now a.0, a.1"),
        ([[0.5, 1.0]], [[0.7, 1.0]], "--of was [[0.5, 1.0]] and is now [[0.7, 1.0]]"),
    ],
)
def test_a_difference_is_told_by_name(old: Any, new: Any, told: str) -> None:
    assert difference(old, new) == f"cannot go on: {told}"


def test_a_file_may_have_another_name() -> None:
    assert not difference(mark("a", "text"), mark("b", "text"))
    assert not difference(plain(Ascent()), plain(Ascent()))
