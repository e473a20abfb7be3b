"""From a model and its training text to a refined model, step by step, each step kept on disk.

    WORK/baseline        the model with the features to be trained, and tuned weights
    WORK/folds           models trained without a part of the text
    WORK/lists           n-best lists of the training text, in parts
    WORK/NAME            history and states of one way to refine; several share the rest

A step that is there already is not done again, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.forest.saving import load_forest
from toledo.metrics.bleu import BLEU
from toledo.model import Model
from toledo.phrases.table import Alignments
from toledo.progress import Progress, silent
from toledo.refinement.distributions import LEXICON
from toledo.refinement.expected_bleu import LatticeSpace, ListSpace, SearchSpaces, lattice_part, normalised
from toledo.refinement.history import SAME, Checkpoint
from toledo.refinement.loop import Refined, Settings, refine
from toledo.refinement.objective import require_say, require_trainable
from toledo.refinement.phrase_lists import PhraseLists
from toledo.refinement.refined import has_word_sums, with_word_sums
from toledo.refinement.training_lists import Fold, SampleSettings, TextPart, collect, make_folds, require_folds
from toledo.resumption import plain, require_same
from toledo.search.beam.search import BeamSearch, BeamSettings
from toledo.text.corpus import ParallelCorpus, Segment
from toledo.tuning.checkpoint import Checkpoint as TuningCheckpoint
from toledo.tuning.loop import LoopSettings, TuningSet, tune
from toledo.tuning.tuner import Tuner
from toledo.weights import Weights

log = logging.getLogger(__name__)

CONFIGURATION = "configuration.json"
SENTENCES_AT_ONCE = 2000  # in a part of the lists

Segments = Sequence[Segment]


@dataclass(frozen=True)
class ListSettings:
    """How the training text is translated: texts per list, held-out folds (1: by the model itself), and the search.

    With a `density` whole lattices are kept instead of lists, of so many edges per word; with `samples` lists of what
    document chains went through.
    """

    n_best: int = 100
    folds: int = 10
    pop_limit: int = 100
    processes: int = 1
    density: float | None = None
    samples: SampleSettings | None = None

    def __post_init__(self) -> None:
        if self.density is not None and self.samples is not None:
            raise ValueError("lattices or samples, not both")
        if self.density is not None and not self.density >= 1.0:
            raise ValueError("lattices have at least one edge per word")
        if min(self.n_best, self.folds, self.pop_limit, self.processes) < 1:
            raise ValueError("texts, folds, pop limit and processes are at least 1")


@dataclass(frozen=True, eq=False)
class Procedure:
    """A model, its training text (in the words of the model), sets to tune and to validate on, and how.

    `tuner` finds the weights of the baseline in the rounds of `rounds`, and new ones after each iteration in at most
    `rounds_again`: these begin near their goal. Without `tune_baseline` the weights of the model are good enough to
    begin with. `configuration` is what else a result depends on.
    """

    model: Model
    corpus: ParallelCorpus
    tuning: Segments
    validation: Segments
    tuner: Tuner
    rounds: LoopSettings
    work: Path
    lists: ListSettings = ListSettings()
    alignments: Alignments | None = None
    rounds_again: int = 2
    tune_baseline: bool = True
    configuration: Mapping[str, Any] | None = None
    progress: Progress = silent

    def run(self, settings: Settings, name: str = "refinement") -> Refined:
        """All steps, as far as they are not done; the refinement itself is kept under a name."""
        if self.lists.density is not None and settings.utility != "corpus":
            raise ValueError("lattices know no utility but BLEU of the corpus")
        folder = self.work / name
        baseline = self.baseline(settings)
        again = replace(self.rounds, rounds=self.rounds_again)
        return refine(
            baseline,
            self.space(baseline, settings.utility),
            settings,
            tune=lambda model, number: self.tune(model, folder / f"tuning-{number}", again),
            validate=self.validate,
            checkpoint=Checkpoint(folder, self._plain(repr(replace(settings, threads=None)))),
            progress=self.progress,
        )

    def baseline(self, settings: Settings) -> Model:
        """The model with the lexicon features that are trained, and with tuned weights."""
        directory = self.work / "baseline"
        self._require_possible(settings)
        sums = bool(set(LEXICON) & set(settings.families)) and not has_word_sums(self.model)
        self._require_same(sums)
        if not directory.exists():
            model = self.model
            if sums:
                log.info("lexicon features become sums over words, as those can be trained")
                model = with_word_sums(model, settings.threads)
            if self.tune_baseline:
                model = self.tune(model, self.work / "tuning", self.rounds)
            model.save(directory)
        return Model.load(directory)

    def space(self, baseline: Model, utility: str = "sentence") -> SearchSpaces:
        """The lists of the training text with what makes a hypothesis good, or its lattices."""
        parts, threads = self.translate(baseline), self.rounds.threads
        if self.lists.density is None:
            return ListSpace([PhraseLists.load(part.directory) for part in parts], utility)
        return LatticeSpace(
            [lattice_part(load_forest(part.directory), part.references, part.weights, threads) for part in parts]
        )

    def translate(self, baseline: Model) -> list[TextPart]:
        """Translate the parts of the training text that are not there yet."""
        folds = self._folds(baseline)
        (self.work / "lists").mkdir(exist_ok=True)
        parts = [
            self._part(baseline, fold, f"fold-{number}-{begin}", fold.lines[begin : begin + SENTENCES_AT_ONCE])
            for number, fold in enumerate(folds)
            for begin in range(0, fold.lines.size, SENTENCES_AT_ONCE)
        ]
        collect(parts, self.lists.processes, self.rounds.threads, self.progress)
        return parts

    def tune(self, model: Model, folder: Path, rounds: LoopSettings) -> Model:
        """The model with weights for the tuning set; rounds are kept in a folder until they have ended."""
        sentences, references = _texts(self.tuning)

        def search(weights: Weights) -> Sequence[Any]:
            own = BeamSearch(model.with_weights(weights), BeamSettings(self.lists.pop_limit))
            return own.forests(sentences, self.rounds.threads, self.progress)

        result = tune(
            self.tuner,
            model.weights,
            TuningSet(search, references),
            rounds,
            checkpoint=TuningCheckpoint(folder, {}, resume=True),
            progress=self.progress,
        )
        return model.with_weights(result.weights)

    def validate(self, model: Model) -> float:
        """BLEU on the validation set."""
        return score(model, self.validation, self.lists.pop_limit, self.rounds.threads, self.progress)

    def _folds(self, baseline: Model) -> list[Fold]:
        if self.lists.folds == 1:
            return [Fold(self.work / "baseline", None, np.arange(len(self.corpus)))]
        (self.work / "folds").mkdir(exist_ok=True)
        return make_folds(
            baseline,
            self.corpus,
            self.lists.folds,
            self.work / "folds",
            alignments=self.alignments,
            threads=self.rounds.threads,
            progress=self.progress,
        )

    def _part(self, baseline: Model, fold: Fold, name: str, lines: Any) -> TextPart:
        corpus = self.corpus
        return TextPart(
            self.work / "lists" / name,
            fold.model,
            fold.rows,
            baseline.weights,
            [corpus.source_vocabulary.words(corpus.source[line].tolist()) for line in lines.tolist()],
            [corpus.target_vocabulary.words(corpus.target[line].tolist()) for line in lines.tolist()],
            self.lists.n_best,
            self.lists.pop_limit,
            len(baseline.table),
            self.lists.density,
            self.lists.samples,
        )

    def _require_possible(self, settings: Settings) -> None:
        """Refuse what would fail in a later step, before anything is computed or written."""
        if self.model.sparse is not None:
            raise InputError("the model has sparse features", remedy="refine a model without them, and add them later")
        require_trainable(self.model, settings.families)
        if self.lists.folds > 1:
            require_folds(self.model, self.corpus, self.lists.folds, self.alignments)
        if not self.tune_baseline:
            exponents = normalised(self.model.weights, self.model.feature_names, settings.scale)
            for stage in settings.stages:
                require_say(stage, exponents)

    def _plain(self, settings: str) -> dict[str, Any]:
        return {"settings": settings, "rounds_again": self.rounds_again}

    def _require_same(self, sums: bool) -> None:
        """Refuse a directory of other lists; threads and processes do not matter."""
        file = self.work / CONFIGURATION
        own = {
            "model": self.model.signature,
            "weights": None if self.tune_baseline else dict(self.model.weights),
            "word_sums": sums,
            "n_best": self.lists.n_best,
            "folds": self.lists.folds,
            "pop_limit": self.lists.pop_limit,
            "density": self.lists.density,
            "samples": plain(self.lists.samples),
            "tuner": plain(self.tuner),
            "rounds": self.rounds.rounds,
            "seed": self.rounds.seed,
            **(self.configuration or {}),
        }
        if file.is_file():
            old = json.loads(file.read_text(encoding="utf-8"))
            require_same({**old, "word_sums": sums}, own, self.work, SAME)
            if old.get("word_sums") != sums:
                raise _other_sums(sums, self.work)
            return
        self.work.mkdir(parents=True, exist_ok=True)
        with atomic_writer(file) as stream:
            json.dump(own, stream, indent=1, ensure_ascii=False)


def _other_sums(sums: bool, work: Path) -> InputError:
    theirs, ours = ("those of the model", "sums over words, which can be trained")[:: 1 if sums else -1]
    return InputError(
        f"these lists were made for other lexicon features: {theirs}; what is to be trained now needs {ours}",
        file=work,
        remedy="name another --work directory, or train the model with --lexical model1: its features serve for both",
    )


def score(
    model: Model, segments: Segments, pop_limit: int, threads: int | None = None, progress: Progress = silent
) -> float:
    """BLEU of a model's translations."""
    sentences, references = _texts(segments)
    found = BeamSearch(model, BeamSettings(pop_limit)).translate(sentences, threads, progress)
    metric = BLEU()
    return metric.score(metric.corpus_statistics([one.words for one in found], references, threads).sum(axis=0))


def _texts(segments: Segments) -> tuple[list[Sequence[str]], list[Sequence[Sequence[str]]]]:
    return [one.words for one in segments], [one.references for one in segments]
