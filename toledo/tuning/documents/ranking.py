"""PRO on recorded states of document searches (Smith 2015, chapter 4): a later state with more BLEU should score more.

A search that climbs from a bad translation to a good one passes states on its way. Of two states of a document, the one
with the higher BLEU is the better one; a logistic classifier without a constant learns from the differences of their
features, a pair and its mirror image saying the same (`toledo.tuning.tuners.pro`).

Rounds search, fit, score, and search again (Smith 2015, section 4.7).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.ragged import offsets_of
from toledo.errors import InputError
from toledo.forest.linear import Rows
from toledo.metrics.bleu import BLEU
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import Checkpoint
from toledo.runs.history import History, Round
from toledo.runs.rounds import Loop, all_done, change, run
from toledo.search.document.models.bleu import BLEUModel, bleu_weights
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings, HillClimbing, bleu_settings
from toledo.search.document.state import DocumentResult, Record, Snapshot
from toledo.text.corpus import Document
from toledo.tuning.documents.chains import Floats
from toledo.tuning.documents.settings import DocumentPRO, Which
from toledo.tuning.loop import TuningResult
from toledo.tuning.tuners.pro import Pairs, fit_pairs, logistic_loss
from toledo.tuning.weight_space import WeightSpace
from toledo.weights import Weights

log = logging.getLogger(__name__)

Judge = Callable[[Weights], float]
MAY_BE_NEGATIVE = ("word.penalty", "phrase.penalty")


@dataclass(frozen=True, eq=False)
class RecordedStates:
    """Document i has the states `offsets[i]:offsets[i + 1]` in the order of their steps, with features and BLEU."""

    offsets: NDArray[np.int64]
    features: Floats
    gains: Floats


@dataclass(frozen=True)
class RankingRound:
    """What a round saw and found: states, pairs, the mean loss, and BLEU of the best states of its search."""

    weights: Weights
    states: int
    pairs: int
    loss: float
    bleu: float = 0.0


Ranking = Callable[[Weights, int], RankingRound]


def rank_documents(
    pro: DocumentPRO,
    model: PhraseModel,
    documents: Sequence[Document],
    models: Sequence[DocumentModel],
    weights: Weights,
    number: int = 0,
    threads: int | None = None,
    progress: Progress = silent,
) -> RankingRound:
    """Search with some weights and fit others to the recorded states; `number` counts rounds from 0."""
    results = search_states(pro, model, documents, models, weights, number, threads, progress)
    names = (*model.feature_names, *(one.name for one in models))
    bleu = BLEU(smooth_method="none").score(
        sum((statistics_of(one.best) for one in results), np.zeros(BLEU(smooth_method="none").size))
    )
    return replace(rank_states(pro, states_of(results, names), names, weights), bleu=bleu)


def rank_states(pro: DocumentPRO, states: RecordedStates, names: Sequence[str], weights: Weights) -> RankingRound:
    """What the classifier learns from states; weights without a say, such as frozen ones, are as they were."""
    pairs = state_pairs(states, pro.pairs)
    if not pairs.better.size:
        log.warning("PRO: no two states of a document differ in BLEU: the weights stay as they are")
        return RankingRound(weights, states.gains.size, 0, 0.0)
    fitted, loss = fit_states(states, pairs, names, weights, pro.l2)
    if pro.positive:
        kept = [name in MAY_BE_NEGATIVE or name in weights.frozen for name in names]
        fitted = np.where(kept, fitted, np.maximum(fitted, 0.0))
    if not fitted[[name not in weights.frozen for name in names]].any():
        raise InputError("PRO: all weights are 0", remedy="leave negative weights as they are, or record more states")
    found = weights.updated(names, fitted)
    return RankingRound(found, states.gains.size, pairs.better.size, loss / pairs.better.size)


def search_states(
    pro: DocumentPRO,
    model: PhraseModel,
    documents: Sequence[Document],
    models: Sequence[DocumentModel],
    weights: Weights,
    number: int,
    threads: int | None,
    progress: Progress,
) -> list[DocumentResult]:
    """Search with records: by weights, or for BLEU alone."""
    settings = DocumentSettings(
        HillClimbing(), steps=pro.steps, start=pro.start, seed=pro.seed + number, record=pro.record
    )
    scorer = Weights({**weights, BLEUModel.name: 0.0})
    if pro.decoding == "bleu":
        settings, scorer = bleu_settings(settings), bleu_weights(scorer)
    own = model.with_weights(weights)
    return DocumentSearch(own, settings, (*models, BLEUModel()), scorer).search(documents, None, threads, progress)


def states_of(results: Sequence[DocumentResult], names: Sequence[str]) -> RecordedStates:
    """The records of all documents, with the last state where none was made of it."""
    rows, gains, sizes, metric = [], [], [], BLEU(smooth_method="none")
    for result in results:
        records: list[Record | Snapshot] = list(result.records)
        if not result.records or result.records[-1].step != result.steps:
            records.append(result.last)
        for one in records:
            rows.append([one.features.get(name, 0.0) for name in names])
            gains.append(metric.score(statistics_of(one)))
        sizes.append(len(records))
    offsets = offsets_of(sizes)
    return RecordedStates(offsets, np.array(rows).reshape(len(rows), len(names)), np.array(gains))


def statistics_of(one: Record | Snapshot) -> Floats:
    """Those of BLEU."""
    assert one.bleu is not None  # noqa: S101 (there is a BLEU model)
    return one.bleu.astype(np.float64)


def state_pairs(states: RecordedStates, which: Which) -> Pairs:
    """Pairs of states of the same document with different BLEU."""
    first, second = list[int](), list[int]()
    for begin, end in zip(states.offsets[:-1].tolist(), states.offsets[1:].tolist(), strict=True):
        for state in range(begin, end):
            later = range(state + 1, end if which == "all" else min(state + 2, end))
            first += [state] * len(later)
            second += later
    a, b = np.array(first, np.int64), np.array(second, np.int64)
    differ = states.gains[a] != states.gains[b]
    a, b = a[differ], b[differ]
    rising = states.gains[b] > states.gains[a]
    better, worse = np.where(rising, b, a), np.where(rising, a, b)
    return Pairs(better, worse, states.gains[better] - states.gains[worse])


def fit_states(
    states: RecordedStates, pairs: Pairs, names: Sequence[str], weights: Weights, l2: float
) -> tuple[Floats, float]:
    """The classifier's weights, beginning with none, and its loss; frozen ones are as they were."""
    size = len(names)
    frozen = np.array([name in weights.frozen for name in names])
    dense = np.where(frozen, 0.0, states.features).astype(np.float32)
    rows = Rows(np.empty(0), dense, np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))
    unlimited = np.full(size, np.inf)
    parameters = WeightSpace(tuple(names), np.zeros(size), ~frozen, -unlimited, unlimited, size)
    fitted, loss = fit_pairs(logistic_loss, pairs, rows, parameters, np.zeros(size), l2)
    return np.where(frozen, weights.array(names), fitted), loss


def tune_by_ranking(
    pro: DocumentPRO,
    start: Weights,
    ranking: Ranking,
    judge: Judge,
    held_out: Judge | None = None,
    checkpoint: Checkpoint | None = None,
) -> TuningResult:
    """Run `pro.rounds` rounds; return the weights of the best one.

    `ranking` makes a round of weights and its number, such as `rank_documents` of some documents. `judge` gives BLEU of
    the documents with some weights, `held_out` that of other documents, if there are any.
    """
    history, _ = run(RankingLoop(pro, start, ranking, judge, held_out), checkpoint)
    if not history.best:
        log.warning("document pro: no round is better than the start, whose weights are kept")
    return TuningResult(history.weights(history.best), history)


@dataclass(eq=False)
class RankingLoop(Loop[None]):
    """Rounds of searching, fitting and scoring; the history is all that a run is resumed from."""

    pro: DocumentPRO
    start: Weights
    ranking: Ranking
    judge: Judge
    held_out: Judge | None

    def first(self) -> tuple[History, None]:
        """Score the initial weights."""
        one = self._judged(self.start)
        return History("tuning", "document pro", "BLEU", True, self.pro.seed, one).from_weights(self.start), None

    def round(self, history: History, state: None) -> tuple[History, None]:
        """Search with the weights so far, fit, and score."""
        number, began = len(history.rounds), time.process_time()
        weights = history.weights(number)
        found = self.ranking(weights, number)
        searched = time.process_time()
        done = replace(
            self._judged(found.weights),
            number=number + 1,
            objective=-found.loss,
            hypotheses=found.states,
            new=found.states,
            change=change(weights, found.weights),
            search_seconds=time.process_time() - searched,
            tuning_seconds=searched - began,
            details={"pairs": float(found.pairs), "states": float(found.states)},
        )
        return history.with_round(done), None

    def stop(self, history: History) -> str:
        """Return whether all rounds are done."""
        return all_done(history, self.pro.rounds)

    def restore(self, history: History, place: Callable[[int], Path]) -> None:
        """Need nothing but the history."""

    def _judged(self, weights: Weights) -> Round:
        dev_score = self.held_out(weights) if self.held_out else None
        return Round(0, dict(weights), self.judge(weights), dev_score)
