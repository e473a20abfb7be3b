"""Weights for document search, each condition of the experiment on documents in its own way."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from document_sets import DocumentSet, document_statistics, search_documents
from numpy.typing import NDArray
from runs import Run, Runs, file_name

from toledo.compiled.kernels import working_seconds
from toledo.model import PhraseModel, default_weights
from toledo.refinement.distributions import with_word_sums
from toledo.refinement.procedure import Procedure
from toledo.refinement.settings import RefineSettings
from toledo.runs.checkpoint import Checkpoint
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.tuning.documents.chains import Chains, ChainSettings, chain_set
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.documents.tune import RecordedStates, match_length, rank_states, search_states, states_of
from toledo.tuning.loop import LoopSettings, TuningResult, TuningSet, tune
from toledo.tuning.minimum_risk.trainer import DOCUMENT_RISK, GainAdaptation, MinimumRisk
from toledo.tuning.minimum_risk.training import DocumentSource, train
from toledo.tuning.settings import DocumentPRO
from toledo.tuning.tuners.gradient import Gradient
from toledo.tuning.tuners.mert import MERT
from toledo.weights import Weights

WORDS = 300
ROUNDS = 12
FIXED = ("oov",)
SHARPER = 3.0  # default weights times this to begin with: at 1 the distribution is very flat
CHAINS = ChainSettings(states=20, every=1.0, first=30.0, again=5.0)
TO_MATCH = 30  # documents
FINER = replace(DOCUMENT_RISK, steps=8, l2=1e-4, adaptation=GainAdaptation(step=0.03))
_STATES: dict[str, RecordedStates] = {}


@dataclass(frozen=True)
class Expected:
    """Expected BLEU by document chains, with features of words or without, from default weights or `after` others.

    Word features are many, and what a step knows of each is noise for the most part: they take smaller steps.
    """

    trainer: MinimumRisk
    words: int = 0
    after: str | None = None


@dataclass(frozen=True)
class Pooled:
    """Expected BLEU of the corpus on pooled samples of document chains, by L-BFGS.

    `after` another condition, only words are tuned: its own weights stay, made as sharp as this sum of them says.
    """

    words: int = 0
    after: str | None = None
    sharpness: float = 17.0
    l2: float = 2e-4
    rounds: int = 2


@dataclass(frozen=True)
class Matched:
    """Weights of a condition with another word penalty: texts of some tuning documents get the right length."""

    after: str


@dataclass(frozen=True)
class Finished:
    """MERT of the dense weights with beam search, after a condition whose other weights stay."""

    after: str
    rounds: int = 4


@dataclass(frozen=True)
class Mert:
    """MERT with beam search; lexicon features of the model, or sums over words (those that can be refined)."""

    rounds: int = 6
    word_sums: bool = False


@dataclass(frozen=True)
class Refined:
    """Phrase and word probabilities raised for BLEU on samples of document chains over the training text, with MERT.

    The training text is translated by models of ten folds. MERT finds the weights of the baseline, and those after each
    stage of the schedule; the best of these models on the tuning documents is taken.
    """

    schedule: str = "both"
    rounds_again: int = 6


How = Mert | DocumentPRO | Expected | Pooled | Matched | Finished | Refined
CONDITIONS: dict[str, How | None] = {
    "default": None,
    "MERT": Mert(),
    "MERT, word sums": Mert(word_sums=True),
    "PRO, BLEU decoding": DocumentPRO("consecutive", "bleu", positive=False),
    "PRO": DocumentPRO("consecutive", positive=False),
    "PRO, positive": DocumentPRO("consecutive"),
    "PRO, all pairs": DocumentPRO("all", positive=False),
    "PRO, all pairs, positive": DocumentPRO("all"),
    "PRO, all pairs, positive, linear": DocumentPRO("all", record=10_000),
    "PRO, all pairs, positive, beam start": DocumentPRO("all", start="beam"),
    "PRO, all pairs, positive, 3 rounds": DocumentPRO("all", rounds=3),
    "PRO, all pairs, positive, model and BLEU": DocumentPRO("all", "model+bleu"),
    "PRO, all pairs, positive, largest changes": DocumentPRO("all", record=500, max_states=11),  # as many as usual
    "PRO, all pairs, positive, falling": DocumentPRO("all", record=500, max_states=11, falling_share=0.3),
    "expected BLEU": Expected(replace(DOCUMENT_RISK, steps=8)),
    "expected BLEU, words": Expected(FINER, words=WORDS, after="expected BLEU"),
    "MERT, then words": Pooled(WORDS, "MERT", l2=5e-4),
    "expected BLEU, length": Matched("expected BLEU"),
    "expected BLEU, words, length": Matched("expected BLEU, words"),
    "expected BLEU, words, then MERT": Finished("expected BLEU, words"),
    "refined on chains": Refined(),
    "refined on chains, two stages": Refined("two-stage"),
}


def tuned(one: DocumentSet, name: str, seed: int) -> Run:
    """Weights by a condition, kept in the working directory."""
    runs = Runs(one.work, ("condition", "seed"))
    if (name, seed) not in runs.all():
        logging.info("%s, %s, seed %d: tuning", one.pair, name, seed)
        began = working_seconds()
        weights, seconds = _found(one, name, seed)
        seconds = working_seconds() - began if seconds is None else seconds
        runs.add({"condition": name, "seed": seed, "weights": dict(weights), "tuning_seconds": seconds})
    return runs.all()[name, seed]


def _found(one: DocumentSet, name: str, seed: int) -> tuple[Weights, float | None]:
    """The weights and, if an interruption is to be counted, the time that they took."""
    how = CONDITIONS[name]
    weights = default_weights(one.model.feature_names)
    if isinstance(how, Mert):
        weights = sentence_mert(one, model_of(one, name, seed), how.rounds, seed, weights)
    elif isinstance(how, Finished):
        start = replace(weights, values_by_name=dict(known_weights(one, how.after, seed)))
        weights = sentence_mert(one, model_of(one, how.after, seed), how.rounds, seed, start)
    elif isinstance(how, Refined):
        weights = _refined(one, name, how, seed)
    elif isinstance(how, DocumentPRO):
        weights = _ranked(one, replace(how, seed=seed), weights)
    elif isinstance(how, Expected):
        found = _expected(one, name, how, seed, weights)
        return found.weights, found.history.seconds
    elif isinstance(how, Pooled):
        weights = _pooled(one, how, seed, weights)
    elif isinstance(how, Matched):
        weights = _matched(one, how.after, seed)
    return weights, None


def _ranked(one: DocumentSet, how: DocumentPRO, weights: Weights) -> Weights:
    """By ranking; conditions that only learn otherwise share the states of a search."""
    for number in range(how.rounds):
        search = how.decoding, how.bleu_weight, how.record, how.steps, how.start, how.seed + number
        key = repr((one.pair, *search, dict(weights)))
        if key not in _STATES:
            task = DocumentTask(one.model, one.documents("tune"), threads=one.threads)
            results = search_states(how, task, weights, number)
            _STATES[key] = states_of(results, one.model.feature_names)
        found = rank_states(how, _STATES[key], one.model.feature_names, weights, number)
        logging.info("loss %.3f of %d pairs", found.loss, found.pairs)
        weights = found.weights
    return weights


def sentence_mert(one: DocumentSet, model: PhraseModel, rounds: int, seed: int, start: Weights) -> Weights:
    """With beam search, on the segments of the documents."""
    segments = [segment for document in one.documents("tune") for segment in document.segments]
    sentences = [list(segment.words) for segment in segments]

    def search(weights: Weights) -> Sequence[object]:
        return BeamSearch(model.with_weights(weights), Beam(100)).forests(sentences, one.threads)

    settings = LoopSettings(rounds=rounds, seed=seed, threads=one.threads)
    found = tune(MERT(), start, TuningSet(search, [segment.references for segment in segments]), settings)  # type: ignore[arg-type]
    return found.weights


def _refined(one: DocumentSet, name: str, how: Refined, seed: int) -> Weights:
    """The refined model is kept; schedules share lists, and all share the models of folds."""
    work, folds = one.work / f"refining-{seed}", one.work / "folds"
    work.mkdir(exist_ok=True)
    folds.mkdir(exist_ok=True)
    if not (work / "folds").exists():
        (work / "folds").symlink_to(folds.resolve())
    model, segments = one.whole_model, [segment for document in one.documents("tune") for segment in document.segments]
    procedure = Procedure(
        model=model,
        corpus=one.training_text,
        tuning=segments,
        validation=segments,
        tuner=MERT(),
        work=work,
        seed=seed,
        threads=one.threads,
    )
    schedule: Any = how.schedule
    found = procedure.run(RefineSettings(schedule, on="samples", rounds=Mert().rounds, rounds_again=how.rounds_again))
    found.model.save(_refined_directory(one, name, seed))
    return found.model.weights


def _refined_directory(one: DocumentSet, name: str, seed: int) -> Path:
    return one.work / file_name(f"{name}-{seed}.model")


def _expected(one: DocumentSet, name: str, how: Expected, seed: int, weights: Weights) -> TuningResult:
    values = dict(_sharper(weights) if how.after is None else known_weights(one, how.after, seed))
    start = replace(weights, values_by_name=values)
    chains = Chains(one.model_with_words(how.words), one.documents("tune"), (), replace(CHAINS, seed=seed))
    work = one.work / file_name(f"{name}-{seed}.tuning")
    resume = (work / "history.json").exists()
    configuration = {"trainer": repr(how.trainer), "chains": repr(CHAINS), "words": how.words}
    checkpoint = Checkpoint(work, configuration, resume)
    settings = LoopSettings(ROUNDS, seed=seed, threads=one.threads)
    source = DocumentSource(chains)
    return train(how.trainer, start, source, settings, average=ROUNDS // 2, checkpoint=checkpoint)


def _sharper(weights: Weights) -> Weights:
    values = {key: value if key in weights.frozen else SHARPER * value for key, value in weights.items()}
    return replace(weights, values_by_name=values)


def _pooled(one: DocumentSet, how: Pooled, seed: int, weights: Weights) -> Weights:
    model = one.model_with_words(how.words)
    chains = Chains(model, one.documents("tune"), (), replace(CHAINS, states=50, seed=seed))
    tuner = Gradient("corpus-expected-bleu", on="lists", l2=how.l2)
    settings = LoopSettings(rounds=how.rounds, n_best=300, seed=seed, threads=one.threads)
    start = _sharper(weights)
    if how.after is not None:
        known = known_weights(one, how.after, seed)
        start = Weights(dict(at_sharpness(model, known, how.sharpness)), frozenset(known))
    return tune(tuner, start, chain_set(chains, one.threads), settings).weights


def at_sharpness(model: PhraseModel, weights: Weights, sharpness: float) -> Weights:
    """Weights times a factor, so that those of the dense features have this sum; unknown words are left alone."""
    norm = sum(abs(weights[name]) for name in model.feature_names if name not in FIXED)
    return Weights({name: value * (1.0 if name in FIXED else sharpness / norm) for name, value in weights.items()})


def known_weights(one: DocumentSet, name: str, seed: int) -> Weights:
    """The weights of another condition, which is tuned if need be."""
    return Weights(tuned(one, name, seed)["weights"])


def _matched(one: DocumentSet, name: str, seed: int) -> Weights:
    documents, model = one.documents("tune")[:TO_MATCH], model_of(one, name, seed)

    def decode(weights: Weights) -> NDArray[np.float64]:
        found = search_documents(model, weights, documents, "beam", one.threads)
        return document_statistics(documents, found).sum(axis=0)

    return match_length(decode, known_weights(one, name, seed))


def model_of(one: DocumentSet, name: str, seed: int) -> PhraseModel:
    """The model of a condition."""
    how = CONDITIONS[name]
    if isinstance(how, Matched | Finished):
        return model_of(one, how.after, seed)
    if isinstance(how, Refined):
        return one.filtered(PhraseModel.load(_refined_directory(one, name, seed)))
    if isinstance(how, Mert) and how.word_sums:
        return one.filtered(with_word_sums(one.whole_model, one.threads))
    return one.model_with_words(how.words) if isinstance(how, Expected | Pooled) else one.model
