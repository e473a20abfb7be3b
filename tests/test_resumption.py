"""Saved runs: which setting differs, what is refused, and that a resumed loop ends with the same bytes."""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from toledo import storage
from toledo.errors import RunError
from toledo.objectives.cobleu import CoBLEU
from toledo.runs.checkpoint import Checkpoint, digest, plain, require_same
from toledo.runs.history import History, Round
from toledo.runs.rounds import Loop, all_done, run
from toledo.weights import Weights


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


def difference(old: Any, new: Any) -> str:
    """What is told of a kept value and a new one."""
    try:
        require_same({"of_it": json.loads(json.dumps(old))}, {"of_it": new}, Path("work"))
    except RunError as error:
        return str(error.message)
    return ""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (20, 30, "of it was 20, is 30"),
        (None, 30, "of it was not given, is 30"),
        (1, "1", "of it was 1, is 1"),
        (plain(Ascent()), plain(Ascent(7)), "of it: steps was 5, is 7"),
        (plain(Ascent()), plain(Descent(7)), "of it was Ascent, is Descent"),
        (plain(Named("beam")), plain(Named("itg")), "of it was beam, is itg"),
        (plain(Ascent(5, Ascent())), plain(Ascent(5, Ascent(6))), "of it: inner: steps was 5, is 6"),
        (digest("one"), digest("two"), "of it changed"),
        (None, digest("two"), "of it was not given, is given"),
        (digest("two"), None, "of it was given, is not given"),
        (None, plain(Named("beam")), "of it was not given, is beam"),
        ([[0.5, 1.0]], [[0.7, 1.0]], "of it was [[0.5, 1.0]], is [[0.7, 1.0]]"),
    ],
)
def test_a_difference_is_told_by_name(old: Any, new: Any, told: str) -> None:
    assert difference(old, new) == f"work: cannot resume, settings differ: {told}"


def test_equal_settings_are_equal() -> None:
    assert not difference(digest("text"), digest("text"))
    assert not difference(plain(Ascent()), plain(Ascent()))


def history() -> History:
    start = Weights({"a": 1.0, "b": 0.0}, frozenset("b"), {"a": (0.0, float("inf")), "b": (float("-inf"), 2.0)})
    one = History("tuning", "sets", "BLEU", True, 1, Round(0, dict(start), 10.0)).from_weights(start)
    return one.with_round(Round(1, {"a": 2.0, "b": 0.0}, 11.0, objective=0.5, path=(0.25, 0.5)))


def test_infinite_settings_can_be_saved(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Steep:
        steepness: float = float("inf")

    saved = Checkpoint(tmp_path / "run", {"objective": plain(Steep())}, resume=True)
    saved.save(History("tuning", "a", "BLEU", True, 1, Round(0, {}, 0.0)).to_json())
    assert saved.load("tuning", History) is not None


def test_histories_are_json_for_everybody(tmp_path: Path) -> None:
    history().save(tmp_path / "history.json")
    content = json.loads((tmp_path / "history.json").read_text(), parse_constant=pytest.fail)
    assert content["kind"] == "tuning"
    assert content["bounds"] == {"a": [0.0, None], "b": [None, 2.0]}
    assert content["rounds"][0]["norm"] == 2.0
    assert content["best"] == 1
    found = History.load(tmp_path / "history.json")
    assert found == history()
    assert found.weights(0).bounds == {"a": (0.0, float("inf")), "b": (float("-inf"), 2.0)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"rounds": [{"number": 1, "weights": {}, "score": "high"}]},
            r"Expected `float`, got `str` - at `\$.rounds\[0\]",
        ),
        ({"start": []}, r"Expected `object`, got `array` - at `\$.start`"),
        ({"format": 1}, "saved with format 1, this version reads 2"),
    ],
)
def test_damaged_histories_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    (tmp_path / "history.json").write_text(json.dumps({**history().to_json(), **change}))
    for load in (
        lambda: History.load(tmp_path / "history.json"),
        lambda: Checkpoint(tmp_path, {}, resume=True).load("tuning", History),
    ):
        with pytest.raises(RunError, match=message) as caught:
            load()
        assert caught.value.remedy
    (tmp_path / "history.json").write_text("{")
    with pytest.raises(RunError, match="not a saved run"):
        History.load(tmp_path / "history.json")


def test_unfinished_runs_are_not_replaced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint = Checkpoint(tmp_path, {"rounds": 10})
    checkpoint.save(history().to_json())
    with pytest.raises(RunError, match="holds an unfinished run") as caught:
        checkpoint.load("tuning", History)
    assert "resume=True" in str(caught.value.remedy)
    resumed = Checkpoint(tmp_path, {"rounds": 10}, resume=True)
    assert resumed.load("tuning", History) == replace(history(), configuration={"rounds": 10})
    with pytest.raises(RunError, match="settings differ: rounds was 10, is 20"):
        Checkpoint(tmp_path, {"rounds": 20}, resume=True).load("tuning", History)
    with pytest.raises(RunError, match=r"another kind \(tuning, not refinement\)"):
        resumed.load("refinement", History)
    checkpoint.save(replace(history(), stopped="weights unchanged").to_json())
    assert checkpoint.load("tuning", History) is None
    assert "replacing a finished run" in caplog.text


class Adding(Loop[float]):
    """Adds the number of each round; the third one is the last."""

    def __init__(self, fail: int = 0) -> None:
        self.fail = fail

    def first(self) -> tuple[History, float]:
        return History("tuning", "adding", "sum", True, 1, Round(0, {"a": 0.0}, 0.0)), 0.0

    def round(self, history: History, state: float) -> tuple[History, float]:
        number = len(history.rounds) + 1
        if number == self.fail:
            raise KeyboardInterrupt
        return history.with_round(Round(number, {"a": state + number}, state + number)), state + number

    def stop(self, history: History) -> str:
        return all_done(history, 3)

    def kept(self, history: History) -> list[int]:
        return [] if history.stopped or not history.rounds else [len(history.rounds)]

    def save(self, state: float, directory: Path) -> None:
        storage.save(directory, "state.toml", {"sum": state}, {})

    def restore(self, history: History, place: Callable[[int], Path]) -> float:
        return float(storage.load(place(len(history.rounds)), "state.toml")[0]["sum"]) if not history.stopped else -1.0


@pytest.mark.parametrize("fail", [2, 3])
def test_the_loop_resumes_to_the_same_bytes(tmp_path: Path, fail: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    whole, total = run(Adding(), Checkpoint(tmp_path / "whole", {"a": 1}))
    assert (total, whole.stopped) == (6.0, "all rounds done (3), not converged: allow more rounds")
    assert [one.message for one in caplog.records][:1] == ["round 1: sum 0.00 → 1.00; a 1"]
    with pytest.raises(KeyboardInterrupt):
        run(Adding(fail), Checkpoint(tmp_path / "parts", {"a": 1}))
    assert [path.name for path in (tmp_path / "parts").glob("round-*")] == [f"round-{fail - 1}"]
    assert run(Adding(), Checkpoint(tmp_path / "parts", {"a": 1}, resume=True))[0] == whole
    files = [(tmp_path / name / "history.json").read_bytes() for name in ("whole", "parts")]
    assert files[0] == files[1]
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["history.json"]


def test_settings_without_a_limit_are_saved() -> None:
    """JSON has no infinity, and CoBLEU's brevity penalty has a steepness without limit."""
    saved = json.dumps(plain(CoBLEU()), allow_nan=False)
    assert json.loads(saved)["steepness"] == "inf"
