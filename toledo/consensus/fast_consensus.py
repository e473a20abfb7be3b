"""Fast consensus decoding (DeNero, Chiang and Knight 2009): BLEU with expected counts for a reference.

    argmax_e BLEU(e; E),    matches_n = Σ_g min(c_g(e), E[c_g]),    reference length = E[length]

The expectations are over all derivations of a forest, or over the texts of a list. The hypotheses are the best distinct
texts, or all texts of the forest. Where MBR compares each hypothesis with each, this compares each with one reference.

To search all texts of a forest: BLEU against expected counts is not a sum over edges, but near one text it nearly is.
By its derivatives there, each n-gram g of order n that an edge completes is worth

    ∂BLEU/∂matches_n · min(1, E[c_g]) + ∂BLEU/∂ngrams_n

(the first occurrence of an n-gram; later ones are mostly worth less, so this is generous). The best derivations by
these sums are found in all of the forest. The best of their texts by true BLEU is the next text, until none is better:
the result is never worse than the first text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.hashing import find_slot, pair_key
from toledo.compiled.kernels import kernel
from toledo.compiled.ragged import Sequences, offsets_of
from toledo.consensus.decide import NOTHING
from toledo.consensus.lattice_mbr import NGramSpace, ngram_space
from toledo.consensus.rule import Decision, Rule
from toledo.consensus.texts import WeightedTexts, best_texts
from toledo.errors import InputError
from toledo.forest.forest import Forest, Scores
from toledo.forest.ngram_index import NO_NGRAM, NGramIndex, count_text, empty_index, with_room_for_counts
from toledo.metrics.bleu import BLEU
from toledo.metrics.expected import split_sequences
from toledo.settings import Meta, Settings

if TYPE_CHECKING:
    from toledo.consensus.choosing import TextProblem

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
TEXTS = 20  # by the sum of edges, whose true BLEU is then computed
ROUNDS = 20


def climb(
    space: NGramSpace, counts: Floats, start: Decision, metric: BLEU, statistics: Callable[[Sequences], Floats]
) -> Decision:
    """Return a text at least as good as the first; `counts` are the expected counts of all n-grams of the space."""
    best = start
    for _ in range(ROUNDS):
        slopes = metric.gradient(statistics(Sequences(best.words, offsets_of([best.words.size])))[0])
        gains = space.ngrams.edge_sums(_worth(slopes, space.ngrams.orders, counts), threads=1)
        gains[np.isneginf(space.scores)] = -np.inf
        texts = best_texts(space.ngrams.forest, gains, TEXTS).texts
        values = metric.scores(statistics(texts))
        chosen = int(np.argmax(values))
        if not values[chosen] > best.value:
            break
        best = Decision(texts.symbols[texts.offsets[chosen] : texts.offsets[chosen + 1]], float(values[chosen]))
    return best


def _worth(slopes: Floats, orders: NDArray[np.uint8], counts: Floats) -> Floats:
    """Return what each n-gram adds to BLEU; `slopes` are laid out as the statistics of BLEU."""
    order = (slopes.size - 2) // 2
    matches = np.concatenate([[0.0], slopes[2 : 2 + order]])
    totals = np.concatenate([[0.0], slopes[2 + order :]])
    totals[1] += slopes[0]  # each word makes the text longer
    worth: Floats = matches[orders] * np.minimum(counts, 1.0) + totals[orders]
    return worth


@dataclass(frozen=True, eq=False)
class ExpectedNGramCounts:
    """The expected count of each n-gram of an index."""

    index: NGramIndex
    counts: Floats

    def statistics(self, texts: Sequences, order: int) -> Floats:
        """Return the BLEU statistics of each text with the expected counts for a reference."""
        numbers = ngram_numbers(texts.symbols, texts.offsets, self.index, order)
        return _statistics(numbers, texts.offsets, self.counts, self.length)

    @property
    def length(self) -> float:
        """The expected number of words."""
        return float(self.counts[self.index.orders[: self.counts.size] == 1].sum())


@dataclass(frozen=True)
class Consensus(Settings, Rule):
    """The text with the highest BLEU against expected counts among the `size` best; the value is that BLEU.

    The counts are expected under all derivations of the forest (kept small by a `density` in edges per word, or by a
    `beam` of edges per node), or, with `from_list`, under the best texts themselves. With `whole_forest` the search for
    better texts goes on in all of the forest. BLEU is smoothed by adding one to the counts above order 1 (Lin and Och
    2004).
    """

    order: Annotated[int, Meta(ge=1, description="Length of the longest n-grams.")] = 4
    size: Annotated[int, Meta(ge=1, description="Number of best texts to choose from.")] = 1000
    from_list: Annotated[bool, Meta(description="Count n-grams in the best texts only, not in the forest.")] = False
    density: Annotated[float | None, Meta(description="Edges per word that a forest is pruned to.")] = None
    beam: Annotated[int | None, Meta(description="Edges per node of a forest that is split by n-grams.")] = None
    whole_forest: Annotated[bool, Meta(description="Search all texts of the forest, not a list.")] = False
    tokenize: Annotated[str, Meta(description="Tokenizer of texts; forests have words.")] = "13a"

    forest_scale = 3.0

    @property
    def name(self) -> str:
        """The registered name."""
        return "forest-consensus" if self.whole_forest else "consensus"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.from_list and self.whole_forest:
            raise InputError("consensus looks at a list or at the whole forest, not at both", argument="from_list")

    def values(self, problem: TextProblem) -> Floats:
        """Return BLEU of each text against the expected counts of the references."""
        encoded = BLEU(tokenize=self.tokenize).encode([*problem.texts, *problem.references])
        assert encoded is not None  # noqa: S101 (BLEU compares words)
        texts, references = split_sequences(encoded, len(problem.texts))
        expected = list_counts(WeightedTexts(references, problem.probabilities), self.order)
        return problem.only(self.size, self._metric.scores(expected.statistics(texts, self.order)))

    def decide(self, forest: Forest, scores: Scores) -> Decision:
        """Return the best text of a segment."""
        return self.decide_each(forest, scores, [(self, 1.0)])[0]

    @classmethod
    def decide_each(
        cls, forest: Forest, scores: Scores, candidates: Sequence[tuple[Consensus, float]]
    ) -> list[Decision]:
        """Return the decisions of several such rules, each at its scale; shared work is done once."""
        texts_at = cache(lambda size, scale: best_texts(forest, scale * scores, size))
        space_of = cache(lambda order, density, beam: ngram_space(forest, scores, order, density, beam))
        decisions = []
        for rule, scale in candidates:
            texts = texts_at(rule.size, scale if rule.from_list else 1.0)
            if rule.from_list:
                decisions.append(rule.best(texts.texts, list_counts(texts, rule.order)))
                continue
            space = space_of(rule.order, rule.density, rule.beam)
            expected = forest_counts(space, scale)
            found = rule.best(texts.texts, expected)
            decisions.append(rule.climb(space, expected, found) if rule.whole_forest and len(texts) else found)
        return decisions

    def climb(self, space: NGramSpace, expected: ExpectedNGramCounts, found: Decision) -> Decision:
        """Return a better text, if the search in the forest finds one."""
        return climb(space, expected.counts, found, self._metric, lambda texts: expected.statistics(texts, self.order))

    @property
    def _metric(self) -> BLEU:
        return BLEU(max_ngram_order=self.order, smooth_method="add-k", smooth_value=1.0)

    def best(self, texts: Sequences, expected: ExpectedNGramCounts) -> Decision:
        """Return the best of some texts; of equal ones the first."""
        if not len(texts):
            return NOTHING
        values = self._metric.scores(expected.statistics(texts, self.order))
        chosen = int(np.argmax(values))
        words = texts.symbols[texts.offsets[chosen] : texts.offsets[chosen + 1]]
        return Decision(words, float(values[chosen]))


def forest_counts(space: NGramSpace, scale: float) -> ExpectedNGramCounts:
    """Return counts expected under all derivations of a forest."""
    counts = space.ngrams.expected_counts(space.distribution(scale), threads=1)
    return ExpectedNGramCounts(space.ngrams.indexes[0], counts)


def list_counts(texts: WeightedTexts, order: int) -> ExpectedNGramCounts:
    """Return counts expected under some texts with probabilities."""
    found = _count(texts.texts.symbols, texts.texts.offsets, texts.probabilities, order, empty_index())
    return ExpectedNGramCounts(*found)


@kernel(small=20_000)
def _count(
    words: Int32s, offsets: Int64s, probabilities: Floats, order: int, index: NGramIndex
) -> tuple[NGramIndex, Floats]:
    counts = np.zeros(64)
    for text in range(offsets.size - 1):
        begin, end = offsets[text], offsets[text + 1]
        index, counts = with_room_for_counts(index, counts, (end - begin) * order)
        count_text(index, counts, words, begin, end, order, probabilities[text])
    return index, counts[: index.used[0]]


@kernel(small=20_000)
def ngram_numbers(words: Int32s, offsets: Int64s, index: NGramIndex, order: int) -> Int32s:
    """Return the numbers of the n-grams that begin at each word; none after one that the index does not know."""
    keys, slots = index.keys, index.slots
    numbers = np.full((words.size, order), NO_NGRAM, np.int32)
    for text in range(offsets.size - 1):
        for start in range(offsets[text], offsets[text + 1]):
            number = NO_NGRAM
            for n in range(min(order, offsets[text + 1] - start)):
                key = pair_key(number + 1, words[start + n])
                slot = find_slot(keys, key)
                if keys[slot] != key:
                    break
                number = int(slots[slot])
                numbers[start, n] = number
    return numbers


@kernel(small=20_000)
def _statistics(numbers: Int32s, offsets: Int64s, counts: Floats, length: float) -> Floats:
    """As `toledo.metrics.BLEU` lays them out."""
    order = numbers.shape[1]
    result = np.zeros((offsets.size - 1, 2 + 2 * order))
    left = counts.copy()  # what of each count is not matched yet
    for text in range(offsets.size - 1):
        begin, end = offsets[text], offsets[text + 1]
        result[text, 0], result[text, 1] = end - begin, length
        for n in range(order):
            result[text, 2 + order + n] = max(end - begin - n, 0)
            for place in range(begin, end):
                number = numbers[place, n]
                if number != NO_NGRAM:
                    matched = min(left[number], 1.0)
                    left[number] -= matched
                    result[text, 2 + n] += matched
        for n in range(order):
            for place in range(begin, end):
                if numbers[place, n] != NO_NGRAM:
                    left[numbers[place, n]] = counts[numbers[place, n]]
    return result
