"""Translate a training text to lists (or lattices) that know their phrase pairs, in parts, by threads or by processes.

Instead of the best translations of beam search, many of which are nearly the same, lists may hold samples of document
chains, which differ more. They are drawn as sharp as the distribution whose expected BLEU is maximized. Each derivation
is kept once: its score says how much it counts.

Each held-out fold of a training text is translated by a model that was trained without it. A model has memorized its
training text: it has long phrases that occur there alone, and nearly perfect translations teach nothing about others.
Phrase pairs of a fold's model that the whole model does not have are dropped, and the others numbered as there. All
folds have the language models of the model if these came from elsewhere (`lm_text` or `language_models` of
`toledo.train`), since then they have not seen the text.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from multiprocessing import active_children, get_context
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import offsets_of, row_products
from toledo.errors import InputError
from toledo.forest.derivations import texts_of_derivations
from toledo.forest.forest import Forest
from toledo.forest.kbest import k_best
from toledo.metrics.bleu import BLEU
from toledo.metrics.references import PreparedReferences
from toledo.model import PhraseModel
from toledo.phrases.pruning import select_pairs
from toledo.phrases.several import part_of, recoded, rows_in, unite
from toledo.phrases.table import WordLinks
from toledo.progress import Progress, silent
from toledo.refinement.distributions import has_word_sums
from toledo.refinement.expected_bleu import edge_pairs, normalized, pruned_lattices
from toledo.refinement.phrase_lists import COLUMNS, ListArrays, PhraseLists, join_lists
from toledo.refinement.settings import RefineSettings
from toledo.search.beam.search import BeamSearch
from toledo.search.settings import Beam
from toledo.text.corpus import Document, ParallelCorpus, Segment
from toledo.training import ADDED, GIVEN_ALIGNMENTS, GIVEN_LANGUAGE_MODEL, MERGED, Training, train
from toledo.tuning.documents.chains import Chains, ChainSettings, DocumentSamples
from toledo.weights import Weights

SENTENCES_IN_CHAIN = 30  # any number will do: without document models the sentences of a chain are independent


@dataclass(frozen=True)
class SampleSettings:
    """States that a chain keeps (each a text of all its sentences), and the L1 norm of the weights that it samples by.

    `every` is the number of steps per source word between states, `first` that before the first one.
    """

    states: int = 40
    scale: float = 20.0
    every: float = 2.0
    first: float = 60.0
    seed: int = 1

    def __post_init__(self) -> None:
        if not self.scale > 0.0:
            raise ValueError("the scale must be positive")
        self.chains()

    def chains(self) -> ChainSettings:
        """Return settings of document chains; they start at random, independent of beam search."""
        return ChainSettings(self.states, self.every, self.first, start="random", seed=self.seed)


def sampling(settings: RefineSettings, seed: int) -> SampleSettings:
    """Return how refinement samples: as sharp as its posteriors are."""
    return SampleSettings(settings.num_samples, settings.resolved().sharpness or 0.0, seed=seed)


def sampled_lists(
    model: PhraseModel,
    weights: Weights,
    sources: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    settings: SampleSettings,
    rows: NDArray[np.int32] | None,
    table_size: int,
    threads: int | None = None,
) -> PhraseLists:
    """Return the distinct derivations of each sentence, best first.

    `rows` has the number of each phrase pair of this model in the trained table, of `table_size` pairs.
    """
    sharp = replace(weights, values_by_name=normalized(weights, model.feature_names, settings.scale))
    chains = Chains(model.with_weights(sharp), _documents(sources, references), (), settings.chains())
    samples = chains.sample(range(len(chains.documents)), sharp, threads)
    parts = [_distinct(one, sharp.array(model.feature_names), rows) for one in samples]
    return PhraseLists(join_lists(parts), model.feature_names, table_size)


def _distinct(samples: DocumentSamples, weights: NDArray[np.float64], rows: NDArray[np.int32] | None) -> ListArrays:
    """Return the distinct derivations of each sentence of a document."""
    features, offsets = samples.rows.dense, samples.pair_offsets
    scores, chosen, sizes = row_products(features.astype(np.float64), weights), list[int](), list[int]()
    for first in range(0, features.shape[0], samples.states):
        # Pairs alone do not identify a derivation: the same phrases may stand in another order.
        distinct = {
            (samples.pairs[offsets[row] : offsets[row + 1]].tobytes(), features[row].tobytes()): row
            for row in range(first, first + samples.states)
        }
        chosen += sorted(distinct.values(), key=lambda row: (-scores[row], row))
        sizes.append(len(distinct))
    known = [pairs[pairs >= 0] for pairs in (samples.pairs[offsets[row] : offsets[row + 1]] for row in chosen)]
    pairs = np.concatenate([np.empty(0, np.int32), *known])
    return ListArrays(
        offsets_of(sizes),
        offsets_of([one.size for one in known]),
        (pairs if rows is None else rows[pairs]).astype(np.int32),
        features[chosen],
        samples.statistics[chosen, :COLUMNS].astype(np.int32),
    )


def _documents(sources: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> list[Document]:
    segments = [
        Segment(number, tuple(words), (tuple(reference),))
        for number, (words, reference) in enumerate(zip(sources, references, strict=True))
    ]
    cuts = range(0, len(segments), SENTENCES_IN_CHAIN)
    return [Document(str(cut), tuple(segments[cut : cut + SENTENCES_IN_CHAIN])) for cut in cuts]


FORESTS_AT_ONCE = 16
ROWS = "rows.toml"

Texts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TextPart:
    """Lines to translate, the model for them, and the directory for their lists, lattices or samples.

    `rows` is a directory with the number that each phrase pair of that model has in the trained table, of `table_size`
    pairs; None where it is that table.
    """

    directory: Path
    model: Path
    rows: Path | None
    weights: Weights
    sources: Texts
    references: Texts
    table_size: int
    settings: RefineSettings
    seed: int = 1


def collect(
    parts: Sequence[TextPart], processes: int = 1, threads: int | None = None, progress: Progress = silent
) -> None:
    """Make the lists of all parts that are not there yet."""
    missing = [part for part in parts if not part.directory.exists()]
    with progress("translating the training text", sum(len(part.sources) for part in parts)) as advance:
        advance(sum(len(part.sources) for part in parts) - sum(len(part.sources) for part in missing))
        if processes == 1:
            for part in missing:
                _make(part, threads)
                advance(len(part.sources))
            return
        with ProcessPoolExecutor(processes, get_context("spawn"), _leave_signals) as pool, _ended_with_us(pool):
            for part, _ in zip(missing, pool.map(_make, missing, [1] * len(missing)), strict=True):
                advance(len(part.sources))


def _leave_signals() -> None:
    """Ctrl-C goes to all processes; the first one ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _ended_with_us(pool: ProcessPoolExecutor) -> Iterator[None]:
    """Do not wait for other parts after an error or an interruption."""
    others = active_children()  # of whoever calls us; a pool has none before it has work
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            if process not in others:
                process.terminate()
        raise


def _make(part: TextPart, threads: int | None) -> None:
    """Search, take the best texts, and write them."""
    (model, rows), settings = _load(part.model, part.rows), part.settings
    if settings.on == "samples":
        sampled_lists(
            model, part.weights, part.sources, part.references, sampling(settings, part.seed), rows, part.table_size,
            threads,
        ).save(part.directory)  # fmt: skip
        return
    search = BeamSearch(model.with_weights(part.weights), Beam(settings.pop_limit))
    forests = search.forests(part.sources, threads)
    if settings.on == "forests":
        pruned_lattices(forests, part.weights, settings.density, rows, threads).save(part.directory)
        return
    lists = phrase_lists(forests, part.weights, part.references, settings.nbest, rows, part.table_size, threads)
    lists.save(part.directory)


@lru_cache(maxsize=1)  # parts of one model come in a row
def _load(model: Path, rows: Path | None) -> tuple[PhraseModel, NDArray[np.int32] | None]:
    return PhraseModel.load(model), None if rows is None else storage.load(rows, ROWS)[1]["rows"]


def phrase_lists(
    forests: Sequence[Forest],
    weights: Weights,
    references: Texts,
    n_best: int,
    rows: NDArray[np.int32] | None,
    table_size: int,
    threads: int | None = None,
) -> PhraseLists:
    """Return the best derivations of the `n_best` best texts of each sentence, beside its reference.

    `rows` has the number of each phrase pair of the searched table in the trained one, of `table_size` pairs.
    """
    known = BLEU(smooth_method="none").prepare([[words] for words in references], forests[0].vocabulary)

    def work(begin: int, end: int) -> list[ListArrays]:
        return [_best(forests[segment], weights, n_best, rows, known, segment) for segment in range(begin, end)]

    chunks = map_chunks(work, len(forests), chunk=FORESTS_AT_ONCE, threads=threads)
    lists = join_lists([one for chunk in chunks for one in chunk])
    return PhraseLists(lists, forests[0].feature_names, table_size)


def _best(
    forest: Forest,
    weights: Weights,
    n_best: int,
    rows: NDArray[np.int32] | None,
    references: PreparedReferences,
    segment: int,
) -> ListArrays:
    """Return the list of one sentence."""
    if forest.provenance is None:
        raise ValueError("the forest does not know where its edges came from")
    found = list(islice(k_best(forest, forest.scores(weights, threads=1), distinct=True), n_best))
    offsets = offsets_of([derivation.edges.size for derivation in found])
    edges = np.concatenate([np.empty(0, np.int32), *(derivation.edges for derivation in found)])
    statistics = references.statistics(
        *texts_of_derivations(forest.yields, edges, offsets), np.full(len(found), segment), threads=1
    )
    pairs, pair_offsets = _used(edge_pairs(forest.provenance, rows), edges, offsets)
    features, counts = _sum_features(forest.features, edges, offsets), statistics[:, :COLUMNS].astype(np.int32)
    return ListArrays(np.array([0, len(found)]), pair_offsets, pairs, features, counts)


@kernel
def _used(
    pairs: NDArray[np.int64], edges: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the phrase pairs of all derivations in a row, and where those of each begin."""
    used, ends, size = np.empty(edges.size, np.int32), np.zeros(offsets.size, np.int64), 0
    for d in range(offsets.size - 1):
        for k in range(offsets[d], offsets[d + 1]):
            if pairs[edges[k]] >= 0:
                used[size] = pairs[edges[k]]
                size += 1
        ends[d + 1] = size
    return used[:size].copy(), ends


@kernel
def _sum_features(
    features: NDArray[np.float32], edges: NDArray[np.int32], offsets: NDArray[np.int64]
) -> NDArray[np.float32]:
    sums = np.empty((offsets.size - 1, features.shape[1]), np.float32)
    total = np.empty(features.shape[1])
    for d in range(sums.shape[0]):
        total[:] = 0.0
        for k in range(offsets[d], offsets[d + 1]):
            for f in range(total.size):
                total[f] += features[edges[k], f]
        sums[d] = total
    return sums


@dataclass(frozen=True)
class Fold:
    """A model on disk, the numbers of its phrase pairs (None: as they are), and the lines that it has to translate."""

    model: Path
    rows: Path | None
    lines: NDArray[np.int64]


def make_folds(
    model: PhraseModel,
    corpus: ParallelCorpus,
    count: int,
    directory: Path,
    *,
    alignments: WordLinks | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> list[Fold]:
    """Train the models of all folds that are not there yet. Fold f has the lines f, f + count, …"""
    require_folds(model, corpus, count, alignments)
    config, given = training_of(model), _given(model)
    if has_word_sums(model):  # also where those came later than training
        config = replace(config, phrases=replace(config.phrases, lexical="model1"))
    number = np.arange(len(corpus)) % count
    folds = []
    for fold in range(count):
        home, rows_home = directory / f"{fold}-model", directory / f"{fold}-rows"
        folds.append(Fold(home, rows_home, np.flatnonzero(number == fold)))
        if home.exists() and rows_home.exists():
            continue
        keep = number != fold
        trained = train(
            corpus.select(keep),
            config,
            alignments=None if alignments is None else alignments.select(keep),
            word_lexicons=None if alignments is None else model.word_lexicons,
            language_models=model.language_models if GIVEN_LANGUAGE_MODEL in given else (),
            threads=threads,
            progress=progress,
        )
        trained = _with_added(trained, model)
        rows = rows_in(model.table, trained.table.pairs)
        known = replace(trained, table=select_pairs(trained.table, rows >= 0), settings=model.settings)
        storage.save(rows_home, ROWS, {}, {"rows": rows[rows >= 0]})
        known.save(home)
    return folds


def require_folds(model: PhraseModel, corpus: ParallelCorpus, count: int, alignments: WordLinks | None) -> None:
    """Refuse folds that could not be trained as the model was."""
    if not 2 <= count <= len(corpus):
        raise InputError(
            f"{count} folds of {len(corpus)} lines", remedy="choose fewer folds: 2 to 20 are usual, 1 is for none"
        )
    training_of(model)
    if alignments is None and (GIVEN_ALIGNMENTS in _given(model) or model.word_lexicons is None):
        raise InputError(
            "the model was trained on given word alignments, and folds need those of their lines",
            remedy="pass the same `alignments`, or translate the text with the model itself (`folds=1`)",
        )


def _with_added(trained: PhraseModel, model: PhraseModel) -> PhraseModel:
    """Give the model of a fold the tables and language models that were added to the trained ones."""
    models = (*trained.language_models, *model.language_models[len(trained.language_models) :])
    table, parts = trained.table, model.table.parts
    if parts:
        vocabularies = table.source_vocabulary, table.target_vocabulary  # the same words, perhaps of another object
        others = [recoded(part_of(model.table, number), *vocabularies) for number in range(1, len(parts))]
        table = unite([table, *others], [part.back_off for part in parts])
    return replace(trained, table=table, language_models=models, weights=model.weights)


def training_of(model: PhraseModel) -> Training:
    """Describe how a model was trained."""
    config, added = model.training.get("config"), model.training.get(ADDED, {})
    if added.get("phrase_tables") and added.get("combine") in MERGED:
        raise InputError(
            f"the phrase table was made from several ({added['combine']}), which cannot be done again for folds",
            remedy="refine the model first and add tables to the result, or translate the text with the model itself "
            "(`folds=1`)",
        )
    estimated = GIVEN_LANGUAGE_MODEL not in _given(model)
    if not isinstance(config, dict) or (
        estimated and len(model.language_models) - added.get("language_models", 0) != 1
    ):
        raise InputError(
            "it is not known how this model was trained, so there can be no others like it for folds",
            remedy="train it with toledo train, or translate the text with the model itself (`folds=1`)",
        )
    try:
        return msgspec.convert({"distortion_limit": None, **config}, Training)
    except msgspec.ValidationError as error:
        raise InputError(f"unknown training of the model: {error}", remedy="train it again") from None


def _given(model: PhraseModel) -> list[str]:
    """Return what a model was given, and did not learn from its training text."""
    return str(model.training.get("given", "")).split("+")
