"""Tuning of whole documents in one call: by ranking recorded states, or for expected BLEU, and then the length.

Weights that are trained for expectations give samples of the right length. The best translations of the same
distribution are shorter as a rule: long ones are many, and each has a small probability. BLEU penalizes that, so the
word penalty is adjusted at the end until what a search finds is as long as the references.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import Checkpoint, digest, plain
from toledo.runs.history import History
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing
from toledo.text.corpus import Document
from toledo.tuning.documents.chains import Chains, ChainSettings, Floats
from toledo.tuning.documents.ranking import rank_documents, tune_by_ranking
from toledo.tuning.documents.settings import DocumentGradient, DocumentMethod, DocumentPRO
from toledo.tuning.loop import LoopSettings
from toledo.tuning.minimum_risk.trainer import COOLING, DOCUMENT_RISK, GainAdaptation, MinimumRisk
from toledo.tuning.minimum_risk.training import DocumentSource, last_rounds, train
from toledo.weights import Weights

log = logging.getLogger(__name__)

UNTIL_ANNEALED = 1000  # rounds: annealing ends before
L2_OF_SPARSE, STEP_OF_SPARSE = 1e-4, 0.03  # what a step knows of each of many features is mostly noise
JUDGING_STEPS = 30_000
LENGTH = "word.penalty"
FIRST_CHANGE, MOST_CHANGE = 0.1, 0.5  # of the weight, as a part of it
CLOSE = 0.001  # to the length of the references, as a part of it

Decode = Callable[[Weights], Floats]


def match_length(decode: Decode, weights: Weights, tries: int = 4, name: str = LENGTH) -> Weights:
    """Return the weights with another weight of `name`: of those tried, the one with the best BLEU.

    `decode` gives the BLEU statistics of what is found with some weights. The secant method looks for texts that are as
    long as the references.
    """
    point = weights[name]
    change, found = FIRST_CHANGE * abs(point) or FIRST_CHANGE, list[tuple[float, float, float]]()
    for _ in range(tries):
        statistics = decode(weights.updated([name], np.array([point])))
        ratio = math.log(max(float(statistics[0]), 1.0) / max(float(statistics[1]), 1.0))
        found.append((BLEU(smooth_method="none").score(statistics), point, ratio))
        log.info("%s %.3f: %.3f times as long as references, BLEU %.2f", name, point, math.exp(ratio), found[-1][0])
        if abs(ratio) < CLOSE:
            break
        point = _next(found, change)
    return weights.updated([name], np.array([max(found)[1]]))


def _next(found: list[tuple[float, float, float]], change: float) -> float:
    """Return where the length should be right, by the last two points; at first some way in the right direction.

    Less weight makes texts longer: the feature counts words below 0.
    """
    _, point, ratio = found[-1]
    if len(found) > 1:
        _, before, other = found[-2]
        if (ratio - other) * (point - before) < 0.0:
            farthest = max(MOST_CHANGE * abs(point), change)  # a point may be 0
            return point + float(np.clip(-ratio * (point - before) / (ratio - other), -farthest, farthest))
    return point + math.copysign(change, ratio)


def document_trainer(method: DocumentGradient, sparse: bool) -> MinimumRisk:
    """Return the trainer; many sparse features take smaller steps."""
    return replace(
        DOCUMENT_RISK,
        objective=method.objective,
        batch=method.batch,
        steps=method.gradient_steps,
        annealing=COOLING if method.annealing else None,
        l2=(L2_OF_SPARSE if sparse else 0.0) if method.l2 is None else method.l2,
        coupled=method.coupled,
        adaptation=GainAdaptation(step=STEP_OF_SPARSE) if sparse else GainAdaptation(),
    )


def chain_settings(method: DocumentGradient, seed: int) -> ChainSettings:
    """Return how documents are sampled; the first burn-in of a chain is longer."""
    return ChainSettings(method.num_samples, method.every, max(6.0 * method.burn_in, 1.0), method.burn_in, seed=seed)


@dataclass(frozen=True)
class DocumentTask:
    """A model with document models, the documents to tune on, and those that select the best round, if any."""

    model: PhraseModel
    documents: Sequence[Document]
    models: Sequence[DocumentModel] = ()
    dev: Sequence[Document] | None = None
    seed: int = 1
    threads: int | None = None

    def configuration(self, method: DocumentMethod, start: Weights) -> dict[str, Any]:
        """Return what the result depends on; more rounds may be added to the same run."""
        own = {name: value for name, value in plain(method).items() if name not in ("rounds", "seed")}
        return {
            "objective": own,
            "features": digest(self.model.sparse.names if self.model.sparse else ()),
            "frozen": ", ".join(sorted(start.frozen)),
            "initial": digest(start.to_table()),
            **_digests(self.documents),
            **(_digests(self.dev, "dev_") if self.dev else {}),
            "version": version("toledo-mt"),
        }

    def statistics(self, documents: Sequence[Document], weights: Weights) -> Floats:
        """Return the BLEU statistics of what hill climbing from beam search finds."""
        own = self.model.with_weights(Weights({**weights, BLEUModel.name: 0.0}))
        settings = DocumentSettings(HillClimbing(), steps=JUDGING_STEPS, seed=self.seed)
        search = DocumentSearch(own, settings, (*self.models, BLEUModel()))
        rows = [result.best.bleu for result in search.search(documents, threads=self.threads)]
        total: Floats = np.sum([row for row in rows if row is not None], axis=0).astype(np.float64)
        return total

    def score(self, documents: Sequence[Document], weights: Weights) -> float:
        """Return the BLEU of what a search finds."""
        return BLEU(smooth_method="none").score(self.statistics(documents, weights))

    def start(self, method: DocumentMethod, weights: Weights, added: Sequence[str]) -> Weights:
        """Return the weights to start from: gradients begin with a sharper distribution, except for `added` models."""
        if isinstance(method, DocumentPRO):
            return weights
        values = {
            name: value if name in weights.frozen or name in added else method.initial_factor * value
            for name, value in weights.items()
        }
        return replace(weights, values_by_name=values, bounds={})


def _digests(documents: Sequence[Document], prefix: str = "") -> dict[str, str]:
    segments = [part for document in documents for part in document.segments]
    return {
        f"{prefix}sources": digest([part.words for part in segments]),
        f"{prefix}document_ids": digest([[one.identifier, len(one.segments)] for one in documents]),
        f"{prefix}references": digest([part.references for part in segments]),
    }


@dataclass(frozen=True)
class TunedDocuments:
    """The weights of the best round if `by_score`, or the mean of those of the `averaged` rounds.

    `matched` says that the word penalty was adjusted after that.
    """

    weights: Weights
    history: History
    averaged: range
    by_score: bool
    matched: bool = False


def tune_documents(
    task: DocumentTask,
    start: Weights,
    method: DocumentMethod,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> TunedDocuments:
    """Tune the weights of a model and of document models."""
    dev = None if task.dev is None else partial(task.score, task.dev)
    if isinstance(method, DocumentPRO):
        model = task.model.with_weights(start)

        def ranking(weights: Weights, number: int) -> Any:
            return rank_documents(method, model, task.documents, task.models, weights, number, task.threads, progress)

        ranked = tune_by_ranking(method, start, ranking, partial(task.score, task.documents), dev, checkpoint)
        best = ranked.history.best
        return TunedDocuments(ranked.weights, ranked.history, range(best, best + 1), by_score=True)
    source = DocumentSource(Chains(task.model, task.documents, task.models, chain_settings(method, task.seed)), dev)
    rounds = UNTIL_ANNEALED if method.annealing else method.rounds
    settings = LoopSettings(rounds, seed=task.seed, threads=task.threads)
    average = 0 if dev else max(method.rounds // 2, 1)
    trainer = document_trainer(method, sparse=task.model.sparse is not None)
    found = train(trainer, start, source, settings, average=average, checkpoint=checkpoint, progress=progress)
    best = found.history.best
    own = last_rounds(found.history, average) if average else range(best, best + 1)
    weights, matched = found.weights, method.match_length and LENGTH not in found.weights.frozen
    if matched:
        weights = match_length(partial(task.statistics, task.documents), weights)
    return TunedDocuments(weights, found.history, own, dev is not None, matched)
