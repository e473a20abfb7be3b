"""Moses' configuration files (moses.ini since 2013), in and out: features, files, and weights by Toledo's names.

The syntax of moses.ini: sections of lines, feature declarations `Kind key=value ...`, weights `Name= number ...`.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from toledo.errors import InputError
from toledo.files import display_name, read_lines, write_lines
from toledo.formats.moses_table import column_names
from toledo.model import lm_feature
from toledo.phrases.table import REORDERING_FEATURES, SCORE_FEATURES
from toledo.text.vocabulary import split_words

log = logging.getLogger(__name__)

Section = list[tuple[int, str]]  # lines with their numbers

READ = {"input-factors", "mapping", "distortion-limit", "feature", "weight"}
OLD = {"ttable-file", "lmodel-file", "distortion-file", "generation-file", "global-lexical-file"}
OLD_PREFIX = "weight-"


@dataclass(frozen=True)
class Feature:
    """One declaration in the section [feature]."""

    file: str
    line: int
    kind: str
    name: str
    arguments: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The file of the feature."""
        if "path" not in self.arguments:
            raise self.error(f"{self.name} has no path", "write path=FILE")
        return Path(self.arguments["path"])

    def number(self, key: str) -> int | None:
        """A whole number from 0 up, if there is one."""
        text = self.arguments.get(key)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise self.error(f"{key}={text} is not a whole number", f"write {key}= and a number")
        return int(text)

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        """So many finite numbers with commas between them."""
        values = [_finite(text) for text in self.arguments[key].split(",")]
        if len(values) != count or None in values:
            raise self.error(f"{key}={self.arguments[key]} is not a list of {count} numbers", "separate them by commas")
        return tuple(value for value in values if value is not None)

    def error(self, message: str, remedy: str) -> InputError:
        """An error in this declaration."""
        return InputError(message, file=self.file, line=self.line, remedy=remedy)


def read_sections(path: str | Path) -> dict[str, Section]:
    """The lines of each section without comments and empty lines; sections that Toledo does not need are named."""
    sections: dict[str, Section] = {}
    lines: Section | None = None
    for number, line in enumerate(read_lines(path), start=1):
        text = " ".join(split_words(line.split("#", 1)[0]))
        if text.startswith("[") and text.endswith("]"):
            _refuse_old(path, number, text[1:-1])
            lines = sections.setdefault(text[1:-1], [])
        elif text and lines is None:
            raise InputError(
                f"{text!r} stands before the first [section]",
                file=display_name(path),
                line=number,
                remedy="give a moses.ini",
            )
        elif text and lines is not None:
            lines.append((number, text))
    if not sections.get("feature"):
        raise InputError("has no section [feature]", file=display_name(path), remedy="give a moses.ini")
    if ignored := sorted(set(sections) - READ):
        log.info("%s: settings that are not used: %s", path, ", ".join(ignored))
    return sections


def read_features(path: str | Path, lines: Section) -> Iterator[Feature]:
    """Feature declarations; one without a name is called after its kind, with a number from 0."""
    unnamed: Counter[str] = Counter()
    for line, text in lines:
        kind, *parts = text.split()
        malformed = [part for part in parts if "=" not in part]
        if malformed:
            raise InputError(
                f"{malformed[0]!r} is not of the form key=value",
                file=display_name(path),
                line=line,
                remedy="write: Kind key=value ...",
            )
        arguments = dict(part.split("=", 1) for part in parts)
        name = arguments.get("name", f"{kind}{unnamed[kind]}")
        unnamed[kind] += 1
        yield Feature(display_name(path), line, kind, name, arguments)


def read_weights(path: str | Path, lines: Section) -> dict[str, tuple[float, ...]]:
    """The weights of each feature by Moses' name."""
    weights: dict[str, tuple[float, ...]] = {}
    for line, text in lines:
        name, equals, rest = text.partition("=")
        name, values = name.strip(), [_finite(number) for number in rest.split()]
        if not equals or not name or not values or None in values or name in weights:
            what = "has weights already" if name in weights else "is not of the form Name= number ..."
            raise InputError(
                f"{text!r} {what}", file=display_name(path), line=line, remedy="write, for example: LM0= 0.5"
            )
        weights[name] = tuple(value for value in values if value is not None)
    return weights


def _refuse_old(path: str | Path, line: int, section: str) -> None:
    if section in OLD or section.startswith(OLD_PREFIX):
        raise InputError(
            f"[{section}] is a section of the old format (before 2013)",
            file=display_name(path),
            line=line,
            remedy="convert the file with Moses' scripts/training/convert-moses-ini-to-v2.perl",
        )


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


ONE_WEIGHT = {
    "UnknownWordPenalty": "oov",
    "WordPenalty": "word.penalty",
    "PhrasePenalty": "phrase.penalty",
    "Distortion": "distortion",
}
LANGUAGE_MODELS = {"KENLM", "SRILM", "IRSTLM"}
PHRASE_TABLES = {"PhraseDictionaryMemory", "PhraseDictionaryBinary", "PhraseDictionaryCompact", "ProbingPT"}
REORDERING = "LexicalReordering"
REORDERING_TYPES = ("wbe-msd-bidirectional-fe", "phrase-msd-bidirectional-fe")
UNLIMITED = -1
DEFAULT_TABLE_LIMIT = 20


@dataclass(frozen=True)
class LanguageModelFile:
    """A language model that the configuration names."""

    path: Path
    order: int | None = None


@dataclass(frozen=True)
class MosesConfiguration:
    """What a moses.ini says. Paths are as written there; a distortion limit of None is no limit.

    `table_features` are the columns of the phrase table. `table_limit` is the number of options for a source phrase,
    0 for all. `reordering_default` are probabilities for phrase pairs that the reordering table lacks.
    """

    weights: Mapping[str, float]
    phrase_table: Path | None = None
    table_features: tuple[str, ...] = SCORE_FEATURES
    table_limit: int = DEFAULT_TABLE_LIMIT
    language_models: tuple[LanguageModelFile, ...] = ()
    reordering_table: Path | None = None
    reordering_default: tuple[float, ...] | None = None
    distortion_limit: int | None = None


def read_moses_ini(path: str | Path) -> MosesConfiguration:
    """Read a configuration; a feature that Toledo does not have is an error that names it."""
    sections = read_sections(path)
    _refuse_factors(path, sections)
    weights = read_weights(path, sections.get("weight", []))
    configuration = MosesConfiguration(
        {}, distortion_limit=_distortion_limit(path, sections.get("distortion-limit", []))
    )
    for feature in read_features(path, sections.get("feature", [])):
        configuration = _with_feature(configuration, feature, weights.pop(feature.name, None))
    if weights:
        raise InputError(
            f"weights for features that are not declared: {', '.join(weights)}",
            file=display_name(path),
            remedy="declare them in [feature] or remove their weights",
        )
    return configuration


def write_moses_ini(path: str | Path, configuration: MosesConfiguration) -> None:
    """Write a configuration for Moses."""
    features = list(_feature_lines(configuration))
    moses_names = dict(_moses_names(configuration))
    known = [name for names in moses_names.values() for name in names]
    unknown = sorted(set(configuration.weights) - set(known))
    missing = sorted(set(known) - set(configuration.weights))
    if unknown or missing:
        what = f"Moses has no feature {unknown[0]}" if unknown else f"no weight for {missing[0]}"
        raise InputError(what, remedy="give weights for exactly the features of the model")
    weights = (
        f"{name}= {' '.join(repr(float(configuration.weights[toledo])) for toledo in names)}"
        for name, names in moses_names.items()
    )
    limit = UNLIMITED if configuration.distortion_limit is None else configuration.distortion_limit
    sections = {
        "input-factors": ["0"],
        "mapping": ["0 T 0"],
        "distortion-limit": [str(limit)],
        "feature": features,
        "weight": weights,
    }
    write_lines(path, (line for name, lines in sections.items() for line in (f"[{name}]", *lines, "")))


def _with_feature(
    configuration: MosesConfiguration, feature: Feature, weights: Sequence[float] | None
) -> MosesConfiguration:
    """Add one feature with its weights."""
    if feature.kind in ONE_WEIGHT:
        names: tuple[str, ...] = (ONE_WEIGHT[feature.kind],)
        if feature.kind == "UnknownWordPenalty" and weights is None:
            weights = (1.0,)  # Moses' default
    elif feature.kind in LANGUAGE_MODELS:
        names = (lm_feature(len(configuration.language_models)),)
        model = LanguageModelFile(feature.path, feature.number("order"))
        configuration = replace(configuration, language_models=(*configuration.language_models, model))
    elif feature.kind in PHRASE_TABLES:
        names = _table_features(feature)
        limit = feature.number("table-limit")
        configuration = replace(
            configuration,
            phrase_table=feature.path,
            table_features=names,
            table_limit=DEFAULT_TABLE_LIMIT if limit is None else limit,
        )
    elif feature.kind == REORDERING:
        names = REORDERING_FEATURES
        configuration = replace(
            configuration, reordering_table=feature.path, reordering_default=_reordering_default(feature)
        )
    else:
        raise feature.error(f"Toledo has no feature {feature.kind}", "tune and decode without it")
    return replace(
        configuration, weights={**configuration.weights, **_weights_of(feature, names, weights, configuration)}
    )


def _weights_of(
    feature: Feature, names: Sequence[str], weights: Sequence[float] | None, configuration: MosesConfiguration
) -> dict[str, float]:
    if any(name in configuration.weights for name in names):
        raise feature.error(
            f"a second feature {feature.kind}", "Toledo has one of each; only language models may be several"
        )
    if weights is None:
        raise feature.error(f"no weights for {feature.name}", f"write in [weight]: {feature.name}= ...")
    if len(weights) != len(names):
        raise feature.error(
            f"{len(weights)} weights for {feature.name}, which has {len(names)} scores", "correct [weight]"
        )
    return dict(zip(names, weights, strict=True))


def _table_features(feature: Feature) -> tuple[str, ...]:
    columns = feature.number("num-features")
    if columns is not None and columns < len(SCORE_FEATURES):
        raise feature.error(f"a phrase table with {columns} scores", f"use one with {', '.join(SCORE_FEATURES)}")
    return SCORE_FEATURES if columns is None else column_names(columns)


def _reordering_default(feature: Feature) -> tuple[float, ...] | None:
    """Check the type of a reordering model, and read its probabilities for unknown pairs."""
    if feature.arguments.get("type", "").removesuffix("-allff") not in REORDERING_TYPES:
        raise feature.error(
            f"a reordering model of type {feature.arguments.get('type')}",
            f"Toledo reads {' and '.join(REORDERING_TYPES)}",
        )
    if "default-scores" not in feature.arguments:
        return None
    return feature.numbers("default-scores", len(REORDERING_FEATURES))


def _refuse_factors(path: str | Path, sections: Mapping[str, Section]) -> None:
    for name, allowed in (("input-factors", ("0",)), ("mapping", ("0 T 0", "T 0"))):
        lines = sections.get(name, [])
        for number, text in lines:
            if text not in allowed or len(lines) > 1:
                raise InputError(
                    f"[{name}] {text}: Toledo has no factored models and one decoding path",
                    file=display_name(path),
                    line=number,
                    remedy=f"use a model with [{name}] {allowed[0]}",
                )


def _distortion_limit(path: str | Path, lines: Section) -> int | None:
    if not lines:
        return None
    number, text = lines[-1]
    try:
        limit = int(text)
    except ValueError:
        raise InputError(
            f"the distortion limit {text!r} is not a whole number",
            file=display_name(path),
            line=number,
            remedy="write 6",
        ) from None
    return None if limit < 0 else limit


def _moses_names(configuration: MosesConfiguration) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Moses' name of each feature, and the names of its weights."""
    for kind, name in ONE_WEIGHT.items():
        if name in configuration.weights:
            yield f"{kind}0", (name,)
    for number in range(len(configuration.language_models)):
        yield f"LM{number}", (lm_feature(number),)
    if configuration.phrase_table is not None:
        yield "TranslationModel0", configuration.table_features
    if configuration.reordering_table is not None:
        yield "LexicalReordering0", REORDERING_FEATURES


def _feature_lines(configuration: MosesConfiguration) -> Iterator[str]:
    yield from (kind for kind, name in ONE_WEIGHT.items() if name in configuration.weights)
    for number, model in enumerate(configuration.language_models):
        order = "" if model.order is None else f" order={model.order}"
        yield f"KENLM name=LM{number} factor=0 path={_plain(model.path)}{order}"
    if configuration.phrase_table is not None:
        yield (
            f"PhraseDictionaryMemory name=TranslationModel0 num-features={len(configuration.table_features)} "
            f"path={_plain(configuration.phrase_table)} input-factor=0 output-factor=0 "
            f"table-limit={configuration.table_limit}"
        )
    if configuration.reordering_table is not None:
        default = configuration.reordering_default
        default_scores = "" if default is None else f" default-scores={','.join(f'{score:.9g}' for score in default)}"
        yield (
            f"LexicalReordering name=LexicalReordering0 num-features={len(REORDERING_FEATURES)} "
            f"type={REORDERING_TYPES[0]}-allff input-factor=0 output-factor=0 "
            f"path={_plain(configuration.reordering_table)}{default_scores}"
        )


def _plain(path: Path) -> Path:
    if any(character.isspace() or character == "#" for character in str(path)):
        raise InputError(f"Moses cannot read the path {str(path)!r}", remedy="use a path without spaces and #")
    return path
