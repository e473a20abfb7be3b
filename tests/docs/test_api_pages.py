"""The pages of docs/api are what the docstrings give today, and have every name that `import toledo` gives."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import toledo

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


def test_every_exported_name_is_there_once(make_api: ModuleType) -> None:
    texts = make_api.pages()
    names = [name for name in toledo.__all__ if name != "__version__"]
    shown = [name for text in texts.values() for name in re.findall(r"^## `(\w+)`$", text, re.MULTILINE)]
    assert sorted(shown) == sorted(names)
    assert set(re.findall(r"\[`(\w+)`\]", texts["index.md"])) == set(names)


def test_the_reference_is_short(make_api: ModuleType) -> None:
    assert sum(len(text.split()) for text in make_api.pages().values()) < 9800


def test_names_are_described(make_api: ModuleType) -> None:
    for name, module in make_api.exports().items():
        assert make_api.resolve(module, name) is not None, name
    text = make_api.pages()["choosing.md"]
    assert "choose(\n    samples: Sequence[Sample],\n" in text
    assert "class MBR(" in text
    assert re.search(r"^- `corpus_score\(hypotheses, references=?.*\) -> Score`: ", text, re.MULTILINE)


def test_a_name_is_found_where_it_is_defined(make_api: ModuleType, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "__init__.py").write_text('_MODULES = {"front": "Thing call things", "lost": "lost"}\n')
    (tmp_path / "front.py").write_text(
        "from toledo.back import Other as Thing, call\n"
        "class Kinds:\n    'All kinds.'\n    def add(self, name: str): 'Add one.'\n"
        "things = Kinds()\n"
    )
    (tmp_path / "lost.py").write_text("def lost(a: int = 1) -> str:\n    'Return what is lost.'\n")
    (tmp_path / "back.py").write_text(
        "class Base:\n    def first(self): 'Do it.'\n"
        "class Other(Base):\n    'Be other.'\n    size: Annotated[int, Meta(ge=1, description='How large.')] = 3\n"
        "def call(x): 'Call x.'\n"
    )
    monkeypatch.setattr(make_api, "PACKAGE", tmp_path)
    texts = make_api.pages()
    assert set(texts) == {"index.md", "other.md"}  # modules that no page lists go to the last one
    assert "class Thing(Base):\n    size: int = 3  # How large." in texts["other.md"]
    assert "- `first()`: Do it." in texts["other.md"]
    assert "things: Kinds\n```\n\nAll kinds.\n\n- `add(name)`: Add one." in texts["other.md"]
    assert "lost(a=1) -> str\n```\n\nReturn what is lost." in texts["other.md"]
    assert "call(x)\n```\n\nCall x." in texts["other.md"]


def test_what_markdown_would_change_is_escaped(make_api: ModuleType) -> None:
    assert make_api.escape("a *star and <s> but `*args`") == "a \\*star and \\<s> but `*args`"
    assert make_api.broken("f(a: dict[str, int] = {}, b: int) -> None") == (
        "f(\n    a: dict[str, int] = {},\n    b: int,\n) -> None"
    )
