"""Choose among the lists of files: what `toledo choose` runs."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, tee
from pathlib import Path
from typing import Any

from toledo.api.choose import iter_choose, system_texts, system_votes
from toledo.api.inputs import path_of_system, read_list_files, read_system_files
from toledo.consensus.choice import Choice
from toledo.errors import InputError
from toledo.files import display_name, file_error, is_stream, read_lines
from toledo.formats.fields import parse_number
from toledo.formats.list_files import (
    TEXT,
    ListFiles,
    guess_list_format,
    is_system_folder,
    references_among,
    systems_of_folder,
)
from toledo.results import SampleList

log = logging.getLogger(__name__)

OWN_LOGPROBS = ("sum", "mean")


def choose_files(
    files: Sequence[str | Path],
    references: Sequence[str | Path] = (),
    *,
    reading: ListFiles | None = None,
    num_references: int | None = None,
    logprobs: str | None = None,
    uniform: bool = False,
    **how: Any,
) -> Iterator[Choice]:
    """Yield the choice for each segment of list files, or of texts of several systems; `how` is as in `iter_choose`.

    `logprobs` is sum or mean of those of the samples, or a file with a number for each sample; `uniform` ignores
    scores. A folder of mt-metrics-eval stands for its systems; copies of references do not vote. What comes through a
    pipe is answered line by line.
    """
    reading = reading or ListFiles()
    for name in ("feature_weights", "logprobs"):
        if uniform and (how.get(name) if name in how else logprobs) is not None:
            raise InputError(f"`{name}` would be ignored", argument="uniform", remedy="leave one of them out")
    if logprobs is not None and how.get("feature_weights") is not None:
        raise InputError("`feature_weights` make scores that would be ignored", remedy="leave them out")
    systems = _without_references([part for file in files for part in _parts_of(file)])
    others: Iterable[SampleList] | None = None
    others = read_list_files(references, ListFiles(size=num_references)) if references else None
    if logprobs is None and reading.size is None and are_systems(systems, reading.form):
        texts = system_texts(read_system_files(systems, references))
        how["votes"] = system_votes(texts, "equal" if uniform else how.get("votes", "shared"), how.get("threads"))
        for line in str(how["votes"]).splitlines():
            log.info("%s", line)
        return iter_choose(texts, others, **{name: value for name, value in how.items() if value is not None})
    if how.pop("votes", "shared") != "shared":
        raise InputError("votes are for the texts of several systems", argument="votes", remedy="leave them out")
    if any(is_stream(path_of_system(one)) for one in systems):
        how["segments_at_once"] = 1
    lists: Iterable[SampleList] = read_list_files(systems, reading)
    if uniform:
        lists = map(_without_scores, lists)
    if logprobs in OWN_LOGPROBS:
        how["logprobs"] = logprobs
    elif logprobs is not None:
        lists, others, how["logprobs"] = _with_numbers(lists, others, logprobs)
    return _warn_of_single_samples(_naming_file(iter_choose(lists, others, **how), systems))


def _naming_file(choices: Iterable[Choice], files: Sequence[str]) -> Iterator[Choice]:
    """Yield choices; errors about matrices in the lists name the file."""
    try:
        yield from choices
    except InputError as error:
        if error.argument != "matrix" or error.file is not None or len(files) > 1:
            raise
        more: dict[str, Any] = {"argument": "matrix", "segment": error.segment, "remedy": error.remedy}
        raise InputError(error.message, file=display_name(path_of_system(files[0])), **more) from None


def _warn_of_single_samples(choices: Iterable[Choice]) -> Iterator[Choice]:
    """Yield choices; warn if there never was one."""
    segments = several = 0
    for choice in choices:
        segments += 1
        several += choice.num_samples > 1
        yield choice
    if segments and not several:
        log.warning("no segment has more than one sample, so there was nothing to choose from")


def are_systems(files: Sequence[str], form: str | None = None) -> bool:
    """Return whether files, some of which may be given as NAME=FILE, are texts of several systems."""
    return len(files) > 1 and all((form or guess_list_format(path_of_system(file))) == TEXT for file in files)


def _parts_of(file: str | Path) -> list[str]:
    """Return a file, or those of the systems of a folder as NAME=FILE."""
    if not is_system_folder(file):
        return [str(file)]
    return [f"{name}={path}" for name, path in systems_of_folder(file).items()]


def _without_references(systems: list[str]) -> list[str]:
    """Return systems without those that are copies of references."""
    copies = references_among(path_of_system(one) for one in systems)
    if copies:
        log.info("references do not vote: %s", ", ".join(Path(copy).stem for copy in copies))
    return [one for one in systems if path_of_system(one) not in copies]


def _without_scores(samples: SampleList) -> SampleList:
    return SampleList((replace(one, score=None) for one in samples), samples.id, samples.extra, samples.failed)


def _with_numbers(
    lists: Iterable[SampleList], others: Iterable[SampleList] | None, file: str
) -> tuple[Iterable[SampleList], Iterable[SampleList] | None, Iterator[list[float]]]:
    """Return lists and references again, and the log probabilities of what the lists are compared with."""
    compared, again = tee(lists if others is None else others)
    numbers = _numbers(file, again)
    return (compared, None, numbers) if others is None else (lists, compared, numbers)


def _numbers(file: str, lists: Iterable[SampleList]) -> Iterator[list[float]]:
    """Yield a number for each sample from a file with one on each line, as mbrs has it."""
    lines = enumerate(read_lines(file), start=1)
    for segment, samples in enumerate(lists):
        found = []
        for line, text in islice(lines, len(samples)):
            try:
                found.append(parse_number(text.strip()))
            except ValueError as error:
                raise file_error(file, line, str(error), "write a log probability on each line") from None
        if len(found) < len(samples):
            raise file_error(file, None, f"ends at segment {segment}", "write a number for each sample")
        yield found
    if more := next(lines, None):
        raise file_error(file, more[0], "more numbers than samples", "write a number for each sample")
