"""Weights files and arrays."""

from pathlib import Path

import numpy as np
import pytest

from toledo.errors import InputError
from toledo.weights import Weights, mean_weights


def test_round_trip(tmp_path: Path) -> None:
    weights = Weights({"lm": 0.5, "word.penalty": -1.0}, frozenset({"lm"}), {"word.penalty": (-2.0, 0.0)})
    weights.save(tmp_path / "w.toml")
    assert Weights.load(tmp_path / "w.toml") == weights


def test_arrays_follow_the_order_of_names() -> None:
    assert Weights({"a": 1.0, "b": 2.0}).array(["b", "a"]).tolist() == [2.0, 1.0]
    with pytest.raises(InputError, match="no weight for c"):
        Weights({"a": 1.0}).array(["a", "c"])


def test_updates_respect_bounds_and_frozen_names() -> None:
    weights = Weights({"a": 1.0, "b": 2.0, "c": 3.0}, frozenset({"a"}), {"b": (0.0, 5.0)})
    assert dict(weights.updated(["a", "b", "d"], np.array([9.0, 9.0, 9.0]))) == {"a": 1.0, "b": 5.0, "c": 3.0, "d": 9.0}
    assert weights["b"] == 2.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lm = 1", "no table"),
        ('[weights]\nlm = "much"', "no table"),
        ("[weights]\nlm = nan", "lm is nan"),
        ("[weights]\nlm = inf", "lm is inf"),
        ("[weights]\nlm = true", "no table"),
        ('frozen = ["tm"]\n[weights]\nlm = 1', "without a weight: tm"),
        ("frozen = 3\n[weights]\nlm = 1", "not a list"),
        ("[weights]\nlm = 1\n[bounds]\nlm = 3", "no pairs"),
        ("[weights]\nlm = 1\n[bounds]\nlm = [2, 3]", "outside its bounds"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "w.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        Weights.load(path)
    assert caught.value.file == str(path)


def test_the_mean_does_not_depend_on_norms() -> None:
    one = Weights({"a": 1.0, "b": 3.0, "oov": 7.0}, frozen=frozenset({"oov"}))
    other = Weights({"a": 6.0, "b": -2.0, "oov": 7.0}, frozen=frozenset({"oov"}))
    found = mean_weights([one, other], ("a", "b", "oov"))
    assert dict(found) == pytest.approx({"a": 3.0, "b": 1.5, "oov": 7.0})  # directions (1, 3) / 4 and (6, -2) / 8
    assert found.frozen == {"oov"}
    assert dict(mean_weights([one, one], ("a", "b", "oov"))) == pytest.approx(dict(one))


def test_a_file_that_lacks_a_weight_is_named(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("[weights]\na = 1\n")
    with pytest.raises(InputError, match=r"w\.toml: no weight for b"):
        Weights.load(tmp_path / "w.toml").array(["a", "b"])
