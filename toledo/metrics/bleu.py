"""BLEU (Papineni et al. 2002): the one BLEU of this toolkit.

Statistics of a segment are [hypothesis length, reference length, matches of order 1 … N, n-grams of order 1 … N], as
sacreBLEU lays them out. They add up over segments and may be fractional (expected counts). Matches are clipped by the
largest count in any reference; the reference length is the closest one, the shorter one of two. Scores are 0 to 100:

    BLEU = 100 · min(1, exp(1 − r/c)) · exp(1/N Σ_n log(matches_n / totals_n))

Smoothing for single segments follows Chen and Cherry (2014), with the names of sacreBLEU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import inner_kernel, kernel
from toledo.compiled.ragged import Sequences, pair_words
from toledo.errors import InputError, MissingExtraError
from toledo.metrics.references import (
    PreparedReferences,
    add_reference,
    cleared,
    new_trie,
    prepare_references,
    segment_statistics,
)
from toledo.metrics.score import Score
from toledo.metrics.segments import Rows, SegmentMetric, Text, Texts
from toledo.settings import Meta, unknown_name
from toledo.text.vocabulary import Vocabulary

NONE, FLOOR, ADD_K, EXPONENTIAL = range(4)

# Defaults from Chen and Cherry (2014), "A systematic comparison of smoothing techniques for sentence-level BLEU".
METHODS = {"none": (NONE, 0.0), "floor": (FLOOR, 0.1), "add-k": (ADD_K, 1.0), "exp": (EXPONENTIAL, 0.0)}


@kernel(small=100_000)
def bleu_scores(statistics: Rows, method: int, value: float, effective: bool) -> Rows:
    """Return the score, 0 to 100, of each row of statistics."""
    scores = np.empty(statistics.shape[0])
    precisions = np.empty((statistics.shape[1] - 2) // 2)
    for row in range(statistics.shape[0]):
        scores[row] = bleu_score(statistics[row], method, value, effective, precisions)
    return scores


@kernel
def bleu_gradient(statistics: Rows, method: int, value: float, effective: bool) -> Rows:
    """Return the derivatives of the score by the statistics.

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
def orders_used(statistics: Rows, method: int, value: float, effective: bool) -> int:
    """Return the number of all orders, or only of those for which the hypothesis has n-grams."""
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
def bleu_score(statistics: Rows, method: int, value: float, effective: bool, precisions: Rows) -> float:
    """Return the score, 0 to 100, of a row of statistics; `precisions` is scratch memory, one number for each order."""
    matched = False
    for n in range(precisions.size):
        matched |= statistics[2 + n] > 0.0
    used = orders_used(statistics, method, value, effective)
    if not matched or used == 0:
        return 0.0
    _fill_precisions(statistics, method, value, precisions)
    total = 0.0
    for n in range(used):
        if precisions[n] == 0.0:
            return 0.0
        total += math.log(precisions[n])
    return brevity_penalty(statistics[0], statistics[1]) * math.exp(total / used)


@inner_kernel(small=100)
def brevity_penalty(hypothesis: float, reference: float) -> float:
    """Return 1 for a hypothesis not shorter than its reference, less for a shorter one."""
    if hypothesis >= reference:
        return 1.0
    return math.exp(1.0 - reference / hypothesis) if hypothesis > 0.0 else 0.0


@inner_kernel(small=100)
def _fill_precisions(statistics: Rows, method: int, value: float, precisions: Rows) -> None:
    """Write precisions in per cent, 0 where undefined."""
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


@dataclass(frozen=True, kw_only=True)
class BLEU(SegmentMetric):
    """BLEU with sacreBLEU's settings, numbers and signatures.

    Smoothing of orders without a match: `none`; `floor`: count as `smooth_value` (0.1) matches; `add-k`: add
    `smooth_value` (1) to matches and totals above order 1; `exp`: halve the count for each such order. With
    `effective_order`, orders longer than the hypothesis are left out, as is usual for single segments.
    """

    lowercase: Annotated[bool, Meta(description="Ignore case.")] = False
    tokenize: Annotated[str | None, Meta(description="Tokenizer of sacreBLEU (13a, or that of trg_lang).")] = None
    smooth_method: Annotated[str, Meta(description="Smoothing: exp, floor, add-k, or none.")] = "exp"
    smooth_value: Annotated[float | None, Meta(description="Value for floor (0.1) and add-k (1).")] = None
    max_ngram_order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4
    effective_order: Annotated[bool, Meta(description="Leave out orders longer than the hypothesis.")] = False
    trg_lang: Annotated[str, Meta(description="Language code of the texts, which decides the tokenizer.")] = ""

    name = "BLEU"
    segments_at_once = 2000

    def __post_init__(self) -> None:
        if self.max_ngram_order < 1:
            raise InputError("max_ngram_order must be at least 1", argument="max_ngram_order")
        if self.smooth_method not in METHODS:
            raise unknown_name("smoothing method", self.smooth_method, list(METHODS))

    @property
    def size(self) -> int:
        """Number of statistics of a segment."""
        return 2 + 2 * self.max_ngram_order

    def _counter(
        self, hypotheses: Sequence[Text], references: Sequence[Sequence[Text]], result: Rows
    ) -> Callable[[int, int], None]:
        """Return a function that fills rows by tries of the references."""
        pairing = pair_words(self.split_words(hypotheses), [self.split_words(group) for group in references])
        said = pairing.hypotheses.symbols, pairing.hypotheses.offsets
        meant = pairing.references.symbols, pairing.references.offsets
        order = self.max_ngram_order
        return lambda begin, end: _fill_statistics(said, meant, pairing.groups, begin, end, order, result)

    def prepare(self, references: Sequence[Sequence[Sequence[str]]], vocabulary: Vocabulary) -> PreparedReferences:
        """Return a counter that matches ids with tries of the references.

        A word that no hypothesis has must match nothing: the number after the last word stands for all of them.
        """
        unknown = len(vocabulary)
        encoded = [
            [np.array([vocabulary.id(w) if w in vocabulary else unknown for w in one], np.int32) for one in group]
            for group in references
        ]
        return prepare_references(self, encoded)

    def scores(self, statistics: Rows) -> Rows:
        """Return the score, 0 to 100, of each row."""
        return bleu_scores(self._checked(statistics), *self._smoothing())

    def gradient(self, statistics: Rows) -> Rows:
        """Return the derivatives of the score by the statistics; 0 where the score is 0 or has no derivative."""
        return bleu_gradient(self._checked(statistics[None])[0], *self._smoothing())

    def details(self, statistics: Rows) -> dict[str, Any]:
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

    def gains(self, texts: Sequences, hypotheses: int, probabilities: Rows, *, only_best: bool = False) -> Rows:
        """Return the expected BLEU of the first texts."""
        from toledo.metrics.expected import expected_bleu

        return expected_bleu(texts, hypotheses, probabilities, self.max_ngram_order, self._smoothing())

    def twin(self) -> Any:
        """Return sacreBLEU's object with the same settings."""
        from sacrebleu.metrics.bleu import BLEU as SacreBLEU  # noqa: N811

        if self.tokenize is not None and self.tokenize not in SacreBLEU.TOKENIZERS:
            raise unknown_name("tokenizer", self.tokenize, list(SacreBLEU.TOKENIZERS))
        try:
            return SacreBLEU(**self._settings(), force=True)
        except (ImportError, RuntimeError) as error:
            raise MissingExtraError(
                f"tokenizer {self.tokenize!r} does not work: {error}", remedy="install what it needs"
            ) from error

    def _split(self, text: str) -> list[str]:
        """Return the words of a text."""
        return super()._split(text.lower() if self.lowercase else text)

    def _smoothing(self) -> tuple[int, float, bool]:
        method, default = METHODS[self.smooth_method]
        return method, default if self.smooth_value is None else float(self.smooth_value), self.effective_order


@kernel(small=100_000)
def _fill_statistics(
    hypotheses: Texts, references: Texts, groups: NDArray[np.int64], begin: int, end: int, order: int, result: Rows
) -> None:
    (words, offsets), (reference_words, reference_offsets) = hypotheses, references
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


def corpus_bleu(
    hypotheses: Sequence[str],
    references: Any,
    *,
    use_effective_order: bool = False,
    force: bool = False,
    **settings: Any,
) -> Score:
    """Compute BLEU of a corpus as sacreBLEU does; settings are those of `BLEU`, and there is no warning to `force`."""
    return BLEU(effective_order=use_effective_order, **settings).corpus_score(hypotheses, references)


def sentence_bleu(
    hypothesis: str,
    references: str | Sequence[str],
    *,
    use_effective_order: bool = True,
    force: bool = False,
    **settings: Any,
) -> Score:
    """Compute BLEU of one text as sacreBLEU does; settings are those of `BLEU`, and there is no warning to `force`."""
    return BLEU(effective_order=use_effective_order, **settings).sentence_score(hypothesis, references)
