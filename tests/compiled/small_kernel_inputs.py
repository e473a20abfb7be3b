"""Inputs for every kernel that may run as plain Python, and digests of what comes out.

As a program it prints the digests of all results of machine code, which another processor may have to agree with.
"""

import copy
import hashlib
import importlib
import json
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toledo
from toledo.compiled.hashing import EMPTY
from toledo.compiled.kernels import KERNELS, Kernel
from toledo.compiled.ragged import Sequences
from toledo.consensus.fast_consensus import _count
from toledo.forest.ngram_index import NGramIndex, empty_index
from toledo.metrics import bleu, expected
from toledo.metrics.matches import cut_ngrams, index_ngrams, room_for_matches
from toledo.metrics.ter import TERLimits

LARGEST = np.iinfo(np.int32).max
Arguments = tuple[Any, ...]


def small_kernels() -> dict[str, Kernel]:
    """Return all kernels of the package that may run as plain Python."""
    for module in pkgutil.walk_packages(toledo.__path__, "toledo."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {name: one for name, one in KERNELS.items() if one.small and name.startswith("toledo.")}


def texts() -> Iterator[list[list[int]]]:
    """Give lists of texts of symbols, some of them hard."""
    random = np.random.default_rng(1)
    yield [[1, 2, 3, 4], [1, 2, 3, 4], [4, 3, 2, 1], [1]]
    yield [[], [5], [], [5, 5, 5, 5, 5, 5, 5]]
    yield [[], []]
    yield [[LARGEST, LARGEST - 1, LARGEST, 0], [LARGEST, 0, LARGEST - 1, LARGEST], [0, LARGEST]]
    yield [random.integers(0, 40, random.integers(0, 30)).tolist() for _ in range(24)]  # more than one can list
    common = random.integers(0, 30, 280).tolist()
    yield [common, common[40:] + common[:40], [7] * 300, common[:256], [7, 8] * 129]  # counts that no byte can hold


def sequences() -> list[Sequences]:
    """Return these texts as rows of one array."""
    flat = [
        (np.array([one for text in some for one in text], np.int32), [len(text) for text in some]) for some in texts()
    ]
    return [Sequences.from_lengths(symbols, lengths) for symbols, lengths in flat]


def paired() -> Iterator[tuple[Arguments, Arguments, NDArray[np.int64]]]:
    """Give hypotheses, two references for each, and where their groups begin."""
    for some in sequences():
        hypotheses = some.symbols, some.offsets
        order = np.roll(np.repeat(np.arange(len(some)), 2), 1)
        references = some.gather(order)
        yield hypotheses, (references.symbols, references.offsets), 2 * np.arange(len(some) + 1)


def row_inputs() -> Iterator[Arguments]:
    for some in sequences():
        yield some.symbols, some.offsets[:-1], some.offsets[1:]


def gathering_inputs() -> Iterator[Arguments]:
    for some in sequences():
        for rows in (np.arange(len(some))[::-1], np.zeros(0, np.int64), np.zeros(5, np.int64)):
            yield some.offsets, some.symbols, rows


def statistics_of(width: int) -> list[NDArray[np.float64]]:
    random = np.random.default_rng(2)
    rows = random.integers(0, 60, (50, width)).astype(np.float64)
    return [rows, rows / 3, rows * 2.0**40, np.zeros((3, width)), np.zeros((0, width)), random.random((9, width))]


def bleu_score_inputs() -> Iterator[Arguments]:
    for rows in statistics_of(10):
        for method, value in bleu.METHODS.values():
            for effective in (False, True):
                yield rows, method, value, effective


def precision_inputs() -> Iterator[Arguments]:
    for rows in statistics_of(10):
        for method, value in bleu.METHODS.values():
            yield from ((row, method, value, np.full(4, -1.0)) for row in rows[:20])


def penalty_inputs() -> Iterator[Arguments]:
    yield from ((said, meant) for said in (0.0, 1.0, 17.0, 17.3, 1e300) for meant in (0.0, 1.0, 17.1, 99.0, 1e308))


def bleu_inputs() -> Iterator[Arguments]:
    for hypotheses, references, groups in paired():
        for order in (1, 4):
            size = groups.size - 1
            yield hypotheses, references, groups, 0, size, order, np.zeros((size, 2 + 2 * order))
            yield hypotheses, references, groups, size // 2, size, order, np.zeros((size, 2 + 2 * order))


def chrf_inputs() -> Iterator[Arguments]:
    for hypotheses, references, groups in paired():
        offsets = np.concatenate((hypotheses[1], hypotheses[1][-1] + references[1][1:]))
        both = np.concatenate((hypotheses[0], references[0])), offsets
        none, size = (np.empty(0, np.int32), np.zeros(offsets.size, np.int64)), groups.size - 1
        yield both, none, groups, 0, size, (6, 0), 2.0, np.zeros((size, 18))
        yield both, both, groups, 0, size, (6, 2), 0.7, np.zeros((size, 24))


def chrf_score_inputs() -> Iterator[Arguments]:
    yield from ((rows, beta) for rows in statistics_of(18) for beta in (2.0, 0.3))


def ter_inputs() -> Iterator[Arguments]:
    for hypotheses, references, groups in paired():
        for limits in (TERLimits(), TERLimits(2, 3, 4, 5)):
            yield hypotheses, references, groups, 0, groups.size - 1, limits, np.zeros((groups.size - 1, 2))


def ngram_inputs() -> Iterator[Arguments]:
    yield from ((some.symbols, some.offsets, order) for some in sequences() for order in (1, 6))


def index_inputs() -> Iterator[Arguments]:
    for symbols, offsets, order in ngram_inputs():
        for hypotheses in (offsets.size - 1, 1):
            yield cut_ngrams(symbols, offsets, order), hypotheses


def probabilities(size: int) -> NDArray[np.float64]:
    """Return probabilities, of which the first is 0."""
    found = np.random.default_rng(3).random(size)
    found[0] = 0.0
    return found / max(found.sum(), 1e-9)


def factor_inputs() -> Iterator[Arguments]:
    for lengths in (np.array([0]), np.array([1, 2, 3, 9, 300])):
        for method, value in bleu.METHODS.values():
            for effective in (False, True):
                yield lengths, 4, method, value, effective


def expected_bleu_inputs() -> Iterator[Arguments]:
    for some in sequences():
        for hypotheses in (len(some), 1):
            ngrams, lengths = cut_ngrams(some.symbols, some.offsets, 4), some.lengths
            slots, slot_of = np.unique(lengths[:hypotheses], return_inverse=True)
            factors = expected._factors(slots, 4, bleu.EXPONENTIAL, 0.0, True)
            index, matches = index_ngrams(ngrams, hypotheses), room_for_matches(4, hypotheses, lengths)
            yield index, ngrams, lengths, probabilities(len(some)), slots, slot_of, factors, matches


def expected_chrf_inputs() -> Iterator[Arguments]:
    for some in sequences():
        ngrams, lengths = cut_ngrams(some.symbols, some.offsets, 6), some.lengths
        index, matches = index_ngrams(ngrams, len(some)), room_for_matches(6, len(some), lengths)
        yield index, ngrams, lengths, probabilities(len(some)), 2.0, matches


def common_words() -> Iterator[tuple[Sequences, expected.CommonWords, NDArray[Any]]]:
    for some in sequences():
        ngrams = cut_ngrams(some.symbols, some.offsets, 1)
        index, weights = index_ngrams(ngrams, len(some)), 100.0 * probabilities(len(some))
        room = room_for_matches(1, len(some), some.lengths)
        yield some, expected.CommonWords(index, ngrams, some.lengths, weights), room


def bound_inputs() -> Iterator[Arguments]:
    yield from ((common, len(some), room) for some, common, room in common_words())


def expected_ter_inputs() -> Iterator[Arguments]:
    for some, common, room in common_words():
        bounds = expected._bounds(common, len(some), room)
        order = np.argsort(-bounds, kind="stable")
        for only_best in (False, True):
            yield common, some.symbols, some.offsets, bounds, order, TERLimits(), only_best, room


def counting_inputs() -> Iterator[Arguments]:
    yield from ((one.symbols, one.offsets, probabilities(len(one)), 4, empty_index()) for one in sequences())


def number_inputs() -> Iterator[Arguments]:
    for words, offsets, shares, order, index in counting_inputs():
        known, _ = _count(words[: words.size // 2], np.minimum(offsets, words.size // 2), shares, order, index)
        yield words, offsets, known, order


def consensus_inputs() -> Iterator[Arguments]:
    random = np.random.default_rng(4)
    for some in sequences():
        numbers = random.integers(-1, 50, (some.symbols.size, 4)).astype(np.int32)
        yield numbers, some.offsets, 3.0 * random.random(50), 17.25


INPUTS: dict[str, Callable[[], Iterator[Arguments]]] = {
    "toledo.compiled.hashing.number_rows": row_inputs,
    "toledo.compiled.ragged.gather_rows": gathering_inputs,
    "toledo.consensus.fast_consensus._count": counting_inputs,
    "toledo.consensus.fast_consensus.ngram_numbers": number_inputs,
    "toledo.consensus.fast_consensus._statistics": consensus_inputs,
    "toledo.metrics.bleu._fill_precisions": precision_inputs,
    "toledo.metrics.bleu._fill_statistics": bleu_inputs,
    "toledo.metrics.bleu.bleu_scores": bleu_score_inputs,
    "toledo.metrics.bleu.brevity_penalty": penalty_inputs,
    "toledo.metrics.chrf._fill_statistics": chrf_inputs,
    "toledo.metrics.chrf._scores": chrf_score_inputs,
    "toledo.metrics.expected._bounds": bound_inputs,
    "toledo.metrics.expected._expected_bleu": expected_bleu_inputs,
    "toledo.metrics.expected._expected_chrf": expected_chrf_inputs,
    "toledo.metrics.expected._expected_ter": expected_ter_inputs,
    "toledo.metrics.expected._factors": factor_inputs,
    "toledo.metrics.matches.cut_ngrams": ngram_inputs,
    "toledo.metrics.matches.index_ngrams": index_inputs,
    "toledo.metrics.ter._fill_statistics": ter_inputs,
}


def outcomes(name: str, *, as_python: bool) -> list[str]:
    """Run a kernel on all its inputs; describe its results, and its arguments, to which it may have written."""
    kernel = KERNELS[name]
    run = kernel.plain if as_python else kernel.dispatcher
    found = []
    for arguments in INPUTS[name]():
        given = copy.deepcopy(arguments)
        with np.errstate(all="ignore"):
            result = run(*given)
        found.append("; ".join(description(one) for one in (result, *given)))
    return found


def description(value: Any) -> str:
    """Return type and bits of a result."""
    if isinstance(value, NGramIndex):
        value = used_part(value)
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(map(description, value))})"
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape} {hashlib.sha256(value.tobytes()).hexdigest()[:16]}"
    return f"{type(value).__name__} {value.hex() if isinstance(value, float) else value}"


def used_part(index: NGramIndex) -> tuple[NDArray[Any], ...]:
    """Return an index without memory that nobody has written to yet."""
    size = int(index.used[0])
    if size > index.words.size:  # given up for a larger one, with which it shares this number
        return (index.used,)
    filled = np.where(index.keys == EMPTY, 0, index.slots)
    return index.used, index.keys, filled, index.prefixes[:size], index.words[:size], index.orders[:size]


if __name__ == "__main__":
    small_kernels()
    print(json.dumps({name: outcomes(name, as_python=False) for name in INPUTS}))
