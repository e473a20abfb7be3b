"""A whole Moses model in and out: moses.ini (the format since 2013), phrase table, reordering table, language models.

A moses.ini has sections of lines: feature declarations `Kind key=value …`, weights `Name= number …`. Several phrase
tables have a decoding path each: a line `path T table` in [mapping]. The lines of [decoding-graph-backoff] say for each
path how many words a source phrase may have for which it is used where the paths before it know nothing, 0 for always.
That is what Moses documents, and what its binary tables do. For text tables, the code of 2025 takes the longer phrases
instead of the shorter ones.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from toledo.errors import InputError
from toledo.files import LARGEST_WHOLE, atomic_directory, file_error, read_lines, whole_number, write_lines
from toledo.formats.moses_table import (
    column_names,
    read_phrase_table,
    read_reordering_table,
    write_phrase_table,
    write_reordering_table,
)
from toledo.language_model.arpa import read_arpa, write_arpa
from toledo.model import PhraseModel, SearchSettings, default_weights, feature_names, lm_feature
from toledo.phrases.several import part_of, unite, without_repetition
from toledo.phrases.table import REORDERING_FEATURES, SCORE_FEATURES, TablePart
from toledo.progress import Progress, silent
from toledo.text.vocabulary import Vocabulary, split_words
from toledo.weights import LARGEST_WEIGHT, Weights

log = logging.getLogger(__name__)

Section = list[tuple[int, str]]  # lines with their numbers

PHRASE_TABLE, REORDERING_TABLE, INI = "phrase-table.gz", "reordering-table.gz", "moses.ini"
OVERWRITE, SPARSE_WEIGHTS = "weight-overwrite", "weight-file"
SECTIONS = {"input-factors", "mapping", "decoding-graph-backoff", "distortion-limit", "feature", "weight", OVERWRITE}
OLD_SECTIONS = {"ttable-file", "lmodel-file", "distortion-file", "generation-file", "global-lexical-file"}
ONE_WEIGHT = {
    "UnknownWordPenalty": "oov",
    "WordPenalty": "word.penalty",
    "PhrasePenalty": "phrase.penalty",
    "Distortion": "distortion",
}
LANGUAGE_MODELS = {"KENLM", "SRILM", "IRSTLM"}
PHRASE_TABLES = {"PhraseDictionaryMemory", "PhraseDictionaryBinary", "PhraseDictionaryCompact", "ProbingPT"}
REORDERING = "LexicalReordering"
REORDERING_TYPE = "wbe-msd-bidirectional-fe"
REORDERING_WORDS = {"msd", "bidirectional", "fe"}  # in any order, as in Moses
REORDERING_OPTIONAL = {"wbe", "phrase", "allff"}  # "wbe" and nothing mean "phrase" there: the decoder sees no words
UNLIMITED = -1
MOST_SCORES = 1000  # columns of a phrase table
DEFAULT_TABLE_LIMIT = 20
USUAL_PART = TablePart(SCORE_FEATURES)


@dataclass(frozen=True)
class LanguageModelFile:
    """A language model that the configuration names."""

    path: Path
    order: int | None = None


@dataclass(frozen=True)
class PhraseTableFile:
    """A phrase table that the configuration names: the columns of the file, and for which source phrases it is used."""

    path: Path
    part: TablePart = USUAL_PART


@dataclass(frozen=True)
class MosesConfiguration:
    """The content of a moses.ini. Paths are as written there; a distortion limit of None means unlimited.

    `phrase_tables` are in the order of their decoding paths. `table_limit` is the number of options that each has for
    a source phrase, 0 for all. `reordering_default` are probabilities for phrase pairs that the reordering table lacks.
    """

    weights: Mapping[str, float]
    phrase_tables: tuple[PhraseTableFile, ...] = ()
    table_limit: int = DEFAULT_TABLE_LIMIT
    language_models: tuple[LanguageModelFile, ...] = ()
    reordering_table: Path | None = None
    reordering_default: tuple[float, ...] | None = None
    distortion_limit: int | None = None


@dataclass(frozen=True, eq=False)
class Feature:
    """One declaration in the section [feature]."""

    file: str | Path
    line: int
    kind: str
    name: str
    arguments: Mapping[str, str]

    @property
    def path(self) -> Path:
        """Return the file of the feature."""
        if "path" not in self.arguments:
            raise self.error(f"{self.name} has no path", "write path=FILE")
        return Path(self.arguments["path"])

    def number(self, key: str, most: int = LARGEST_WHOLE) -> int | None:
        """Return a whole number from 0 to `most`, if there is one."""
        text = self.arguments.get(key)
        if text is None:
            return None
        if (value := whole_number(text, most)) is None:
            raise self.error(f"{key}={text} is not a whole number up to {most}", f"write {key}= and a number")
        return value

    def error(self, message: str, remedy: str) -> InputError:
        """Return an error in this declaration."""
        return file_error(self.file, self.line, message, remedy)


def read_moses_ini(path: str | Path) -> MosesConfiguration:
    """Read a configuration; a feature that Toledo does not have is an error that names it."""
    sections = _read_sections(path)
    _refuse_factors(path, sections)
    given = _read_weights(path, sections.get("weight", [])) | _read_weights(path, sections.get(OVERWRITE, []))
    limit = _distortion_limit(path, sections.get("distortion-limit", []))
    fields: dict[str, Any] = {"distortion_limit": limit, "language_models": []}
    weights: dict[str, float] = {}
    declared = list(_read_features(path, sections["feature"]))
    tables = _phrase_tables(path, sections, [one for one in declared if one.kind in PHRASE_TABLES])
    if tables:
        fields |= {"phrase_tables": tuple(tables.values()), "table_limit": _table_limit(list(tables))}
    columns = {one: file.part.columns(place) for place, (one, file) in enumerate(tables.items())}
    for feature in declared:
        names = columns.get(feature) or _add_feature(feature, fields)
        default = (1.0,) if feature.kind == "UnknownWordPenalty" else None  # as in Moses
        values = given.pop(feature.name, default)
        if any(name in weights for name in names):
            remedy = "Toledo has one of each; only phrase tables and language models may be several"
            raise feature.error(f"a second feature {feature.kind}", remedy)
        if values is None:
            raise feature.error(f"no weights for {feature.name}", f"write in [weight]: {feature.name}= ...")
        if len(values) != len(names):
            message = f"{len(values)} weights for {feature.name}, which has {len(names)} scores"
            remedy = f"give {len(names)} in [weight]"
            if feature.kind in LANGUAGE_MODELS and feature.arguments.get("oov-feature", "0") != "0":
                remedy = (
                    "Toledo counts unknown words once: remove oov-feature=1 and its weight, the second, and tune again"
                )
            raise feature.error(message, remedy)
        weights.update(zip(names, values, strict=True))
    if given:
        message = f"weights for features that are not declared: {', '.join(given)}"
        raise file_error(path, None, message, "declare them in [feature] or remove their weights")
    return MosesConfiguration(weights, **{**fields, "language_models": tuple(fields["language_models"])})


def _read_sections(path: str | Path) -> dict[str, Section]:
    """Read the lines of each section without comments and empty lines; log the names of unused sections."""
    sections: dict[str, Section] = {}
    lines: Section | None = None
    for number, line in enumerate(read_lines(path), start=1):
        text = " ".join(split_words(line.split("#", 1)[0]))
        if text.startswith("[") and text.endswith("]"):
            name = text[1:-1]
            if name == SPARSE_WEIGHTS:
                message = f"[{name}] has weights of sparse features, which Toledo cannot take over"
                raise file_error(path, number, message, "remove the section, and tune again")
            if name in OLD_SECTIONS or (name.startswith("weight-") and name != OVERWRITE):
                remedy = "convert the file with Moses' scripts/training/convert-moses-ini-to-v2.perl"
                raise file_error(path, number, f"[{name}] is a section of the old format (before 2013)", remedy)
            lines = sections.setdefault(name, [])
        elif text and lines is None:
            raise file_error(path, number, f"{text!r} stands before the first [section]", "give a moses.ini")
        elif text and lines is not None:
            lines.append((number, text))
    if not sections.get("feature"):
        raise file_error(path, None, "has no section [feature]", "give a moses.ini")
    if ignored := sorted(set(sections) - SECTIONS):
        log.info("%s: settings that are not used: %s", path, ", ".join(ignored))
    return sections


def _refuse_factors(path: str | Path, sections: Mapping[str, Section]) -> None:
    for number, text in sections.get("input-factors", []):
        if text != "0":
            message = f"[input-factors] {text}: Toledo has no factored models"
            raise file_error(path, number, message, "use a model with [input-factors] 0")


def _decoding_paths(path: str | Path, lines: Section, tables: int) -> list[int]:
    """Return the number of the phrase table of each decoding path."""
    chosen: dict[int, None] = {}
    for number, text in lines:
        step = re.fullmatch(r"(?:(\d{1,9}) )?T (\d{1,9})", text, re.ASCII)
        if step is None or int(step[1] or 0) != len(chosen):
            message = f"[mapping] {text}: Toledo has no factored models, and one table in each decoding path"
            raise file_error(path, number, message, "write 0 T 0, and for a second phrase table 1 T 1")
        if int(step[2]) >= tables or int(step[2]) in chosen:
            why = "is in two decoding paths" if int(step[2]) in chosen else "is not declared"
            raise file_error(path, number, f"[mapping] {text}: phrase table {step[2]} {why}", "correct [mapping]")
        chosen[int(step[2])] = None
    if not lines and tables < 2:
        return list(range(tables))
    if len(chosen) < tables:
        message = f"[mapping] has {len(chosen)} decoding paths for {tables} phrase tables"
        raise file_error(path, lines[-1][0] if lines else None, message, "write a line for each: 0 T 0, 1 T 1")
    return list(chosen)


def _phrase_tables(
    path: str | Path, sections: Mapping[str, Section], declared: Sequence[Feature]
) -> dict[Feature, PhraseTableFile]:
    """Return the phrase tables in the order of their decoding paths."""
    paths, lengths = _decoding_paths(path, sections.get("mapping", []) if declared else [], len(declared)), list[int]()
    for number, text in sections.get("decoding-graph-backoff", []):
        length = whole_number(text)
        if length is None or len(lengths) == len(paths):
            message = f"[decoding-graph-backoff] {text!r} is not a number of words of a decoding path"
            raise file_error(path, number, message, "write a line for each path: 0, or the longest phrase, in words")
        lengths.append(length if lengths else 0)
    lengths += [0] * (len(paths) - len(lengths))
    found = {}
    for table, length in zip(paths, lengths, strict=True):
        feature = declared[table]
        columns = feature.number("num-features", MOST_SCORES)
        if columns is not None and columns < len(SCORE_FEATURES):
            remedy = (
                f"a table needs {', '.join(SCORE_FEATURES)}: write 1 for a score that it lacks in each of its lines, "
                f"then num-features={len(SCORE_FEATURES)}, and 0 for its weight"
            )
            raise feature.error(f"a phrase table with {columns} scores", remedy)
        names = SCORE_FEATURES if columns is None else column_names(columns)
        found[feature] = PhraseTableFile(feature.path, TablePart(names, length))
    return found


def _table_limit(tables: Sequence[Feature]) -> int:
    """Return the one limit of all tables."""
    limits = [DEFAULT_TABLE_LIMIT if (limit := one.number("table-limit")) is None else limit for one in tables]
    for feature, limit in zip(tables, limits, strict=True):
        if limit != limits[0]:
            message = f"table-limit={limit} of {feature.name}, and {limits[0]} of {tables[0].name}"
            raise feature.error(message, "give all phrase tables the same table-limit")
    return limits[0]


def _distortion_limit(path: str | Path, lines: Section) -> int | None:
    if not lines:
        return None
    number, text = lines[-1]
    limit = whole_number(text.removeprefix("-"))
    if limit is None:
        message = f"the distortion limit {text!r} is not a whole number up to {LARGEST_WHOLE}"
        raise file_error(path, number, message, "write 6, or -1 for no limit")
    return None if text.startswith("-") and limit else limit


def _read_features(path: str | Path, lines: Section) -> Iterator[Feature]:
    """Yield feature declarations; one without a name is called after its kind, with a number from 0."""
    unnamed: Counter[str] = Counter()
    for line, text in lines:
        kind, *parts = split_words(text)
        if malformed := [part for part in parts if "=" not in part]:
            message = f"{malformed[0]!r} is not of the form key=value"
            raise file_error(path, line, message, "write: Kind key=value ...")
        arguments = dict(part.split("=", 1) for part in parts)
        yield Feature(path, line, kind, arguments.get("name", f"{kind}{unnamed[kind]}"), arguments)
        unnamed[kind] += 1


def _read_weights(path: str | Path, lines: Section) -> dict[str, tuple[float, ...]]:
    """Return the weights of each feature by its name in Moses."""
    weights: dict[str, tuple[float, ...]] = {}
    for line, text in lines:
        name, _, rest = text.partition("=")
        name, values = name.strip(), _finite_numbers(split_words(rest))
        if not name or not values or name in weights:
            what = "has weights already" if name in weights else "is not of the form Name= number ..."
            raise file_error(path, line, f"{text!r} {what}", "write, for example: LM0= 0.5")
        weights[name] = values
    return weights


def _finite_numbers(texts: Iterable[str]) -> tuple[float, ...]:
    """Return the numbers, or none if one of the texts is not a number, infinite or too large for a weight."""
    try:
        values = tuple(map(float, texts))
    except ValueError:
        return ()
    return values if all(abs(value) <= LARGEST_WEIGHT for value in values) else ()


def _add_feature(feature: Feature, fields: dict[str, Any]) -> tuple[str, ...]:
    """Set the fields of a configuration for a feature, and return Toledo's names of its weights."""
    if feature.kind in ONE_WEIGHT:
        return (ONE_WEIGHT[feature.kind],)
    if feature.kind in LANGUAGE_MODELS:
        models = fields["language_models"]
        models.append(LanguageModelFile(feature.path, feature.number("order")))
        return (lm_feature(len(models) - 1),)
    if feature.kind == REORDERING:
        fields |= {"reordering_table": feature.path, "reordering_default": _reordering_default(feature)}
        return REORDERING_FEATURES
    raise feature.error(f"Toledo has no feature {feature.kind}", "tune and decode without it")


def _reordering_default(feature: Feature) -> tuple[float, ...] | None:
    """Check the type of a reordering model, and return its probabilities for unknown pairs."""
    kind, default = feature.arguments.get("type", "None"), feature.arguments.get("default-scores")
    words = set(kind.split("-"))
    if not REORDERING_WORDS <= words <= REORDERING_WORDS | REORDERING_OPTIONAL:
        raise feature.error(f"a reordering model of type {kind}", f"use one of type {REORDERING_TYPE}")
    if default is None:
        return None
    values, size = _finite_numbers(default.split(",")), len(REORDERING_FEATURES)
    if len(values) != size:
        raise feature.error(f"default-scores={default} is not a list of {size} numbers", "separate them by commas")
    return values


def write_moses_ini(path: str | Path, configuration: MosesConfiguration) -> None:
    """Write a configuration for Moses."""
    weights, declared = configuration.weights, list(_declarations(configuration))
    known = [name for _, _, names in declared for name in names]
    unknown, missing = sorted(set(weights) - set(known)), sorted(set(known) - set(weights))
    if unknown or missing:
        what = f"Moses has no feature {unknown[0]}" if unknown else f"no weight for {missing[0]}"
        raise InputError(what, remedy="give weights for exactly the features of the model")
    limit = UNLIMITED if configuration.distortion_limit is None else configuration.distortion_limit
    paths = range(max(len(configuration.phrase_tables), 1))
    lengths = [str(table.part.back_off) for table in configuration.phrase_tables]
    sections = {
        "input-factors": ["0"],
        "mapping": [f"{number} T {number}" for number in paths],
        **({"decoding-graph-backoff": lengths} if set(lengths) - {"0"} else {}),
        "distortion-limit": [str(limit)],
        "feature": [line for line, _, _ in declared],
        "weight": [
            f"{moses}= {' '.join(repr(float(weights[name])) for name in names)}" for _, moses, names in declared
        ],
    }
    write_lines(path, (line for name, lines in sections.items() for line in (f"[{name}]", *lines, "")))


def _declarations(configuration: MosesConfiguration) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the declaration of each feature, Moses' name of it, and Toledo's names of its weights."""
    for kind, name in ONE_WEIGHT.items():
        if name in configuration.weights:
            yield kind, f"{kind}0", (name,)
    for number, model in enumerate(configuration.language_models):
        order = "" if model.order is None else f" order={model.order}"
        line = f"KENLM name=LM{number} factor=0 path={_plain(model.path)}{order}"
        yield line, f"LM{number}", (lm_feature(number),)
    for number, table in enumerate(configuration.phrase_tables):
        line = (
            f"PhraseDictionaryMemory name=TranslationModel{number} num-features={len(table.part.feature_names)} "
            f"path={_plain(table.path)} input-factor=0 output-factor=0 table-limit={configuration.table_limit}"
        )
        yield line, f"TranslationModel{number}", table.part.columns(number)
    if configuration.reordering_table is not None:
        default = configuration.reordering_default
        default_scores = "" if default is None else f" default-scores={','.join(f'{score:.9g}' for score in default)}"
        line = (
            f"LexicalReordering name=LexicalReordering0 num-features={len(REORDERING_FEATURES)} "
            f"type={REORDERING_TYPE}-allff input-factor=0 output-factor=0 "
            f"path={_plain(configuration.reordering_table)}{default_scores}"
        )
        yield line, "LexicalReordering0", REORDERING_FEATURES


def _plain(path: Path) -> Path:
    if any(character.isspace() or character == "#" for character in str(path)):
        raise InputError(f"Moses cannot read the path {str(path)!r}", remedy="use a path without spaces and #")
    return path


def import_model(
    phrase_table: str | Path | Sequence[str | Path] = (),
    language_models: Sequence[str | Path] = (),
    reordering_table: str | Path | None = None,
    moses_ini: str | Path | None = None,
    progress: Progress = silent,
) -> PhraseModel:
    """Return a model from Moses' files, with one phrase table or several.

    The files that a moses.ini names are read, relative to the file itself, unless other files are given here; its
    weights and limits are taken over. Without one, weights are Moses' defaults.
    """
    configuration = read_moses_ini(moses_ini) if moses_ini else MosesConfiguration({})
    base = Path(moses_ini).parent if moses_ini else Path()
    files = _table_files([phrase_table] if isinstance(phrase_table, str | Path) else phrase_table, configuration, base)
    lm_paths = list(language_models) or [
        path for model in configuration.language_models if (path := _named_file("language model", base, model.path))
    ]
    reordering_path = reordering_table or _named_file("reordering table", base, configuration.reordering_table)
    source, target = Vocabulary(), Vocabulary()
    tables = []
    for file in files:
        columns = file.part.feature_names or None
        tables.append(read_phrase_table(file.path, source, target, columns, progress))
        if reordering_path is not None:
            default = configuration.reordering_default
            tables[-1] = read_reordering_table(reordering_path, tables[-1], default, progress)
    table = unite(tables, [file.part.back_off for file in files]) if len(tables) > 1 else tables[0]
    models = tuple(read_arpa(path, target, progress) for path in lm_paths)
    names = feature_names(table, len(models))
    weights, settings = default_weights(names), SearchSettings()
    if configuration.weights:  # a feature that the configuration lacks is not part of that model: it weighs nothing
        weights = Weights({name: configuration.weights.get(name, 0.0) for name in names}, weights.frozen)
    if moses_ini:
        settings = SearchSettings(configuration.distortion_limit, configuration.table_limit)
    return PhraseModel(table, models, weights, settings, training={"imported": "moses"})


def _table_files(given: Sequence[str | Path], configuration: MosesConfiguration, base: Path) -> list[PhraseTableFile]:
    """Return the phrase tables to read; without a configuration it is not known what columns they have."""
    named = configuration.phrase_tables
    paths = [Path(path) for path in given]
    repeated = next((path for place, path in enumerate(paths) if path in paths[:place]), None)
    if repeated is not None:
        raise InputError(f"the phrase table {repeated} is given twice", remedy="give each of them once")
    if given and not named:
        return [PhraseTableFile(path, TablePart(())) for path in paths]
    if given and len(given) != len(named):
        message = f"{len(given)} phrase tables in place of the {len(named)} of the moses.ini"
        raise InputError(message, remedy="give as many, in the order of [mapping], or correct the moses.ini")
    if not named:
        raise InputError("no phrase table to import", remedy="give a phrase table, or a moses.ini that names one")
    files = paths or [path for one in named if (path := _named_file("phrase table", base, one.path))]
    return [replace(one, path=path) for one, path in zip(named, files, strict=True)]


def _named_file(kind: str, base: Path, name: Path | None) -> Path | None:
    """Return a file that a moses.ini names; it is checked before any work, since such files are often elsewhere."""
    if name is None:
        return None
    if not (base / name).exists():
        what = " (an ARPA file; Moses' binary ones cannot be read)" if kind == "language model" else ""
        remedy = f"give another {kind}{what}"
        raise InputError("no such file, but the moses.ini names it", file=base / name, remedy=remedy)
    return base / name


def export_model(model: PhraseModel, directory: str | Path, progress: Progress = silent) -> None:
    """Write a directory that Moses can run: phrase-table.gz, lm.N.arpa.gz, moses.ini, and a reordering table.

    Further phrase tables are phrase-table.1.gz and so on.
    """
    reordered = model.table.reordering is not None
    parts = model.table.parts or (TablePart(model.table.feature_names),)
    tables = [PhraseTableFile(Path(f"phrase-table.{k}.gz" if k else PHRASE_TABLE), one) for k, one in enumerate(parts)]
    with atomic_directory(directory, INI) as folder:
        for number, table in enumerate(tables):
            write_phrase_table(folder / table.path, part_of(model.table, number), progress)
        if reordered:
            write_reordering_table(folder / REORDERING_TABLE, without_repetition(model.table), progress)
        files = []
        for number, language_model in enumerate(model.language_models):
            name = f"lm.{number}.arpa.gz"
            write_arpa(folder / name, language_model, model.target_vocabulary, progress)
            files.append(LanguageModelFile(Path(name), language_model.order))
        configuration = MosesConfiguration(
            weights=dict(zip(model.feature_names, model.weights.array(model.feature_names).tolist(), strict=True)),
            phrase_tables=tuple(tables),
            table_limit=model.settings.table_limit,
            language_models=tuple(files),
            reordering_table=Path(REORDERING_TABLE) if reordered else None,
            distortion_limit=model.settings.distortion_limit,
        )
        write_moses_ini(folder / INI, configuration)
