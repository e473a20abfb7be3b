"""The pages of docs/api have every name that `import toledo` gives, and the site shows what the sources say."""

import re
from pathlib import Path

import pytest

import toledo

PAGES = sorted((Path(__file__).parents[2] / "docs" / "api").glob("*.md"))
NAMES = [name for name in toledo.__all__ if name != "__version__"]


def test_every_exported_name_is_on_one_page() -> None:
    shown = [
        name for page in PAGES for name in re.findall(r"^::: toledo\.(\w+)$", page.read_text("utf-8"), re.MULTILINE)
    ]
    assert sorted(shown) == sorted(NAMES), "list each name as `::: toledo.NAME` on one page of docs/api"


SOURCE = {
    "__init__.py": "",
    "__init__.pyi": "from small.front import Thing as Thing\n",
    "front.py": """
from typing import Annotated
from small.back import Inner, Base

def translate(text, *, size: int = 3):
    'Translate.'

class Thing(Base):
    'A thing.'
    size: Annotated[int, Meta(ge=1, description='How large.')] = 3
    @one_or_many
    @arguments_of(translate)
    def call(self, *args) -> list[str]: 'Call.'
    def hidden(self, inner: Inner): 'Take what users do not make.'
    def other(self, thing: 'Thing', count: int): 'Take another thing.'
""",
    "back.py": """
class Inner: 'Not exported.'
class Base:
    'Not exported.'
    def first(self, inner: Inner): 'Hidden, too.'
""",
}


def test_annotations_and_decorators_are_read(tmp_path: Path) -> None:
    griffe = pytest.importorskip("griffe", reason="needs the extra `site`")
    (tmp_path / "small").mkdir()
    for name, text in SOURCE.items():
        (tmp_path / "small" / name).write_text(text)
    extensions = griffe.load_extensions(str(PAGES[0].parents[1] / "api_extension.py"))
    thing = griffe.load("small", search_paths=[tmp_path], extensions=extensions, resolve_aliases=True)["Thing"]
    assert str(thing["size"].annotation) == "int"
    assert thing["size"].docstring.value == "How large."
    assert [one.name for one in thing["call"].parameters] == ["text", "size"]
    assert str(thing["call"].returns) == "str | list[str]"
    assert {name for name, one in thing.all_members.items() if one.is_function} == {"call", "other"}
