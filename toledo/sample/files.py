"""Writing the sample corpus as files, as a user's own data would come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from toledo.files import atomic_writer, write_lines
from toledo.progress import Advance, Progress, silent
from toledo.sample.corpus import TEST, TRAIN, TUNE, Pair, pairs

AT_ONCE = 1000


def write_sample(
    directory: str | Path,
    seed: int = 1,
    train: int = TRAIN,
    tune: int = TUNE,
    test: int = TEST,
    progress: Progress = silent,
) -> None:
    """Write {train,tune,test}.{src,align,docids}, train.trg and {tune,test}.{trg.0,trg.1}; memory stays small."""
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    with progress("writing the sample", train + tune + test) as advance:
        names = ("train.src", "train.trg", "train.align", "train.docids")
        _write([folder / name for name in names], pairs(seed, "train", train), advance)
        for part, count in (("tune", tune), ("test", test)):
            names = (f"{part}.src", f"{part}.trg.0", f"{part}.align", f"{part}.docids")
            _write([folder / name for name in names], pairs(seed, part, count), advance)
            write_lines(folder / f"{part}.trg.1", (pair.target for pair in pairs(seed, part, count, reference=1)))


def _write(files: list[Path], content: Iterator[Pair], advance: Advance) -> None:
    """One file for each field of a pair."""
    with ExitStack() as stack:
        streams = [stack.enter_context(atomic_writer(file)) for file in files]
        while block := list(islice(content, AT_ONCE)):
            for stream, lines in zip(streams, zip(*block, strict=True), strict=True):
                stream.write("\n".join(lines) + "\n")
            advance(len(block))
