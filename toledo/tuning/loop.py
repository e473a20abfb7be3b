"""The tuning loop: search, unite with what earlier rounds found, tune, search again, until nothing changes.

    search = lambda weights: BeamSearch(model.with_weights(weights), Beam(200)).forests(sentences)
    result = tune(MERT(), model.weights, TuningSet(search, references))
    result.weights.save("tuned.toml")

A tuner sees examples and no decoder; the loop sees a search as a function from weights to forests and nothing of what a
tuner does with them. The result depends on the seed, and not on the number of threads or on interruptions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from toledo.consensus.decide import Viterbi
from toledo.consensus.rule import Rule, check_scale
from toledo.errors import InputError
from toledo.forest.forest import Forest
from toledo.metrics.bleu import BLEU
from toledo.metrics.metric import Metric
from toledo.metrics.references import References
from toledo.progress import Progress, silent
from toledo.tuning.checkpoint import Checkpoint
from toledo.tuning.examples import Examples, OneBest, one_best, want_words
from toledo.tuning.history import History, Round
from toledo.tuning.pool import Collecting, in_order_of_names
from toledo.tuning.rounds import (
    all_done,
    change,
    checked_result,
    held_out_text,
    require_finite,
    require_free_weights,
    require_no_more,
    round_seed,
    round_text,
)
from toledo.tuning.tuner import Tuned, Tuner
from toledo.weights import Weights

log = logging.getLogger(__name__)

Search = Callable[[Weights], Sequence[Forest]]


@dataclass(frozen=True, eq=False)
class TuningSet:
    """Segments as a search sees them: with weights it gives a one-segment forest for each; and their references.

    `how` says in a few words how hard the search works: scores are those of this search.
    """

    search: Search
    references: Sequence[References]
    how: str = ""


@dataclass(frozen=True)
class LoopSettings:
    """When to stop, and what a round keeps.

    A round with no weight changed by more than `tolerance` times the largest is the last one, also one that finds
    nothing new; `patience` is the number of rounds without a better score. Scores are those of what a decision rule
    chooses, at a scale: rounds should be judged by the rule that will translate. Lists have `n_best` texts, lattices
    `density` edges per word.
    """

    rounds: int = 10
    n_best: int = 100
    density: float = 50.0
    tolerance: float = 1e-4
    patience: int = 4
    seed: int = 1
    metric: Metric = field(default_factory=lambda: BLEU(smooth_method="none"))
    rule: Rule = Viterbi()  # noqa: RUF009 (frozen)
    scale: float = 1.0
    threads: int | None = None

    def __post_init__(self) -> None:
        if min(self.rounds, self.n_best, self.patience) < 1 or self.tolerance < 0 or self.density < 1:
            raise ValueError("rounds, n_best, patience and density are at least 1, and the tolerance at least 0")
        check_scale(self.scale)

    def judge(self, found: Sequence[Forest], weights: Weights, references: Sequence[References]) -> OneBest:
        """How good is what the rule chooses."""
        return one_best(found, weights, references, self.metric, self.rule, self.scale, self.threads)


@dataclass(frozen=True)
class TuningResult:
    """The weights of the best round, and all rounds."""

    weights: Weights
    history: History


def first_history(
    tuner: str,
    start: Weights,
    settings: LoopSettings,
    score: float,
    held_out: float | None,
    empty: int,
    how: str,
    checkpoint: Checkpoint | None,
) -> History:
    """The history before the first round: what the weights to begin with are worth."""
    metric = settings.metric
    scores = f"{metric.name} {score:.2f}{held_out_text(held_out)}"
    log.info("seed %d: %s at the start%s", settings.seed, scores, f" ({how})" if how else "")
    configuration = checkpoint.configuration if checkpoint else {}
    return History(
        tuner, metric.name, metric.higher_is_better, settings.seed, start, score, held_out, empty,
        configuration=configuration,
    )  # fmt: skip


def tune(
    tuner: Tuner,
    start: Weights,
    tuning: TuningSet,
    settings: LoopSettings | None = None,
    *,
    held_out: TuningSet | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress = silent,
) -> TuningResult:
    """Tune until a stop, and give the weights with the best score on the held-out set (or else on the tuning set)."""
    segments = sum(want_words(tuning.references))
    if tuning.references and not segments:
        raise InputError("each segment has an empty reference", remedy="give the references of these very lines")
    loop = _Loop(tuner, tuning, held_out, settings or LoopSettings(), checkpoint, progress)
    history = loop.run(start)
    return TuningResult(checked_result(history, segments, loop.pool), history)


class _Loop:
    """One run: the forests found so far beside its history."""

    def __init__(
        self,
        tuner: Tuner,
        tuning: TuningSet,
        held_out: TuningSet | None,
        settings: LoopSettings,
        checkpoint: Checkpoint | None,
        progress: Progress,
    ) -> None:
        self.tuner, self.tuning, self.held_out = tuner, tuning, held_out
        self.settings, self.checkpoint, self.progress = settings, checkpoint, progress
        self.collecting = Collecting(tuner.wants, settings.n_best, settings.density, settings.threads, progress)
        self.pool: list[Forest] = []

    def run(self, start: Weights) -> History:
        history = self.checkpoint.load() if self.checkpoint else None
        if history is not None and history.stopped:
            return self._ended(history)
        if history is None:
            if self.checkpoint:
                self.checkpoint.begin()
            history, found, seconds = self._first(start)
        else:
            found, seconds = self._search(history.weights(len(history.rounds)))
            self._restore(history, found)
        while not history.stopped:
            history, found, seconds = self._round(history, found, seconds)
        return history

    def _ended(self, history: History) -> History:
        require_no_more(history, self.settings.rounds)
        if self.checkpoint:
            self.checkpoint.tidy()
        return history

    def _first(self, start: Weights) -> tuple[History, Sequence[Forest], float]:
        """The history before the first round."""
        found, seconds = self._search(start)
        require_free_weights(found[0], start)
        best, held_out = self._score(found, start), self._held_out_score(start)
        history = first_history(
            self.tuner.name, start, self.settings, best.score, held_out, best.empty, self.tuning.how, self.checkpoint
        )
        return history, found, seconds

    def _round(
        self, history: History, found: Sequence[Forest], seconds: float
    ) -> tuple[History, Sequence[Forest], float]:
        """One round more, and what the next search found; `seconds` is what the last search took."""
        number, old = len(history.rounds) + 1, history.weights(len(history.rounds))
        began = time.process_time()
        kept = self.collecting.keep(found, old)
        before, self.pool = _size(self.pool), self.collecting.add(self.pool, kept)
        seconds += time.process_time() - began
        began = time.process_time()
        tuned = self._tune(old, number)
        tuning_seconds = time.process_time() - began
        found, next_seconds = self._search(tuned.weights)
        best = self._score(found, tuned.weights)
        done = Round(
            number=number,
            weights=dict(tuned.weights),
            objective=tuned.objective,
            before=history.rounds[-1].after if history.rounds else history.start_score,
            after=best.score,
            held_out=self._held_out_score(tuned.weights),
            hypotheses=_size(self.pool),
            new=_size(self.pool) - before,
            empty=best.empty,
            change=change(old, tuned.weights),
            search_seconds=seconds,
            tuning_seconds=tuning_seconds,
            details=dict(tuned.details),
            path=tuned.path,
        )
        history = history.with_round(done)
        history = history.with_stop(_reason_to_stop(history, self.settings))
        log.info("%s", round_text(history))
        if self.checkpoint:
            self.checkpoint.save(history, kept)
        return history, found, next_seconds

    def _tune(self, old: Weights, number: int) -> Tuned:
        examples = Examples(self.pool, self.tuning.references, self.settings.metric)
        seed = round_seed(self.settings.seed, number)
        try:
            tuned = self.tuner.tune(examples, old, seed=seed, threads=self.settings.threads, progress=self.progress)
        except InputError as error:
            raise InputError(f"round {number} of {self.tuner.name}: {error.message}", remedy=error.remedy) from error
        require_finite(tuned.objective, self.tuner.name, f"round {number}")
        return tuned

    def _search(self, weights: Weights) -> tuple[Sequence[Forest], float]:
        began = time.process_time()
        found = self.tuning.search(weights)
        if len(found) != len(self.tuning.references):
            raise InputError(
                f"{len(found)} segments, but references for {len(self.tuning.references)}", remedy="give one set each"
            )
        return found, time.process_time() - began

    def _score(self, found: Sequence[Forest], weights: Weights) -> OneBest:
        return self.settings.judge(found, weights, self.tuning.references)

    def _held_out_score(self, weights: Weights) -> float | None:
        if self.held_out is None:
            return None
        found = self.held_out.search(weights)
        return self.settings.judge(found, weights, self.held_out.references).score

    def _restore(self, history: History, found: Sequence[Forest]) -> None:
        """Unite again what the rounds before an interruption found."""
        assert self.checkpoint is not None  # noqa: S101 (that is where the history came from)
        log.info("going on after round %d", len(history.rounds))
        for one in history.rounds:
            loaded = self.checkpoint.load_found(one.number, found[0].vocabulary)
            self.pool = self.collecting.add(self.pool, [in_order_of_names(forest) for forest in loaded])


def _size(forests: Sequence[Forest]) -> int:
    return sum(forest.edges for forest in forests)


def _reason_to_stop(history: History, settings: LoopSettings) -> str:
    last = history.rounds[-1]
    if last.change <= settings.tolerance:
        return "the weights do not change any more"
    if last.new == 0:
        return "the search finds nothing new"
    if last.number - history.best >= settings.patience:
        return f"no better score for {settings.patience} rounds"
    return "" if last.number < settings.rounds else all_done(history)
