"""More phrase tables and language models for a model: those of Moses' files, and those of other models."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict, Unpack

import numpy as np

from toledo.api.inputs import Texts
from toledo.api.pairs import encode_words, prepare_pairs, read_columns
from toledo.errors import InputError
from toledo.formats.moses_table import read_phrase_table
from toledo.language_model.model import LanguageModel, read_language_model
from toledo.model import DESCRIPTION, PhraseModel
from toledo.phrases.settings import EITHER, TableCombination, TableSettings
from toledo.phrases.several import recoded, rows_in
from toledo.phrases.table import PhraseTable
from toledo.progress import Progress, silent
from toledo.text.corpus import ParallelCorpus
from toledo.text.rare_words import rewrite_sources
from toledo.text.vocabulary import RESERVED, Vocabulary
from toledo.training import add_parts

if TYPE_CHECKING:
    from toledo.api.model import Model  # which imports this module

log = logging.getLogger(__name__)

GivenTable: TypeAlias = "Model | PhraseModel | PhraseTable | str | Path"
GivenLanguageModel: TypeAlias = "Model | PhraseModel | LanguageModel | str | Path"
TuningText: TypeAlias = tuple[Texts, Texts]


def extend(
    model: PhraseModel,
    phrase_tables: Sequence[GivenTable] = (),
    language_models: Sequence[GivenLanguageModel] = (),
    *,
    settings: TableSettings = EITHER,
    interpolate_on: TuningText | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> PhraseModel:
    """Return a model with more phrase tables and language models.

    A table is a file of Moses, a model or its directory; a language model is an ARPA file, a directory, or those of a
    model. The two texts of `interpolate_on`, on which linear interpolation finds its weights, are prepared as those of
    the model were.
    """
    _refuse_unused(phrase_tables, settings, interpolate_on)
    _refuse_twice(phrase_tables, "phrase table")
    _refuse_twice(language_models, "language model")
    model = _with_own_words(model)
    read = [_read_table(one, model, progress) for one in phrase_tables]
    tables = [_checked(table, model, name) for table, name in zip(read, map(_name, phrase_tables), strict=True)]
    _refuse_same([model.table, *tables], ["the model", *map(_name, phrase_tables)])
    model = _knowing(model, tables)
    models = read_language_models(language_models, model.target_vocabulary, progress)
    tuning = None if interpolate_on is None else _tuning(model, interpolate_on)
    found = add_parts(model, tables, models, settings, tuning, threads)
    if tables:
        log.info("%d phrase pairs from %d tables (%s)", len(found.table), len(tables) + 1, settings.combine_tables)
    return found


class AddOptions(TypedDict, total=False):
    """What `Model.add` takes."""

    phrase_tables: Sequence[GivenTable]
    language_models: Sequence[GivenLanguageModel]
    combine_tables: TableCombination
    back_off_length: int
    interpolate_on: TuningText | None
    threads: int | None
    progress: Progress


def added(model: PhraseModel, **how: Unpack[AddOptions]) -> PhraseModel:
    """Return a model with more phrase tables and language models."""
    tables, models = how.get("phrase_tables", ()), how.get("language_models", ())
    if not tables and not models:
        raise InputError("nothing to add", remedy="give `phrase_tables` or `language_models`")
    settings = TableSettings(
        how.get("combine_tables", EITHER.combine_tables), how.get("back_off_length", EITHER.back_off_length)
    )
    return extend(
        model,
        tables,
        models,
        settings=settings,
        interpolate_on=how.get("interpolate_on"),
        threads=how.get("threads"),
        progress=how.get("progress", silent),
    )


def read_language_models(
    given: Sequence[GivenLanguageModel], vocabulary: Vocabulary, progress: Progress = silent
) -> tuple[LanguageModel, ...]:
    """Return language models over a vocabulary, which their words join; of a translation model, all that it has."""
    found = list[LanguageModel]()
    for one in given:
        if isinstance(one, str | Path) and not (Path(one) / DESCRIPTION).exists():
            found.append(read_language_model(one, vocabulary, progress))
        elif isinstance(one, LanguageModel):
            found.append(one.with_vocabulary(vocabulary))
        else:
            other = _phrase_model(one)
            own = (LanguageModel(model.ngrams, other.target_vocabulary) for model in other.language_models)
            found += [model.with_vocabulary(vocabulary) for model in own]
    return tuple(found)


def _phrase_model(given: Model | PhraseModel | str | Path) -> PhraseModel:
    if isinstance(given, str | Path):
        return PhraseModel.load(given)
    return given if isinstance(given, PhraseModel) else given.phrase_model


def _with_own_words(model: PhraseModel) -> PhraseModel:
    """Return the model with copies of its vocabularies, so that the one that was given does not get new words."""
    source, target = Vocabulary(model.source_vocabulary), Vocabulary(model.target_vocabulary)
    return replace(model, table=replace(model.table, source_vocabulary=source, target_vocabulary=target))


def _name(given: object) -> str:
    return str(given) if isinstance(given, str | Path) else "a given table"


def _read_table(given: GivenTable, model: PhraseModel, progress: Progress) -> PhraseTable:
    if isinstance(given, PhraseTable):
        return given
    if isinstance(given, str | Path) and not Path(given).is_dir():
        return read_phrase_table(given, Vocabulary(), Vocabulary(), None, progress)
    other = _phrase_model(given)
    own, theirs = model.preparation, other.preparation
    if all((*own.languages, *theirs.languages)) and own.languages != theirs.languages:
        here, there = " to ".join(own.languages), " to ".join(theirs.languages)
        raise InputError(
            f"{_name(given)} is a model for {there}, this one is for {here}",
            argument="phrase_tables",
            remedy="give the table of the same direction",
        )
    if own.signature != theirs.signature:
        log.warning("%s: its text was prepared differently: %s, here %s", _name(given), theirs.signature, own.signature)
    return other.table


def _checked(table: PhraseTable, model: PhraseModel, name: str) -> PhraseTable:
    """Refuse a table that looks like one of the other direction, and give it the vocabularies of the model."""
    known = model.source_vocabulary, model.target_vocabulary
    sides = set(table.source_vocabulary), set(table.target_vocabulary)
    same, crossed = (
        [len(side.difference(RESERVED).intersection(other)) for side, other in zip(sides, others, strict=True)]
        for others in (known, known[::-1])
    )
    if crossed[0] > same[0] and crossed[1] > same[1]:
        raise InputError(
            f"{name}: more source words are target words of the model ({crossed[0]}) than source words ({same[0]}): "
            "it looks like the table of the other direction",
            argument="phrase_tables",
            remedy="give a table whose first column is in the source language of the model",
        )
    if not same[0]:
        log.warning("%s: has no source word in common with the model", name)
    return recoded(table, *known)


def _knowing(model: PhraseModel, tables: Sequence[PhraseTable]) -> PhraseModel:
    """Return the model without a rule for rare words that added tables can translate by themselves."""
    text = model.preparation
    if text.source.rare is None or not tables:
        return model
    known = set[str]()
    for table in tables:
        sources = table.pairs.sources
        alone = np.flatnonzero(np.diff(sources.offsets) == 1)
        known.update(model.source_vocabulary.words(sources.words[sources.offsets[alone]].tolist()))
    source = replace(text.source, rare=text.source.rare.knowing(known))
    return replace(model, preparation=replace(text, source=source))


def _refuse_unused(tables: Sequence[object], settings: TableSettings, tuning: TuningText | None) -> None:
    if tuning is not None and (settings.combine_tables != "linear" or not tables):
        raise InputError(
            "`interpolate_on` is only for linear interpolation of phrase tables",
            argument="interpolate_on",
            remedy="leave it out, or give `phrase_tables` and `combine_tables=linear`",
        )
    if settings.back_off_length != EITHER.back_off_length and settings.combine_tables != "back-off":
        raise InputError(
            "`back_off_length` is only for back-off tables",
            argument="back_off_length",
            remedy="leave it out, or give `combine_tables=back-off`",
        )


def _refuse_twice(given: Sequence[object], kind: str) -> None:
    paths = [Path(one).resolve() for one in given if isinstance(one, str | Path)]
    repeated = next((path for place, path in enumerate(paths) if path in paths[:place]), None)
    if repeated is not None:
        raise InputError(f"the {kind} {repeated} is given twice", remedy="give each of them once")


def _refuse_same(tables: Sequence[PhraseTable], names: Sequence[str]) -> None:
    """Refuse tables with the same pairs and scores, whatever their files are called."""
    for place, one in enumerate(tables):
        for before in range(place):
            other = tables[before]
            if one.scores.shape != other.scores.shape:
                continue
            rows = rows_in(other, one.pairs)
            if (rows >= 0).all() and np.allclose(other.scores[rows], one.scores, atol=1e-4):
                raise InputError(
                    f"{names[place]} has the same phrase pairs and scores as {names[before]}",
                    argument="phrase_tables",
                    remedy="give each table once",
                )


def _tuning(model: PhraseModel, given: TuningText) -> ParallelCorpus:
    """Return the tuning text in the words of the model, without pairs of which one side is empty."""
    rare = model.preparation.source.rare
    vocabularies = model.source_vocabulary if rare is None else Vocabulary(), model.target_vocabulary
    if model.preparation.raw:
        corpus = prepare_pairs(read_columns(*given), model.preparation, None).encode(vocabularies)
    else:
        corpus = encode_words(*given, vocabularies)
    if rare is not None:
        corpus = rewrite_sources(corpus, rare, model.source_vocabulary)
    keep = corpus.usable(int(max(corpus.source.lengths.max(initial=1), corpus.target.lengths.max(initial=1))))
    if not keep.any():
        raise InputError("the tuning text has no sentence pairs", argument="interpolate_on", remedy="check the files")
    return corpus.select(keep)
