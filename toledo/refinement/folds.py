"""Held-out folds: each part of a training text is translated by a model that was trained without it.

A model knows its own training text by heart: it has long phrases that occur there alone, and nearly perfect
translations teach nothing about others. Phrase pairs of a fold's model that the whole model does not have are dropped,
and the others numbered as there. Language models that came from elsewhere (`toledo train --lm-text` or
`--language-model`) have not seen the text in the first place: all folds have those of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.corpus import ParallelCorpus
from toledo.errors import InputError
from toledo.model import Model
from toledo.phrases.alignments import Alignments
from toledo.phrases.filtering import select_pairs
from toledo.phrases.look_up import find_pairs
from toledo.phrases.table import PhraseTable
from toledo.phrases.training import PhraseTraining
from toledo.phrases.trie import build_trie, find_phrases
from toledo.phrases.word_alignment import AlignmentTraining
from toledo.progress import Progress, silent
from toledo.refinement.collecting import ROWS
from toledo.refinement.refined import has_word_sums
from toledo.training import GIVEN_ALIGNMENTS, GIVEN_LANGUAGE_MODEL, Training, train


@dataclass(frozen=True)
class Fold:
    """A model on disk, the numbers of its phrase pairs (None: as they are), and the lines that it has to translate."""

    model: Path
    rows: Path | None
    lines: NDArray[np.int64]


def make_folds(
    model: Model,
    corpus: ParallelCorpus,
    count: int,
    directory: Path,
    *,
    alignments: Alignments | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[Fold]:
    """Train the models of all folds that are not there yet. Fold f has the lines f, f + count, …"""
    require_folds(model, corpus, count, alignments)
    config, given = training_of(model), _given(model)
    if has_word_sums(model):  # also where those came later than training
        config = replace(config, phrases=replace(config.phrases, lexical="model1"))
    number = np.arange(len(corpus)) % count
    folds = []
    for fold in range(count):
        home, rows_home = directory / f"{fold}-model", directory / f"{fold}-rows"
        folds.append(Fold(home, rows_home, np.flatnonzero(number == fold)))
        if home.exists() and rows_home.exists():
            continue
        keep = number != fold
        trained = train(
            corpus.select(keep),
            config,
            alignments=None if alignments is None else alignments.select(keep),
            word_lexicons=None if alignments is None else model.word_lexicons,
            language_models=model.language_models if GIVEN_LANGUAGE_MODEL in given else (),
            threads=threads,
            progress=progress,
        )
        rows = rows_in(model.table, trained.table)
        known = replace(trained, table=select_pairs(trained.table, rows >= 0), settings=model.settings)
        storage.save(rows_home, ROWS, {}, {"rows": rows[rows >= 0]})
        known.save(home)
    return folds


def require_folds(model: Model, corpus: ParallelCorpus, count: int, alignments: Alignments | None) -> None:
    """Refuse folds that could not be trained as the model was."""
    if not 2 <= count <= len(corpus):
        raise InputError(
            f"{count} folds of {len(corpus)} lines", remedy="choose fewer folds: 2 to 20 are usual, 1 is for none"
        )
    training_of(model)
    if alignments is None and (GIVEN_ALIGNMENTS in _given(model) or model.word_lexicons is None):
        raise InputError(
            "the model was trained on given word alignments, and folds need those of their lines",
            remedy="give the same file (--alignments), or translate the text with the model itself (--folds 1)",
        )


def rows_in(table: PhraseTable, other: PhraseTable) -> NDArray[np.int32]:
    """The number in `table` of each phrase pair of `other`, or -1; both must have the same vocabularies."""
    sources = find_phrases(table.trie, other.pairs.sources.words, other.pairs.sources.offsets)
    targets = find_phrases(build_trie(table.pairs.targets), other.pairs.targets.words, other.pairs.targets.offsets)
    return find_pairs(
        table.option_offsets, table.pairs.target, sources[other.pairs.source], targets[other.pairs.target]
    )


def training_of(model: Model) -> Training:
    """How a model was trained."""
    config = model.training.get("config")
    own = GIVEN_LANGUAGE_MODEL not in _given(model)
    if not isinstance(config, dict) or (own and len(model.language_models) != 1):
        raise InputError(
            "it is not known how this model was trained, so there can be no others like it for folds",
            remedy="train it with toledo train, or translate the text with the model itself (--folds 1)",
        )
    try:
        return _training(config)
    except (KeyError, TypeError) as error:
        raise InputError(f"unknown training of the model: {error}", remedy="train it again") from None


def _given(model: Model) -> list[str]:
    """What a model was given, and did not learn from its training text."""
    return str(model.training.get("given", "")).split("+")


def _training(config: Mapping[str, Any]) -> Training:
    parts = {"alignment": AlignmentTraining(**config["alignment"]), "phrases": PhraseTraining(**config["phrases"])}
    pruning = tuple(config["lm_prune"])
    limit = config.get("distortion_limit")
    return Training(**{**config, **parts, "lm_prune": pruning, "distortion_limit": limit})
