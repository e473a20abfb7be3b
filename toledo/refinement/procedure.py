"""From a model and its training text to a refined model, step by step, each step kept on disk.

    WORK/baseline        the model with the features to be trained, and tuned weights
    WORK/folds           models trained without a part of the text
    WORK/lists           n-best lists of the training text, in parts
    WORK/refinement      history and states

A step that is there already is not done again, so an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toledo.corpus import ParallelCorpus, Segment
from toledo.errors import InputError
from toledo.files import atomic_writer
from toledo.metrics.bleu import BLEU
from toledo.model import Model
from toledo.phrases.alignments import Alignments
from toledo.progress import Progress, silent
from toledo.refinement.collecting import Part, collect
from toledo.refinement.distributions import LEXICON
from toledo.refinement.expectation import ListSpace
from toledo.refinement.folds import Fold, make_folds
from toledo.refinement.history import Checkpoint, require_same
from toledo.refinement.lists import PhraseLists
from toledo.refinement.loop import Refined, Settings, refine
from toledo.refinement.refined import has_word_sums, with_word_sums
from toledo.search.beam import BeamSearch, BeamSettings
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
    """How the training text is translated: texts per list, held-out folds (1: by the model itself), and the search."""

    n_best: int = 100
    folds: int = 10
    pop_limit: int = 100
    processes: int = 1

    def __post_init__(self) -> None:
        if min(self.n_best, self.folds, self.pop_limit, self.processes) < 1:
            raise ValueError("texts, folds, pop limit and processes are at least 1")


@dataclass(frozen=True, eq=False)
class Procedure:
    """A model, its training text (in the words of the model), sets to tune and to validate on, and how.

    `tuner` finds the weights of the baseline in the rounds of `rounds`, and new ones after each iteration. Without
    `tune_baseline` the weights of the model are good enough to begin with. `configuration` is what else a result
    depends on.
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
    tune_baseline: bool = True
    configuration: Mapping[str, Any] | None = None
    progress: Progress = silent

    def run(self, settings: Settings) -> Refined:
        """All steps."""
        if self.model.sparse is not None:
            raise InputError("the model has sparse features", remedy="refine a model without them, and add them later")
        self._require_same()
        baseline = self.baseline(settings)
        space = ListSpace(self.make_lists(baseline))
        checkpoint = Checkpoint(self.work / "refinement", self._plain({**self._own(), "settings": repr(settings)}))
        return refine(
            baseline,
            space,
            settings,
            tune=self.tune,
            validate=self.validate,
            checkpoint=checkpoint,
            progress=self.progress,
        )

    def baseline(self, settings: Settings) -> Model:
        """The model with the lexicon features that are trained, and with tuned weights."""
        directory = self.work / "baseline"
        if not directory.exists():
            model = self.model
            if set(LEXICON) & set(settings.families) and not has_word_sums(model):
                log.info("lexicon features become sums over words, as those can be trained")
                model = with_word_sums(model, settings.threads)
            if self.tune_baseline:
                model = self.tune(model, 0)
            model.save(directory)
        return Model.load(directory)

    def make_lists(self, baseline: Model) -> list[PhraseLists]:
        """The lists of the training text, as far as they are not there."""
        folds = self._folds(baseline)
        (self.work / "lists").mkdir(exist_ok=True)
        parts = [
            self._part(baseline, fold, f"fold-{number}-{begin}", fold.lines[begin : begin + SENTENCES_AT_ONCE])
            for number, fold in enumerate(folds)
            for begin in range(0, fold.lines.size, SENTENCES_AT_ONCE)
        ]
        collect(parts, self.lists.processes, self.rounds.threads, self.progress)
        return [PhraseLists.load(part.directory) for part in parts]

    def tune(self, model: Model, number: int) -> Model:
        """The model with weights for the tuning set; number 0 is the baseline."""
        sentences, references = _texts(self.tuning)

        def search(weights: Weights) -> Sequence[Any]:
            own = BeamSearch(model.with_weights(weights), BeamSettings(self.lists.pop_limit))
            return own.forests(sentences, self.rounds.threads, self.progress)

        folder = self.work / "tuning" / str(number)
        folder.parent.mkdir(exist_ok=True)
        result = tune(
            self.tuner,
            model.weights,
            TuningSet(search, references),
            self.rounds,
            checkpoint=TuningCheckpoint(folder, {"number": number}, resume=True),
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

    def _part(self, baseline: Model, fold: Fold, name: str, lines: Any) -> Part:
        corpus = self.corpus
        return Part(
            self.work / "lists" / name,
            fold.model,
            fold.rows,
            baseline.weights,
            [corpus.source_vocabulary.words(corpus.source[line].tolist()) for line in lines.tolist()],
            [corpus.target_vocabulary.words(corpus.target[line].tolist()) for line in lines.tolist()],
            self.lists.n_best,
            self.lists.pop_limit,
            len(baseline.table),
        )

    def _own(self) -> dict[str, Any]:
        """What lists and baseline depend on; threads and processes do not matter."""
        return {
            "model": self.model.signature,
            "n_best": self.lists.n_best,
            "folds": self.lists.folds,
            "pop_limit": self.lists.pop_limit,
            "tuner": repr(self.tuner),
            "rounds": self.rounds.rounds,
            "seed": self.rounds.seed,
            "tune_baseline": self.tune_baseline,
            **(self.configuration or {}),
        }

    def _require_same(self) -> None:
        file = self.work / CONFIGURATION
        if file.is_file():
            require_same(json.loads(file.read_text(encoding="utf-8")), self._plain(self._own()), self.work)
            return
        self.work.mkdir(parents=True, exist_ok=True)
        with atomic_writer(file) as stream:
            json.dump(self._own(), stream, indent=1, ensure_ascii=False)

    @staticmethod
    def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
        plain: dict[str, Any] = json.loads(json.dumps(content))
        return plain


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
