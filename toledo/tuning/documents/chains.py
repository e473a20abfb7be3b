"""Samples of whole documents by Markov chains that continue from step to step of a training (Younes 1988).

A chain holds a translation of its document and takes steps of Metropolis and Hastings at temperature 1
(`toledo.search.document`). When the weights change, it continues where it is: after a short burn-in it is close to the
new distribution, which is not far from the old one.

Samples are also lists, one for each sentence, for all tuners on lists. The loop of `toledo.tuning.loop` unites the
lists of all rounds. On such a pool a gradient is exact and cheap, so that L-BFGS finds the weights of hundreds of
features; what a list lacks, the next round samples with the new weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import map_chunks
from toledo.compiled.ragged import Sequences
from toledo.consensus.gains import GAINS
from toledo.consensus.mbr import mbr
from toledo.forest.assemble import from_edges, list_edges
from toledo.forest.forest import Forest, Yields
from toledo.forest.linear import Rows, SparseArrays, dense_rows
from toledo.metrics.bleu import BLEU
from toledo.metrics.references import PreparedReferences
from toledo.model import PhraseModel
from toledo.progress import Progress, silent
from toledo.search.document.arrays import BEST
from toledo.search.document.loop import plan_of, run_steps, set_phrases
from toledo.search.document.models.counts import FEATURES, document_score
from toledo.search.document.models.model import DocumentModel
from toledo.search.document.search import DocumentSearch
from toledo.search.document.settings import DocumentSampling, DocumentSettings, Operations
from toledo.search.document.state import DocumentState
from toledo.search.features import Derivations
from toledo.text.corpus import Document
from toledo.text.vocabulary import Vocabulary
from toledo.tuning.loop import TuningSet
from toledo.weights import Weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def sentence_rows(derivations: Derivations, first_sparse: int) -> Rows:
    """Return the features of the sentence model, a row per sentence; sparse ones are columns from `first_sparse` on.

    There may be any number of sentences, such as those of many states one after the other.
    """
    model, offsets = derivations.model, derivations.offsets
    dense = derivations.features().astype(np.float32)
    if model.sparse is None:
        return dense_rows(dense)
    starts, ids, values = model.sparse.rows(derivations.options.pairs[derivations.chosen].astype(np.int64))
    return Rows(np.empty(0), dense, starts[offsets], ids + np.int32(first_sparse), values)


Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class ChainSettings:
    """`states` are kept at each visit of a document, `every` steps per source word apart, after a burn-in.

    Burn-ins are in steps per source word, too: `first` for a new chain, `again` for one that continues.
    """

    states: int = 50
    every: float = 2.0
    first: float = 100.0
    again: float = 10.0
    start: str = "beam"
    seed: int = 1
    operations: Operations = Operations()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        burn_ins = (self.first, self.again)
        if self.states < 2 or not 0.0 < self.every < math.inf or not all(0.0 <= one < math.inf for one in burn_ins):
            raise ValueError("a chain needs two states at least, some steps between them, and a finite burn-in")


@dataclass(frozen=True, eq=False)
class DocumentSamples:
    """States of one document. Row s · `states` + t is sentence s in state t; `totals` has a row for each state.

    `rows` are features of the sentence model, `totals` those of document models. The text of a row is
    `words[offsets[row]:offsets[row + 1]]`, its phrase pairs (negative: a word that was copied) are
    `pairs[pair_offsets[row]:pair_offsets[row + 1]]`.
    """

    states: int
    rows: Rows
    statistics: NDArray[np.float64]
    totals: NDArray[np.float64]
    words: NDArray[np.int32]
    offsets: NDArray[np.int64]
    pairs: NDArray[np.int32]
    pair_offsets: NDArray[np.int64]

    @property
    def sentences(self) -> int:
        """Return the number of sentences."""
        return int(self.statistics.shape[0]) // self.states


class Chains:
    """A chain for each document, all with the options that the model's own weights choose."""

    def __init__(
        self,
        model: PhraseModel,
        documents: Sequence[Document],
        models: Sequence[DocumentModel] = (),
        settings: ChainSettings = ChainSettings(),
        metric: BLEU | None = None,
    ) -> None:
        self.model, self.documents, self.models, self.settings = model, tuple(documents), tuple(models), settings
        self.metric = metric or BLEU(smooth_method="none")
        self.firsts = np.cumsum([0, *(len(document.segments) for document in documents)])
        self._arrays: dict[int, Arrays] = {}
        self._references: PreparedReferences | None = None
        self._size = 0
        self._active = [k for one in models for k, name in enumerate(FEATURES) if name == one.name]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the columns of all gradients: features of the sentence model, of document models, and sparse ones."""
        sparse = self.model.sparse.names if self.model.sparse else ()
        return (*self.model.feature_names, *(one.name for one in self.models), *sparse)

    def sample(
        self, numbers: Sequence[int], weights: Weights, threads: int | None = None, progress: Progress = silent
    ) -> list[DocumentSamples]:
        """Continue the chains of some documents at these weights."""
        search = self._search(weights)
        # Starts come first: a word that is copied may be new to the vocabulary, and threads must not add words.
        states = [self._begun(search, number) for number in numbers]
        references = self._known_references()

        def work(begin: int, end: int) -> list[DocumentSamples]:
            return [self._run(search, states[i], numbers[i], references) for i in range(begin, end)]

        parts = map_chunks(work, len(states), chunk=1, threads=threads, progress=progress, label="documents")
        for number, state in zip(numbers, states, strict=True):
            self._arrays[number] = state.to_arrays()
        return [one for part in parts for one in part]

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the states of all chains, for saving."""
        return {f"chain{number}.{name}": a for number, some in self._arrays.items() for name, a in some.items()}

    def put(self, arrays: Arrays) -> None:
        """Continue from what `to_arrays` returned."""
        found: dict[int, dict[str, NDArray[Any]]] = {}
        for key, array in arrays.items():
            chain, _, name = key.partition(".")
            if chain.startswith("chain"):
                found.setdefault(int(chain.removeprefix("chain")), {})[name] = np.array(array)
        self._arrays = dict(found)

    def _search(self, weights: Weights) -> DocumentSearch:
        settings = self.settings
        how = DocumentSettings(DocumentSampling(), settings.operations, start=settings.start, seed=settings.seed)
        return DocumentSearch(self.model, how, self.models, weights)

    def _begun(self, search: DocumentSearch, number: int) -> DocumentState:
        document, arrays = self.documents[number], self._arrays.get(number)
        if arrays is None:
            return search.start(document)
        state = search.resume(document, arrays)
        phrases = state.present
        set_phrases(state.known.text, state.arrays, state.measures, phrases.offsets, phrases.chosen)  # other weights
        state.arrays.totals[BEST] = -math.inf
        return state

    def _known_references(self) -> PreparedReferences:
        """Encode the references again when copied words are new in the vocabulary, since these may match then."""
        vocabulary = self.model.target_vocabulary
        if self._references is None or self._size != len(vocabulary):
            segments = [segment.references for document in self.documents for segment in document.segments]
            self._references, self._size = self.metric.prepare(segments, vocabulary), len(vocabulary)
        return self._references

    def _run(
        self, search: DocumentSearch, state: DocumentState, number: int, references: PreparedReferences
    ) -> DocumentSamples:
        settings, text = self.settings, state.known.text
        words, plan = int(text.words[-1]), plan_of(search.settings)
        burn_in = settings.again if number in self._arrays else settings.first
        between = max(round(settings.every * words), min(words, 1))  # no word, no step
        pauses = [round(burn_in * words), *[between] * (settings.states - 1)]
        found, totals = [], np.zeros((settings.states, len(self._active)))
        for t, pause in enumerate(pauses):
            run_steps(text, state.arrays, state.measures, plan, pause)
            found.append(state.present)
            if self._active:
                document_score(state.measures)
                totals[t] = state.measures.values[self._active]
        phrases = by_sentence(found)
        rows = sentence_rows(phrases, len(self.model.feature_names) + len(self.models))
        yields = phrases.yields()
        target, offsets = yields.words, yields.offsets.astype(np.int64)
        segments = self.firsts[number] + np.repeat(np.arange(text.words.size - 1), settings.states)
        statistics = references.statistics(target, offsets, segments, threads=1)
        pairs = text.options.pairs[phrases.chosen]
        return DocumentSamples(settings.states, rows, statistics, totals, target, offsets, pairs, phrases.offsets)


def by_sentence(states: Sequence[Derivations]) -> Derivations:
    """Return the phrases of all states: those of sentence 0 in each state, then those of sentence 1, and so on."""
    sentences = states[0].offsets.size - 1
    parts = [one.chosen[one.offsets[s] : one.offsets[s + 1]] for s in range(sentences) for one in states]
    return Derivations.joined(states[0].model, states[0].options, parts)


def chain_lists(model: PhraseModel, samples: DocumentSamples) -> list[Forest]:
    """Return a list of samples for each sentence, with the features of the sentence model."""
    found, rows, states = [], samples.rows, samples.states
    first = len(model.feature_names)
    for s in range(samples.sentences):
        own = slice(s * states, (s + 1) * states)
        begin, end = samples.offsets[own.start], samples.offsets[own.stop]
        words = samples.offsets[own.start : own.stop + 1] - begin
        sparse = None
        if rows.offsets.size:
            places = slice(rows.offsets[own.start], rows.offsets[own.stop])
            offsets = rows.offsets[own.start : own.stop + 1] - rows.offsets[own.start]
            sparse = SparseArrays(offsets.astype(np.int32), rows.columns[places] - first, rows.values[places])
        yields = Yields(words.astype(np.int32), samples.words[begin:end])
        edges = list_edges(yields, rows.dense[own], sparse)
        names = model.sparse.names if model.sparse else ()
        found.append(from_edges(edges, 0, model.feature_names, model.target_vocabulary, names))
    return found


def chain_set(chains: Chains, threads: int | None = None, progress: Progress = silent) -> TuningSet:
    """Return all sentences of some chains without document models, for the loop of tuners on lists."""
    if chains.models:
        raise ValueError("lists of sentences have no features of documents")

    def search(weights: Weights) -> Sequence[Forest]:
        samples = chains.sample(range(len(chains.documents)), weights, threads, progress)
        return [forest for one in samples for forest in chain_lists(chains.model, one)]

    references = [segment.references for document in chains.documents for segment in document.segments]
    return TuningSet(search, references, f"document chains, {chains.settings.states} states")


def consensus_texts(
    samples: DocumentSamples,
    vocabulary: Vocabulary,
    others: Sequence[Sequence[str]] | None = None,
    gain: str = "bleu+0.01",
) -> list[tuple[str, ...]]:
    """Choose for each sentence the sample that agrees most with all samples (minimum Bayes risk).

    `others` are one more hypothesis for each sentence, but not evidence.
    """
    found = []
    for s in range(samples.sentences):
        rows = samples.offsets[s * samples.states : (s + 1) * samples.states + 1]
        evidence = Sequences(samples.words[rows[0] : rows[-1]], rows - rows[0])
        hypotheses = evidence
        if others is not None:
            more = np.array([vocabulary.id(word) for word in others[s]], np.int32)
            symbols = np.concatenate([more, evidence.symbols])
            hypotheses = Sequences(symbols, np.concatenate([[0], evidence.offsets + more.size]))
        best, _ = mbr(hypotheses, evidence, np.full(samples.states, 1.0 / samples.states), GAINS.make(gain))
        begin, end = hypotheses.offsets[best : best + 2]
        found.append(tuple(vocabulary.words(hypotheses.symbols[begin:end].tolist())))
    return found
