"""Reading and writing: gzip, encodings, atomicity."""

import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toledo.errors import InputError
from toledo.files import (
    atomic_directory,
    is_stream,
    read_blocks,
    read_lines,
    require_output,
    require_output_directory,
    write_lines,
)
from toledo.progress import Advance


def test_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\u0085c\x0bd\r\n\ne"
    (tmp_path / "text").write_bytes(text.encode())
    assert list(read_lines(tmp_path / "text")) == ["a\u2028b\u0085c\x0bd", "", "e"]


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path, name: str) -> None:
    write_lines(tmp_path / name, ["\ufeffeins", "\ufeffzwei"])
    assert list(read_lines(tmp_path / name)) == ["eins", "\ufeffzwei"]
    assert b"".join(read_blocks(tmp_path / name, size=4)).decode() == "eins\n\ufeffzwei\n"
    (tmp_path / "mark").write_bytes(b"\xef\xbb\xbf")
    assert list(read_blocks(tmp_path / "mark")) == []


def test_an_older_result_is_replaced_with_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    require_output_directory(tmp_path / "model", "model.toml")
    (tmp_path / "model").mkdir()
    require_output_directory(tmp_path / "model", "model.toml")
    assert not caplog.messages
    (tmp_path / "model" / "model.toml").touch()
    require_output_directory(tmp_path / "model", "model.toml")
    assert caplog.messages == [f"{tmp_path / 'model'} is there already: the new one will replace it"]


def test_streams_are_what_can_be_read_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    assert [is_stream(path) for path in ("-", tmp_path / "pipe", os.devnull)] == [True] * 3
    assert [is_stream(path) for path in (tmp_path, tmp_path / "file", tmp_path / "absent")] == [False] * 3

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    assert not is_stream(tmp_path / "file")


def test_gzip_is_recognized_by_content_and_written_by_name(tmp_path: Path) -> None:
    write_lines(tmp_path / "text.gz", ["eins", "zwei"])
    (tmp_path / "text.gz").rename(tmp_path / "packed")
    assert list(read_lines(tmp_path / "packed")) == ["eins", "zwei"]


def test_equal_content_gives_equal_gzip_bytes(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write_lines(tmp_path / name, ["eins"])
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_invalid_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1"
    path.write_bytes("gut\nschön\n".encode("latin1"))
    with pytest.raises(InputError, match="not valid UTF-8") as caught:
        list(read_lines(path))
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert "iconv" in (caught.value.remedy or "")


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"eins\n" * 1000)[:-12])
    with pytest.raises(InputError, match="damaged gzip"):
        list(read_lines(path))


def test_missing_files_and_directories_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read_lines(tmp_path / "nothing"))
    with pytest.raises(InputError, match="is a directory"):
        list(read_lines(tmp_path))
    with pytest.raises(InputError, match="no such directory"):
        write_lines(tmp_path / "nowhere" / "text", [])
    for refuse in (require_output, lambda path: write_lines(path, [])):
        with pytest.raises(InputError, match="is a directory, not a file"):
            refuse(tmp_path)


@pytest.mark.parametrize(
    ("content", "remedy"), [("a ö\n".encode("utf-16"), "iconv -f utf-16"), (b"\x7fELF\x80\0\n", "no text at all")]
)
@pytest.mark.parametrize("read", [read_lines, read_blocks])
def test_what_is_no_utf8_is_guessed(
    tmp_path: Path, content: bytes, remedy: str, read: Callable[[Path], Iterator[str | bytes]]
) -> None:
    (tmp_path / "text").write_bytes(content)
    with pytest.raises(InputError, match="not valid UTF-8") as caught:
        list(read(tmp_path / "text"))
    assert remedy in str(caught.value)


@pytest.mark.parametrize("size", [1, 4, 5, 1000])
@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_blocks_end_at_line_ends_and_report_progress(tmp_path: Path, size: int, name: str) -> None:
    lines = ["eins", "", "ein sehr langer satz", "ö", "ende"]
    write_lines(tmp_path / name, lines)
    seen: list[int] = []

    @contextmanager
    def progress(label: str, total: int) -> Iterator[Advance]:
        seen.append(-total)
        yield seen.append

    blocks = list(read_blocks(tmp_path / name, progress, size))
    assert b"".join(blocks).decode() == "".join(f"{line}\n" for line in lines)
    assert all(block.endswith(b"\n") for block in blocks)
    assert sum(seen) == 0


def interrupted_lines() -> Iterator[str]:
    yield "new"
    raise KeyboardInterrupt


def interrupted_directory(path: Path) -> None:
    with atomic_directory(path, "old") as new:
        (new / "new").touch()
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_lines(path, interrupted_lines())
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["text"]


def test_an_interrupted_directory_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(KeyboardInterrupt):
        interrupted_directory(path)
    assert [file.name for file in path.iterdir()] == ["old"]
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_directory_replaces_the_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.mkdir()
    (path / "old").touch()
    with atomic_directory(path, "old") as new:
        (new / "new").touch()
    assert [file.name for file in path.iterdir()] == ["new"]
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_what_is_not_of_the_same_kind_is_never_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "thesis"
    kept = path if kind == "file" else path / "chapter"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text("precious")
    with pytest.raises(InputError, match=r"is a file|holds other files"), atomic_directory(path, "model.toml"):
        pass
    assert kept.read_text() == "precious"
    assert [file.name for file in tmp_path.iterdir()] == ["thesis"]


def test_an_empty_directory_may_be_filled(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with atomic_directory(tmp_path / "model", "model.toml") as new:
        (new / "model.toml").touch()
    assert [file.name for file in (tmp_path / "model").iterdir()] == ["model.toml"]


def test_devices_are_written_to_directly() -> None:
    write_lines("/dev/null", ["gone"])
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["text", "text.gz"])
def test_prompt_blocks_are_the_same_lines(tmp_path: Path, name: str) -> None:
    lines = ["ä" * size for size in (0, 3, 70_000, 1, 0)]
    write_lines(tmp_path / name, lines)
    assert b"".join(read_blocks(tmp_path / name, size=1000, prompt=True)).decode() == "".join(f"{x}\n" for x in lines)


def test_a_packed_standard_input_is_unpacked() -> None:
    program = "from toledo.files import read_blocks, read_lines; print(*{}('-', **{}))"
    for reader, options, found in (
        ("read_lines", {}, "eins zwei"),
        ("read_blocks", {"prompt": True}, "b'eins\\nzwei\\n'"),
    ):
        command = [sys.executable, "-c", program.format(reader, options)]
        result = subprocess.run(command, input=gzip.compress(b"eins\nzwei\n"), capture_output=True, check=True)
        assert result.stdout.decode().strip() == found
