"""Which sentence pairs are fit for training, and the report."""

import pytest

from toledo.text.cleaning import Cleaner, unfit
from toledo.text.settings import Cleaning


@pytest.mark.parametrize(
    ("source", "target", "reason"),
    [
        ("a b", "c", ""),
        ("", "c", "empty"),
        ("a b c d e f", "c d e", "long"),
        ("a b c", "d", "ratio"),
        ("<s>", "a", "reserved"),
    ],
)
def test_reasons(source: str, target: str, reason: str) -> None:
    assert unfit(source, target, Cleaning(min_length=1, max_length=5, ratio=2.0)) == reason


PAIRS = [
    ("Ein Haus.", "A house."),
    ("Это русское предложение.", "This is Russian."),
    ("Ein Haus.", "A house."),
    ("Ein α.", "An α."),
    ("Der Satz", "これは日本語です。"),
    ("12345", "12345"),
]


def kept(settings: Cleaning) -> tuple[list[bool], Cleaner]:
    cleaner = Cleaner(settings)
    return list(cleaner.clean((pair, pair) for pair in PAIRS)), cleaner


def test_duplicates_and_other_scripts_go() -> None:
    """A letter of another script does not matter, nor does text without letters; most of them do."""
    keep, cleaner = kept(Cleaning())
    assert keep == [True, False, False, True, False, True]
    report = cleaner.report
    assert (report.pairs, report.kept, report.dropped) == (6, 3, {"script": 2, "duplicate": 1})
    assert report.examples["duplicate"] == ((3, "Ein Haus.", "A house."),)
    assert report.to_table()["settings"]["ratio"] == 9.0
    assert str(report).splitlines()[0] == "cleaning: kept 3 of 6 sentence pairs (2 in another script, 1 repeated)"


def test_settings_keep_them() -> None:
    assert kept(Cleaning(any_script=True))[0] == [True, True, False, True, True, True]
    assert all(kept(Cleaning(any_script=True, keep_duplicates=True))[0])
