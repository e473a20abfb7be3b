"""From a text to lists (or lattices) that know their phrase pairs, in parts, by threads or by processes."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from multiprocessing import active_children, get_context
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toledo import storage
from toledo.forest.derivation import texts_of_derivations
from toledo.forest.kbest import k_best
from toledo.forest.saving import save_forest
from toledo.forest.structure import Forest
from toledo.kernels import kernel, map_chunks
from toledo.metrics.bleu import BLEU
from toledo.metrics.prepared import prepare_references
from toledo.metrics.sequences import offsets_of
from toledo.model import Model
from toledo.progress import Progress, silent
from toledo.refinement.lattices import edge_pairs, pruned_lattices
from toledo.refinement.lists import ListArrays, PhraseLists
from toledo.refinement.sampled import SampleSettings, sampled_lists
from toledo.refinement.sentence_bleu import COLUMNS
from toledo.search.beam import BeamSearch, BeamSettings
from toledo.weights import Weights

FORESTS_AT_ONCE = 16
ROWS = "rows.toml"

Texts = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Part:
    """Some lines to translate, by which model, and where the lists go.

    `rows` is a directory with the number that each phrase pair of that model has in the table to be trained; None where
    it is that table. With a `density` whole lattices are kept, of so many edges per word; with `samples` what document
    chains went through.
    """

    directory: Path
    model: Path
    rows: Path | None
    weights: Weights
    sources: Texts
    references: Texts
    n_best: int
    pop_limit: int
    table_size: int
    density: float | None = None
    samples: SampleSettings | None = None


def collect(parts: Sequence[Part], processes: int = 1, threads: int | None = None, progress: Progress = silent) -> None:
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
    """An error or an interruption does not wait for parts that others make or would make."""
    others = active_children()  # of whoever calls us; a pool has none before it has work
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            if process not in others:
                process.terminate()
        raise


def _make(part: Part, threads: int | None) -> None:
    """Search, take the best texts, and write them."""
    model, rows = _load(part.model, part.rows)
    if part.samples is not None:
        sampled_lists(
            model, part.weights, part.sources, part.references, part.samples, rows, part.table_size, threads
        ).save(part.directory)
        return
    search = BeamSearch(model.with_weights(part.weights), BeamSettings(part.pop_limit))
    forests = search.forests(part.sources, threads)
    if part.density is not None:
        save_forest(pruned_lattices(forests, part.weights, part.density, rows, threads), part.directory)
        return
    lists = phrase_lists(forests, part.weights, part.references, part.n_best, rows, part.table_size, threads)
    lists.save(part.directory)


@lru_cache(maxsize=1)  # parts of one model come in a row
def _load(model: Path, rows: Path | None) -> tuple[Model, NDArray[np.int32] | None]:
    return Model.load(model), None if rows is None else storage.load(rows, ROWS)[1]["rows"]


def phrase_lists(
    forests: Sequence[Forest],
    weights: Weights,
    references: Texts,
    n_best: int,
    rows: NDArray[np.int32] | None,
    table_size: int,
    threads: int | None = None,
) -> PhraseLists:
    """The best derivations of the `n_best` best texts of each sentence, beside its reference.

    `rows` has the number of each phrase pair of the searched table in the trained one, of `table_size` pairs.
    """

    def work(begin: int, end: int) -> list[_List]:
        return [_best(forest, weights, n_best, rows) for forest in forests[begin:end]]

    chunks = map_chunks(work, len(forests), chunk=FORESTS_AT_ONCE, threads=threads)
    lists = [one for chunk in chunks for one in chunk]
    sizes = np.array([one.features.shape[0] for one in lists], np.int64)
    vocabulary = forests[0].vocabulary
    encoded = [[np.array([vocabulary.add(word) for word in words], np.int32)] for words in references]
    words = np.concatenate([one.words for one in lists])
    statistics = prepare_references(BLEU(), encoded).statistics(
        words,
        offsets_of(np.concatenate([one.lengths for one in lists])),
        np.repeat(np.arange(len(lists)), sizes),
        threads,
    )
    arrays = ListArrays(
        offsets_of(sizes),
        offsets_of(np.concatenate([one.counts for one in lists])),
        np.concatenate([one.pairs for one in lists]),
        np.concatenate([one.features for one in lists]),
        statistics[:, :COLUMNS].astype(np.int32),
    )
    return PhraseLists(arrays, forests[0].feature_names, table_size)


@dataclass(frozen=True)
class _List:
    """The hypotheses of one sentence: texts, phrase pairs and features."""

    words: NDArray[np.int32]
    lengths: NDArray[np.int64]
    pairs: NDArray[np.int32]
    counts: NDArray[np.int64]
    features: NDArray[np.float32]


def _best(forest: Forest, weights: Weights, n_best: int, rows: NDArray[np.int32] | None) -> _List:
    if forest.provenance is None:
        raise ValueError("the forest does not know where its edges came from")
    found = list(islice(k_best(forest, forest.scores(weights, threads=1), distinct=True), n_best))
    offsets = offsets_of(np.array([derivation.edges.size for derivation in found], np.int64))
    edges = np.concatenate([np.empty(0, np.int32), *(derivation.edges for derivation in found)])
    words, ends = texts_of_derivations(forest.yields, edges, offsets)
    used, counts = _used(edge_pairs(forest.provenance, rows), edges, offsets)
    return _List(words, np.diff(ends), used, counts, _sum_features(forest.features, edges, offsets))


@kernel
def _used(
    pairs: NDArray[np.int64], edges: NDArray[np.int32], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The phrase pairs of all derivations in a row, and their numbers."""
    used, counts, size = np.empty(edges.size, np.int32), np.zeros(offsets.size - 1, np.int64), 0
    for d in range(counts.size):
        for k in range(offsets[d], offsets[d + 1]):
            if pairs[edges[k]] >= 0:
                used[size] = pairs[edges[k]]
                size += 1
                counts[d] += 1
    return used[:size].copy(), counts


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
