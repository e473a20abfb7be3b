"""Search for translations of whole documents (Hardmeier, Nivre and Tiedemann 2012; Smith 2015).

    search = DocumentSearch(model, DocumentSettings("annealing", steps=1_000_000), [LexicalConsistency()])
    for result in search.search(documents):
        print(result.score, *result.translations, sep="\n")

The state is a translation of a whole document. A step changes a few phrases of one sentence at random; the change of
the score is computed from what is near, so a step costs the same in any document. So models may look at the whole
document: see `toledo.search.document.models`, and for those of users `toledo.search.document.models.user`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.random import random_state, text_seed
from toledo.errors import InputError
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.document.arrays import ACCEPTED, BEST, REJECTED, USERS
from toledo.search.document.loop import (
    ACCEPT,
    PROPOSE,
    REJECT,
    START,
    Plan,
    Trial,
    first_half,
    keep_if_best,
    plan_of,
    run_steps,
    score_of,
    second_half,
    set_phrases,
    sum_scores,
)
from toledo.search.document.models.counts import BLEU, FEATURES, build_measures, document_score
from toledo.search.document.models.model import DocumentModel, Known
from toledo.search.document.models.user import Change, CompiledModel, Memories, PythonModel, combine, run_with_users
from toledo.search.document.settings import OPERATIONS, DocumentSettings
from toledo.search.document.state import (
    ANSWERS_PER_OPTION,
    FEW_ANSWERS,
    DocumentResult,
    DocumentState,
    GivenPhrase,
    Record,
    Snapshot,
    Tally,
    beam_phrases,
    build_text,
    given_phrases,
    new_arrays,
    phrases_of_pairs,
    random_phrases,
)
from toledo.search.features import Derivations, read_steps
from toledo.search.options import PreparedTable, SentenceOptions
from toledo.search.search import EncodedSentence, Translation, weigh
from toledo.text.corpus import Document
from toledo.weights import Weights

NO_TRIAL = Trial(-1, 0, 0, 0, 0, 0.0, 0.0, 0.0)
BLOCK = 1 << 14  # steps; between blocks the time is checked, and scores are summed again

Stop = Callable[[DocumentState], bool]
Derivation = Sequence[Sequence[GivenPhrase]]


def never(state: DocumentState) -> bool:
    """Do not stop early."""
    return False


class DocumentSearch:
    """A search with one model, document models, and weights for all of their features.

    The model's own weights choose the options and the first state; `weights`, if given, score what follows.
    """

    def __init__(
        self,
        model: PhraseModel,
        settings: DocumentSettings = DocumentSettings(),  # noqa: B008 (frozen)
        models: Sequence[DocumentModel | PythonModel | CompiledModel] = (),
        weights: Weights | None = None,
    ) -> None:
        self.model, self.settings, self.models = model, settings, tuple(models)
        self.weights = model.weights if weights is None else weights
        self._values = dict(zip(self.feature_names, self.weights.array(self.feature_names).tolist(), strict=True))
        self._chooser = weigh(model)
        self._scorer = self._chooser if weights is None else weigh(model.with_weights(weights))
        self._built_in = tuple(one for one in models if isinstance(one, DocumentModel))
        self._compiled = tuple(one for one in models if isinstance(one, CompiledModel))
        self._python = tuple(one for one in models if not isinstance(one, DocumentModel | CompiledModel))
        self._combined = combine(tuple(one.function for one in self._compiled)) if self._compiled else None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Return the features of the sentence model, then those of document models."""
        names = (*self.model.feature_names, *(one.name for one in self.models))
        if len(set(names)) != len(names):
            raise ValueError("two models have the same name")
        return names

    def search(
        self,
        documents: Sequence[Document],
        derivations: Sequence[Derivation] | None = None,
        threads: int | None = None,
        progress: Progress = silent,
        stop: Stop = never,
    ) -> list[DocumentResult]:
        """Translate documents, in threads; from given derivations if there are any, one for each document.

        `stop` is called between blocks of steps and returns whether to end the search of a document early.
        """
        if derivations is not None and len(derivations) != len(documents):
            raise InputError(
                f"derivations of {len(derivations)} documents for {len(documents)}", remedy="give one for each document"
            )
        encoded = [self._encode(document) for document in documents]
        table = self._chooser.prepare([sentence for sentences in encoded for sentence in sentences])

        def work(first: int, last: int) -> list[DocumentResult]:
            results = []
            for i in range(first, last):
                derivation = None if derivations is None else derivations[i]
                results.append(self.run(self._start(documents[i], encoded[i], table, derivation), stop=stop))
                results[-1].state.remember(FEW_ANSWERS)  # all results are kept until the last search ends
            return results

        threads = 1 if self._python else threads
        parts = map_chunks(work, len(documents), chunk=1, threads=threads, progress=progress, label="documents")
        return [result for part in parts for result in part]

    def start(self, document: Document, derivation: Derivation | None = None) -> DocumentState:
        """Return the state of a document before the first step."""
        encoded = self._encode(document)
        return self._start(document, encoded, self._chooser.prepare(encoded), derivation)

    def run(self, state: DocumentState, steps: int | None = None, stop: Stop = never) -> DocumentResult:
        """Take `steps` more steps, or as many as the settings say; the result is the same in one run or in several."""
        settings, words = self.settings, state.known.text.words
        goal = settings.steps if steps is None else state.step + steps
        records = [self._record(state)] if state.step == 0 and settings.records_at(0) else []
        deadline = time.monotonic() + (settings.seconds or math.inf)
        if self._python:
            state.arrays.totals[USERS] = self._weighted(self._user_values(state))
        state.remember(ANSWERS_PER_OPTION)
        visit = settings.visit(int(words[-1]), words.size - 1)
        while state.step < goal and words[-1] and time.monotonic() < deadline and not stop(state):
            level, block = settings.acceptance.next_level(state.step, settings.steps), (state.step // BLOCK + 1) * BLOCK
            until = int(min(goal, settings.next_record(state.step), block, level if level > state.step else goal))
            self._take_steps(state, plan_of(settings, state.step, visit), until - state.step)
            if state.step % BLOCK == 0:
                sum_scores(state.arrays)
            if state.step < until:
                break
            if settings.records_at(state.step):
                records.append(self._record(state))
        return self._result(state, records)

    def resume(self, document: Document, arrays: Mapping[str, NDArray[Any]]) -> DocumentState:
        """Return the state that `DocumentState.to_arrays` gave."""
        encoded = self._encode(document)
        state, _ = self._empty(document, encoded, self._chooser.prepare(encoded))
        present, best = (
            phrases_of_pairs(state.known, arrays[f"{name}_offsets"], arrays[f"{name}_phrases"])
            for name in ("present", "best")
        )
        state.put(arrays, present, best)
        self._begin(state)
        return state

    def _encode(self, document: Document) -> list[EncodedSentence]:
        return [self._chooser.encode(segment.words) for segment in document.segments]

    def _empty(
        self, document: Document, encoded: Sequence[EncodedSentence], table: PreparedTable
    ) -> tuple[DocumentState, list[SentenceOptions]]:
        """Return a state without phrases, and the options of each sentence."""
        parts = [self._chooser.options(table, sentence) for sentence in encoded]
        text = build_text(self._scorer, parts, encoded, rescore=self._scorer is not self._chooser)
        sources = [segment.words for segment in document.segments]
        known = Known(self.model, text, sources, [segment.references for segment in document.segments])
        seed = text_seed(self.settings.seed, [word for source in sources for word in source])
        measures = build_measures(known, self._built_in, self._values)
        return DocumentState(document, known, new_arrays(known, random_state(seed)), measures), parts

    def _start(
        self,
        document: Document,
        encoded: Sequence[EncodedSentence],
        table: PreparedTable,
        derivation: Derivation | None,
    ) -> DocumentState:
        state, parts = self._empty(document, encoded, table)
        if derivation is not None:
            phrases = given_phrases(state.known, derivation)
        elif self.settings.start == "random":
            phrases = random_phrases(state.known, state.arrays)
        else:
            phrases = beam_phrases(self._chooser, parts, state.known)
        self._put(state, phrases)
        return state

    def _put(self, state: DocumentState, phrases: Derivations) -> None:
        """Put a document into its first state."""
        set_phrases(state.known.text, state.arrays, state.measures, phrases.offsets, phrases.chosen)
        self._begin(state)
        state.arrays.totals[BEST] = -math.inf
        keep_if_best(state.known.text, state.arrays, 0.0)

    def _begin(self, state: DocumentState) -> None:
        """Let users' models count the whole document."""
        state.memories = self._new_memories(state)
        state.arrays.totals[USERS] = self._weighted(self._user_values(state))

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
        return sum((self._values[name] * value for name, value in values.items()), start=0.0)

    def _new_memories(self, state: DocumentState) -> Memories:
        return tuple((self._values[one.name], one.memory(state.known.text)) for one in self._compiled)

    def _tell_compiled(self, state: DocumentState, trial: Trial, event: int) -> dict[str, float]:
        return {
            one.name: float(one.function(state.known.text, state.arrays, trial, memory, event))
            for one, (_, memory) in zip(self._compiled, state.memories, strict=True)
        }

    def _user_values(self, state: DocumentState) -> dict[str, float]:
        """Return the values of users' models for a whole state, counted from scratch."""
        values = self._tell_compiled(state, NO_TRIAL, START)
        if self._python:
            translations = [state.present.steps(s) for s in range(len(state.known.sources))]
            values |= {one.name: float(one.start(translations)) for one in self._python}
        return values

    def _snapshot(self, state: DocumentState) -> Snapshot:
        """Return the present state: features of sentences and of users' models from scratch, the rest as counted."""
        phrases, active = state.present, state.measures.active
        features = phrases.totals()
        document_score(state.measures)
        features |= {name: float(state.measures.values[k]) for k, name in enumerate(FEATURES) if active[k]}
        counted = replace(state, memories=self._new_memories(state))  # the present memories are in use
        features |= self._user_values(counted)
        scores = state.arrays.scores.tolist()
        return Snapshot(
            tuple(Translation(phrases.steps(s), score) for s, score in enumerate(scores)),
            float(score_of(state.arrays)),
            features,
            state.measures.references.totals.copy() if active[BLEU] else None,
        )

    def _record(self, state: DocumentState) -> Record:
        now = self._snapshot(state)
        words = tuple(one.words for one in now.translations) if self.settings.record_texts else None
        return Record(state.step, now.score, now.features, now.bleu, words)

    def _result(self, state: DocumentState, records: Sequence[Record]) -> DocumentResult:
        best = last = self._snapshot(state)
        if state.arrays.changed_count[0]:
            other = state.elsewhere(state.best)
            self._begin(other)
            best = self._snapshot(other)
        rows = zip(OPERATIONS, state.arrays.phrases.tally.tolist(), strict=True)
        tally = {name: Tally(*row) for name, row in rows}
        accepted = int(state.arrays.counters[ACCEPTED])
        return DocumentResult(state.document, best, last, tuple(records), state.step, accepted, tally, state)


def _change_of(state: DocumentState, trial: Trial) -> Change:
    """Return a proposal as phrases with their words."""
    first = int(state.known.text.places[trial.sentence]) + trial.first
    old = state.arrays.phrases.chosen[first : first + trial.old].tolist()
    new = state.arrays.phrases.new[: trial.new].tolist()
    before, after = (read_steps(state.known.model, state.known.text.options, some) for some in (old, new))
    return Change(trial.sentence, trial.first - 1, before, after)
