"""Damaged files of all formats give a clear error or a forest, never anything else."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toledo.errors import InputError
from toledo.formats.forest_files import guess_format, read_forests, score_with

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.iterdir())
PIECES = st.sampled_from(
    [b"", b" ", b"\n", b"(", b")", b",", b"'", b'"', b"\\", b"|||", b" ||| ", b"=", b"-", b"0", b"9", b"1e999", b"nan",
     b"[", b"]", b"[0]", b"{", b"}", b"#", b"W=", b"J=", b"I=0", b"\xff", b"\xc3\xa4", b"\x00", b"\r", b"99999999999"]
)  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
@settings(max_examples=60)
@given(data=st.data())
def test_damage_is_named(tmp_path_factory: pytest.TempPathFactory, file: Path, data: st.DataObject) -> None:
    content = file.read_bytes()
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(content)))
        end = min(len(content), begin + data.draw(st.sampled_from([0, 0, 1, 2, 5, 1000])))
        content = content[:begin] + data.draw(PIECES) + content[end:]
    path = tmp_path_factory.mktemp("damaged") / "file"
    path.write_bytes(content)
    error = error_of(path, guess_format(file))
    if error is not None:
        assert error.file == str(path)
        assert error.remedy


def error_of(path: Path, form: str) -> InputError | None:
    try:
        for found in read_forests(path, form, model_scores=True):
            assert len(score_with(found, None)) == found.forest.edges
    except InputError as error:
        return error
    return None
