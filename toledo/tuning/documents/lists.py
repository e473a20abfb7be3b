"""Tuners of sentences on lists of document states (Stymne et al. 2013), and online MIRA (Watanabe et al. 2007).

A search with the present weights passes states of a document; after its first steps every N-th one is kept. So a
document has a list of k states, as a sentence has a list of n translations: with totals of features, those of document
models among them, and statistics of BLEU. MERT, MIRA and others (`toledo.tuning.tuners`) see no difference. Lists of
all rounds are united.

Online MIRA visits one document after the other: it searches with the weights of this moment, takes from the list of
states the hope e* and the fear e, and changes the weights at once so as to reduce the largest

    E(e) + λ · (h(e) − h(e*)),   E(e) = gain(e*) − gain(e).

The weights of a round are the mean of all on the way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toledo import storage
from toledo.compiled.kernels import working_seconds
from toledo.compiled.ragged import offsets_of
from toledo.errors import InputError, RunError
from toledo.forest.assemble import from_edges, list_edges
from toledo.forest.forest import Forest, Yields, edges_of_sentences
from toledo.forest.linear import dense_rows
from toledo.metrics.bleu import BLEU
from toledo.objectives.lists import HypothesisLists
from toledo.progress import Progress
from toledo.runs.checkpoint import AGAIN, STATE
from toledo.runs.history import History
from toledo.runs.rounds import Loop, all_done, change, round_seed
from toledo.search.document.models.bleu import BLEUModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSettings
from toledo.search.document.state import DocumentResult, Record, Snapshot
from toledo.text.corpus import Document
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.documents.chains import Floats
from toledo.tuning.documents.task import DocumentTask
from toledo.tuning.examples import Examples
from toledo.tuning.settings import TUNERS, DocumentLists, OnlineMIRA
from toledo.tuning.tuners.mira_lists import Learner, ListExamples, StepLimits, average, learn_from_lists, new_learner
from toledo.tuning.weight_space import space_of
from toledo.weights import Weights

log = logging.getLogger(__name__)

TOLERANCE = 1e-4  # of weights: a round that changes less is the last


@dataclass(frozen=True, eq=False)
class StateList:
    """States of one document: a row of features and one of BLEU statistics for each."""

    features: Floats
    statistics: Floats

    def union(self, other: StateList) -> StateList:
        """Return the states of both, in their order, each once."""
        features = np.concatenate([self.features, other.features])
        statistics = np.concatenate([self.statistics, other.statistics])
        _, first = np.unique(np.column_stack([features, statistics]), axis=0, return_index=True)
        kept = np.sort(first)
        return StateList(features[kept], statistics[kept])

    def forest(self, names: Sequence[str], vocabulary: Vocabulary) -> Forest:
        """Return the states as a list of hypotheses, without their words."""
        yields = Yields(np.zeros(len(self.features) + 1, np.int32), np.empty(0, np.int32))
        return from_edges(list_edges(yields, self.features.astype(np.float32)), 0, names, vocabulary)


@dataclass(frozen=True, eq=False)
class StateExamples(Examples):
    """Lists of states as examples; their statistics are known, since a text is more than one segment."""

    statistics: Floats = field(kw_only=True)

    @cached_property
    def lists(self) -> HypothesisLists:
        """Return the lists with their statistics."""
        return HypothesisLists(self.forest, self.statistics, edges_of_sentences(self.forest.shape), self.metric)


def state_examples(lists: Sequence[StateList], names: Sequence[str]) -> StateExamples:
    """Return lists of states, a document each, for tuners on lists."""
    vocabulary = Vocabulary()
    forests = [one.forest(names, vocabulary) for one in lists]
    statistics = np.concatenate([one.statistics for one in lists])
    return StateExamples(forests, [()] * len(lists), BLEU(smooth_method="none"), statistics=statistics)


def sampled_states(
    method: DocumentLists | OnlineMIRA,
    task: DocumentTask,
    weights: Weights,
    seed: int,
    documents: Sequence[Document] | None = None,
    progress: Progress | None = None,
) -> list[StateList]:
    """Search documents with some weights, and return the states that were sampled on the way, and the last."""
    settings = DocumentSettings(
        method.accept, steps=method.steps, start=method.start, seed=seed, record=method.sample_every
    )
    scorer = Weights({**weights, BLEUModel.name: 0.0})
    search = DocumentSearch(task.model.with_weights(weights), settings, (*task.models, BLEUModel()), scorer)
    given = task.documents if documents is None else documents
    found = search.search(given, None, task.threads, progress) if progress else search.search(given, None, task.threads)
    return [_sampled(result, method.sample_from, task.names) for result in found]


def _sampled(result: DocumentResult, first: int, names: Sequence[str]) -> StateList:
    states: list[Record | Snapshot] = [one for one in result.records if one.step >= first]
    states.append(result.last)
    rows = np.array([[one.features.get(name, 0.0) for name in names] for one in states])
    statistics = np.array([one.bleu for one in states], np.float64)
    none = StateList(rows[:0], statistics[:0])
    return none.union(StateList(rows, statistics))


@dataclass(eq=False)
class ListLoop(Loop[list[StateList]]):
    """Rounds of searching, uniting lists, and tuning on them."""

    method: DocumentLists
    task: DocumentTask
    start: Weights
    progress: Progress

    def first(self) -> tuple[History, list[StateList]]:
        """Score the initial weights."""
        return first_history(self.task, f"document {self.method.tuner}", self.start, self.method.seed), []

    def round(self, history: History, state: list[StateList]) -> tuple[History, list[StateList]]:
        """Search with the weights so far, tune on all lists, and score."""
        number, began = len(history.rounds), working_seconds()
        old, seed = history.weights(number), self.method.seed
        found = sampled_states(self.method, self.task, old, seed + number, progress=self.progress)
        pool = [one.union(two) for one, two in zip(state, found, strict=True)] if state else found
        searched = working_seconds()
        tuner = TUNERS.make(self.method.tuner)
        examples = state_examples(pool, self.task.names)
        tuned = tuner.tune(examples, old, seed=round_seed(seed, number), threads=self.task.threads)
        done = working_seconds()
        sizes = [sum(len(one.features) for one in some) for some in (state, pool)]
        one = replace(
            self.task.judged(tuned.weights),
            number=number + 1,
            objective=tuned.objective,
            hypotheses=sizes[1],
            new=sizes[1] - sizes[0],
            change=change(old, tuned.weights),
            search_seconds=searched - began,
            tuning_seconds=done - searched,
            details={"states": float(sizes[1]), **tuned.details},
        )
        return history.with_round(one), pool

    def stop(self, history: History) -> str:
        """Return why no more round is needed."""
        if history.last.change <= TOLERANCE:
            return "weights unchanged"
        if history.last.new == 0:
            return "the search found nothing new"
        return all_done(history, self.method.rounds)

    def kept(self, history: History) -> Collection[int]:
        """Keep the lists of all rounds so far."""
        return () if history.stopped or not history.rounds else (len(history.rounds),)

    def save(self, state: list[StateList], directory: Path) -> None:
        """Write the lists."""
        arrays = {
            "offsets": offsets_of([len(one.features) for one in state]),
            "features": np.concatenate([one.features for one in state]),
            "statistics": np.concatenate([one.statistics for one in state]),
        }
        storage.save(directory, STATE, {"states": arrays["features"].shape[0]}, arrays)

    def restore(self, history: History, place: Callable[[int], Path]) -> list[StateList]:
        """Read the lists."""
        if history.stopped or not history.rounds:
            return []
        offsets, features, statistics = _loaded(place(len(history.rounds)), "offsets", "features", "statistics")
        bounds = zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        return [StateList(features[begin:end], statistics[begin:end]) for begin, end in bounds]


def first_history(task: DocumentTask, name: str, start: Weights, seed: int) -> History:
    """Return the history before the first round, with the score of the initial weights."""
    return History("tuning", name, "BLEU", True, seed, task.judged(start)).from_weights(start)


def _loaded(directory: Path, *names: str) -> list[Any]:
    """Read arrays that a round has saved, as copies."""
    try:
        _, arrays = storage.load(directory, STATE)
        return [np.array(arrays[name]) for name in names]
    except InputError as error:
        raise RunError(f"{error.file}: {error.message}", remedy=AGAIN) from None
    except KeyError as error:
        raise RunError(f"{directory / STATE}: lacks {error}", remedy=AGAIN) from None


@dataclass(frozen=True, eq=False)
class OnlineState:
    """The learner, and the statistics of its pseudo-corpus."""

    learner: Learner
    background: Floats


@dataclass(eq=False)
class OnlineLoop(Loop[OnlineState]):
    """Rounds of visits to all documents, each with a search and a step; a random order in each round."""

    method: OnlineMIRA
    task: DocumentTask
    start: Weights
    progress: Progress

    def __post_init__(self) -> None:
        self.space = space_of(self.task.names, self.start)
        self.limits = StepLimits(self.space.free, self.space.low, self.space.high, self.method.largest_step)

    def first(self) -> tuple[History, OnlineState]:
        """Score the initial weights."""
        return first_history(self.task, "document online-mira", self.start, self.method.seed), self._new_state()

    def round(self, history: History, state: OnlineState) -> tuple[History, OnlineState]:
        """Visit each document, and score the mean of all weights so far."""
        number, old = len(history.rounds), history.weights(len(history.rounds))
        began, states = working_seconds(), 0
        order = np.random.default_rng(round_seed(self.method.seed, number)).permutation(len(self.task.documents))
        with self.progress(f"round {number + 1}: documents", order.size) as advance:
            for document in order.tolist():
                states += self._visit(state, self.task.documents[document], number)
                advance(1)
        weights = self._weights(average(state.learner))
        seconds = working_seconds() - began
        one = replace(
            self.task.judged(weights),
            number=number + 1,
            hypotheses=states,
            new=states,
            change=change(old, weights),
            search_seconds=seconds,
            details={"states": float(states)},
        )
        return history.with_round(one), state

    def _visit(self, state: OnlineState, document: Document, number: int) -> int:
        """Search with the present weights, and make a step; return the number of states."""
        weights = self._weights(state.learner.weights)
        (found,) = sampled_states(self.method, self.task, weights, self.method.seed + number, [document])
        size = len(found.features)
        rows = dense_rows(found.features.astype(np.float32))
        examples = ListExamples(rows, np.array([0, size]), found.statistics, np.empty(0))
        first = np.zeros(1, np.int64)
        learn_from_lists(examples, first, state.learner, self.limits, state.background, self.method.decay)
        return size

    def _weights(self, values: Floats) -> Weights:
        return self.start.updated(self.task.names, self.space.clipped(values))

    def stop(self, history: History) -> str:
        """Return whether all rounds are done."""
        return all_done(history, self.method.rounds)

    def kept(self, history: History) -> Collection[int]:
        """Keep the last state until the end."""
        return () if history.stopped or not history.rounds else (len(history.rounds),)

    def save(self, state: OnlineState, directory: Path) -> None:
        """Write what the next visit needs."""
        weights, changes, steps = state.learner[:3]
        arrays = {"weights": weights, "changes": changes, "steps": steps, "background": state.background}
        storage.save(directory, STATE, {"steps": int(steps[0])}, arrays)

    def restore(self, history: History, place: Callable[[int], Path]) -> OnlineState:
        """Read it."""
        state = self._new_state()
        if history.stopped or not history.rounds:
            return state
        names = ("weights", "changes", "steps", "background")
        weights, changes, steps, background = _loaded(place(len(history.rounds)), *names)
        learner = state.learner._replace(weights=weights, weighted_changes=changes, steps=steps)
        return OnlineState(learner, background)

    def _new_state(self) -> OnlineState:
        return OnlineState(new_learner(self.space), np.ones(BLEU().size))
