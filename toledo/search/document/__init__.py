"""Search for translations of whole documents (Hardmeier, Nivre and Tiedemann 2012; Smith 2015).

    search = DocumentSearch(model, DocumentSettings(Annealing(), steps=1_000_000), [LexicalConsistency()])
    for result in search.search(documents):
        print(result.score, *result.translations, sep="\\n")

The state is a translation of a whole document. A step changes a few phrases of one sentence at random; the change of
the score is computed from what is near, so a step costs the same in any document. So models may look at the whole
document: see `toledo.search.document.models`, and users' own models in `users`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from toledo.corpus import Document
from toledo.errors import InputError
from toledo.kernels import map_chunks
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.randomness import random_state, text_seed
from toledo.search.beam.options import PreparedTable
from toledo.search.beam.weighted import weigh
from toledo.search.document.bleu_decoding import bleu_settings, bleu_weights
from toledo.search.document.building import Encoded, build_text, sentence_parts
from toledo.search.document.models import (
    LIX,
    OVIX,
    BLEUModel,
    DocumentModel,
    LengthParity,
    LexicalConsistency,
    SemanticModel,
    SemanticSpace,
    TypeTokenRatio,
)
from toledo.search.document.models.building import build_measures
from toledo.search.document.models.known import Known
from toledo.search.document.results import DocumentResult, Record, Snapshot, Tally
from toledo.search.document.running import ACCEPT, OPERATIONS, PROPOSE, REJECT, START
from toledo.search.document.runs import Runner, Stop
from toledo.search.document.settings import (
    DOCENT,
    Annealing,
    DocumentSettings,
    HillClimbing,
    Operations,
    Recording,
    Sampling,
)
from toledo.search.document.starting import (
    GivenPhrase,
    Phrases,
    beam_phrases,
    given_phrases,
    phrases_of_pairs,
    random_phrases,
)
from toledo.search.document.state import FEW_ANSWERS, DocumentState, new_arrays
from toledo.search.document.users import Change, CompiledModel, PythonModel
from toledo.weights import Weights

__all__ = [
    "ACCEPT", "DOCENT", "LIX", "OPERATIONS", "OVIX", "PROPOSE", "REJECT", "START", "Annealing", "BLEUModel", "Change",
    "CompiledModel", "DocumentModel", "DocumentResult", "DocumentSearch", "DocumentSettings", "DocumentState",
    "GivenPhrase", "HillClimbing", "LengthParity", "LexicalConsistency", "Operations", "PythonModel", "Record",
    "Recording", "Sampling", "SemanticModel", "SemanticSpace", "Snapshot", "Tally", "TypeTokenRatio", "bleu_settings",
    "bleu_weights",
]  # fmt: skip

Derivation = Sequence[Sequence[GivenPhrase]]


def never(state: DocumentState) -> bool:
    """Do not stop early."""
    return False


class DocumentSearch:
    """A search with one model, document models, and weights for all of their features.

    The model's own weights choose the options and make the start; `weights`, if given, score what follows.
    """

    def __init__(
        self,
        model: Model,
        settings: DocumentSettings = DocumentSettings(),  # noqa: B008 (frozen)
        models: Sequence[DocumentModel | PythonModel | CompiledModel] = (),
        weights: Weights | None = None,
    ) -> None:
        self.model, self.settings, self.models = model, settings, tuple(models)
        self.weights = model.weights if weights is None else weights
        self._values = dict(zip(self.feature_names, self.weights.array(self.feature_names).tolist(), strict=True))
        self._chooser = weigh(model)
        self._scorer = self._chooser if weights is None else weigh(model.with_weights(weights))
        self._own = tuple(one for one in models if isinstance(one, DocumentModel))
        self._runner = Runner(
            model, settings, tuple(one for one in models if not isinstance(one, DocumentModel)), self._values
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The features of the sentence model, then those of document models."""
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

        `stop` is asked between blocks of steps whether to end the search of a document early.
        """
        if derivations is not None and len(derivations) != len(documents):
            raise InputError(
                f"derivations of {len(derivations)} documents for {len(documents)}", remedy="give one for each document"
            )
        encoded = [self._encode(document) for document in documents]
        table = self._chooser.prepare([source for sentences in encoded for source, _ in sentences])

        def work(first: int, last: int) -> list[DocumentResult]:
            results = []
            for i in range(first, last):
                derivation = None if derivations is None else derivations[i]
                results.append(self.run(self._start(documents[i], encoded[i], table, derivation), stop=stop))
                results[-1].state.remember(FEW_ANSWERS)  # all results are kept until the last one is there
            return results

        threads = 1 if self._runner.in_python else threads
        parts = map_chunks(work, len(documents), chunk=1, threads=threads, progress=progress, label="documents")
        return [result for part in parts for result in part]

    def start(self, document: Document, derivation: Derivation | None = None) -> DocumentState:
        """The state of a document before the first step."""
        encoded = self._encode(document)
        return self._start(document, encoded, self._chooser.prepare([source for source, _ in encoded]), derivation)

    def run(self, state: DocumentState, steps: int | None = None, stop: Stop = never) -> DocumentResult:
        """Go on for so many steps, or up to the settings' number; in one run or in several, the result is the same."""
        return self._runner.run(state, steps, stop)

    def resume(self, document: Document, arrays: Mapping[str, NDArray[Any]]) -> DocumentState:
        """The state that `DocumentState.to_arrays` gave."""
        encoded = self._encode(document)
        table = self._chooser.prepare([source for source, _ in encoded])
        state = self._empty(document, encoded, table)
        present, best = (
            phrases_of_pairs(state.known, arrays[f"{name}_offsets"], arrays[f"{name}_phrases"])
            for name in ("present", "best")
        )
        state.put(arrays, present, best)
        self._runner.begin(state)
        return state

    def _encode(self, document: Document) -> list[Encoded]:
        # Unknown words are copied, so they need ids of the target language; here, where there is one thread.
        return [self._chooser.encode(segment.words) for segment in document.segments]

    def _empty(self, document: Document, encoded: Sequence[Encoded], table: PreparedTable) -> DocumentState:
        parts = sentence_parts(self._chooser, table, encoded)
        text = build_text(self._scorer, parts, encoded, rescore=self._scorer is not self._chooser)
        sources = [segment.words for segment in document.segments]
        known = Known(self.model, text, sources, [segment.references for segment in document.segments])
        seed = text_seed(self.settings.seed, [word for source in sources for word in source])
        measures = build_measures(known, self._own, self._values)
        return DocumentState(document, known, new_arrays(known, random_state(seed)), measures)

    def _start(
        self, document: Document, encoded: Sequence[Encoded], table: PreparedTable, derivation: Derivation | None
    ) -> DocumentState:
        state = self._empty(document, encoded, table)
        self._runner.put(state, self._first_phrases(state, encoded, table, derivation))
        return state

    def _first_phrases(
        self,
        state: DocumentState,
        encoded: Sequence[Encoded],
        table: PreparedTable,
        derivation: Derivation | None,
    ) -> Phrases:
        if derivation is not None:
            return given_phrases(state.known, derivation)
        if self.settings.start == "random":
            return random_phrases(state.known.text, state.arrays)
        return beam_phrases(self._chooser, sentence_parts(self._chooser, table, encoded), state.known)
