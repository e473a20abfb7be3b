"""Reading and writing files: gzip and standard streams are transparent, writes are atomic, errors name the line."""

from __future__ import annotations

import codecs
import gzip
import io
import logging
import os
import re
import shutil
import stat
import sys
import tomllib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from toledo.errors import InputError
from toledo.locks import partial_directory, partial_file
from toledo.progress import Advance, Progress, silent

log = logging.getLogger(__name__)

STANDARD_STREAM = "-"
BLOCK_BYTES = 1 << 22
BYTE_ORDER_MARK = codecs.BOM_UTF8  # some editors write one; it is not part of the first word
GZIP_MARK = b"\x1f\x8b"
LONGEST_LINE, LONGEST_LINE_VARIABLE = 1 << 27, "TOLEDO_LONGEST_LINE"  # bytes, and what sets another limit
MOST_BYTES = 1 << 30  # of a file that is read as a whole
DEEPEST_TOML = 100  # tables within each other; the parser takes time and memory that grow with the square
MOST_LINE = 1 << 40
NO_TEXT = "this looks like no text at all: name a text file"
LARGEST_WHOLE = (1 << 31) - 1
MOST_FILES = 3  # names in a list of texts that may be meant as files


def read_bytes_lines(path: str | Path) -> Iterator[bytes]:
    """Yield the lines of a file as valid UTF-8 bytes without line ends; `-` is standard input, `.gz` is unpacked."""
    number, most = 0, longest_line()
    try:
        with _open_for_reading(path) as stream:
            for number, line in enumerate(iter(partial(stream.readline, most + 1), b""), start=1):
                if len(line) > most:
                    raise _line_too_long(path, number, line)
                line.decode("utf-8")
                yield (line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line).rstrip(b"\r\n")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, number, error.start, error.object) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged_gzip(path, number, error) from error


def read_blocks(
    path: str | Path, progress: Progress = silent, size: int = BLOCK_BYTES, *, prompt: bool = False
) -> Iterator[bytes]:
    """Yield blocks of whole lines of valid UTF-8, about `size` bytes each, for compiled readers.

    With `prompt`, lines from a terminal or a pipe are yielded at once, before a block is full.
    """
    lines = 0
    try:
        with _open_for_reading(path) as stream, progress(f"reading {display_name(path)}", _file_size(path)) as advance:
            for block in _whole_lines(stream, size, advance, prompt):
                block.decode("utf-8")
                if content := block if lines else block.removeprefix(BYTE_ORDER_MARK):
                    yield content
                lines += block.count(b"\n")
    except _LongLineError as error:
        raise _line_too_long(path, lines + 1, error.beginning) from None
    except UnicodeDecodeError as error:
        line_start = block.rfind(b"\n", 0, error.start) + 1
        number = lines + block.count(b"\n", 0, error.start) + 1
        raise _not_utf8(path, number, error.start - line_start, error.object) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged_gzip(path, lines, error) from error


def read_chunks(path: str | Path, size: int = 1 << 16) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked, about `size` at once, whatever they are."""
    try:
        with _open_for_reading(path) as stream:
            while chunk := stream.read(size):
                yield chunk
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"damaged gzip file ({error})", file=display_name(path), remedy="copy or make it again"
        ) from error


def read_whole(path: str | Path, blocks: Iterable[bytes] | None = None, most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file, unpacked, of which there must not be too many; they may be given as blocks."""
    parts, size = list[bytes](), 0
    for block in read_chunks(path, BLOCK_BYTES) if blocks is None else blocks:
        parts.append(block)
        size += len(block)
        if size > most:
            raise file_error(path, None, f"is larger than {most:,} bytes", "check that it is the right file")
    return b"".join(parts)


def read_toml(path: str | Path, remedy: str = "correct the file at that place") -> dict[str, Any]:
    """Parse a TOML file, with an error that names it."""
    try:
        text = read_whole(path).removeprefix(BYTE_ORDER_MARK).decode("utf-8")
        if deep := _deep_key(text):
            raise file_error(path, deep, f"a table within more than {DEEPEST_TOML} others", remedy)
        return tomllib.loads(text)
    except UnicodeDecodeError:
        raise file_error(path, None, "not valid UTF-8", "save the file as UTF-8") from None
    except RecursionError:
        raise file_error(path, None, "not valid TOML: too many brackets within each other", remedy) from None
    except tomllib.TOMLDecodeError as error:
        raise file_error(path, None, f"not valid TOML: {error}", remedy) from None
    except InputError:
        raise
    except ValueError:  # that Python refuses to convert
        raise file_error(path, None, "not valid TOML: a number with thousands of digits", remedy) from None


def _deep_key(text: str) -> int | None:
    """Return the first line with a dotted key that has too many parts."""
    if text.count(".") < DEEPEST_TOML:
        return None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") >= DEEPEST_TOML:
            parts = re.split(r"[=,\[\]{}#]", re.sub(r"[ \t]", "", line))
            if any(part.count(".") >= DEEPEST_TOML for part in parts):
                return number
    return None


def read_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file without line ends; `-` is standard input, `.gz` is unpacked."""
    for line in read_bytes_lines(path):
        yield line.decode("utf-8")


def count_lines(path: str | Path) -> int:
    """Return the number of lines of a file; the last line may lack its end."""
    lines, last = 0, b"\n"
    for block in read_blocks(path):
        lines, last = lines + block.count(b"\n"), block[-1:]
    return lines + (last != b"\n")


def require_readable(*paths: str | Path) -> None:
    """Refuse files that cannot be read, before any work is done for them."""
    for path in paths:
        if not is_stream(path):
            open_to_read(path).close()


def is_stream(path: str | Path) -> bool:
    """Return whether a path can be read only once: standard input, a pipe or a terminal."""
    if str(path) == STANDARD_STREAM:
        return True
    try:
        mode = Path(path).stat().st_mode
    except OSError:  # opening it will raise an error with a remedy
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def read_segment_lines(path: str | Path, segments: int) -> list[str]:
    """Return the lines of a file, which must have one for each segment."""
    lines = list(read_lines(path))
    if len(lines) != segments:
        raise InputError(
            f"{len(lines)} lines for {segments} segments",
            file=display_name(path),
            remedy="give a line for each segment; line i belongs to segment i",
        )
    return lines


def system_name(path: str | Path) -> str:
    """Return the name of the system whose outputs a file has: `sys.NAME.en` is NAME, `before.out` is before."""
    whole = Path(path).name.removesuffix(".gz")
    return whole.rpartition(".")[0].removeprefix("sys.") or whole


def display_name(path: str | Path) -> str:
    """Return the name of a file for messages."""
    return "<stdin>" if str(path) == STANDARD_STREAM else str(path)


def file_error(path: str | Path, line: int | None, message: str, remedy: str) -> InputError:
    """Return an error at a line of a file, or in the whole file."""
    return InputError(message, file=display_name(path), line=line, remedy=remedy)


@contextmanager
def atomic_writer(path: str | Path) -> Iterator[io.TextIOBase]:
    """Open a UTF-8 text stream that becomes the file `path` only if the block succeeds; `-` is standard output."""
    if str(path) == STANDARD_STREAM:
        yield cast(io.TextIOBase, sys.stdout)
        sys.stdout.flush()
        return
    with _atomic_path(Path(path)) as temporary, _open_for_writing(path, temporary) as stream:
        yield stream


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines atomically; `-` is standard output, `.gz` is packed."""
    with atomic_writer(path) as stream:
        for line in lines:
            stream.write(line + "\n")


def require_output(path: str | Path) -> None:
    """Refuse a file that cannot be written, before any work is done for it."""
    if str(path) != STANDARD_STREAM:
        _require_no_directory(Path(path))
        if not _is_device(Path(path)):
            _require_parent(Path(path))


def require_different(*outputs: str | Path | None) -> None:
    """Refuse outputs of which two are the same file, or standard output."""
    names = [str(path) for path in outputs if path is not None]
    places = [name if name == STANDARD_STREAM else os.path.realpath(name) for name in names]
    if twice := next((name for name, place in zip(names, places, strict=True) if places.count(place) > 1), None):
        what = "standard output" if twice == STANDARD_STREAM else twice
        raise InputError(f"two results would go to {what}", remedy="name another file for one of them")


def require_output_directory(path: str | Path, marker: str, keep: str = "") -> None:
    """Refuse to replace other files, before any work is done; warn that an older result will be replaced."""
    _require_ours(Path(path), marker, keep)
    if (Path(path) / marker).exists():
        log.warning("%s is there already: the new one will replace it", path)


def _require_ours(target: Path, marker: str, keep: str) -> None:
    """Refuse a directory unless it holds nothing but `keep`, or a file named `marker`."""
    _require_parent(target)
    if target.is_dir():
        if any(path.name != keep for path in target.iterdir()) and not (target / marker).exists():
            raise InputError(
                f"the directory holds other files (and no {marker})", file=target, remedy="name a new directory"
            )
    elif target.exists():
        raise InputError("is a file, not a directory", file=target, remedy="name a new directory")


@contextmanager
def atomic_directory(path: str | Path, marker: str, keep: str = "") -> Iterator[Path]:
    """Make a new directory to fill, which takes the place of `path` only if the block succeeds.

    An old directory is replaced as a whole, but only if it has a file `marker`. A folder `keep` in it stays.
    """
    target = Path(path)
    _require_ours(target, marker, keep)
    with partial_directory(target) as temporary:
        _restore(target, keep)
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        _replace_directory(temporary, target, keep)


def _replace_directory(new: Path, target: Path, keep: str) -> None:
    """Rename a directory; an old one is first moved aside, since only an empty directory can be replaced."""
    if not target.exists():
        new.rename(target)
        return
    aside = _aside(target)
    target.rename(aside)
    try:
        new.rename(target)
        if keep and (aside / keep).exists():
            (aside / keep).rename(target / keep)
    except OSError:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _aside(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _restore(target: Path, keep: str) -> None:
    """Finish what a process did that was killed while it replaced a directory."""
    aside = _aside(target)
    if not target.exists() and aside.is_dir():
        aside.rename(target)
    elif keep and (aside / keep).exists() and not (target / keep).exists():
        (aside / keep).rename(target / keep)
    shutil.rmtree(aside, ignore_errors=True)


def _whole_lines(stream: BinaryIO, size: int, advance: Advance, prompt: bool) -> Iterator[bytes]:
    """Yield blocks that end with a line end; a line longer than a block is joined first."""
    parts: list[bytes] = []
    position, held, most = 0, 0, longest_line()
    read = cast(io.BufferedReader, stream).read1 if prompt else stream.read
    while part := read(size):
        end = part.rfind(b"\n") + 1
        if end:
            yield b"".join((*parts, part[:end]))
            parts, held = [], 0
        parts.append(part[end:])
        held += len(part) - end
        if held > most:
            raise _LongLineError(parts[0])
        advance(_position(stream) - position)
        position = _position(stream)
    if last := b"".join(parts):
        yield last


class _LongLineError(Exception):
    """A line that goes on after the limit; what it begins with tells text from something else."""

    def __init__(self, beginning: bytes) -> None:
        self.beginning = beginning


def _line_too_long(path: str | Path, line: int, beginning: bytes) -> InputError:
    remedy = f"break the line, or set {LONGEST_LINE_VARIABLE} to a larger number of bytes"
    if b"\0" in beginning[:BLOCK_BYTES]:
        remedy = NO_TEXT
    return file_error(path, line, f"a line of more than {longest_line():,} bytes", remedy)


def longest_line() -> int:
    """Return the number of bytes that a line may have."""
    text = os.environ.get(LONGEST_LINE_VARIABLE, "")
    if not text:
        return LONGEST_LINE
    if (value := whole_number(text, MOST_LINE)) is None or not value:
        remedy = f"set it to a number of bytes up to {MOST_LINE}"
        raise InputError(f"{LONGEST_LINE_VARIABLE}={text} is not a length", remedy=remedy)
    return value


def whole_number(text: str, most: int = LARGEST_WHOLE) -> int | None:
    """Return a whole number from 0 in ASCII digits; None for a larger one, with however many digits, and other text."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0")
    return value if len(digits) <= len(str(most)) and (value := int(digits or "0")) <= most else None


def _file_size(path: str | Path) -> int:
    """Return the bytes on disk, packed or not, for progress; 0 if unknown."""
    return Path(path).stat().st_size if str(path) != STANDARD_STREAM else 0


def _position(stream: BinaryIO) -> int:
    raw = cast(BinaryIO, getattr(stream, "fileobj", stream))  # what a gzip stream reads from
    return raw.tell() if raw.seekable() else 0


def _not_utf8(path: str | Path, line: int, byte: int, content: bytes) -> InputError:
    """Return an error with a guess: UTF-16 by its mark, a binary file by a zero byte."""
    remedy = "convert the file, for example with: iconv -f latin1 -t utf-8"
    if line == 1 and content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        remedy = "this is UTF-16: convert the file with: iconv -f utf-16 -t utf-8"
    elif b"\0" in content:
        remedy = NO_TEXT
    return InputError(
        f"not valid UTF-8 (byte {byte + 1} of the line)", file=display_name(path), line=line, remedy=remedy
    )


def _damaged_gzip(path: str | Path, line: int, reason: Exception) -> InputError:
    return InputError(
        f"damaged gzip file after line {line} ({reason})", file=display_name(path), remedy="copy or make it again"
    )


@contextmanager
def _open_for_reading(path: str | Path) -> Iterator[BinaryIO]:
    with nullcontext(sys.stdin.buffer) if str(path) == STANDARD_STREAM else open_to_read(path) as stream:
        if not _is_gzip(stream):
            yield stream
            return
        with gzip.open(stream, "rb") as unpacked:
            yield cast(BinaryIO, unpacked)


def open_to_read(path: str | Path) -> BinaryIO:
    """Open a file for reading bytes; errors name the file. Devices that never end are refused."""
    try:
        stream = Path(path).open("rb")  # noqa: SIM115  (the caller closes it)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError("no such file", file=path, remedy="check the path") from None
    except IsADirectoryError:
        raise InputError("is a directory, not a file", file=path, remedy="name a file") from None
    except PermissionError:
        raise InputError("may not be read", file=path, remedy="check the file's permissions") from None
    except (OSError, ValueError) as error:  # such as a name that is too long, or has a NUL in it
        raise InputError(f"cannot be read: {_reason(error)}", file=path, remedy="check the path") from None
    if _is_endless(stream):
        stream.close()
        raise InputError("is a device, not a file", file=path, remedy="name a file")
    return stream


def _reason(error: Exception) -> str:
    """Return what an error of the system says, without the name of the file."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


def _is_endless(stream: BinaryIO) -> bool:
    """Return whether a stream is a device such as /dev/zero, neither a terminal nor /dev/null."""
    found = os.fstat(stream.fileno())
    if stat.S_ISBLK(found.st_mode):
        return True
    return stat.S_ISCHR(found.st_mode) and not stream.isatty() and found.st_rdev != os.stat(os.devnull).st_rdev


def _is_gzip(stream: BinaryIO) -> bool:
    """Return whether a stream is gzip, by its first bytes: names may be wrong."""
    if not hasattr(stream, "peek") or stream.isatty():  # looking ahead would swallow the end of typed input
        return False
    return cast(io.BufferedReader, stream).peek(2)[:2] == GZIP_MARK


@contextmanager
def _open_for_writing(path: str | Path, temporary: Path) -> Iterator[io.TextIOBase]:
    if not str(path).endswith(".gz"):
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    with (
        temporary.open("wb") as raw,
        # No time stamp in the header: equal content gives equal bytes.
        gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(cast(BinaryIO, packed), encoding="utf-8", newline="\n") as stream,
    ):
        yield stream


@contextmanager
def _atomic_path(target: Path) -> Iterator[Path]:
    _require_no_directory(target)
    if _is_device(target):  # nothing to rename
        yield target
        return
    _require_parent(target)
    with ExitStack() as stack:
        try:
            temporary = stack.enter_context(partial_file(target))
        except OSError as error:  # where no file can be made, such as in /proc
            remedy = "name another output"
            raise InputError(f"cannot be written: {_reason(error)}", file=target, remedy=remedy) from None
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)


def _is_device(target: Path) -> bool:
    """Return whether a path is a pipe, /dev/null or the like."""
    return target.exists() and not target.is_file()


def _require_no_directory(target: Path) -> None:
    if target.is_dir():
        raise InputError("is a directory, not a file", file=target, remedy="name a file in it")


def _require_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise InputError("no such directory", file=target.parent, remedy="create it first, or name another output")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError("may not be written to", file=target.parent, remedy="check the directory's permissions")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def is_file_name(path: str) -> bool:
    """Return whether a text is the name of a file that exists."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long for a name, or a NUL in it
        return False


def refuse_file_names(texts: Sequence[str], argument: str) -> None:
    """Refuse a short list of texts that are all names of files: files are given as they are, or as paths."""
    if 0 < len(texts) <= MOST_FILES and all(map(is_file_name, texts)):
        remedy = f"for the lines of a file pass Path({texts[0]!r})"
        raise InputError(f"{argument} has texts that name files", argument=argument, remedy=remedy)
