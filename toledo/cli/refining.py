"""What `toledo refine` runs: from files and names to a procedure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toledo.cli.tuning_runs import digest, model_digest, read_text
from toledo.corpus import read_parallel
from toledo.formats.pharaoh import read_alignments
from toledo.model import Model
from toledo.progress import Progress
from toledo.refinement.loop import PAPER, Settings
from toledo.refinement.procedure import ListSettings, Procedure
from toledo.refinement.softmax import SoftmaxAscent
from toledo.tuning.loop import LoopSettings
from toledo.tuning.tuner import Tuner


def named_settings(growth: bool, on_lattices: bool, steps: int | None, **given: Any) -> Settings:
    """The settings of the paper for growth transforms, and otherwise ours, with all that is given and not None."""
    base = PAPER if growth else Settings()
    if on_lattices:
        base = replace(base, utility="corpus")
    if steps is not None:
        base = replace(base, method=SoftmaxAscent(steps))
    if given["strength"] is not None and given["lexicon_strength"] is None:
        given["lexicon_strength"] = given["strength"]
    return replace(base, **{name: value for name, value in given.items() if value is not None})


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
    lists: tuple[int, int, int, int, float | None],
    rounds: tuple[int, int, int, int],
    tune_baseline: bool,
    work: Path,
    progress: Progress,
) -> Procedure:
    """A procedure for files.

    `lists` are the fields of ListSettings, `rounds` those of tuning at first and later, the seed, and threads.
    """
    loaded = Model.load(model)
    source, target, alignments = training
    corpus = read_parallel(source, target, (loaded.source_vocabulary, loaded.target_vocabulary))
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
        lists=ListSettings(*lists),
        alignments=None if alignments is None else read_alignments(alignments, corpus),
        rounds_again=again,
        tune_baseline=tune_baseline,
        configuration={
            "model_files": model_digest(model),
            "training_text": digest([corpus.source.words.tolist(), corpus.target.words.tolist()]),
            "alignments": None if alignments is None else str(alignments),
            "tuning_text": tune_text.digest,
            "validation_text": validation_text.digest,
        },
        progress=progress,
    )
