"""chrF (Popović 2015) and chrF++ (Popović 2017): F-score of character n-grams, and of word n-grams with `word_order` 2.

Statistics of a segment are [n-grams of the hypothesis, of the reference, matches] for each order, characters first, as
sacreBLEU lays them out; of several references the one with the best F-score counts. With P and R the averages of
precision and recall over the orders that both sides have, the score is 100 · (1 + β²) P R / (β² P + R).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toledo.compiled.kernels import kernel, map_chunks
from toledo.compiled.ragged import Numbering, Sequences, character_sequences, check_shape, group_offsets, number_words
from toledo.metrics.bleu import Trie, add_reference, cleared, count_matches, new_trie

SEGMENTS_AT_ONCE = 200
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


@dataclass(frozen=True)
class ChrF:
    """chrF on texts; white space between words does not count."""

    character_order: int = 6
    word_order: int = 0
    beta: float = 2.0

    higher_is_better = True

    def __post_init__(self) -> None:
        if self.character_order < 1 or self.word_order < 0 or self.beta <= 0:
            raise ValueError(
                "chrF needs a character order of at least 1, a word order of at least 0 and a positive beta"
            )

    @property
    def name(self) -> str:
        """chrF2, or chrF2++ with word n-grams."""
        return f"chrF{self.beta:g}" + "+" * self.word_order

    @property
    def size(self) -> int:
        """The number of statistics."""
        return 3 * (self.character_order + self.word_order)

    def statistics(self, hypothesis: str, references: Sequence[str]) -> NDArray[np.float64]:
        """The statistics of one segment."""
        statistics: NDArray[np.float64] = self.corpus_statistics([hypothesis], [references], threads=1)[0]
        return statistics

    def corpus_statistics(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], threads: int | None = None
    ) -> NDArray[np.float64]:
        """The statistics of each segment: one row for each hypothesis; `references[i]` are those of hypothesis i."""
        check_shape(hypotheses, references)
        flat = [reference for group in references for reference in group]
        texts = [*hypotheses, *flat]
        characters, words = character_sequences(texts), self._words(texts)
        groups = group_offsets(references)
        result = np.zeros((len(hypotheses), self.size))

        def work(begin: int, end: int) -> None:
            _fill_statistics(
                (characters.symbols, characters.offsets),
                (words.symbols, words.offsets),
                groups,
                begin,
                end,
                (self.character_order, self.word_order),
                self.beta,
                result,
            )

        map_chunks(work, len(hypotheses), chunk=SEGMENTS_AT_ONCE, threads=threads)
        return result

    def _words(self, texts: Sequence[str]) -> Sequences:
        if not self.word_order:
            return Sequences(np.empty(0, np.int32), np.zeros(len(texts) + 1, np.int64))
        return number_words([split_punctuation(text) for text in texts], Numbering())

    def score(self, statistics: NDArray[np.float64]) -> float:
        """The score, 0 to 100, of a sum of statistics."""
        return float(self.scores(statistics[None])[0])

    def scores(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score of each row."""
        return _scores(self._checked(statistics), self.beta)

    def gradient(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        """The derivatives of the score by the statistics; 0 where the score is 0."""
        return _gradient(self._checked(statistics[None])[0], self.beta)

    def _checked(self, statistics: NDArray[np.float64]) -> NDArray[np.float64]:
        if statistics.ndim != 2 or statistics.shape[1] != self.size:
            raise ValueError(f"{self.name} has {self.size} statistics, not {statistics.shape[-1]}")
        return np.ascontiguousarray(statistics, np.float64)


def split_punctuation(text: str) -> list[str]:
    """The words of chrF++: a punctuation mark at the end, or else at the beginning, of a word is a word of its own."""
    words = []
    for word in text.split():
        if len(word) > 1 and word[-1] in PUNCTUATION:
            words += [word[:-1], word[-1]]
        elif len(word) > 1 and word[0] in PUNCTUATION:
            words += [word[0], word[1:]]
        else:
            words.append(word)
    return words


@kernel
def _averages(statistics: NDArray[np.float64]) -> tuple[float, float, int]:
    """Precision and recall over the orders for which both sides have n-grams, and the number of these orders."""
    precision, recall, orders = 0.0, 0.0, 0
    for place in range(0, statistics.size, 3):
        hypothesis, reference, matches = statistics[place], statistics[place + 1], statistics[place + 2]
        if hypothesis > 0.0 and reference > 0.0:
            precision += matches / hypothesis
            recall += matches / reference
            orders += 1
    if orders == 0:
        return 0.0, 0.0, 0
    return precision / orders, recall / orders, orders


@kernel
def _score(statistics: NDArray[np.float64], beta: float) -> float:
    precision, recall, _ = _averages(statistics)
    if precision + recall == 0.0:
        return 0.0
    factor = beta * beta
    return 100.0 * ((1.0 + factor) * precision * recall / (factor * precision + recall))


@kernel
def _scores(statistics: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    scores = np.empty(statistics.shape[0])
    for row in range(statistics.shape[0]):
        scores[row] = _score(statistics[row], beta)
    return scores


@kernel
def _gradient(statistics: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    """With F(P, R): ∂F/∂P = (1 + β²) R² / (β² P + R)², ∂F/∂R = (1 + β²) β² P² / (β² P + R)²."""
    gradient = np.zeros(statistics.size)
    precision, recall, orders = _averages(statistics)
    if precision + recall == 0.0:
        return gradient
    factor = beta * beta
    common = 100.0 * (1.0 + factor) / (factor * precision + recall) ** 2 / orders
    by_precision, by_recall = common * recall * recall, common * factor * precision * precision
    for place in range(0, statistics.size, 3):
        hypothesis, reference, matches = statistics[place], statistics[place + 1], statistics[place + 2]
        if hypothesis > 0.0 and reference > 0.0:
            gradient[place] = -by_precision * matches / (hypothesis * hypothesis)
            gradient[place + 1] = -by_recall * matches / (reference * reference)
            gradient[place + 2] = by_precision / hypothesis + by_recall / reference
    return gradient


Texts = tuple[NDArray[np.int32], NDArray[np.int64]]  # symbols and offsets: first all hypotheses, then all references


@kernel
def _fill_statistics(
    characters: Texts,
    words: Texts,
    groups: NDArray[np.int64],
    begin: int,
    end: int,
    orders: tuple[int, int],
    beta: float,
    result: NDArray[np.float64],
) -> None:
    segments = groups.size - 1
    memory = new_trie(max(_largest(characters, orders[0]), _largest(words, orders[1])))
    candidate = np.zeros(result.shape[1])
    split = 3 * orders[0]
    for segment in range(begin, end):
        best = -1.0
        for reference in range(groups[segment], groups[segment + 1]):
            _compare(memory, characters, segment, segments + reference, candidate[:split])
            _compare(memory, words, segment, segments + reference, candidate[split:])
            score = _score(candidate, beta)
            if score > best:
                best = score
                result[segment] = candidate


@kernel
def _largest(texts: Texts, order: int) -> int:
    longest = 0
    for text in range(texts[1].size - 1):
        longest = max(longest, int(texts[1][text + 1] - texts[1][text]))
    return longest * order


@kernel
def _compare(memory: Trie, texts: Texts, hypothesis: int, reference: int, statistics: NDArray[np.float64]) -> None:
    """Write the statistics of one hypothesis against one reference, for characters or for words."""
    symbols, offsets = texts
    order = statistics.size // 3
    said = symbols[offsets[hypothesis] : offsets[hypothesis + 1]]
    meant = symbols[offsets[reference] : offsets[reference + 1]]
    trie = cleared(memory, meant.size * order)
    nodes = add_reference(trie, 0, meant, order)
    matches = np.empty(order)
    count_matches(trie, nodes, said, matches)
    for n in range(order):
        expected = max(meant.size - n, 0)
        statistics[3 * n] = max(said.size - n, 0) if expected > 0 else 0  # not counted where the reference has none
        statistics[3 * n + 1] = expected
        statistics[3 * n + 2] = matches[n]
