"""Rounds of ranking with a history: search, fit, score, again (Smith 2015, section 4.7), also after an interruption.

Random numbers depend on the seed and the number of the round alone, and a search on the weights alone, so the history
is all that a run goes on from.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from toledo.corpus import Document
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.search.document import DocumentModel
from toledo.tuning.checkpoint import HISTORY, Checkpoint
from toledo.tuning.documents.ranking import DocumentPRO, RankingRound, rank_documents
from toledo.tuning.documents.training import Judge
from toledo.tuning.history import History, Round
from toledo.tuning.loop import TuningResult
from toledo.tuning.rounds import all_done, change, require_no_more, round_text
from toledo.weights import Weights

log = logging.getLogger(__name__)


def tune_by_ranking(
    pro: DocumentPRO,
    start: Weights,
    model: Model,
    documents: Sequence[Document],
    models: Sequence[DocumentModel] = (),
    *,
    judge: Judge,
    held_out: Judge | None = None,
    checkpoint: Checkpoint | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> TuningResult:
    """Make `pro.rounds` rounds; the weights of the best one by `judge`, or by that of the held-out documents."""
    history = checkpoint.load() if checkpoint else None
    if history is None:
        if checkpoint:
            checkpoint.begin()
        configuration = checkpoint.configuration if checkpoint else {}
        history = History(
            "document pro", "BLEU", True, pro.seed, start, judge(start), held_out(start) if held_out else None, 0,
            configuration=configuration,
        )  # fmt: skip
    elif history.stopped:
        require_no_more(history, pro.rounds)
    while not history.stopped:
        done = [RankingRound(history.weights(number), 0, 0, 0.0) for number in range(1, len(history.rounds) + 1)]
        began = time.process_time()
        found = rank_documents(
            pro, model, documents, models, start=start, done=done, threads=threads, progress=progress
        )
        history = history.with_round(_round(history, found, began, judge, held_out))
        if len(history.rounds) >= pro.rounds:
            history = history.with_stop(all_done(history))
        log.info("%s", round_text(history))
        if checkpoint:
            history.save(checkpoint.directory / HISTORY)
    if not history.best:
        log.warning("document pro: no round is better than the start, whose weights are kept")
    return TuningResult(history.weights(history.best), history)


def _round(history: History, found: RankingRound, began: float, judge: Judge, held_out: Judge | None) -> Round:
    searched = time.process_time()
    number = len(history.rounds)
    after, other = judge(found.weights), held_out(found.weights) if held_out else None
    return Round(
        number=number + 1, weights=dict(found.weights), objective=-found.loss,
        before=history.rounds[-1].after if number else history.start_score, after=after, held_out=other,
        hypotheses=found.states, new=found.states, empty=0,
        change=change(history.weights(number), found.weights),
        search_seconds=time.process_time() - searched, tuning_seconds=searched - began,
        details={"pairs": float(found.pairs), "states": float(found.states)},
    )  # fmt: skip
