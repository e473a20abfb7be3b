"""What `toledo refine` runs: from files and names to a procedure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.cli.tune.runs import model_digest, read_text
from toledo.formats.alignments import read_alignments
from toledo.model import Model
from toledo.progress import Progress
from toledo.refinement.loop import PAPER, Settings
from toledo.refinement.procedure import ListSettings, Procedure
from toledo.refinement.softmax import SoftmaxAscent
from toledo.resumption import Marks, digest
from toledo.text.corpus import Sentences, read_parallel
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.loop import LoopSettings
from toledo.tuning.tuner import Tuner

LEXICON_PART = 10.0  # of τ with ratios, as in Settings


def named_settings(growth: bool, on_lattices: bool, steps: int | None, **given: Any) -> Settings:
    """The settings of the paper for growth transforms, and otherwise ours, with all that is given and not None.

    τ goes by the distance: as in the paper with KL, and with ratios ours, where lexicons have a tenth of it.
    """
    base = PAPER if growth else Settings()
    if on_lattices:
        base = replace(base, utility="corpus")
    if steps is not None:
        base = replace(base, method=SoftmaxAscent(steps))
    told = {name: value for name, value in given.items() if value is not None}
    ratios = told.get("distance", base.distance) == "ratios"
    strength = told.get("strength", Settings().strength if ratios else PAPER.strength)
    lexicon = {"lexicon_strength": strength / LEXICON_PART if ratios else None}
    return replace(base, **{**lexicon, **told, "strength": strength})


def settings_name(settings: Settings) -> str:
    """A directory for these settings; several of them share lists."""
    return f"refinement-{digest(repr(replace(settings, threads=None)))}"


def procedure_of(
    model: Path,
    training: tuple[Path, Path, Path | None],
    tuning: tuple[Path, Sequence[Path]],
    validation: tuple[Path, Sequence[Path]],
    *,
    tuner: Tuner,
    lists: ListSettings,
    rounds: tuple[int, int, int, int],
    tune_baseline: bool,
    work: Path,
    progress: Progress,
) -> Procedure:
    """A procedure for files.

    `rounds` are those of tuning at first and later, the seed, and threads.
    """
    loaded = Model.load(model)
    source, target, alignments = training
    corpus = read_parallel(source, target, (loaded.source_vocabulary, loaded.target_vocabulary))
    links = None if alignments is None else read_alignments(alignments, corpus)
    tune_text, validation_text = read_text(*tuning), read_text(*validation)
    first, again, seed, threads = rounds
    return Procedure(
        model=loaded,
        corpus=corpus,
        tuning=tune_text.segments,
        validation=validation_text.segments,
        tuner=tuner,
        rounds=LoopSettings(rounds=first, seed=seed, threads=threads),
        work=work,
        lists=lists,
        alignments=links,
        rounds_again=again,
        tune_baseline=tune_baseline,
        configuration={
            "MODEL": [[str(model), model_digest(model)]],
            "--source": _mark_of_text(source, corpus.source, corpus.source_vocabulary),
            "--target": _mark_of_text(target, corpus.target, corpus.target_vocabulary),
            "--alignments": None
            if links is None
            else [[str(alignments), _digest_of_arrays(links.offsets, links.links)]],
            **tune_text.marks("--tune-"),
            **validation_text.marks("--validate-"),
        },
        progress=progress,
    )


def _mark_of_text(file: Path, text: Sentences, vocabulary: Vocabulary) -> Marks:
    """Of numbers of words, and of the words: new ones of another text may have the same numbers."""
    return [[str(file), _digest_of_arrays(text.words, text.offsets, *vocabulary.to_arrays().values())]]


def _digest_of_arrays(*arrays: NDArray[Any]) -> str:
    """A short name for arrays: their sizes and all their bytes."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()[:16]
