"""Running a search on a document: blocks of steps, records between them, and models of users."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from toledo.model import Model
from toledo.search.beam.lattice import Translation
from toledo.search.document.arrays import ACCEPTED, BEST, POSSIBLE, PROPOSED, REJECTED, TAKEN, USERS
from toledo.search.document.features import sentence_features
from toledo.search.document.keeping import keep_if_best, score_of, set_phrases, sum_scores
from toledo.search.document.models.measures import BLEU, FEATURES, HYPOTHESIS, NGRAMS, ORDER
from toledo.search.document.models.values import document_score
from toledo.search.document.results import DocumentResult, Record, Snapshot, Tally
from toledo.search.document.running import (
    ACCEPT,
    OPERATIONS,
    PROPOSE,
    REJECT,
    START,
    Plan,
    Trial,
    first_half,
    run_steps,
    second_half,
)
from toledo.search.document.settings import DocumentSettings
from toledo.search.document.starting import Phrases
from toledo.search.document.state import ANSWERS_PER_OPTION, DocumentState
from toledo.search.document.users import Change, CompiledModel, Memories, PythonModel, combine, run_with_users

NO_TRIAL = Trial(-1, 0, 0, 0, 0, 0.0, 0.0, 0.0)
Stop = Callable[[DocumentState], bool]
BLOCK = 1 << 14  # steps; between blocks the time is looked at, and scores are summed anew


class Runner:
    """Takes steps with given settings and models of users."""

    def __init__(
        self,
        model: Model,
        settings: DocumentSettings,
        users: Sequence[PythonModel | CompiledModel],
        weights: Mapping[str, float],
    ) -> None:
        self._model, self._settings, self._weights = model, settings, weights
        self._compiled = tuple(one for one in users if isinstance(one, CompiledModel))
        self._python = tuple(one for one in users if not isinstance(one, CompiledModel))
        self._combined = combine(tuple(one.function for one in self._compiled)) if self._compiled else None

    @property
    def in_python(self) -> bool:
        """Whether a model needs the interpreter at each step."""
        return bool(self._python)

    def put(self, state: DocumentState, phrases: Phrases) -> None:
        """Bring a document into its first state."""
        set_phrases(state.known.text, state.arrays, state.measures, phrases.offsets, phrases.chosen)
        self.begin(state)
        state.arrays.totals[BEST] = -math.inf
        keep_if_best(state.known.text, state.arrays, 0.0)

    def begin(self, state: DocumentState) -> None:
        """Let models of users count everything anew."""
        state.memories = self._new_memories(state)
        state.arrays.totals[USERS] = self._weighted(self._user_values(state))

    def run(self, state: DocumentState, steps: int | None, stop: Stop) -> DocumentResult:
        """Take steps until it is time to stop."""
        goal = self._settings.steps if steps is None else state.step + steps
        records = [self._record(state)] if state.step == 0 and self._settings.recording.due(0) else []
        deadline = time.monotonic() + (self._settings.seconds or math.inf)
        if self._python:
            state.arrays.totals[USERS] = self._weighted(self._user_values(state))
        state.remember(ANSWERS_PER_OPTION)
        words = state.known.text.words
        visit = self._settings.visit(int(words[-1]), words.size - 1)
        while state.step < goal and words[-1] and time.monotonic() < deadline and not stop(state):
            until = self._next_stop(state.step, goal)
            plan = self._settings.plan(state.step, visit)
            self._take_steps(state, plan, until - state.step)
            if state.step % BLOCK == 0:
                sum_scores(state.arrays)
            if state.step < until:
                break
            if self._settings.recording.due(state.step):
                records.append(self._record(state))
        return self._result(state, records)

    def _next_stop(self, step: int, goal: int) -> int:
        """The next step at which something is to be done."""
        settings = self._settings
        level, record = settings.acceptance.next_level(step, settings.steps), settings.recording.following(step)
        return int(min(goal, record, (step // BLOCK + 1) * BLOCK, level if level > step else goal))

    def _take_steps(self, state: DocumentState, plan: Plan, steps: int) -> None:
        text, arrays, measures = state.known.text, state.arrays, state.measures
        if self._python:
            self._take_steps_in_python(state, plan, steps)
        elif self._combined is not None:
            run_with_users()(text, arrays, measures, plan, steps, self._combined, state.memories)
        else:
            run_steps(text, arrays, measures, plan, steps)

    def _take_steps_in_python(self, state: DocumentState, plan: Plan, steps: int) -> None:
        text, arrays, measures = state.known.text, state.arrays, state.measures
        for _ in range(steps):
            if arrays.counters[REJECTED] >= plan.max_rejected:
                return
            trial = first_half(text, arrays, measures, plan)
            if trial.new == 0:
                second_half(text, arrays, measures, trial, float(arrays.totals[USERS]))
                continue
            change, values = _change_of(state, trial), self._tell_compiled(state, trial, PROPOSE)
            values |= {one.name: one.propose(change) for one in self._python}
            accepted = second_half(text, arrays, measures, trial, self._weighted(values))
            self._tell_compiled(state, trial, ACCEPT if accepted else REJECT)
            for one in self._python:
                if accepted:
                    one.accept()
                else:
                    one.reject()

    def _weighted(self, values: Mapping[str, float]) -> float:
        return sum((self._weights[name] * value for name, value in values.items()), start=0.0)

    def _new_memories(self, state: DocumentState) -> Memories:
        return tuple((self._weights[one.name], one.memory(state.known.text)) for one in self._compiled)

    def _tell_compiled(self, state: DocumentState, trial: Trial, event: int) -> dict[str, float]:
        return {
            one.name: float(one.function(state.known.text, state.arrays, trial, memory, event))
            for one, (_, memory) in zip(self._compiled, state.memories, strict=True)
        }

    def _user_values(self, state: DocumentState) -> dict[str, float]:
        """The values of users' models of a whole state, counted anew."""
        found = self._tell_compiled(state, NO_TRIAL, START)
        if self._python:
            translations = state.translations_of(state.present)
            found |= {one.name: float(one.start(translations)) for one in self._python}
        return found

    def _snapshot(self, state: DocumentState) -> Snapshot:
        """The present state: features of sentences and of users' models from scratch, all else as it was kept."""
        text, phrases = state.known.text, state.present
        features = sentence_features(self._model, text.options, text.scoring, phrases.offsets, phrases.chosen)
        document_score(state.measures)
        active = state.measures.active
        features |= {name: float(state.measures.values[k]) for k, name in enumerate(FEATURES) if active[k]}
        counted = replace(state, memories=self._new_memories(state))  # the present ones are in use
        features |= self._user_values(counted)
        scores = state.arrays.scores.tolist()
        translations = zip(state.translations_of(phrases), scores, strict=True)
        return Snapshot(
            tuple(Translation(steps, score) for steps, score in translations),
            float(score_of(state.arrays)),
            features,
            state.measures.totals[HYPOTHESIS : NGRAMS + ORDER].copy() if active[BLEU] else None,
        )

    def _record(self, state: DocumentState) -> Record:
        now, texts = self._snapshot(state), self._settings.recording.texts
        words = tuple(translation.words for translation in now.translations) if texts else None
        return Record(state.step, now.score, now.features, now.bleu, words)

    def _result(self, state: DocumentState, records: Sequence[Record]) -> DocumentResult:
        best = last = self._snapshot(state)
        if state.arrays.changed_count[0]:
            other = state.elsewhere(state.best)
            self.begin(other)
            best = self._snapshot(other)
        tally = {
            name: Tally(int(row[PROPOSED]), int(row[POSSIBLE]), int(row[TAKEN]))
            for name, row in zip(OPERATIONS, state.arrays.phrases.tally, strict=True)
        }
        accepted = int(state.arrays.counters[ACCEPTED])
        return DocumentResult(state.document, best, last, tuple(records), state.step, accepted, tally, state)


def _change_of(state: DocumentState, trial: Trial) -> Change:
    """A proposal to read."""
    first = int(state.known.text.places[trial.sentence]) + trial.first
    old = state.arrays.phrases.chosen[first : first + trial.old].tolist()
    new = state.arrays.phrases.new[: trial.new].tolist()
    return Change(trial.sentence, trial.first - 1, state.steps_of(old), state.steps_of(new))
