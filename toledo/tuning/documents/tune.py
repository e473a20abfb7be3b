"""Tuning of whole documents in one call: by ranking recorded states, or for expected BLEU, and then the length.

PRO on recorded states of document searches (Smith 2015, chapter 4): a search that climbs from a bad translation to a
good one passes states on its way. Of two states of a document, the one with the higher BLEU is the better one; a
logistic classifier without a constant learns from the differences of their features (`toledo.tuning.tuners.pro`).

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
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import working_seconds
from toledo.compiled.ragged import offsets_of, row_products
from toledo.errors import InputError
from toledo.forest.linear import dense_rows
from toledo.metrics.bleu import BLEU
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import Checkpoint
from toledo.runs.history import History
from toledo.runs.rounds import Loop, all_done, change, run
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing, bleu_settings
from toledo.search.document.state import DocumentResult, Record, Snapshot
from toledo.tuning.documents.chains import Chains, ChainSettings, Floats
from toledo.tuning.documents.lists import ListLoop, OnlineLoop, first_history
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.loop import LoopSettings
from toledo.tuning.minimum_risk.trainer import COOLING, DOCUMENT_RISK, GainAdaptation, MinimumRisk
from toledo.tuning.minimum_risk.training import DocumentSource, last_rounds, train
from toledo.tuning.settings import DocumentGradient, DocumentLists, DocumentMethod, DocumentPRO, OnlineMIRA, Which
from toledo.tuning.tuners.pro import Pairs, fit_pairs, logistic_loss
from toledo.tuning.weight_space import space_of
from toledo.weights import Weights

log = logging.getLogger(__name__)

UNTIL_ANNEALED = 1000  # rounds: annealing ends before
L2_OF_SPARSE, STEP_OF_SPARSE = 1e-4, 0.03  # what a step knows of each of many features is mostly noise
LENGTH = "word.penalty"
FIRST_CHANGE, MOST_CHANGE = 0.1, 0.5  # of the weight, as a part of it
CLOSE = 0.001  # to the length of the references, as a part of it
MAY_BE_NEGATIVE = (LENGTH, "phrase.penalty")

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


@dataclass(frozen=True, eq=False)
class RecordedStates:
    """Document i has the states `offsets[i]:offsets[i + 1]` in the order of their steps, with features and BLEU."""

    offsets: NDArray[np.int64]
    features: Floats
    gains: Floats


@dataclass(frozen=True)
class RankingRound:
    """What a round found and saw: weights, the numbers of states and pairs, and the mean loss."""

    weights: Weights
    states: int
    pairs: int
    loss: float


def rank_documents(
    pro: DocumentPRO, task: DocumentTask, weights: Weights, number: int = 0, progress: Progress = silent
) -> RankingRound:
    """Search with some weights and fit others to the recorded states; `number` counts rounds from 0."""
    names = (*task.model.feature_names, *(one.name for one in task.models))
    states = states_of(search_states(pro, task, weights, number, progress), names)
    return rank_states(pro, states, names, weights, number)


def rank_states(
    pro: DocumentPRO, states: RecordedStates, names: Sequence[str], weights: Weights, number: int = 0
) -> RankingRound:
    """Fit weights to states, which a search with `weights` has recorded; frozen weights stay as they were."""
    seed, rows = pro.seed + number, np.arange(states.gains.size)
    if pro.max_states is not None:
        rows = states_by_change(states, pro.max_states, seed)
    pairs = state_pairs(states, pro.pairs, rows)
    if pro.falling_share:
        scores = row_products(states.features, weights.array(names))
        pairs = with_falling(pairs, state_pairs(states, "consecutive"), scores, pro.falling_share, seed)
    if not pairs.better.size:
        log.warning("PRO: no two states of a document differ in BLEU: the weights stay as they are")
        return RankingRound(weights, rows.size, 0, 0.0)
    fitted, loss = fit_states(states, pairs, names, weights, pro.l2)
    if pro.positive:
        kept = [name in MAY_BE_NEGATIVE or name in weights.frozen for name in names]
        fitted = np.where(kept, fitted, np.maximum(fitted, 0.0))
    if not fitted[[name not in weights.frozen for name in names]].any():
        raise InputError("PRO: all weights are 0", remedy="leave negative weights as they are, or record more states")
    found = weights.updated(names, fitted)
    return RankingRound(found, rows.size, pairs.better.size, loss / pairs.better.size)


def search_states(
    pro: DocumentPRO, task: DocumentTask, weights: Weights, number: int = 0, progress: Progress = silent
) -> list[DocumentResult]:
    """Search with records: by weights, for BLEU alone, or by weights and BLEU."""
    settings = DocumentSettings(
        HillClimbing(), steps=pro.steps, start=pro.start, seed=pro.seed + number, record=pro.record
    )
    scorer = Weights({**weights, BLEUModel.name: pro.bleu_weight if pro.decoding == "model+bleu" else 0.0})
    if pro.decoding == "bleu":
        settings, scorer = bleu_settings(settings), bleu_weights(scorer)
    search = DocumentSearch(task.model.with_weights(weights), settings, (*task.models, BLEUModel()), scorer)
    return search.search(task.documents, None, task.threads, progress)


def states_of(results: Sequence[DocumentResult], names: Sequence[str]) -> RecordedStates:
    """Return the records of all documents, with the last state where it was not recorded."""
    rows, gains, sizes, metric = [], [], [], BLEU(smooth_method="none")
    for result in results:
        records: list[Record | Snapshot] = list(result.records)
        if not result.records or result.records[-1].step != result.steps:
            records.append(result.last)
        for one in records:
            rows.append([one.features.get(name, 0.0) for name in names])
            assert one.bleu is not None  # noqa: S101 (there is a BLEU model)
            gains.append(metric.score(one.bleu.astype(np.float64)))
        sizes.append(len(records))
    offsets = offsets_of(sizes)
    return RecordedStates(offsets, np.array(rows).reshape(len(rows), len(names)), np.array(gains))


def states_by_change(states: RecordedStates, most: int, seed: int) -> NDArray[np.int64]:
    """Choose the first state of each document and others, `most` at most, that differ much in BLEU from the one before.

    They are drawn without replacement, with probabilities proportional to these differences, as those with the first
    arrivals at such rates (Efraimidis and Spirakis 2006). Where BLEU changes too seldom, other states fill up.
    """
    kept = [np.empty(0, np.int64)]
    for number, (begin, end) in enumerate(zip(states.offsets[:-1].tolist(), states.offsets[1:].tolist(), strict=True)):
        rates = np.abs(np.diff(states.gains[begin:end]))
        waits = np.random.default_rng([seed, number]).exponential(size=rates.size)
        arrivals = np.divide(waits, rates, out=np.full(rates.size, np.inf), where=rates > 0.0)
        chosen = np.lexsort((waits, arrivals))[: most - 1]
        if end > begin:
            kept.append(begin + np.append(0, np.sort(chosen) + 1))
    return np.concatenate(kept)


def falling_pairs(pairs: Pairs, scores: Floats) -> Pairs:
    """Return the pairs whose later state has the lower BLEU, but the higher score."""
    return _chosen(pairs, (pairs.worse > pairs.better) & (scores[pairs.worse] > scores[pairs.better]))


def with_falling(pairs: Pairs, others: Pairs, scores: Floats, share: float, seed: int) -> Pairs:
    """Add falling pairs until they are this share of all: some of the `others` and, where these are too few, repeats.

    All falling pairs are repeated equally often, or some of them once more.
    """
    known, new = falling_pairs(pairs, scores), falling_pairs(others, scores)
    new_keys, known_keys = (one.better * scores.size + one.worse for one in (new, known))
    new = _chosen(new, ~np.isin(new_keys, known_keys))
    missing = math.ceil((share * pairs.better.size - known.better.size) / (1.0 - share) - 1e-6)  # rounding adds no pair
    if missing <= 0:
        return pairs
    pool = _joined(new, known)
    if not pool.better.size:
        log.warning("PRO: there is no pair whose BLEU falls while the model score rises")
        return pairs
    random, first = np.random.default_rng(seed), min(missing, new.better.size)
    times, rest = divmod(missing - first, pool.better.size)
    drawn = [
        np.sort(random.choice(size, count, replace=False))
        for size, count in ((new.better.size, first), (pool.better.size, rest))
    ]
    return _joined(pairs, _chosen(new, drawn[0]), *[pool] * times, _chosen(pool, drawn[1]))


def _chosen(pairs: Pairs, rows: NDArray[Any]) -> Pairs:
    return Pairs(pairs.better[rows], pairs.worse[rows], pairs.differences[rows])


def _joined(*parts: Pairs) -> Pairs:
    return Pairs(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def state_pairs(states: RecordedStates, which: Which, rows: NDArray[np.int64] | None = None) -> Pairs:
    """Return pairs of states of the same document with different BLEU, of all states or of some in their order."""
    rows = np.arange(states.gains.size) if rows is None else rows
    offsets = np.searchsorted(rows, states.offsets)
    first, second = list[int](), list[int]()
    for begin, end in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        for state in range(begin, end):
            later = range(state + 1, end if which == "all" else min(state + 2, end))
            first += [state] * len(later)
            second += later
    a, b = rows[np.array(first, np.int64)], rows[np.array(second, np.int64)]
    differ = states.gains[a] != states.gains[b]
    a, b = a[differ], b[differ]
    rising = states.gains[b] > states.gains[a]
    better, worse = np.where(rising, b, a), np.where(rising, a, b)
    return Pairs(better, worse, states.gains[better] - states.gains[worse])


def fit_states(
    states: RecordedStates, pairs: Pairs, names: Sequence[str], weights: Weights, l2: float
) -> tuple[Floats, float]:
    """Return the weights of the classifier and its loss; frozen weights stay as they were."""
    frozen = np.array([name in weights.frozen for name in names])
    dense = np.where(frozen, 0.0, states.features).astype(np.float32)
    parameters = space_of(names, Weights(dict.fromkeys(names, 0.0), weights.frozen & set(names)))
    fitted, loss = fit_pairs(logistic_loss, pairs, dense_rows(dense), parameters, parameters.start, l2)
    return np.where(frozen, weights.array(names), fitted), loss


@dataclass(eq=False)
class RankingLoop(Loop[None]):
    """Rounds of searching, fitting and scoring (Smith 2015, section 4.7); a run is resumed from its history alone."""

    pro: DocumentPRO
    task: DocumentTask
    start: Weights
    progress: Progress

    def first(self) -> tuple[History, None]:
        """Score the initial weights."""
        return first_history(self.task, "document pro", self.start, self.pro.seed), None

    def round(self, history: History, state: None) -> tuple[History, None]:
        """Search with the weights so far, fit, and score."""
        number, began = len(history.rounds), working_seconds()
        weights = history.weights(number)
        found = rank_documents(self.pro, self.task, weights, number, self.progress)
        searched = working_seconds()
        done = replace(
            self.task.judged(found.weights),
            number=number + 1,
            objective=-found.loss,
            hypotheses=found.states,
            new=found.states,
            change=change(weights, found.weights),
            search_seconds=working_seconds() - searched,
            tuning_seconds=searched - began,
            details={"pairs": float(found.pairs), "states": float(found.states)},
        )
        return history.with_round(done), None

    def stop(self, history: History) -> str:
        """Return whether all rounds are done."""
        return all_done(history, self.pro.rounds)

    def restore(self, history: History, place: Callable[[int], Path]) -> None:
        """Need nothing but the history."""


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
    if not isinstance(method, DocumentGradient):
        history = _run_rounds(task, start, method, checkpoint, progress)
        best = history.best
        if not best:
            log.warning("%s: no round is better than the start, whose weights are kept", history.tuner)
        return TunedDocuments(history.weights(best), history, range(best, best + 1), by_score=True)
    dev = None if task.dev is None else partial(task.score, task.dev)
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


def _run_rounds(
    task: DocumentTask,
    start: Weights,
    method: DocumentPRO | DocumentLists | OnlineMIRA,
    checkpoint: Checkpoint | None,
    progress: Progress,
) -> History:
    """Run the rounds of a method that judges each by a search."""
    if isinstance(method, DocumentPRO):
        return run(RankingLoop(method, task, start, progress), checkpoint)[0]
    if isinstance(method, DocumentLists):
        return run(ListLoop(method, task, start, progress), checkpoint)[0]
    return run(OnlineLoop(method, task, start, progress), checkpoint)[0]
