"""From a model and its training text to a refined model, step by step, each step kept on disk.

    WORK/baseline        the model with the features to be trained, and tuned weights
    WORK/folds           models trained without a part of the text
    WORK/lists           n-best lists of the training text, in parts
    WORK/refinement-…    history and states of one way to refine; several share the rest

A step that has been done is not repeated, so an interrupted run continues where it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toledo.errors import InputError, RunError
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.phrases.table import WordLinks
from toledo.progress import Progress, silent
from toledo.refinement.distributions import LEXICON, has_word_sums, with_word_sums
from toledo.refinement.expected_bleu import LatticeSpace, ListSpace, SearchSpaces, lattice_part, normalized
from toledo.refinement.loop import STAGES, Refined, families_of, refine
from toledo.refinement.objective import require_say, require_trainable
from toledo.refinement.phrase_lists import PhraseLists
from toledo.refinement.settings import RefineSettings
from toledo.refinement.training_lists import Fold, TextPart, collect, make_folds, require_folds, sampling
from toledo.runs.checkpoint import KIND, Checkpoint, RunHeader, digest, digest_arrays, plain, read_run, require_same
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.text.corpus import ParallelCorpus, Segment, Sentences
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import statistics_of
from toledo.tuning.loop import LoopSettings, TuningSet, digest_segments, tune
from toledo.tuning.tuner import Tuner
from toledo.weights import Weights

log = logging.getLogger(__name__)

SENTENCES_AT_ONCE = 2000  # in a part of the lists

Segments = Sequence[Segment]


def digest_training(corpus: ParallelCorpus, alignments: WordLinks | None) -> dict[str, str | None]:
    """Return digests of the training text, by the names of arguments."""
    return {
        "sources": _text_digest(corpus.source, corpus.source_vocabulary),
        "targets": _text_digest(corpus.target, corpus.target_vocabulary),
        "alignments": None if alignments is None else digest_arrays(alignments.offsets, alignments.links),
    }


def _text_digest(text: Sentences, vocabulary: Vocabulary) -> str:
    """Return a digest of the words of a text, whatever their numbers: vocabularies grow when a model translates."""
    used, first, numbers = np.unique(text.words, return_index=True, return_inverse=True)
    order = np.argsort(first)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(order.size)
    words = "\n".join(vocabulary.words(used[order].tolist())).encode()
    return digest_arrays(ranks[numbers], text.offsets, np.frombuffer(words, np.uint8))


@dataclass(frozen=True, eq=False)
class Procedure:
    """A model, its training text (in the words of the model), and the sets to tune and to validate on.

    `tuner` finds the weights of the baseline, and new ones after each iteration. Directory `work` keeps all steps.
    `configuration` is what else a result depends on, such as the files of the model. With `write`, scores are those of
    texts that it makes of words, as users see them.
    """

    model: PhraseModel
    corpus: ParallelCorpus
    tuning: Segments
    validation: Segments
    tuner: Tuner
    work: Path
    alignments: WordLinks | None = None
    configuration: Mapping[str, Any] | None = None
    seed: int = 1
    threads: int | None = None
    progress: Progress = silent
    write: Callable[[str], str] | None = None

    def run(self, settings: RefineSettings) -> Refined:
        """Do all steps that have not been done."""
        settings = settings.resolved()
        own = {name: value for name, value in plain(settings).items() if name != "processes"}
        folder = self.work / f"refinement-{digest(own).rpartition(':')[2]}"
        baseline = self.baseline(settings)
        again = LoopSettings(settings.rounds_again, seed=self.seed, threads=self.threads, write=self.write)
        return refine(
            baseline,
            self.space(baseline, settings),
            settings,
            tune=lambda model, number: self.tune(model, folder / f"tuning-{number}", again, settings.pop_limit),
            validate=lambda model: self.validate(model, settings.pop_limit),
            checkpoint=Checkpoint(folder, {"settings": own}, resume=True),
            threads=self.threads,
            progress=self.progress,
        )

    def baseline(self, settings: RefineSettings) -> PhraseModel:
        """Return the model with the lexicon features that are trained, and with tuned weights."""
        directory = self.work / "baseline"
        self._require_possible(settings)
        sums = bool(set(LEXICON) & set(families_of(settings))) and not has_word_sums(self.model)
        self._require_same(settings, sums)
        if not directory.exists():
            model = self.model
            if sums:
                log.info("lexicon features become sums over words, which can be trained")
                model = with_word_sums(model, self.threads)
            if not settings.keep_weights:
                rounds = LoopSettings(settings.rounds, seed=self.seed, threads=self.threads, write=self.write)
                model = self.tune(model, self.work / "tuning", rounds, settings.pop_limit)
            model.save(directory)
        return PhraseModel.load(directory)

    def space(self, baseline: PhraseModel, settings: RefineSettings) -> SearchSpaces:
        """Return the lists of the training text with their BLEU statistics, or its lattices."""
        parts = self.translate(baseline, settings)
        if settings.on != "forests":
            level = settings.resolved().level or "corpus"
            return ListSpace([PhraseLists.load(part.directory) for part in parts], level)
        return LatticeSpace(
            [lattice_part(Forest.load(part.directory), part.references, part.weights, self.threads) for part in parts]
        )

    def translate(self, baseline: PhraseModel, settings: RefineSettings) -> list[TextPart]:
        """Translate the parts of the training text that have not been translated."""
        folds = self._folds(baseline, settings.num_folds)
        (self.work / "lists").mkdir(exist_ok=True)
        parts = [
            self._part(settings, baseline, fold, (number, begin))
            for number, fold in enumerate(folds)
            for begin in range(0, fold.lines.size, SENTENCES_AT_ONCE)
        ]
        collect(parts, settings.processes, self.threads, self.progress)
        return parts

    def tune(self, model: PhraseModel, folder: Path, rounds: LoopSettings, pop_limit: int) -> PhraseModel:
        """Return the model with weights for the tuning set; rounds are kept in a folder until they have ended."""

        def search(weights: Weights) -> BeamSearch:
            return BeamSearch(model.with_weights(weights), Beam(pop_limit))

        result = tune(
            self.tuner,
            model.weights,
            TuningSet.searched(self.tuning, search, threads=self.threads, progress=self.progress),
            rounds,
            checkpoint=Checkpoint(folder, {}, resume=True),
            progress=self.progress,
        )
        return model.with_weights(result.weights)

    def validate(self, model: PhraseModel, pop_limit: int) -> float:
        """Return BLEU on the validation set."""
        return score(model, self.validation, pop_limit, self.threads, self.progress, self.write)

    def _folds(self, baseline: PhraseModel, folds: int) -> list[Fold]:
        if folds == 1:
            return [Fold(self.work / "baseline", None, np.arange(len(self.corpus)))]
        (self.work / "folds").mkdir(exist_ok=True)
        return make_folds(
            baseline,
            self.corpus,
            folds,
            self.work / "folds",
            alignments=self.alignments,
            threads=self.threads,
            progress=self.progress,
        )

    def _part(self, settings: RefineSettings, baseline: PhraseModel, fold: Fold, place: tuple[int, int]) -> TextPart:
        corpus, (number, begin) = self.corpus, place
        lines = fold.lines[begin : begin + SENTENCES_AT_ONCE].tolist()
        return TextPart(
            self.work / "lists" / f"fold-{number}-{begin}",
            fold.model,
            fold.rows,
            baseline.weights,
            [corpus.source_vocabulary.words(corpus.source[line].tolist()) for line in lines],
            [corpus.target_vocabulary.words(corpus.target[line].tolist()) for line in lines],
            len(baseline.table),
            settings,
            self.seed,
        )

    def _require_possible(self, settings: RefineSettings) -> None:
        """Refuse what would fail in a later step, before anything is computed or written."""
        if self.model.sparse is not None:
            raise InputError("the model has sparse features", remedy="refine a model without them, and add them later")
        require_trainable(self.model, families_of(settings))
        if settings.num_folds > 1:
            require_folds(self.model, self.corpus, settings.num_folds, self.alignments)
        if settings.keep_weights:
            sharpness = settings.resolved().sharpness or 0.0
            exponents = normalized(self.model.weights, self.model.feature_names, sharpness)
            for stage in STAGES[settings.parameters]:
                require_say(stage, exponents)

    def _require_same(self, settings: RefineSettings, sums: bool) -> None:
        """Refuse a directory of other lists; threads and processes do not matter."""
        own = {
            "model": self.model.signature,
            "weights": dict(self.model.weights) if settings.keep_weights else None,
            "word_sums": sums,
            "folds": settings.num_folds,
            "search": settings.search,
            "on": settings.on,
            "nbest": settings.nbest if settings.on == "lists" else None,
            "density": settings.density if settings.on == "forests" else None,
            "samples": plain(sampling(settings, self.seed) if settings.on == "samples" else None),
            "objective": plain(self.tuner),
            "rounds": settings.rounds,
            "seed": self.seed,
            **digest_training(self.corpus, self.alignments),
            **digest_segments(self.tuning, "tune_", written=self.write is not None),
            **digest_segments(self.validation, "dev_", written=self.write is not None),
            **(self.configuration or {}),
        }
        checkpoint = Checkpoint(self.work, own, resume=True)
        if not checkpoint.file.is_file():
            checkpoint.save({KIND: "lists for refinement"})
            return
        old = read_run(checkpoint.file, RunHeader).configuration
        require_same({**old, "word_sums": sums}, own, self.work)
        if old.get("word_sums") != sums:
            raise _other_sums(sums, self.work)


def _other_sums(sums: bool, work: Path) -> RunError:
    theirs, ours = ("those of the model", "sums over words, which can be trained")[:: 1 if sums else -1]
    return RunError(
        f"{work}: these lists were made for other lexicon features: {theirs}; these parameters need {ours}",
        remedy="choose another directory, or train the model with lexical='model1': its features serve for both",
    )


def score(
    model: PhraseModel,
    segments: Segments,
    pop_limit: int,
    threads: int | None = None,
    progress: Progress = silent,
    write: Callable[[str], str] | None = None,
) -> float:
    """Return BLEU of a model's translations, or of the texts that `write` makes of their words."""
    sentences, references = [one.words for one in segments], [one.references for one in segments]
    found = BeamSearch(model, Beam(pop_limit)).translate(sentences, threads, progress)
    metric = BLEU(smooth_method="none")
    return metric.score(statistics_of(metric, [one.words for one in found], references, threads, write))
