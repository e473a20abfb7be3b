"""The pages of docs/api are what the docstrings give today."""

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def make_api() -> ModuleType:
    specification = importlib.util.spec_from_file_location("make_api", ROOT / "docs" / "make_api.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date(make_api: ModuleType) -> None:
    texts = make_api.pages()
    assert {path.name for path in make_api.TARGET.iterdir()} == set(texts)
    old = [name for name, text in texts.items() if (make_api.TARGET / name).read_text(encoding="utf-8") != text]
    assert not old, "make docs, and commit docs/api"


def test_all_exported_names_are_there(make_api: ModuleType) -> None:
    for name, (_, modules) in make_api.PAGES.items():
        shown = re.findall(r"^### `(\w+)`$", make_api.pages()[f"{name}.md"], re.MULTILINE)
        for module in modules.split():
            exported = make_api.exported(make_api.parsed(module)) or []
            found = importlib.import_module(f"toledo.{module}")
            missing = [one for one in exported if one not in shown and callable(getattr(found, one))]
            assert all(getattr(getattr(found, one), "__module__", "typing") == "typing" for one in missing)


def test_a_signature_is_as_in_the_source(make_api: ModuleType) -> None:
    text = make_api.pages()["forest.md"]
    assert "k_best(" in text
    assert "### `viterbi`" in text


def test_what_markdown_would_change_is_escaped(make_api: ModuleType) -> None:
    assert make_api.escape("a *star and <s> but `*args`") == "a \\*star and \\<s> but `*args`"
    assert make_api.broken("f(a: dict[str, int] = {}, b: int) → None") == (
        "f(\n    a: dict[str, int] = {},\n    b: int,\n) → None"
    )
