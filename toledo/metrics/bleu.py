"""BLEU (Papineni et al. 2002): the one BLEU of this toolkit.

Statistics of a segment are [hypothesis length, reference length, matches of order 1 … N, n-grams of order 1 … N], as
sacreBLEU lays them out. They add up over segments and may be fractional (expected counts). Matches are clipped by the
largest count in any reference; the reference length is the closest one, the shorter one of two. Scores are 0 to 100:

    BLEU = 100 · min(1, exp(1 − r/c)) · exp(1/N Σ_n log(matches_n / totals_n))

Smoothing for single segments follows Chen and Cherry (2014), with the names of sacreBLEU.

From BLEU statistics to the score and its derivatives, compiled: tuners and significance tests call it often.

Matching n-grams of symbols against references, exactly, in time linear in the text.

The n-grams of a reference form a trie: the node of an n-gram is reached from the node of its first n−1 symbols by its
last symbol. The children of all nodes are in one hash table of (node, symbol). Node 0 is the root.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import EMPTY, find_slot, pair_key
from toledo.compiled.kernels import inner_kernel, kernel, map_chunks
from toledo.compiled.ragged import Numbering, Pairing, Sequences, Words, check_shape, number_words, pair_words
from toledo.errors import InputError, MissingExtraError
from toledo.metrics.metric import Metric
from toledo.settings import Meta, unknown_name
from toledo.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from toledo.metrics.references import Counter

NONE, FLOOR, ADD_K, EXPONENTIAL = range(4)

# Defaults from Chen and Cherry (2014), "A systematic comparison of smoothing techniques for sentence-level BLEU".
METHODS = {"none": (NONE, 0.0), "floor": (FLOOR, 0.1), "add-k": (ADD_K, 1.0), "exp": (EXPONENTIAL, 0.0)}


@kernel
def bleu_scores(statistics: NDArray[np.float64], method: int, value: float, effective: bool) -> NDArray[np.float64]:
    """The score, 0 to 100, of each row of statistics."""
    scores = np.empty(statistics.shape[0])
    precisions = np.empty((statistics.shape[1] - 2) // 2)
    for row in range(statistics.shape[0]):
        scores[row] = bleu_score(statistics[row], method, value, effective, precisions)
    return scores


@kernel
def bleu_gradient(statistics: NDArray[np.float64], method: int, value: float, effective: bool) -> NDArray[np.float64]:
    """The derivatives of the score by the statistics.

    With B the score, c and r the lengths, N the orders used: ∂B/∂matches_n = B / (N matches_n),
    ∂B/∂totals_n = −B / (N totals_n), and for c < r: ∂B/∂c = B r / c², ∂B/∂r = −B / c.
    """
    order = (statistics.size - 2) // 2
    gradient = np.zeros(statistics.size)
    precisions = np.empty(order)
    score = bleu_score(statistics, method, value, effective, precisions)
    if score == 0.0:
        return gradient
    hypothesis, reference = statistics[0], statistics[1]
    if hypothesis < reference:
        gradient[0] = score * reference / (hypothesis * hypothesis)
        gradient[1] = -score / hypothesis
    used = orders_used(statistics, method, value, effective)
    for n in range(used):
        added = value if method == ADD_K and n > 0 else 0.0
        matches, total = statistics[2 + n] + added, statistics[2 + order + n] + added
        if matches > 0.0:
            gradient[2 + n] = score / (used * matches)
        gradient[2 + order + n] = -score / (used * total)
    return gradient


@inner_kernel
def orders_used(statistics: NDArray[np.float64], method: int, value: float, effective: bool) -> int:
    """All orders, or only those for which the hypothesis has n-grams."""
    order = (statistics.size - 2) // 2
    if not effective:
        return order
    used = 0
    for n in range(order):
        if statistics[2 + order + n] + (value if method == ADD_K and n > 0 else 0.0) == 0.0:
            break
        used = n + 1
    return used


@inner_kernel
def bleu_score(
    statistics: NDArray[np.float64], method: int, value: float, effective: bool, precisions: NDArray[np.float64]
) -> float:
    """The score, 0 to 100, of one row of statistics; `precisions` is scratch memory, one number for each order."""
    matched = False
    for n in range(precisions.size):
        matched |= statistics[2 + n] > 0.0
    if not matched:
        return 0.0
    _fill_precisions(statistics, method, value, precisions)
    used = orders_used(statistics, method, value, effective)
    total = 0.0
    for n in range(used):
        if precisions[n] == 0.0:
            return 0.0
        total += math.log(precisions[n])
    return brevity_penalty(statistics[0], statistics[1]) * math.exp(total / used)


@inner_kernel
def brevity_penalty(hypothesis: float, reference: float) -> float:
    """1 for a hypothesis not shorter than its reference, less for a shorter one."""
    if hypothesis >= reference:
        return 1.0
    return math.exp(1.0 - reference / hypothesis) if hypothesis > 0.0 else 0.0


@inner_kernel
def _fill_precisions(
    statistics: NDArray[np.float64], method: int, value: float, precisions: NDArray[np.float64]
) -> None:
    """Per cent, 0 where undefined."""
    order = precisions.size
    for n in range(order):
        precisions[n] = 0.0
    halved = 1.0
    for n in range(order):
        added = value if method == ADD_K and n > 0 else 0.0
        matches, total = statistics[2 + n] + added, statistics[2 + order + n] + added
        if total == 0.0:
            return
        if matches > 0.0:
            precisions[n] = 100.0 * matches / total
        elif method == EXPONENTIAL:
            halved *= 2.0
            precisions[n] = 100.0 / (halved * total)
        elif method == FLOOR:
            precisions[n] = 100.0 * value / total


class NGramTrie(NamedTuple):
    """`counts[v]` is how often n-gram v may match, `seen` is scratch memory of the same size, all 0 between uses."""

    keys: NDArray[np.uint64]
    children: NDArray[np.int32]
    counts: NDArray[np.int32]
    seen: NDArray[np.int32]


@kernel
def slots_for_nodes(nodes: int) -> int:
    """The size of the hash table: a power of two, at most half full."""
    slots = 4
    while slots < 2 * (nodes + 1):
        slots *= 2
    return slots


@kernel
def new_trie(nodes: int) -> NGramTrie:
    """Memory for tries of up to so many nodes beside the root; `length · order` is enough for a sequence."""
    slots = slots_for_nodes(nodes)
    return NGramTrie(
        np.empty(slots, np.uint64),
        np.empty(slots, np.int32),
        np.zeros(nodes + 1, np.int32),
        np.zeros(nodes + 1, np.int32),
    )


@kernel
def cleared(memory: NGramTrie, nodes: int) -> NGramTrie:
    """An empty trie for up to so many nodes in the memory of a larger one."""
    slots = slots_for_nodes(nodes)
    trie = NGramTrie(memory.keys[:slots], memory.children[:slots], memory.counts[: nodes + 1], memory.seen[: nodes + 1])
    trie.keys[:] = EMPTY
    trie.counts[:] = 0
    return trie


@kernel
def add_reference(trie: NGramTrie, nodes: int, symbols: NDArray[np.int32], order: int) -> int:
    """Add a reference to a trie of so many nodes; the largest count of all references stays. Gives the new size."""
    for begin in range(symbols.size):
        node = 0
        for place in range(begin, min(begin + order, symbols.size)):
            key = pair_key(node, symbols[place])
            slot = find_slot(trie.keys, key)
            if trie.keys[slot] == EMPTY:
                nodes += 1
                trie.keys[slot] = key
                trie.children[slot] = nodes
            node = int(trie.children[slot])
            trie.seen[node] += 1
    for node in range(1, nodes + 1):
        trie.counts[node] = max(trie.counts[node], trie.seen[node])
        trie.seen[node] = 0
    return nodes


@kernel
def count_matches(trie: NGramTrie, nodes: int, symbols: NDArray[np.int32], matches: NDArray[np.float64]) -> None:
    """Write to `matches[n − 1]` how many n-grams match, clipped by their counts in the references."""
    order = matches.size
    matches[:] = 0.0
    for begin in range(symbols.size):
        node = 0
        for place in range(begin, min(begin + order, symbols.size)):
            key = pair_key(node, symbols[place])
            slot = find_slot(trie.keys, key)
            if trie.keys[slot] == EMPTY:
                break
            node = int(trie.children[slot])
            trie.seen[node] += 1
            if trie.seen[node] <= trie.counts[node]:
                matches[place - begin] += 1.0
    trie.seen[: nodes + 1] = 0


SEGMENTS_AT_ONCE = 2000


@dataclass(frozen=True, kw_only=True)
class BLEU(Metric):
    """BLEU with sacreBLEU's settings, numbers and signatures.

    Smoothing of orders without a match: `none`; `floor`: count as `smooth_value` (0.1) matches; `add-k`: add
    `smooth_value` (1) to matches and totals above order 1; `exp`: halve the count for each such order. With
    `effective_order`, orders longer than the hypothesis are left out, as one wants for single segments.
    """

    lowercase: bool = False
    tokenize: str | None = None  # 13a, or what sacreBLEU takes for `trg_lang`
    smooth_method: str = "exp"
    smooth_value: float | None = None
    max_ngram_order: Annotated[int, Meta(ge=1)] = 4
    effective_order: bool = False
    trg_lang: str = ""

    name = "BLEU"

    def __post_init__(self) -> None:
        if self.max_ngram_order < 1:
            raise InputError("max_ngram_order must be at least 1", argument="max_ngram_order")
        if self.smooth_method not in METHODS:
            raise unknown_name("smoothing method", self.smooth_method, list(METHODS))

    @property
    def size(self) -> int:
        """Number of statistics of a segment."""
        return 2 + 2 * self.max_ngram_order

    def corpus_statistics(
        self,
        hypotheses: Sequence[str | Words],
        references: Sequence[Sequence[str | Words]],
        threads: int | None = None,
        sources: Sequence[str] | None = None,
    ) -> NDArray[np.float64]:
        """Return the statistics of each segment: one row for each hypothesis."""
        check_shape(hypotheses, references)
        pairing = pair_words(self._words(hypotheses), [self._words(group) for group in references])
        return self.paired_statistics(pairing, threads)

    def paired_statistics(self, pairing: Pairing, threads: int | None = None) -> NDArray[np.float64]:
        """Return the statistics of encoded segments."""
        result = np.zeros((len(pairing.hypotheses), self.size))

        def work(begin: int, end: int) -> None:
            hypotheses, references = pairing.hypotheses, pairing.references
            _fill_statistics(
                hypotheses.symbols,
                hypotheses.offsets,
                references.symbols,
                references.offsets,
                pairing.groups,
                begin,
                end,
                self.max_ngram_order,
                result,
            )

        map_chunks(work, len(pairing.hypotheses), chunk=SEGMENTS_AT_ONCE, threads=threads)
        return result

    def prepare(self, references: Sequence[Sequence[Sequence[str]]], vocabulary: Vocabulary) -> Counter:
        """Return a counter that matches ids with tries of the references."""
        from toledo.metrics.references import encoded_references

        return encoded_references(self, references, vocabulary)

    def scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the score, 0 to 100, of each row."""
        return bleu_scores(self._checked(statistics), *self._smoothing())

    def gradient(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivatives of the score by the statistics; 0 where the score is 0 or has no derivative."""
        return bleu_gradient(self._checked(statistics[None])[0], *self._smoothing())

    def details(self, statistics: NDArray[np.float64]) -> dict[str, Any]:
        """Return precisions, brevity penalty, lengths and counts."""
        order = self.max_ngram_order
        precisions = np.zeros(order)
        _fill_precisions(statistics, *self._smoothing()[:2], precisions)
        said, meant = (int(one) for one in statistics[:2])
        return {
            "precisions": precisions.tolist(),
            "bp": brevity_penalty(float(said), float(meant)),
            "ratio": said / meant if meant else 0.0,
            "sys_len": said,
            "ref_len": meant,
            "counts": statistics[2 : 2 + order].astype(int).tolist(),
            "totals": statistics[2 + order :].astype(int).tolist(),
        }

    def encode(self, texts: Sequence[str]) -> Sequences | None:
        """Return the numbers of words."""
        return number_words(self._words(texts), Numbering())

    def gains(
        self, texts: Sequences, hypotheses: int, probabilities: NDArray[np.float64], *, only_best: bool = False
    ) -> NDArray[np.float64]:
        """Return the expected BLEU of the first texts."""
        from toledo.metrics.expected import expected_bleu

        return expected_bleu(texts, hypotheses, probabilities, self.max_ngram_order, self._smoothing())

    def twin(self) -> Any:
        """Return sacreBLEU's object with the same settings."""
        from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811

        if self.tokenize is not None and self.tokenize not in SacreBLEU.TOKENIZERS:
            raise unknown_name("tokenizer", self.tokenize, list(SacreBLEU.TOKENIZERS))
        settings = {one.name: getattr(self, one.name) for one in fields(self)}
        try:
            return SacreBLEU(**settings, force=True)
        except (ImportError, RuntimeError) as error:
            raise MissingExtraError(
                f"tokenizer {self.tokenize!r} does not work: {error}", remedy="install what it needs"
            ) from error

    @cached_property
    def _tokenizer(self) -> Callable[[str], str]:
        tokenizer: Callable[[str], str] = self.twin().tokenizer
        return tokenizer

    def _words(self, texts: Sequence[str | Words]) -> list[Words]:
        return [self._split(text) if isinstance(text, str) else text for text in texts]

    def _split(self, text: str) -> list[str]:
        return self._tokenizer((text.lower() if self.lowercase else text).rstrip()).split()

    def _smoothing(self) -> tuple[int, float, bool]:
        method, default = METHODS[self.smooth_method]
        return method, default if self.smooth_value is None else float(self.smooth_value), self.effective_order

    def _checked(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        if statistics.ndim != 2 or statistics.shape[1] != self.size:
            raise ValueError(
                f"BLEU of order {self.max_ngram_order} has {self.size} statistics, not {statistics.shape[-1]}"
            )
        return np.ascontiguousarray(statistics, np.float64)


@kernel
def closest_length(length: int, candidates: NDArray[np.int64]) -> int:
    """The closest length; of two the shorter."""
    best = int(candidates[0])
    for candidate in candidates:
        distance, best_distance = abs(candidate - length), abs(best - length)
        if distance < best_distance or (distance == best_distance and candidate < best):
            best = int(candidate)
    return best


@kernel
def _fill_statistics(
    words: NDArray[np.int32],
    offsets: NDArray[np.int64],
    reference_words: NDArray[np.int32],
    reference_offsets: NDArray[np.int64],
    groups: NDArray[np.int64],
    begin: int,
    end: int,
    order: int,
    result: NDArray[np.float64],
) -> None:
    largest = 0
    for segment in range(begin, end):
        size = reference_offsets[groups[segment + 1]] - reference_offsets[groups[segment]]
        largest = max(largest, int(size) * order)
    memory = new_trie(largest)
    lengths = np.diff(reference_offsets)
    for segment in range(begin, end):
        first, last = groups[segment], groups[segment + 1]
        trie = cleared(memory, (reference_offsets[last] - reference_offsets[first]) * order)
        nodes = 0
        for reference in range(first, last):
            span = reference_words[reference_offsets[reference] : reference_offsets[reference + 1]]
            nodes = add_reference(trie, nodes, span, order)
        hypothesis = words[offsets[segment] : offsets[segment + 1]]
        segment_statistics(trie, nodes, hypothesis, lengths[first:last], result[segment])


@kernel
def segment_statistics(
    trie: NGramTrie,
    nodes: int,
    hypothesis: NDArray[np.int32],
    reference_lengths: NDArray[np.int64],
    statistics: NDArray[np.float64],
) -> None:
    """Write the statistics of one hypothesis against the trie of its references."""
    order = (statistics.size - 2) // 2
    statistics[0] = hypothesis.size
    statistics[1] = closest_length(hypothesis.size, reference_lengths)
    count_matches(trie, nodes, hypothesis, statistics[2 : 2 + order])
    for n in range(order):
        statistics[2 + order + n] = max(hypothesis.size - n, 0)
