"""What functions accept, read in one place: texts, references, systems and lists, from Python or from files.

Errors name the argument and the segment; a value that is not a text is a `TypeError` with its place.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import wraps
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from toledo.errors import InputError
from toledo.files import STANDARD_STREAM, display_name, is_file_name, read_lines, refuse_file_names, system_name
from toledo.metrics.evaluation import SystemTexts
from toledo.metrics.given import ColumnMetric, ScoredTexts
from toledo.metrics.metric import Metric
from toledo.metrics.registry import METRICS
from toledo.metrics.shapes import Groups, length_error, read_references
from toledo.metrics.shapes import References as GivenReferences
from toledo.results import Hypothesis, SampleList
from toledo.settings import Named
from toledo.text.corpus import as_text, describe_value

if TYPE_CHECKING:  # formats of lists are imported where lists are read: scoring texts needs none of them
    from toledo.forest.forest import Forest
    from toledo.formats.list_files import ListFiles
    from toledo.formats.records import Reading

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")
Texts: TypeAlias = Iterable[str] | Path | str
OneOrMany: TypeAlias = Texts  # where a `str` is a text, not a file
ReferenceTexts: TypeAlias = (
    Texts | GivenReferences | Iterable[Iterable[str | None]] | Sequence[Path] | Iterable[str | None]
)
Sample: TypeAlias = str | Hypothesis | Mapping[str, Any]
Lists: TypeAlias = "Iterable[Sequence[Sample] | Mapping[str, Any]] | Sequence[Forest] | Path | str"
Systems: TypeAlias = "Mapping[str, Texts | Runs] | Sequence[Texts | Runs]"


class Runs:
    """Several runs of one system, such as trainings with other seeds: `Runs(a, b, c)`."""

    def __init__(self, *texts: Texts) -> None:
        if not texts:
            raise InputError("Runs needs at least one run", argument="systems")
        self.texts = texts

    def __repr__(self) -> str:
        return f"Runs({len(self.texts)} runs)"


class FileTexts(ScoredTexts):
    """The lines of a file, which errors name, or the texts of a table with columns of their scores."""

    def __init__(self, path: str | PathLike[str], columns: Sequence[str] = ()) -> None:
        found = None
        if columns:
            from toledo.formats.columns import read_scored_texts

            found = read_scored_texts(Path(path), columns)
        super().__init__(read_lines(Path(path)) if found is None else found, {} if found is None else found.columns)
        self.has_texts = found is None or found.has_texts
        self.path, self.file = Path(path), display_name(Path(path))


def require_as_many(first: str, texts: Sized, second: str, others: Sized) -> None:
    """Refuse two arguments with different numbers of segments; files are named, with their numbers of lines."""
    if len(texts) == len(others):
        return
    if not isinstance(texts, FileTexts) and not isinstance(others, FileTexts):
        raise length_error(first, len(texts), second, len(others))
    counts = [
        f"{one.file} has {_counted(len(one), 'line')}"
        if isinstance(one, FileTexts)
        else f"{name} has {_counted(len(one), 'segment')}"
        for name, one in ((first, texts), (second, others))
    ]
    remedy = "line i of each must belong together; look for lost or added lines"
    raise InputError(", ".join(counts), argument=second, remedy=remedy)


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


def arguments_of(other: Callable[P, Any]) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Give a function the parameters of another one, for its callers, `help` and type checkers alike."""

    def decorate(function: Callable[..., T]) -> Callable[P, T]:
        result = inspect.signature(function).return_annotation
        signature = inspect.signature(other).replace(return_annotation=result)

        @wraps(function)
        def call(*given: P.args, **named: P.kwargs) -> T:
            try:
                signature.bind(*given, **named)
            except TypeError as error:  # a misspelled name
                raise TypeError(f"{function.__qualname__}() {error}") from None
            return function(*given, **named)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


def read_texts(texts: Texts, argument: str) -> list[str]:
    """Return the texts of an iterable or the lines of a file."""
    if isinstance(texts, ScoredTexts):
        return texts
    if isinstance(texts, str | PathLike):
        return FileTexts(text_file(texts, argument))
    if isinstance(texts, Mapping):
        raise InputError(f"{argument} is a mapping: call compare for several systems", argument=argument)
    given: Any = texts
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise TypeError(f"{argument} is {describe_value(given)}, expected texts")
    found = [as_text(text, argument, place) for place, text in enumerate(texts)]
    refuse_file_names(found, argument)
    return found


def read_ids(document_ids: Texts, hypotheses: Sized) -> NDArray[np.int64]:
    """Return the number of the document of each segment; a document must not come back after another one."""
    ids = read_texts(document_ids, "document_ids")
    require_as_many("hypotheses", hypotheses, "document_ids", ids)
    numbers: dict[str, int] = {}
    for segment, one in enumerate(ids):
        if one in numbers and ids[segment - 1] != one:
            raise InputError(
                f"document_ids: {one!r} comes back at segment {segment} after {ids[segment - 1]!r}",
                argument="document_ids",
                segment=segment,
                remedy="put the segments of a document together",
            )
        numbers.setdefault(one, len(numbers))
    return np.array([numbers[one] for one in ids], np.int64)


def read_groups(references: ReferenceTexts, texts: Sized, of: str = "hypotheses") -> Groups:
    """Return the references of each text, from any shape or from files; `of` is the argument with the texts."""
    if isinstance(references, bytes | Mapping) or not isinstance(references, Iterable | PathLike | GivenReferences):
        raise TypeError(f"references is {describe_value(references)}, expected texts")
    given: Any = references
    if isinstance(references, str | PathLike):
        given = read_texts(references, "references")
        require_as_many(of, texts, "references", given)
    elif not isinstance(references, GivenReferences):
        given = _without_files(list(references), texts, of)
    try:
        return read_references(given, len(texts))
    except InputError as error:
        message = error.message.replace("hypotheses has", f"{of} has")
        raise InputError(message, argument=error.argument, segment=error.segment, remedy=error.remedy) from None


def _without_files(items: list[Any], texts: Sized, of: str) -> list[Any] | GivenReferences:
    """Return items of references, or the texts of files that they name."""
    if items and all(isinstance(item, PathLike) for item in items):
        files = [read_texts(Path(item), "references") for item in items]
        for lines in files:
            require_as_many(of, texts, "references", lines)
        return GivenReferences.per_set(files)
    if len(items) != len(texts) and items and all(isinstance(item, str) and is_file_name(item) for item in items):
        listed = ", ".join(f"Path({item!r})" for item in items[:2])
        raise InputError(
            f"{of} has {len(texts)} segments, references {len(items)} texts, which name files",
            argument="references",
            remedy=f"strings in a list are texts; for files pass [{listed}]",
        )
    for place, item in enumerate(items):
        if item is not None and (isinstance(item, bytes | int | float) or not isinstance(item, Iterable)):
            raise TypeError(f"references[{place}] is {describe_value(item)}, expected str")
    return items


def read_systems(systems: Systems, metrics: Mapping[str, Metric] | None = None) -> list[SystemTexts]:
    """Return systems with their names, and with the columns that metrics name; all must have as many segments."""
    found = [SystemTexts(name, _runs(name, given)) for name, given in name_systems(systems).items()]
    found = with_columns(found, metrics or {})
    if not found:
        raise InputError("systems is empty", argument="systems")
    first = found[0]
    for system in found:
        if isinstance(system.runs[0], FileTexts):
            require_as_many(f"system {first.name!r}", first.runs[0], f"system {system.name!r}", system.runs[0])
        if len(system.runs[0]) != len(first.runs[0]):
            raise InputError(
                f"system {system.name!r} has {len(system.runs[0])} segments, {first.name!r} {len(first.runs[0])}",
                argument="systems",
                remedy="item i of each must belong together",
            )
    return found


def read_lists(
    lists: Lists, argument: str, num_samples: int | None = None, reading: Reading | None = None
) -> Iterator[Sequence[Any]]:
    """Yield the samples of each segment: from a file, a table, responses of a language model, or lists of texts."""
    if isinstance(lists, str | PathLike):
        from toledo.formats.list_files import ListFiles
        from toledo.formats.records import Reading

        path = Path(lists) if Path(lists).is_dir() else text_file(lists, argument)
        yield from read_list_files([path], ListFiles(size=num_samples, reading=reading or Reading()))
        return
    if hasattr(lists, "columns"):  # a table, which may yield the names of its columns
        yield from read_rows(lists, reading)
        return
    if isinstance(lists, bytes | Mapping) or not isinstance(lists, Iterable):
        raise TypeError(f"{argument} is {describe_value(lists)}, expected a list of samples for each segment")
    given = iter(lists)
    first = list(islice(given, 1))
    if first and _is_row(first[0]):
        yield from read_rows(chain(first, given), reading)
        return
    for segment, samples in enumerate(chain(first, given)):
        if isinstance(samples, str | bytes | Hypothesis):
            raise InputError(
                f"{argument}[{segment}] is a {type(samples).__name__}, expected a list of texts",
                argument=argument,
                segment=segment,
                remedy="call choose for one segment",
            )
        if not isinstance(samples, Iterable):
            raise TypeError(f"{argument}[{segment}] is {describe_value(samples)}, expected a list of texts")
        for place, item in enumerate(samples):
            if not isinstance(item, str | Hypothesis | Mapping):
                raise TypeError(f"{argument}[{segment}][{place}] is {describe_value(item)}, expected str")
        yield samples if isinstance(samples, SampleList) else list(samples)


def read_rows(table: Iterable[Any], reading: Reading | None = None) -> Iterator[SampleList]:
    """Yield the samples of each segment of a table, or of dictionaries or responses."""
    from toledo.formats.records import Reading, lists_of_rows
    from toledo.formats.rows import rows_of_table

    rows = enumerate(rows_of_table(table), start=1)
    return (some.samples() for some in lists_of_rows(rows, None, reading or Reading()))


def _is_row(item: Any) -> bool:
    """Return whether an item is a dictionary, or a response as pipelines and the packages of services return it."""
    if isinstance(item, list | tuple):
        return bool(item) and isinstance(item[0], Mapping) and "text" not in item[0]
    if isinstance(item, str | bytes):
        return False
    from toledo.formats.responses import SHAPES

    return isinstance(item, Mapping) or any(hasattr(item, key) for key in SHAPES)


def read_system_files(systems: Sequence[str], references: Sequence[str | Path]) -> dict[str, FileTexts | Runs]:
    """Return the texts of systems that are given as FILE or NAME=FILE; a name given again is another run.

    A directory has a file for each run.
    """
    files = [path_of_system(one) for one in systems]
    split = [(one.removesuffix(file).removesuffix("="), file) for one, file in zip(systems, files, strict=True)]
    if [*files, *map(str, references)].count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be read only once", remedy="name files, and - at most once")
    stems = [system_name(file) for file in files]
    names = stems if len({*stems}) == len({*files}) else files
    names = [_numbered(name, names[:place].count(name) + 1) for place, name in enumerate(names)]
    found: dict[str, list[FileTexts]] = {}
    for (name, file), stem in zip(split, names, strict=True):
        for path in run_files(file):
            found.setdefault(name or stem, []).append(FileTexts(path))
            if not found[name or stem][-1]:
                raise InputError("the file is empty", file=display_name(path), remedy="give one line for each segment")
    return {name: runs[0] if len(runs) == 1 else Runs(*runs) for name, runs in found.items()}


def path_of_system(system: str) -> str:
    """Return the file of a system that is given as FILE or NAME=FILE."""
    return system.partition("=")[2] if "=" in system and not is_file_name(system) else system


def run_files(path: str | PathLike[str]) -> list[Path]:
    """Return the files of a directory, one for each run, in the order of their names; or the file that is named."""
    if not Path(path).is_dir():
        return [Path(path)]
    files = sorted(one for one in Path(path).iterdir() if one.is_file() and not one.name.startswith("."))
    if not files:
        raise InputError("the directory has no files", file=str(path), remedy="put one file for each run into it")
    return files


def _numbered(name: str, number: int) -> str:
    """Tell a file that is given again from the first one."""
    return name if number == 1 else f"{name} ({number})"


def read_list_files(files: Sequence[str | Path], how: ListFiles) -> Iterator[SampleList]:
    """Yield the samples of each segment from files, some of which may be given as NAME=FILE.

    Several files of plain text are the outputs of several systems; one has `how.size` lines for each segment.
    """
    from toledo.formats.list_files import name_files, read_outputs

    paths = [path_of_system(str(file)) for file in files]
    named = {str(file).removesuffix(path).removesuffix("="): path for file, path in zip(files, paths, strict=True)}
    systems: Mapping[str, str | Path] = named if "" not in named and len(named) == len(paths) else name_files(paths)
    return (some.samples() for some in read_outputs(systems, how))


def make_metrics(
    metrics: Named[Metric] | Sequence[Named[Metric]], tokenize: str | None, lowercase: bool
) -> dict[str, Metric]:
    """Return metrics by key; `tokenize` and `lowercase` are settings for those that are given by name and have them."""
    given = [metrics] if isinstance(metrics, str | Metric) or callable(metrics) else list(metrics)
    if not given:
        raise InputError("metrics is empty", argument="metrics", remedy=f"choose from {', '.join(METRICS.names())}")
    found: dict[str, Metric] = {}
    for one in given:
        overrides: dict[str, Any] = {}
        name, settings = METRICS.parse(one) if isinstance(one, str) else ("", {})
        if name in METRICS:
            target = METRICS.get(name)
            chosen = {"tokenize": tokenize, "lowercase": lowercase or None}
            known = getattr(target, "__dataclass_fields__", {})
            overrides = {k: v for k, v in chosen.items() if v is not None and k in known and k not in settings}
        metric = METRICS.make(one, **overrides)
        by_name = isinstance(one, str) and not isinstance(metric, ColumnMetric)
        key = name.lower().replace("_", "-") if by_name else metric.name.lower()
        found[key if key not in found else str(one)] = metric
    return found


def with_columns(systems: Sequence[SystemTexts], metrics: Mapping[str, Metric]) -> list[SystemTexts]:
    """Return systems whose texts have the columns that metrics name: those of their tables, or of a file for all."""
    columns = [one.key for one in metrics.values() if isinstance(one, ColumnMetric)]
    if not columns:
        return list(systems)
    from toledo.formats.columns import read_system_scores

    files = {one: read_system_scores(one) for one in columns if is_file_name(one)}
    names = [one for one in columns if one not in files]
    others = [one.name for one in metrics.values() if not isinstance(one, ColumnMetric)]
    found = []
    for system in systems:
        runs = [_scored(run, names) for run in system.runs]
        for column, scores in files.items():
            own = _scores_of(system, scores, column, len(systems))
            runs = [run.with_column(column, own, display_name(column)) for run in runs]
        if others and not all(run.has_texts for run in runs):
            what = f"system {system.name!r}" if system.name else "the system"
            remedy = "add a column text, or leave the metric out"
            raise InputError(f"{what} has no texts for metric {others[0]}", argument="metrics", remedy=remedy)
        found.append(SystemTexts(system.name, runs))
    return found


def _scores_of(
    system: SystemTexts, scores: Mapping[str, NDArray[np.float64]], file: str, systems: int
) -> NDArray[np.float64]:
    """Return the scores of a system in a file of scores."""
    if len(system.runs) > 1:
        remedy = "name each run as a system, or give tables"
        raise InputError(f"system {system.name!r} has several runs", argument="systems", remedy=remedy)
    if systems == len(scores) == 1:
        return next(iter(scores.values()))
    run = system.runs[0]
    name = system.name or (system_name(run.path) if isinstance(run, FileTexts) else "")
    if name not in scores:
        from toledo.formats.columns import ONLY

        known = ", ".join(repr(one) for one in scores if one != ONLY) or "one system without a name"
        what = f"no scores of {name!r}" if name else f"scores of {len(scores)} systems for one without a name"
        raise InputError(what, file=display_name(file), argument="metrics", remedy=f"it has those of {known}")
    return scores[name]


def _scored(run: Sequence[str], names: Sequence[str]) -> ScoredTexts:
    """Return texts with columns of these names, which a file of them must have."""
    missing = [name for name in names if not isinstance(run, ScoredTexts) or name not in run.columns]
    if not missing:
        return run if isinstance(run, ScoredTexts) else ScoredTexts(run, {})
    if isinstance(run, FileTexts) and not run.columns:
        return FileTexts(run.path, names)
    remedy = f"give ScoredTexts(texts, {{{missing[0]!r}: scores}}), a table, or column:FILE"
    raise InputError(f"no column {missing[0]!r}", argument="metrics", remedy=remedy)


def name_systems(systems: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return systems by name; without names, those of their files, or numbers."""
    if isinstance(systems, str | bytes | PathLike):
        raise InputError("systems is one text: pass a mapping or a list of systems", argument="systems")
    if isinstance(systems, Mapping):
        return dict(systems)
    named: dict[str, Any] = {}
    for number, one in enumerate(systems, start=1):
        name = system_name(Path(one)) if isinstance(one, str | PathLike) else f"system {number}"
        if name in named:
            remedy = "pass a mapping"
            raise InputError(f"the name {name!r} occurs twice in systems", argument="systems", remedy=remedy)
        named[name] = one
    return named


def _runs(name: str, given: Texts | Runs) -> list[list[str]]:
    argument = f"systems[{name!r}]"
    if isinstance(given, str | PathLike) and Path(given).is_dir():
        given = Runs(*run_files(given))
    if not isinstance(given, Runs):
        return [read_texts(given, argument)]
    runs = [read_texts(texts, argument) for texts in given.texts]
    for number, run in enumerate(runs, start=1):
        require_as_many(f"run 1 of system {name!r}", runs[0], f"run {number}", run)
    return runs


def text_file(path: str | PathLike[str], argument: str) -> Path:
    """Return the path of a file that is given as an argument."""
    found = Path(path)
    if isinstance(path, str) and not is_file_name(path):
        raise InputError(f"{path!r} is not a file: pass a list of texts", argument=argument)
    return found


def read_many(texts: OneOrMany, argument: str) -> list[str]:
    """Return one text, or several, each without a line end."""
    found = [texts] if isinstance(texts, str) else read_texts(texts, argument)
    for segment, text in enumerate(found):
        if "\n" in text:
            raise InputError(
                f"{argument}[{segment}] contains a line end",
                argument=argument,
                segment=segment,
                remedy="give one segment per text",
            )
    return found


def read_sources(sources: OneOrMany) -> list[str]:
    """Return one text to translate, or several; warn of a name of a file."""
    if isinstance(sources, str) and is_file_name(sources):
        log.warning("%r is translated as a text; for the file, pass Path(%r)", sources, sources)
    return read_many(sources, "sources")
