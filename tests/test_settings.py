"""Settings with ranges, and registries of things that users name."""

import importlib.metadata
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from toledo.errors import InputError, UnknownNameError
from toledo.settings import Meta, Preset, Registry, Settings, describe, parse_named


@dataclass(frozen=True)
class Knob(Settings):
    """A settings class with all kinds of fields."""

    size: Annotated[int, Meta(ge=1, le=10, description="How large.")] = 3
    share: Annotated[float, Meta(gt=0)] = 0.5
    mode: Literal["fast", "good"] = "fast"
    parts: tuple[float, ...] = ()
    limit: Annotated[float, Meta(gt=0)] | None = 30.0
    label: str | None = None


class Adapted:
    name = "adapted"

    def __init__(self, function: Any) -> None:
        self.function = function


def registry(**more: Any) -> Registry[Any]:
    return Registry("kind", {"knob": Knob, "small-knob": Preset("knob", {"size": 1}), **more}, adapt=Adapted)


def test_names_stand_for_things_with_settings() -> None:
    kinds = registry(path="fractions:Fraction")
    assert kinds.names() == ["knob", "small-knob", "path"]
    assert kinds.make("knob") == Knob()
    assert kinds.make("Knob:size=4,mode=good,parts=[1, 2.5]") == Knob(4, 0.5, "good", (1.0, 2.5))
    assert kinds.make("knob:size=4", size=5) == Knob(5)
    assert kinds.make("small_knob") == Knob(1)
    assert kinds.make("small-knob:size=2,share=0.25") == Knob(2, 0.25)
    assert kinds.make("decimal:Decimal") == 0  # an import path
    assert kinds.make(Knob) == Knob()
    assert kinds.make(Knob(7)) == Knob(7)
    assert "KNOB" in kinds
    assert "handle" not in kinds
    assert kinds.get("small-knob") is Knob


def test_none_is_a_word_only_where_a_text_is_expected() -> None:
    assert registry().make("knob:limit=none,label=none") == Knob(limit=None, label="none")
    with pytest.raises(InputError, match=r"size of kind 'knob' is 'none': expected int, got str"):
        registry().make("knob:size=none")
    with pytest.raises(InputError, match=r"limit of kind 'knob' is 'never': expected float or none, got str"):
        registry().make("knob:limit=never")


def test_functions_are_adapted_and_registered() -> None:
    kinds = registry()
    made = kinds.make(len)
    assert isinstance(made, Adapted)
    assert made.function is len
    with pytest.raises(InputError, match="has no settings"):
        kinds.make(len, size=2)

    @kinds.register("other")
    class Other:
        pass

    assert isinstance(kinds.make("other"), Other)
    with pytest.raises(InputError, match=r"kind 'Knob' is registered by toledo"):
        kinds.register("Knob", Other)


def test_unknown_names_come_with_the_nearest_known_one() -> None:
    kinds = registry()
    with pytest.raises(UnknownNameError, match=r"no kind 'knop': did you mean 'knob'\?") as error:
        kinds.make("knop")
    assert error.value.remedy == "choose from knob, small-knob (toledo list kinds)"
    with pytest.raises(UnknownNameError, match=r"no setting of kind 'knob' 'sise': did you mean 'size'\?"):
        kinds.make("knob:sise=3")
    with pytest.raises(UnknownNameError, match=r"cannot import 'nowhere:Thing'"):
        kinds.make("nowhere:Thing")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 0}, "size is 0: expected int of at least 1"),
        ({"size": 11}, "size is 11: expected int of at most 10"),
        ({"size": "3"}, "size is '3': expected int, got str"),
        ({"size": np.int64(0)}, "size is 0: expected int of at least 1"),
        ({"share": 0.0}, "share is 0.0: expected float above 0.0"),
        ({"mode": "bad"}, "mode is 'bad'"),
    ],
)
def test_values_out_of_range_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        Knob(**wrong)
    assert error.value.argument == next(iter(wrong))
    with pytest.raises(InputError, match=f"of kind 'knob' is|{message}"):
        registry().make("knob", **wrong)


def test_numbers_of_numpy_are_numbers() -> None:
    made = Knob(np.int64(4), np.float64(0.25))
    assert (made.size, type(made.size), made.share, type(made.share)) == (4, int, 0.25, float)


def test_names_are_split_from_settings() -> None:
    assert parse_named("bleu") == ("bleu", {})
    assert parse_named("package.module:Name") == ("package.module:Name", {})
    assert parse_named("a:b=1") == ("a", {"b": 1})
    assert parse_named("a:b=[c, d-e, 1],f=[]") == ("a", {"b": ["c", "d-e", 1], "f": []})
    assert parse_named("package:Name:size=2") == ("package:Name", {"size": 2})
    found = parse_named('x:a=true,b=0.5,c=[4, 2, 1],d="with, comma",e=bare,long-name=none')
    expected = {"a": True, "b": 0.5, "c": [4, 2, 1], "d": "with, comma", "e": "bare", "long_name": "none"}
    assert found == ("x", expected)
    with pytest.raises(InputError, match=r"'b' in 'x:a=1,b' is not a setting"):
        parse_named("x:a=1,b")


def test_settings_describe_themselves() -> None:
    _, default, text = describe(Knob)["size"]
    assert (default, text) == (3, "How large.")


@pytest.mark.parametrize(
    ("kind", "group"),
    [("search", "toledo.searches"), ("utility", "toledo.utilities"), ("metric", "toledo.metrics"),
     ("document model", "toledo.document_models"), ("display", "toledo.displays")],
)  # fmt: skip
def test_entry_points_add_names(kind: str, group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = importlib.metadata.EntryPoint("plugin", "decimal:Decimal", group)
    asked = []

    def found(group: str) -> list[importlib.metadata.EntryPoint]:
        asked.append(group)
        return [point]

    monkeypatch.setattr("importlib.metadata.entry_points", found)
    kinds: Registry[Any] = Registry(kind, {"knob": Knob})  # type: ignore[dict-item]
    assert kinds.names() == ["knob", "plugin"]
    assert kinds.make("plugin") == 0
    assert asked == [group]
