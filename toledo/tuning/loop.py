"""The tuning loop: search, unite with what earlier rounds found, tune, search again, until nothing changes.

    search = lambda weights: BeamSearch(model.with_weights(weights), Beam(200)).forests(sentences)
    result = tune(MERT(), model.weights, TuningSet(search, references))
    result.weights.save("tuned.toml")

A tuner sees examples and no decoder; the loop sees a search as a function from weights to forests and nothing of what a
tuner does with them. The result depends on the seed, and not on the number of threads or on interruptions.

    DIRECTORY/round-1, …        what the search of each round found, until the run has ended
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np

from toledo.compiled.kernels import working_seconds
from toledo.consensus.decide import Viterbi
from toledo.consensus.rule import Rule, check_scale
from toledo.errors import InputError, RunError
from toledo.forest.assemble import join, split
from toledo.forest.forest import Forest, Yields
from toledo.metrics.bleu import BLEU
from toledo.metrics.given import SegmentReferences
from toledo.metrics.metric import Metric
from toledo.metrics.references import References
from toledo.model import DESCRIPTION
from toledo.progress import Progress, silent
from toledo.runs.checkpoint import AGAIN, Checkpoint, digest, plain
from toledo.runs.history import History, Round
from toledo.runs.rounds import Loop, all_done, change, dev_text, no_better, round_seed, run
from toledo.search.search import Search
from toledo.text.corpus import Segment, WrittenWords
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.examples import Collecting, Examples, OneBest, in_order_of_names, one_best, want_words
from toledo.tuning.tuner import Tuned, Tuner
from toledo.weights import Weights

log = logging.getLogger(__name__)

OTHER_START = "start from other weights (initial='default')"


@dataclass(frozen=True, eq=False)
class TuningSet:
    """Segments as a search sees them: with weights it gives a one-segment forest for each; and their references.

    `how` says in a few words how thorough the search is: scores are those of this search.
    """

    search: Callable[[Weights], Sequence[Forest]]
    references: Sequence[References]
    how: str = ""

    @classmethod
    def searched(
        cls,
        segments: Sequence[Segment],
        search: Callable[[Weights], Search[Any]],
        how: str = "",
        threads: int | None = None,
        progress: Progress = silent,
    ) -> TuningSet:
        """Return the tuning set of segments that are searched; `search` makes a search with given weights."""
        sentences = [segment.words for segment in segments]
        references = [SegmentReferences(segment.references, _as_written(segment.words)) for segment in segments]
        return cls(lambda weights: search(weights).forests(sentences, threads, progress), references, how)


def _as_written(words: Sequence[str]) -> str:
    return words.text if isinstance(words, WrittenWords) else " ".join(words)


@dataclass(frozen=True)
class LoopSettings:
    """When to stop, and what a round keeps.

    A round with no weight changed by more than `tolerance` times the largest is the last one, also one that finds
    nothing new; `patience` is the number of rounds without a better score. Scores are those of what a decision rule
    chooses, at a scale: rounds should be judged by the rule that will translate. Lists have `n_best` texts, lattices
    `density` edges per word. With `write`, scores are those of texts that it makes of words, as users see them.
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
    write: Callable[[str], str] | None = None

    def __post_init__(self) -> None:
        if min(self.rounds, self.n_best, self.patience) < 1 or self.tolerance < 0 or self.density < 1:
            raise ValueError("rounds, n_best, patience and density are at least 1, and the tolerance at least 0")
        check_scale(self.scale)

    def judge(self, found: Sequence[Forest], weights: Weights, references: Sequence[References]) -> OneBest:
        """Score what the rule chooses."""
        return one_best(found, weights, references, self.metric, self.rule, self.scale, self.threads, self.write)

    def first_history(self, tuner: str, start: Weights, one: Round, how: str | None = "") -> History:
        """Return the history before the first round; the score of the initial weights is logged if `how` is known."""
        metric = self.metric
        scores = f"{metric.name} {one.score:.{metric.decimals}f}{dev_text(one.dev_score)}"
        if how is not None:
            log.info("seed %d: %s at the start%s", self.seed, scores, f" ({how})" if how else "")
        history = History("tuning", tuner, metric.name, metric.higher_is_better, self.seed, one)
        return history.from_weights(start)


@dataclass(frozen=True)
class TuningResult:
    """The weights of the best round, and all rounds."""

    weights: Weights
    history: History


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
    """Tune until a stop, and return the weights with the best score on the held-out set, or else the tuning set."""
    segments, metric = sum(want_words(tuning.references)), (settings or LoopSettings()).metric
    if tuning.references and not segments and "references" in metric.needs:
        raise InputError(
            "each segment has an empty reference", remedy="check that the references belong to this source"
        )
    loop = TuningLoop(tuner, start, tuning, held_out, settings or LoopSettings(), progress)
    history, found = run(loop, checkpoint)
    return TuningResult(checked_result(history, segments, found.pool, zero_is_worst=metric.in_per_cent), history)


@dataclass(frozen=True, eq=False)
class LoopState:
    """What the last search found and how long it took, what its round kept of the one before, and all kept so far."""

    forests: Sequence[Forest] = ()
    seconds: float = 0.0
    kept: Sequence[Forest] = ()
    pool: Sequence[Forest] = ()


@dataclass(eq=False)
class TuningLoop(Loop[LoopState]):
    """Rounds of searching and tuning."""

    tuner: Tuner
    start: Weights
    tuning: TuningSet
    held_out: TuningSet | None
    settings: LoopSettings
    progress: Progress

    def __post_init__(self) -> None:
        settings = self.settings
        self.collecting = Collecting(
            self.tuner.wants, settings.n_best, settings.density, settings.threads, self.progress
        )

    def first(self) -> tuple[History, LoopState]:
        """Search with the initial weights and score what is found."""
        found, start = self._search(self.start), self.start
        if found.forests[0].sparse is None:
            require_free_weights(found.forests[0].feature_names, start)
        best = self._score(found, start)
        one = Round(0, dict(start), best.score, self._held_out_score(start), empty=best.empty)
        return self.settings.first_history(self.tuner.name, start, one, self.tuning.how), found

    def round(self, history: History, state: LoopState) -> tuple[History, LoopState]:
        """Unite what the last search found with the rest, tune, and search with the new weights."""
        number, old = len(history.rounds) + 1, history.weights(len(history.rounds))
        began = working_seconds()
        kept = self.collecting.keep(state.forests, old)
        pool = self.collecting.add(state.pool, kept)
        seconds = state.seconds + working_seconds() - began
        began = working_seconds()
        tuned = self._tune(pool, old, number)
        tuning_seconds = working_seconds() - began
        found = replace(self._search(tuned.weights), kept=kept, pool=pool)
        best = self._score(found, tuned.weights)
        done = Round(
            number=number,
            weights=dict(tuned.weights),
            score=best.score,
            dev_score=self._held_out_score(tuned.weights),
            objective=tuned.objective,
            hypotheses=_size(pool),
            new=_size(pool) - _size(state.pool),
            empty=best.empty,
            change=change(old, tuned.weights),
            search_seconds=seconds,
            tuning_seconds=tuning_seconds,
            details=dict(tuned.details),
            path=tuned.path,
        )
        return history.with_round(done), found

    def stop(self, history: History) -> str:
        """Return why no more round is needed."""
        if history.last.change <= self.settings.tolerance:
            return "weights unchanged"
        if history.last.new == 0:
            return "the search found nothing new"
        return no_better(history, self.settings.patience) or all_done(history, self.settings.rounds)

    def kept(self, history: History) -> Collection[int]:
        """Keep what every search found until the end."""
        return () if history.stopped else range(1, len(history.rounds) + 1)

    def save(self, state: LoopState, directory: Path) -> None:
        """Write what a round kept."""
        join(list(state.kept)).save(directory)

    def restore(self, history: History, place: Callable[[int], Path]) -> LoopState:
        """Search again with the last weights, and unite again what the rounds before kept."""
        if history.stopped:
            return LoopState()
        found = self._search(history.weights(len(history.rounds)))
        pool: Sequence[Forest] = ()
        for one in history.rounds:
            loaded = load_found(place(one.number), found.forests[0].vocabulary)
            pool = self.collecting.add(pool, [in_order_of_names(forest) for forest in loaded])
        return replace(found, pool=pool)

    def _tune(self, pool: Sequence[Forest], old: Weights, number: int) -> Tuned:
        examples = Examples(pool, self.tuning.references, self.settings.metric)
        seed = round_seed(self.settings.seed, number)
        try:
            tuned = self.tuner.tune(examples, old, seed=seed, threads=self.settings.threads, progress=self.progress)
        except InputError as error:
            raise InputError(f"round {number} of {self.tuner.name}: {error.message}", remedy=error.remedy) from error
        require_finite(tuned.objective, self.tuner.name, f"round {number}")
        return tuned

    def _search(self, weights: Weights) -> LoopState:
        began = working_seconds()
        found = self.tuning.search(weights)
        if len(found) != len(self.tuning.references):
            raise InputError(
                f"{len(found)} segments, but references for {len(self.tuning.references)}", remedy="give one set each"
            )
        return LoopState(found, working_seconds() - began)

    def _score(self, found: LoopState, weights: Weights) -> OneBest:
        return self.settings.judge(found.forests, weights, self.tuning.references)

    def _held_out_score(self, weights: Weights) -> float | None:
        if self.held_out is None:
            return None
        found = self.held_out.search(weights)
        return self.settings.judge(found, weights, self.held_out.references).score


def _size(forests: Sequence[Forest]) -> int:
    return sum(forest.edges for forest in forests)


def load_found(directory: Path, vocabulary: Vocabulary) -> list[Forest]:
    """Read what a round kept, in the words of a vocabulary, which grows by those it does not have."""
    try:
        loaded = Forest.load(directory)
    except InputError as error:
        raise RunError(f"{error.file}: {error.message}", remedy=AGAIN) from None
    ids = np.array([vocabulary.add(word) for word in loaded.vocabulary], np.int32)
    words = loaded.yields.words
    renamed = np.where(words < 0, words, ids[np.maximum(words, 0)]).astype(np.int32)
    own = replace(loaded, yields=Yields(loaded.yields.offsets, renamed), vocabulary=vocabulary)
    return [part for part, _, _ in split(own)]


def require_free_weights(names: Sequence[str], start: Weights) -> None:
    """Refuse to tune nothing."""
    if start.frozen.issuperset(names):
        raise InputError("all weights are frozen: there is nothing to tune", argument="frozen", remedy="freeze fewer")


def require_finite(objective: float, name: str, when: str) -> None:
    """Refuse to go on without a gradient to follow."""
    if not np.isfinite(objective):
        raise RunError(f"{when}: the objective of {name} became {objective}", remedy=f"{OTHER_START}, or increase l2")


def checked_result(history: History, segments: int, found: Sequence[Forest], *, zero_is_worst: bool = True) -> Weights:
    """Return the weights of the best round; a collapse is an error. `segments` should have a translation."""
    weights, what = history.weights(history.best), f"{history.tuner}, seed {history.seed}"
    empty = history.best_round.empty
    if 2 * empty > segments:
        raise RunError(
            f"{what}: the tuning collapsed: {empty} of {segments} translations are empty",
            remedy=f"freeze or bound the weight of word.penalty, or {OTHER_START}",
        )
    if zero_is_worst and history.higher_is_better and history.best_score <= 0.0:
        raise RunError(
            f"{what}: the tuning collapsed: {history.metric} is 0 at the start and after each round",
            remedy="check that the references belong to these lines, or tune on more of them",
        )
    if not any(weights.get(name, 0.0) for name in _features(found, weights) if name not in weights.frozen):
        if not history.best:
            raise RunError(
                f"{what}: no round is better than the start, where all weights are 0",
                remedy=f"tune longer (rounds, steps), or {OTHER_START}",
            )
        raise RunError(f"{what}: the tuning collapsed: all weights are 0", remedy=f"{OTHER_START}, or reduce l2")
    if not history.best:
        log.warning("%s: no round is better than the start, whose weights are kept", what)
    return weights


def _features(forests: Sequence[Forest], weights: Weights) -> Iterator[str]:
    """List the features of forests: a model may have more, such as those of another search. All, without forests."""
    for forest in forests:
        yield from forest.feature_names
        yield from forest.sparse.names if forest.sparse else ()
    if not forests:
        yield from weights


def configuration_of(tuner: object, settings: LoopSettings, weights: Weights) -> dict[str, Any]:
    """Return what a result depends on, whatever is tuned; more rounds may be added, and threads do not matter."""
    return {
        "objective": plain(tuner),
        "metric": settings.metric.name,
        "rule": plain(settings.rule),
        "scale": settings.scale,
        "nbest": settings.n_best,
        "density": settings.density,
        "patience": settings.patience,
        "frozen": ", ".join(sorted(weights.frozen)),
        "initial": digest(weights.to_table()),
        "version": version("toledo-mt"),
    }


def digest_segments(segments: Sequence[Segment], prefix: str = "", *, written: bool = False) -> dict[str, str]:
    """Return digests of sources and references, by the names of arguments; with `written`, of references as written."""
    known: list[Any] = [segment.references for segment in segments]
    if written:
        known = [[cast(WrittenWords, one).text for one in some] for some in known]
    return {f"{prefix}sources": digest([segment.words for segment in segments]), f"{prefix}references": digest(known)}


def model_digest(directory: Path) -> str:
    """Return a digest of a model directory: its description lists the digests of all its arrays."""
    return digest((directory / DESCRIPTION).read_text(encoding="utf-8"))


@dataclass(frozen=True)
class TuningTask:
    """Everything about a tuning but the seed; `tune` takes settings, a checkpoint and progress."""

    tune: Callable[..., TuningResult]
    settings: LoopSettings
    configuration: dict[str, Any]

    def run(
        self, seeds: Sequence[int], directory: Path | None, resume: bool = False, progress: Progress = silent
    ) -> list[TuningResult]:
        """Run once for each seed, in a subdirectory per seed if `directory` is given."""

        def checkpoint(seed: int) -> Checkpoint | None:
            if directory is None:
                return None
            return Checkpoint(directory / f"seed-{seed}", {**self.configuration, "seed": seed}, resume)

        return [
            self.tune(replace(self.settings, seed=seed), checkpoint=checkpoint(seed), progress=progress)
            for seed in seeds
        ]
