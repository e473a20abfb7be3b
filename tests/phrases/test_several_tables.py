"""Several phrase tables in one: by hand, and against plain dictionaries."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from several_twin import Content, tables_of, united_model
from small_models import small_model
from small_tables import content_of, entries, make_table

from toledo.errors import InputError
from toledo.model import PhraseModel
from toledo.phrases.pruning import filter_for
from toledo.phrases.several import (
    fill_up,
    interpolate_tables,
    interpolation_weights,
    part_of,
    recoded,
    rows_in,
    unite,
    without_repetition,
)
from toledo.phrases.table import LOWEST_SCORE, PhraseTable
from toledo.text.corpus import Sentences

FIRST: Content = {
    (("das",), ("the",)): (-0.5, -1.0, -1.5, -2.0),
    (("das",), ("that",)): (-1.0, -1.0, -1.0, -1.0),
    (("haus",), ("house",)): (-0.1, -0.2, -0.3, -0.4),
}
SECOND: Content = {
    (("das",), ("the",)): (-3.0, -3.5, -4.0, -4.5),
    (("ist",), ("is",)): (-0.6, -0.7, -0.8, -0.9),
    (("das", "haus"), ("the", "house")): (-0.2, -0.2, -0.2, -0.2),
    (("das", "haus", "ist"), ("it", "is")): (-0.3, -0.3, -0.3, -0.3),
}
ZERO = (0.0,) * 4


def rows(table: PhraseTable) -> list[tuple[str, str, tuple[float, ...]]]:
    return sorted(
        (" ".join(pair.source), " ".join(pair.target), tuple(round(value, 4) for value in pair.scores.values()))
        for pair in table
    )


def test_either_by_hand() -> None:
    """A pair of both tables is there twice; each has 0 for the scores of the other table."""
    table = unite(tables_of([FIRST, SECOND]))
    assert table.feature_names[4:] == (
        "phrase.backward.1", "lexicon.backward.1", "phrase.forward.1", "lexicon.forward.1",
    )  # fmt: skip
    assert rows(table) == sorted(
        [
            ("das", "the", (-0.5, -1.0, -1.5, -2.0, *ZERO)),
            ("das", "the", (*ZERO, -3.0, -3.5, -4.0, -4.5)),
            ("das", "that", (-1.0, -1.0, -1.0, -1.0, *ZERO)),
            ("haus", "house", (-0.1, -0.2, -0.3, -0.4, *ZERO)),
            ("ist", "is", (*ZERO, -0.6, -0.7, -0.8, -0.9)),
            ("das haus", "the house", (*ZERO, -0.2, -0.2, -0.2, -0.2)),
            ("das haus ist", "it is", (*ZERO, -0.3, -0.3, -0.3, -0.3)),
        ]
    )


@pytest.mark.parametrize(
    ("longest", "expected"), [(1, {"ist"}), (2, {"ist", "das haus"}), (9, {"ist", "das haus", "das haus ist"})]
)
def test_back_off_by_hand(longest: int, expected: set[str]) -> None:
    """The second table is used for source phrases of up to so many words that the first lacks."""
    table = unite(tables_of([FIRST, SECOND]), [0, longest])
    origin = {(source, target): values[:4] != ZERO for source, target, values in rows(table)}
    assert {source for (source, _), own in origin.items() if not own} == expected
    assert {pair for pair, own in origin.items() if own} == {("das", "the"), ("das", "that"), ("haus", "house")}
    assert [part.back_off for part in table.parts] == [0, longest]


def test_fill_up_by_hand() -> None:
    """The scores of the first table that has a pair; the last feature is 1 for pairs of the second."""
    table = fill_up(tables_of([FIRST, SECOND]))
    assert table.feature_names[4:] == ("phrase.filled.1",)
    assert not table.parts
    assert rows(table) == sorted(
        [
            ("das", "the", (-0.5, -1.0, -1.5, -2.0, 0.0)),
            ("das", "that", (-1.0, -1.0, -1.0, -1.0, 0.0)),
            ("haus", "house", (-0.1, -0.2, -0.3, -0.4, 0.0)),
            ("ist", "is", (-0.6, -0.7, -0.8, -0.9, 1.0)),
            ("das haus", "the house", (-0.2, -0.2, -0.2, -0.2, 1.0)),
            ("das haus ist", "it is", (-0.3, -0.3, -0.3, -0.3, 1.0)),
        ]
    )


def test_linear_interpolation_by_hand() -> None:
    """Σ λ p, where p is 0 for a pair that a table lacks; each score has weights of its own."""
    weights = np.array([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0], [0.1, 0.9]])
    found = {
        (source, target): values
        for source, target, values in rows(interpolate_tables(tables_of([FIRST, SECOND]), weights))
    }
    assert len(found) == 6
    both = [
        math.log(0.5 * math.exp(-0.5) + 0.5 * math.exp(-3.0)),
        math.log(0.25 * math.exp(-1.0) + 0.75 * math.exp(-3.5)),
        -1.5,
        math.log(0.1 * math.exp(-2.0) + 0.9 * math.exp(-4.5)),
    ]
    assert found["das", "the"] == pytest.approx(both, abs=1e-4)
    one = [math.log(0.5) - 0.6, math.log(0.75) - 0.7, LOWEST_SCORE, math.log(0.9) - 0.9]
    assert found["ist", "is"] == pytest.approx(one, abs=1e-4)


@given(st.lists(entries, min_size=2, max_size=3), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_united_tables_hold_what_they_held(contents: list[Content], lengths: list[int]) -> None:
    back_off = [0, *lengths[1 : len(contents)]]
    table = unite(tables_of(contents), back_off)
    known: set[tuple[str, ...]] = set()
    for number, (content, longest) in enumerate(zip(contents, back_off, strict=True)):
        used = {
            pair: scores
            for pair, scores in content.items()
            if not longest or (pair[0] not in known and len(pair[0]) <= longest)
        }
        assert content_of(part_of(table, number)) == used
        known |= {source for source, _ in used}
    assert without_repetition(table).pairs.origin is None
    assert len(without_repetition(table)) == len({(pair.source, pair.target) for pair in table})
    if len(table):
        np.testing.assert_array_equal(rows_in(table, table.pairs), np.arange(len(table)))


@given(st.lists(entries, min_size=3, max_size=3))
def test_uniting_step_by_step_is_uniting_at_once(contents: list[Content]) -> None:
    tables = tables_of(contents)
    assert rows(unite([unite(tables[:2]), tables[2]])) == rows(unite(tables))
    assert unite([unite(tables[:2], [0, 2]), tables[2]], [0, 1]).parts == unite(tables, [0, 2, 1]).parts


@given(st.lists(entries, min_size=2, max_size=4))
def test_fill_up_takes_the_first_table_that_has_a_pair(contents: list[Content]) -> None:
    expected = {}
    for number, content in reversed(list(enumerate(contents))):
        filled = tuple(float(number == k) for k in range(1, len(contents)))
        expected |= {pair: (*scores, *filled) for pair, scores in content.items()}
    assert content_of(fill_up(tables_of(contents))) == expected


def test_orientations_are_those_of_the_first_table_that_has_the_pair() -> None:
    with_orientations, without = make_table(FIRST, reordering=True), make_table(SECOND)
    vocabularies = without.source_vocabulary, without.target_vocabulary
    for order in (1, -1):
        table = unite([without, recoded(with_orientations, *vocabularies)][::order])
        assert table.reordering is not None
        theirs = {(pair.source, pair.target): list(pair.scores.values())[4:] for pair in with_orientations}
        for pair in table:
            own = list(pair.scores.values())[8:]
            assert own == pytest.approx(theirs.get((pair.source, pair.target), [-math.log(3)] * 6))


def test_links_stay_with_their_pairs_and_filtering_keeps_tables() -> None:
    table = unite(tables_of([FIRST, SECOND]))
    assert all(pair.alignment == ((0, 0),) for pair in table)
    text = table.source_vocabulary.ids(["das"])
    small = filter_for(table, Sentences.from_lengths(text, np.array([1])))
    assert (len(small), small.parts) == (3, table.parts)
    assert small.pairs.origin is not None
    assert sorted(small.pairs.origin.tolist()) == [0, 0, 1]


def test_the_weights_of_interpolation_are_the_best() -> None:
    """Against a general optimizer, for each score; pairs that no table has do not count."""
    random = np.random.default_rng(4)
    pairs = [((a,), (b,)) for a in "abcd" for b in "xyz"]
    contents = [
        {pair: tuple(np.log(random.random(4)).tolist()) for pair in pairs if random.random() < 0.7} for _ in range(3)
    ]
    tables = tables_of(contents)
    tuning = recoded(
        make_table(dict.fromkeys([*pairs, (("q",), ("x",))], (0.0,) * 4)),
        tables[0].source_vocabulary,
        tables[0].target_vocabulary,
    )
    counts = random.integers(1, 9, len(tuning)).astype(np.float32)
    found = interpolation_weights(tables, replace(tuning.pairs, joint_counts=counts))
    seen = [(pair.source, pair.target) for pair in tuning]
    for score in range(4):
        p = np.array([[math.exp(one[pair][score]) if pair in one else 0.0 for pair in seen] for one in contents])
        known = p.any(axis=0)

        def entropy(logits: np.ndarray, p: np.ndarray = p, known: np.ndarray = known) -> float:
            weights = np.exp(logits) / np.exp(logits).sum()
            return float(-(counts[known] * np.log(weights @ p[:, known])).sum() / counts[known].sum())

        best = minimize(entropy, np.zeros(3)).fun
        assert entropy(np.log(found[score])) == pytest.approx(best, abs=1e-4)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_what_does_not_fit_together_is_refused() -> None:
    first, second = tables_of([FIRST, SECOND])
    with pytest.raises(ValueError, match="same vocabularies"):
        unite([first, make_table(SECOND)])
    for combine in (fill_up, lambda tables: interpolate_tables(tables, np.full((4, 2), 0.5))):
        with pytest.raises(InputError, match="needs the same scores") as caught:
            combine([first, replace(second, feature_names=("a", "b", "c", "d"))])
        assert caught.value.remedy
        with pytest.raises(InputError, match="table 0 unites several"):
            combine([unite([first, second]), second])
    with pytest.raises(ValueError, match="add up to 1"):
        interpolate_tables([first, second], np.full((4, 2), 0.4))
    with pytest.raises(InputError, match="no phrase table has"):
        interpolation_weights(
            [first, second],
            recoded(make_table({(("x",), ("y",)): ZERO}), first.source_vocabulary, first.target_vocabulary).pairs,
        )


def test_a_model_of_several_tables_is_saved(tmp_path: Path) -> None:
    model = united_model([FIRST, SECOND], [0, 2], (2, 3), [0.3, 0.2])
    model.save(tmp_path / "model")
    back = PhraseModel.load(tmp_path / "model")
    assert rows(back.table) == rows(model.table)
    assert (back.table.parts, back.feature_names) == (model.table.parts, model.feature_names)
    assert back.signature == model.signature
    assert "pairs:3+2|" in back.signature
    assert (
        "format = 2" in (tmp_path / "model" / "model.toml").read_text()
    )  # older versions say that they cannot read it


def test_a_model_of_one_table_is_what_it_was(tmp_path: Path) -> None:
    """Older versions read it, and models that they wrote are read."""
    small_model().save(tmp_path / "model")
    text = (tmp_path / "model" / "model.toml").read_text()
    assert "format = 1" in text
    assert "tables" not in text
    assert not list((tmp_path / "model").glob("*origin*"))
    assert PhraseModel.load(tmp_path / "model").table.pairs.origin is None


def test_damaged_arrays_are_refused() -> None:
    table = unite(tables_of([FIRST, SECOND]))
    arrays, vocabularies = table.to_arrays(), (table.source_vocabulary, table.target_vocabulary)
    for origin in (None, arrays["origin"] * 0, arrays["origin"] + np.uint8(1), arrays["origin"].astype(np.int64)):
        changed = {name: array for name, array in {**arrays, "origin": origin}.items() if array is not None}
        with pytest.raises(InputError, match="damaged"):
            PhraseTable.from_arrays(changed, *vocabularies, table.feature_names, table.parts)
    with pytest.raises(InputError, match="damaged"):
        PhraseTable.from_arrays(arrays, *vocabularies, table.feature_names)
