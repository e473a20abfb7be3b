"""Derivations that Moses reports."""

from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.formats.alignments import SegmentedPhrase, read_segmentation


def test_phrases_and_spans(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("the house |0-1| is |2-2| \n\n| |0-0| a|b |1-2,wa=0-0,total=-1.5|\n", "utf-8")
    assert read_segmentation(file) == [
        [SegmentedPhrase(0, 2, ("the", "house")), SegmentedPhrase(2, 3, ("is",))],
        [],
        [SegmentedPhrase(0, 1, ("|",)), SegmentedPhrase(1, 3, ("a|b",))],
    ]


@pytest.mark.parametrize(("line", "message"), [("the house", "no source span"), ("the |3-1|", "ends before it begins")])
def test_what_is_wrong_is_said(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "lines"
    file.write_text(f"a |0-0|\n{line}\n", "utf-8")
    with pytest.raises(InputError, match=message) as error:
        read_segmentation(file)
    assert error.value.line == 2
